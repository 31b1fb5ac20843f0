"""Each frozen reading, and each odd file, is read as before, or refused in a sentence that names
the recipe or the option by which it is read as before; none is read otherwise.

The recipes and options are those of `remedies.py`.
"""

import collections
import hashlib
import inspect
import json
import warnings
from pathlib import Path

import polars as pl
import pytest

import dcglearn as dl
from tests.reading import remedies
from tests.saved import freeze, frozen_readings

READINGS = freeze.read("readings")
ODD = freeze.read("odd_files")
UNREAD = {"file", "files", "values", "reader", "options"}
"""What a frozen entry holds beside what was read."""


@pytest.fixture
def folder(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield tmp_path


def options_of(entry, folder):
    """Return the options of a reading, with a file for bad rows where they are set aside."""
    options = dict(entry["options"])
    if options.get("skip_bad"):
        options["skip_bad"] = folder / "bad.jsonl"
    return options


def said(read, source, options, more=()):
    """Return what is read, as it is frozen, or None; and the refusal."""
    gone = {"best_grade", "cutoffs", "encoding", "header", "leave_out", "middle", "positive"}
    left = {name: value for name, value in options.items() if name not in gone}
    try:
        log = read(source, *more, **left)
    except dl.InputError as error:
        return None, str(error)
    # a reading without the options that are gone is another call
    if gone & options.keys():
        return None, f"no option {gone & options.keys()}"
    return frozen_readings.canonical(log), ""


def same(frozen, found):
    """Tell whether a frozen reading was found.

    Cells that were blank are *unknown* by a recipe, and grades that were turned round have names.
    """
    frozen = {name: value for name, value in frozen.items() if name not in UNREAD}
    if frozen["grade_names"] is None and is_falling(found["grade_names"]):
        found = {**found, "grade_names": None}
    pairs = [
        [*pair[:2], *("" if value == "unknown" else value for value in pair[2:])]
        for pair in found["pairs"]
    ]
    filled = {**found, "pairs": sorted(pairs, key=json.dumps)}
    return any(
        not freeze.differences({"": frozen}, {"": log}, freeze.tolerance())
        for log in (found, filled)
    )


def is_falling(names):
    """Tell whether names of grades are numbers of which the smallest is the best."""
    numbers = [int(name) for name in names or () if name.isdigit()]
    return len(numbers) > 1 and numbers == sorted(numbers, reverse=True)


def outcome(name, remedy, frozen, found, refusal, again):
    """Return how a reading is kept, or what is wrong with it; `again` reads by the remedy."""
    if found is not None:
        return "same" if frozen(found) else f"OTHERWISE: {name}"
    if remedy is None:
        return f"NO REMEDY: {name}: {refusal}"
    try:
        log = again()
    except (dl.InputError, pl.exceptions.PolarsError, TypeError) as error:
        return f"REMEDY FAILS: {name}: {remedy.title}: {error}"
    if not frozen(frozen_readings.canonical(log)):
        return f"REMEDY IS OTHERWISE: {name}: {remedy.title}"
    if refusal.startswith("no option"):
        return "option gone, by recipe"
    if remedy.title.lower() not in refusal.lower():
        return f"NOT NAMED: {name}: {remedy.title}: {refusal}"
    return "by option" if remedy.title.endswith("=") else "by recipe"


def assert_kept(outcomes):
    """Fail for readings that are not kept; print how many are kept in each way."""
    wrong = sorted(line for line in outcomes if ": " in line)
    counts = collections.Counter(line.split(": ")[0] for line in outcomes)
    print(*sorted(counts.items()), sep="\n")
    assert not wrong, f"{counts}\n" + "\n".join(wrong)


def outcome_of_reading(name, entry, folder):
    source, *more = frozen_readings.inputs(entry, folder)
    options = options_of(entry, folder)
    remedy = remedies.remedy_of(name)
    found, refusal = said(frozen_readings.READERS[entry["reader"]], source, options, more)

    def again():
        return remedy.read(source, *more, **options)

    return outcome(name, remedy, lambda log: same(entry, log), found, refusal, again)


def test_each_frozen_reading_is_kept_or_its_remedy_is_named(folder):
    outcomes = []
    for i, (name, entry) in enumerate(READINGS.items()):
        if not frozen_readings.unreadable_here(entry):
            place = folder / str(i)
            place.mkdir()
            outcomes.append(outcome_of_reading(name, entry, place))
    assert_kept(outcomes)


@pytest.fixture(scope="module")
def odd_files():
    if not frozen_readings.SHARED.joinpath("odd_files").is_dir():
        pytest.skip(f"no folder {frozen_readings.SHARED / 'odd_files'}; DCGLEARN_SHARED names it")
    with frozen_readings.odd_files() as folder:
        yield folder


def test_each_odd_file_is_kept_or_its_remedy_is_named(odd_files, folder):
    outcomes = []
    for name, entry in ODD.items():
        path = odd_files / entry["file"]
        if "raises" in entry or not path.exists():
            continue
        options = options_of(entry, folder)
        starts = [start for start in remedies.ODD if name.startswith(start)]
        remedy = remedies.ODD[max(starts, key=len)] if starts else None

        def frozen(log, entry=entry):
            if is_falling(log["grade_names"]):
                log = {**log, "grade_names": None}
            text = json.dumps(log, sort_keys=True)
            return hashlib.sha256(text.encode()).hexdigest() == entry["sha256"]

        def again(remedy=remedy, path=path, options=options):
            return remedy.read(path, **options)

        found, refusal = said(dl.read_preferences, path, options)
        outcomes.append(outcome(name, remedy, frozen, found, refusal, again))
        for path in folder.glob("bad*"):
            path.unlink()
    assert_kept(outcomes)


def pairs_of(rows):
    """Return pairs of lists, the preferred one first, and whether they are tied."""
    return sorted([sorted(lists) if tie else lists, tie] for lists, tie in rows)


def said_by_truth(file, truth):
    """Return the pairs of the truth; Quepid's snapshots leave out every ninth rating."""
    for i, row in enumerate(truth):
        lists = [row["a"], row["b"]]
        if file == "27_verdicts.csv":
            lists = [[-1 if (i + j) % 9 == 0 else g for j, g in enumerate(its)] for its in lists]
        yield lists[::-1] if row["winner"] == "b" else lists, row["winner"] == "tie"


@pytest.mark.parametrize("file", remedies.ODD_BY_TRUTH)
def test_an_odd_file_is_read_rightly_by_its_remedy(file, odd_files, folder):
    truth = json.loads((odd_files / "truth.json").read_text())
    log = remedies.ODD_BY_TRUTH[file].read(odd_files / file)
    lists = [list(pair) for pair in zip(log.preferred.tolist(), log.other.tolist(), strict=True)]
    assert pairs_of(zip(lists, log.tie.tolist(), strict=True)) == pairs_of(
        said_by_truth(file, truth)
    )


def test_remedies_are_recipes_of_the_page_or_options():
    page = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text().lower()
    every = [remedy for remedy in remedies.OTHERS.values() if type(remedy) is not tuple]
    every += [*remedies.SHAPES.values(), *remedies.ODD.values(), *remedies.ODD_BY_TRUTH.values()]
    titles = {remedy.title for remedy in every}
    options = {f"{name}=" for name in inspect.signature(dl.read_preferences).parameters}
    assert [title for title in titles - options if f"\n### {title.lower()}\n" not in page] == []


def test_an_odd_file_that_was_refused_is_refused_or_read_rightly(odd_files, folder):
    truth = json.loads((odd_files / "truth.json").read_text())
    read = []
    for name, entry in ODD.items():
        path = odd_files / entry["file"]
        if "raises" not in entry or not path.exists():
            continue
        try:
            log = dl.read_preferences(path, **options_of(entry, folder))
        except (dl.InputError, TypeError):  # a TypeError is an option that is gone
            continue
        lists = [
            list(pair) for pair in zip(log.preferred.tolist(), log.other.tolist(), strict=True)
        ]
        found = pairs_of(zip(lists, log.tie.tolist(), strict=True))
        assert found == pairs_of(said_by_truth(entry["file"], truth)), name
        read.append(name)
    assert read == ["15b_blank_rows.csv"]
