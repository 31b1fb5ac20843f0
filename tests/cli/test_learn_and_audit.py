"""``learn`` and ``audit`` tell the same of one log."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import dcglearn as dl
from dcglearn.audits import inputs as audit_inputs
from dcglearn.audits.audit import FIRST, answers
from dcglearn.audits.inputs import Inputs
from tests.makers import columns, simulated_log
from tests.test_matrix import LOGS

EXAMPLE = Path(__file__).parents[2] / "examples" / "side_by_side.jsonl"
JARGON = re.compile(
    r"objective|robust fit|sigmoid fit|independent judgements|clear pair|a little more|directions"
    r"|\bW\b|sigma|posterior|Newton|\bmachine\b|respect"
)
"""Words that a search engineer who has not read the papers does not know."""


@pytest.fixture(autouse=True)
def few_measured(monkeypatch):
    monkeypatch.setattr(audit_inputs, "MEASURED", 400)


def tossed():
    log = simulated_log(120)
    flip = (np.random.default_rng(1).random(120) < 0.5)[:, None]
    sides = np.where(flip, log.other, log.preferred), np.where(flip, log.preferred, log.other)
    return log.changed(preferred=sides[0], other=sides[1])


OF_LOGS = {kind: log for kind, log in LOGS.items() if "rated" not in kind} | {"coins": tossed}


def sentences(printed):
    """Return the sentences of a report on the terminal by their names."""
    return dict(line[2:].split(": ", 1) for line in printed.splitlines() if line.startswith("  "))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", OF_LOGS)
def test_the_first_sentences_of_an_audit_are_those_of_learn(dcglearn, tmp_path, kind):
    path, dcg = tmp_path / "log.jsonl", tmp_path / "dcg.json"
    OF_LOGS[kind]()[:120].save(path)
    options = (path, "--metric", "linear-log2", "--as-is", "--seed", 1)
    learned = dcglearn("learn", *options, "-o", dcg)
    audited = dcglearn("audit", *options, "-o", tmp_path / "audit.html")
    assert learned[0] == audited[0] == 0, learned[2] + audited[2]

    # word for word, on the terminal and on the page
    of_learn, of_audit = sentences(learned[1]), sentences(audited[1])
    assert {"log", "new judgements", "learned", "how sure", "left open"} <= {*of_learn} <= {*FIRST}
    assert of_learn == {name: of_audit[name] for name in of_learn}
    page = (tmp_path / "audit.html").read_text()
    assert page.count("<details") > len(of_learn)
    assert JARGON.findall(learned[1].replace(str(tmp_path), "")) == []


@pytest.fixture(scope="module")
def example():
    return Inputs.of(dl.read_preferences(EXAMPLE), "exponential-log2", 0, n_draws=20)


def test_what_was_learned_says_of_what_it_is_mixed_and_how_judges_err():
    forty = Inputs.of(dl.read_preferences(EXAMPLE)[:40], "exponential-log2", 0, n_draws=0)
    learned, members = answers(forty)["learned"], list(forty.fit.members)
    (mixed,) = [note for note in learned.notes if "it is a mean" in note]

    # the largest first, without the small ones
    members.sort(key=lambda member: -member.weight)
    *named, _ = re.findall(r"(\d+)%", mixed.partition("; others have less than 5%")[0] + " 5%")
    assert [f"{x}%" for x in named] == [f"{m.weight:.0%}" for m in members[: len(named)]]
    assert members[len(named) - 1].weight >= 0.05 > members[len(named)].weight
    for number in (forty.fit.wrong_share, forty.fit.error_rate):
        assert f"about {number:.1%}" in " ".join(learned.notes)


def test_the_dcg_that_is_written_knows_its_judges(dcglearn, tmp_path, example):
    dcg = tmp_path / "dcg.json"
    assert dcglearn("learn", EXAMPLE, "-o", dcg, "--bands", 20)[0] == 0
    judges = dl.DCG.load(dcg).judges.to_dict()
    assert judges == example.dcg.judges.to_dict()
    assert 0 < judges["slope"] < 1 and 0 < judges["slope_error"] <= 0.15

    # too few to hold any out: the prior, and no draws
    LOGS["six pairs"]().save(tmp_path / "six.jsonl")
    assert dcglearn("learn", tmp_path / "six.jsonl", "-o", dcg, "--force")[0] == 0
    assert dl.DCG.load(dcg).judges.draws is None


def test_the_verdicts_of_several_llm_judges_add_up(dcglearn, here):
    people, machine = dl.read_preferences(EXAMPLE)[:40], simulated_log(80)
    people.save("people.jsonl")
    for name, rows in (("one", slice(0, 40)), ("two", slice(40, 80))):
        machine[rows].save(f"{name}.jsonl")
    both = dl.read_preferences([Path("one.jsonl"), Path("two.jsonl")], 5, as_is=True)
    assert columns(both) == columns(machine)

    words = ("learn", "people.jsonl", "--bands", 0, "--llm", "one.jsonl", "--llm", "two.jsonl")
    status, _, said = dcglearn(*words)
    assert status == 0 and "LLM judge: " in said


def test_the_seed_is_also_that_of_the_weights():
    log = dl.read_preferences(EXAMPLE)[:40]
    weights = []
    for seed in (0, 1):
        fitted = dl.DCGLearner(random_state=seed).fit(log)
        weights.append(fitted.members_[0].weight)
        audited = Inputs.of(log, "exponential-log2", seed, n_draws=0)
        assert audited.fit.members[0].weight == pytest.approx(weights[-1], rel=1e-9)
    assert abs(weights[0] - weights[1]) > 1e-3


def test_a_sample_stands_for_a_long_log(monkeypatch):
    monkeypatch.setattr(audit_inputs, "MEASURED", 60)
    known = Inputs.of(simulated_log(120), "exponential-log2", 0, n_draws=0)
    assert known.comparison.n_held_out == 60


def test_what_the_quadratic_programme_learned_is_told_on_the_scale_of_other_gains():
    log = simulated_log(60, "permutations")
    known = Inputs.of(log, "exponential-log2", 0, method="qp", n_draws=0)
    parts = answers(known)
    assert (known.dcg.gains[0], known.dcg.gains[-1]) == (0, 1)
    assert "(gain): grade 4: 1.00, " in parts["learned"].sentence
    assert "duality gap" in parts["learned"].notes[0]
    assert "gains are divided by " in str(known.dcg.notes)
    assert parts["factored"].sentence.startswith("gains times discounts reproduce")


def test_numbers_bear_the_names_of_grades_everywhere(dcglearn, here):
    truth = dl.DCG([0, 0.3, 1], [1, 0.6, 0.4])
    log = dl.simulate.preference_pairs(truth, 60, lists="free", random_state=0)
    log.changed(grade_names=("Bad", "So so", "Good")).save("log.jsonl")
    texts = [dcglearn("-v", "learn", "log.jsonl", "--bands", 20, "-o", "dcg.json")[1]]
    texts += [dcglearn("audit", "log.jsonl", "-o", "audit.md")[1], (here / "audit.md").read_text()]
    assert not any("gain of grade" in text for text in texts)
    assert "gain of So so" in texts[0] and "gain of So so" in texts[2]


def test_of_fewer_judgements_than_numbers_no_share_is_told():
    texts = []
    for n in (5, 60):
        log = simulated_log(n, "permutations")
        known = Inputs.of(log, "exponential-log2", 0, n_draws=0)
        texts.append(str(answers(known)["learned"]))
    for words in ("% of the verdicts name the worse list", "It is a mean"):
        assert [words in text for text in texts] == [False, True]


def test_ratings_are_counted_as_ratings(dcglearn, here):
    lines = ["list,user,rating"]
    lines += [f"{a} {b},u{user},{2 * a + b}" for user in range(4) for a in (0, 1) for b in (0, 1)]
    (here / "ratings.csv").write_text("\n".join(lines))
    out = dcglearn("learn", "ratings.csv", "--ratings", "-o", "dcg.json", "--bands", 0)[1]
    assert "log: 16 ratings as 24 pairs, 4 raters; " in out
    assert out.startswith("What 16 ratings say of gains")


def test_what_is_contradicted_or_left_out_is_told_in_both(dcglearn, here):
    lists = [([2, 0, 1], [0, 1, 0]), ([2, 2, 0], [1, 0, 2]), ([0, 1, 2], [2, 1, 0])]
    pairs = [pair for pair in lists for _ in range(12)] + [(b, a) for a, b in lists]
    dl.Preferences(*zip(*pairs, ([1, 1, 1], [1, 1, 1]), strict=True)).save("log.jsonl")
    learned = dcglearn("-v", "learn", "log.jsonl", "-o", "dcg.json")[1]
    assert dcglearn("audit", "log.jsonl", "-o", "audit.md")[0] == 0
    for text in (learned, (here / "audit.md").read_text()):
        assert "ontradicted by another pair: 3 pairs, 7.5% of those with a winner" in text
        assert "eft out: 1 pair of equal lists" in text


def test_standard_input_is_audited(dcglearn, here, monkeypatch):
    lines = EXAMPLE.read_bytes().splitlines(keepends=True)[:60]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"".join(lines))))
    assert dcglearn("audit", "-", "-o", "audit.json")[0] == 0
    made = json.loads((here / "audit.json").read_text())["made"]["sentence"]
    assert " by `dcglearn audit - -o audit.json` with dcglearn " in made
