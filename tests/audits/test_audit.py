"""The page of an audit: one file, escaped, the same bytes again; the command, its JSON and its
refusals.
"""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dcglearn.audits.audit import audit
from dcglearn.audits.inputs import Inputs
from dcglearn.metrics.dcg import DCG
from dcglearn.reading.read import read_preferences
from dcglearn.trust.band_draws import Bands
from tests.audits.makers import FLAT, judged
from tests.makers import refused

NASTY = "<script>alert(1)</script>\"'&\x1b[31m"


JUDGED = {f"q{i}": {"d1": 3, "d2": 0, NASTY: 1} for i in range(4)}
RUNS = {
    NASTY: {q: {"d1": 2.0, NASTY: 1.0} for q in JUDGED},
    "other": {q: {NASTY: 2.0, "d2": 1.0} for q in JUDGED},
}
SETTINGS = {"runs": RUNS, "judgements": JUDGED, "command": NASTY}


class Page(HTMLParser):
    """Tags that are open, every attribute's address, and all tags seen."""

    VOID = frozenset(("meta", "link", "br"))

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.tags, self.handlers = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")


@pytest.fixture(scope="module")
def log():
    time = np.repeat(["2026-01-05", "2026-02-01"], 30)
    return judged(
        60, rater=np.repeat(["ann", NASTY], 30), query=np.repeat(["q1", NASTY], 30), time=time
    )


@pytest.fixture(scope="module")
def made(log):
    return audit(log, **SETTINGS)


def test_the_page_is_one_sound_file_that_loads_nothing(made, tmp_path):
    made.save(tmp_path / "audit.html")
    text = (tmp_path / "audit.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == [] and page.handlers == []
    assert all(re.match(r"#[\w?-]+$|data:", address) for address in page.addresses)
    assert "script" not in page.tags and "\x1b" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert len(text) < 100_000


def test_parts_of_an_audit_are_findings_of_their_own(made):
    assert isinstance(made["how sure"], Bands) and isinstance(
        made["disagreement"].share, np.ndarray
    )
    ends = made["beside"].table.select("parameter", "low", "high").rows()
    assert ends == made["how sure"].table.select("parameter", "all_low", "all_high").rows()
    assert made["how sure"].to_dict()["table"] == made["how sure"].table.to_dicts()


def test_the_same_audit_writes_the_same_bytes(log):
    first, again = (audit(log[:18], random_state=3).to_html() for _ in range(2))
    assert first == again != audit(log[:17], random_state=3).to_html()


def test_an_audit_is_plain_values_and_shows_itself(made):
    values = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert list(values) == [
        "title",
        "verdict",
        "log",
        "raters",
        "new judgements",
        "learned",
        "how sure",
        "left open",
        "as sure as said?",
        "beside",
        "disagreement",
        "largest disagreement",
        "disputed pairs",
        "systems",
        "survival",
        "people",
        "next",
        "made",
    ]
    assert values["verdict"]["verdict"] == "judge more"
    assert "and the seed 0; on the same day" in values["made"]["sentence"]
    assert str(made).startswith("Audit of exponential-log2@4 (the usual nDCG: gains 2^grade - 1")
    assert "\n  log: 60 pairs, 2 raters, 2 queries; 4 positions, 4 grades: " in str(made)
    assert Page(made._repr_html_()).open == []


def test_an_anonymous_audit_names_nobody(log):
    named = audit(log[20:38], anonymous=True)
    text = named.to_html() + json.dumps(named.to_dict())
    assert "ann" not in re.sub("annotat|cannot|planned", "", text) and "alert" not in text
    assert "rater 1" in text and "rater 2" in text


def test_the_metric_in_use_may_have_other_depths_but_needs_the_grades(log):
    known = Inputs.of(log[:15], DCG.standard(6, 9), 0)
    assert (known.name, known.baseline.depth) == ("the metric used now", 4)
    assert known.baseline.gains.tolist() == DCG.standard(4, 4).normalised().gains.tolist()
    assert Inputs.of(log[:15], DCG([0, 1, 2, 3], [1, 0.5]), 0).baseline.discounts.tolist() == [
        1,
        0.5,
        0,
        0,
    ]
    refused("the metric used now has 3 grades, the log 4", audit, log, DCG([0, 1, 2], [1, 0.5]))
    refused("only a DCG whose best grade", audit, log, DCG([1, 1, 1, 1], [1, 0.5]))
    refused("the log has one grade only", audit, [[[0, 0], [0, -2]]] * 40)


def test_the_command_writes_a_page_and_says_its_sentences(here, dcglearn):
    judged(18).save(here / "log.jsonl")
    FLAT.save(here / "flat.json")
    command = ("audit", "log.jsonl", "--metric", "flat.json", "-o", "audit.html")
    status, out, err = dcglearn(*command)
    assert (status, err) == (0, "winners: a (18)\nwrote: audit.html\n")
    assert out.startswith(
        "Audit of flat.json\n"
        "  verdict: judge more before you change flat.json: how far people follow it is "
        "not known\n"
    )
    assert "\n  log: 18 pairs; 4 positions, 4 grades: " in out
    text = (here / "audit.html").read_text()
    assert "dcglearn audit log.jsonl --metric flat.json -o audit.html" in text
    assert dcglearn(*command)[0] == 2
    assert dcglearn("audit", "log.jsonl", "-o", "audit.json")[0] == 0
    values = json.loads((here / "audit.json").read_text())
    assert values["title"].startswith("Audit of exponential-log2@4")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.jsonl"], "none.jsonl does not exist"),
        (["log.jsonl", "--metric", "best"], "best"),
        (["log.json", "-o", "log.json", "--force"], "log.json is named twice; give each output"),
        (["log.jsonl", "--run", "a.txt", "--run", "b.txt"], "--run and --qrels go together"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_a_line(here, dcglearn, words, message):
    for name in ("log.jsonl", "log.json"):
        judged(40).save(here / name)
    status, _, err = dcglearn("audit", *words)
    assert status == 2 and message in err and err.count("\n") == 1


def test_remarks_on_a_log_are_on_the_page_unless_they_name_raters():
    log = judged(240, rater=np.tile(["ann", "bob", "cy"], 80))
    lines = [
        {**line, "winner": "ab"[(i // 3) % 2 if line["rater"] != "cy" else 0]}
        for i, line in enumerate(log.to_polars().to_dicts())
    ]
    told = read_preferences(lines, as_is=True)
    (remark,) = told.recognised.notes
    assert "'cy'" in remark and remark in audit(told, FLAT)["log"].sentence
    assert "'cy'" not in str(audit(told, FLAT, anonymous=True).to_dict())


def test_raters_who_contradict_the_others_are_warned_of_once():
    log = judged(240, rater=np.tile(["ann", "bob", "cy"], 80))
    flip = (log.rater == "cy")[:, None]
    sides = np.where(flip, log.other, log.preferred), np.where(flip, log.preferred, log.other)
    with pytest.warns(UserWarning, match="contradict the others") as warned:
        told = audit(log.changed(preferred=sides[0], other=sides[1]), FLAT)
    assert sum("contradict the others" in str(one.message) for one in warned) == 1
    assert "contradict the others more often than not: cy" in " ".join(told["log"].notes)

    # what would tell more is said
    (ask,) = told["next"].notes
    assert ask.startswith("add the column swapped") and "can say more" not in str(told)
