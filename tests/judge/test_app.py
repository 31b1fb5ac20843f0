"""The server: what it answers, whom it refuses, and that everything acknowledged is on the disk."""

import json
import logging
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from contextlib import closing

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the judging page needs the extra `judge`")
pytest.importorskip("httpx", reason="Starlette's test client needs httpx")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # newer versions of Starlette prefer another client
    from starlette.testclient import TestClient

from dcglearn.audits.section import Section
from dcglearn.foundation.markup import rendered
from dcglearn.judge import verdict_log
from dcglearn.judge.progress import _growing
from dcglearn.judge.server import MOST_BODY, Access, allowed_hosts, judging_app
from dcglearn.judge.study import Rules, Study
from dcglearn.readers.read_log import read_preferences
from tests.judge.makers import TRUTH, answer, candidates, lines

HOST = "127.0.0.1:8765"
TOKEN, OWNER = "0123456789abcdef0123", "fedcba9876543210fedc"


class Page:
    """A rater's page: what the script does, without a browser."""

    def __init__(self, client, rater="ann", tab="tab"):
        self.client, self.who = client, {"rater": rater, "tab": tab}
        self.queue, self.done, self.progress, self.n = [], "", None, 0
        self.take(self.post("/api/next", holding=[]))

    def post(self, path, **body):
        return self.client.post(path, json={**self.who, **body})

    def take(self, response):
        assert response.status_code == 200, response.text
        found = response.json()
        self.queue += found["pairs"]
        self.done, self.progress = found["done"], found["progress"]
        return found

    def judge(self, choice="left", **more):
        pair = self.queue.pop(0)
        self.n += 1
        sent = {
            **answer(pair, choice, **more),
            "id": f"{self.who['rater']}-{self.who['tab']}-{self.n:06}",
        }
        self.take(
            self.post(
                "/api/verdicts", verdicts=[sent], holding=[pair["pair"] for pair in self.queue]
            )
        )
        return pair, sent


@pytest.fixture
def study(tmp_path):
    with closing(Study(candidates(), tmp_path / "verdicts.jsonl", Rules(seed=0))) as study:
        yield study


def client_of(study, token=TOKEN, owner=OWNER):
    client = TestClient(
        judging_app(study, Access(allowed_hosts(8765), TOKEN, OWNER)), base_url=f"http://{HOST}"
    )
    for name, value in (("judge", token), ("owner", owner)):
        if value:
            client.cookies.set(f"dcglearn_{name}_8765", value)
    return client


@pytest.fixture
def client(study):
    return client_of(study)


def test_verdicts_reach_the_disk_and_the_learner(client, study):
    page = Page(client)
    for choice in ("left", "right", "both good", "both bad", "skip"):
        page.judge(choice, note="why" if choice == "left" else "")
    written = lines(study.log.path)
    sides = [line["shown_left"] for line in written[:2]]
    assert [line["winner"] for line in written] == [
        sides[0],
        "ab"[sides[1] == "a"],
        "tie",
        "tie",
        "open",
    ]
    assert [line["tie"] for line in written] == [None, None, "both good", "both bad", None]
    assert (written[0]["note"], written[1]["note"], written[0]["seconds"]) == ("why", None, 1.5)
    assert written[0]["time"][:2] == "20" and written[0]["time"].endswith("+00:00")
    counts = {"judged": 4, "skipped": 1, "all": 4, "goal": None}
    assert {name: page.progress[name] for name in counts} == counts
    log, live = read_preferences(study.log.path, n_grades=5), study.preferences()
    for name in ("preferred", "other", "tie", "strength", "rater", "query", "swapped"):
        assert np.array_equal(getattr(log, name), getattr(live, name)), name


def test_a_pair_is_shown_without_grades_systems_or_order(client):
    pair = Page(client).queue[0]
    assert set(pair) == {"pair", "query", "intent", "left", "right", "shown_left"}
    assert set(pair["left"]) == {"items"}
    assert set(pair["left"]["items"][0]) == {"title", "snippet", "url"}


def test_left_and_right_are_drawn(client):
    page = Page(client)
    sides = [page.judge()[0]["shown_left"] for _ in range(20)]
    assert 3 < sides.count("a") < 17


def test_sending_twice_counts_once(client, study):
    page = Page(client)
    _, sent = page.judge()
    again = page.post("/api/verdicts", verdicts=[sent, sent], holding=[])
    assert again.json()["saved"] == [sent["id"]] * 2
    assert len(lines(study.log.path)) == 1


def test_undo_supersedes_and_offers_the_pair_again(client, study):
    page = Page(client)
    page.judge()
    pair, sent = page.judge("right")
    undo = {**answer(pair, "undo"), "id": "undo-000001", "supersedes": sent["id"]}
    page.queue = []
    page.take(page.post("/api/verdicts", verdicts=[undo], holding=[]))
    assert page.queue[0]["pair"] == pair["pair"]
    assert page.progress["judged"] == 1
    assert lines(study.log.path)[-1]["supersedes"] == sent["id"]
    assert len(read_preferences(study.log.path)) == 1
    page.judge("both good")
    assert read_preferences(study.log.path).tie.tolist() == [False, True]


def test_a_verdict_and_its_undo_may_come_together(client, study):
    page = Page(client)
    pair = page.queue[0]
    sent = answer(pair, number=1)
    undo = answer(pair, "undo", number=2, supersedes=sent["id"])
    saved = page.post("/api/verdicts", verdicts=[sent, undo], holding=[]).json()["saved"]
    assert saved == [sent["id"], undo["id"]]
    assert study.preferences() is None


def test_a_restart_continues(client, study, tmp_path):
    page = Page(client)
    judged = {page.judge()[0]["pair"] for _ in range(5)}
    study.close()
    with closing(Study(candidates(), study.log.path)) as again:
        page = Page(client_of(again), tab="later")
        assert page.progress["judged"] == 5
        while page.queue:
            pair, _ = page.judge()
            assert pair["pair"] not in judged
            judged.add(pair["pair"])
        assert judged == set(again.candidates.index) and "Every pair is judged" in page.done


def test_the_export_is_what_the_command_learns(client, study, dcglearn, tmp_path, learning):
    page = Page(client)
    assert client.get("/export/dcg.png").status_code == 409
    for _ in range(24):
        pair = study.candidates.pairs[study.candidates.index[page.queue[0]["pair"]]]
        better = "a" if TRUTH.score(pair.a) > TRUTH.score(pair.b) else "b"
        page.judge("left" if page.queue[0]["shown_left"] == better else "right")
    out = tmp_path / "dcg.json"
    assert dcglearn("learn", study.log.path, "-o", out)[0] == 0
    assert client.get("/export/dcg.json").content == out.read_bytes()
    assert client.get("/export/verdicts.jsonl").content == study.log.path.read_bytes()
    assert study.learned.wait()
    assert client.get("/export/dcg.png").content.startswith(b"\x89PNG")
    found = client.get("/api/progress").json()
    assert (found["verdicts"], found["bands_from"], found["trouble"]) == (24, 24, "")
    assert found["widest"] > 0 and found["beats_coin"] and found["goal"][0] >= 24
    assert found["sentences"][0] == f"The widest 90% band is {found['widest']:.2f} wide."
    learned = json.loads(out.read_text())
    for picture in found["pictures"][:2]:
        (drawn,) = picture["lines"].items()
        assert drawn == ("after 24 verdicts", learned[picture["title"]])
        outer, inner = picture["bands"]
        assert outer == "90% bands by pair, all at once (outer)" and inner.endswith("(inner)")
        at_once, each = map(np.array, picture["bands"].values())
        assert (at_once[0] <= each[0]).all() and (at_once[1] >= each[1]).all()


def test_the_page_of_progress_draws_what_it_says_without_markup_of_names(client, study, learning):
    page = Page(client, rater="<b>ann</b>")
    for number, choice in enumerate(("left", "right", "skip", "both good")):
        sent = [answer(page.queue.pop(0), choice, number)]
        holding = [pair["pair"] for pair in page.queue]
        page.take(page.post("/api/verdicts", verdicts=sent, holding=holding))
    assert study.learned.wait()
    found = client.get("/api/progress").json()
    assert found["count"] == "3 verdicts, 1 tie among them; 1 skipped"
    assert 'aria-label="gains, by grade, worst to best; after 3 verdicts: 0 0, 1 ' in found["html"]
    assert "&lt;b&gt;ann&lt;/b&gt;" in found["html"] and "<b>" not in found["html"]
    assert "style=" not in found["html"]  # the policy of the server allows none
    (rater,) = found["tables"]["Raters"][1:]
    assert rater[:4] == ["<b>ann</b>", "3", "1", "1"]


def test_shares_that_grow_are_drawn_from_nothing_to_all():
    points = [{"n": n, "share": 0.8, "low": 0.7, "high": 0.9} for n in (10, 20)]
    assert _growing("respected", "verdicts", points[:1]) == []
    html = rendered("foundation/notebook.html", drawn=_growing("a", "b", points), table="")
    marks = re.findall(r'text-anchor="(?:end|middle)">([^<]*)<', html)
    assert marks == ["0", "0.5", "1", "10", "20", "b"] and "95% intervals" in html


def test_a_full_disk_is_an_answer_and_nothing_is_half_saved(client, study, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="dcglearn.judge")
    page = Page(client)
    page.judge()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(verdict_log.os, "write", full)
    sent = answer(page.queue[0], number=9)
    response = page.post("/api/verdicts", verdicts=[sent], holding=[])
    assert response.status_code == 507
    assert "No space left on device" in response.json()["error"]
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said[0] == ("INFO", f"{study.log.path}: verdicts written: 1, in all: 1")
    assert said[-1][0] == "ERROR" and "No space left on device" in said[-1][1]
    monkeypatch.undo()
    assert page.post("/api/verdicts", verdicts=[sent], holding=[]).json()["saved"] == [sent["id"]]
    assert len(lines(study.log.path)) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pair": "unknown"}, "not among the candidates"),
        ({"pair": ["x"]}, "not among the candidates"),
        ({"choice": "best"}, "no such answer"),
        ({"choice": ["left"]}, "no such answer"),
        ({"shown_left": "c"}, "no such answer"),
        ({"id": "../x"}, "the id"),
        ({"id": 3}, "the id"),
        ({"supersedes": "verdict-000001"}, "only an undo"),
        ({"choice": "undo", "supersedes": "verdict-000001"}, "not in the log"),
        ({"choice": "undo", "supersedes": {"x": 1}}, "not in the log"),
        ({"note": ["x"]}, "note is"),
        ({"seconds": "long"}, "seconds is"),
    ],
)
def test_answers_without_meaning_are_refused_one_by_one(client, study, change, reason):
    page = Page(client)
    good = answer(page.queue[1], number=5)
    bad = {**answer(page.queue[0], number=6), **change}
    found = page.post("/api/verdicts", verdicts=[bad, good, "x"], holding=[]).json()
    assert found["saved"] == [good["id"]]
    assert reason in found["refused"][0]["reason"]
    assert len(lines(study.log.path)) == 1


def test_the_token_lets_in_once_and_then_the_cookie_does(study, caplog):
    caplog.set_level(logging.INFO, logger="dcglearn.judge")
    client = client_of(study, token=None, owner=None)
    assert client.get("/").status_code == 403
    assert client.get("/?token=wrong").status_code == 403
    said = [record.getMessage() for record in caplog.records]
    assert said == ["a request was refused with status 403"] * 2  # nothing of what a stranger sent
    first = client.get(f"/?token={TOKEN}", follow_redirects=False)
    assert first.status_code == 200
    assert (
        "SameSite=Strict" in first.headers["set-cookie"]
        and "HttpOnly" in first.headers["set-cookie"]
    )
    assert client.get("/").status_code == 200
    assert (
        client.post("/api/next?token=" + TOKEN, json={}, headers={"cookie": ""}).status_code == 403
    )


def test_what_is_learned_opens_with_the_owners_token_alone(study):
    paths = (
        "/progress",
        "/api/progress",
        "/export/verdicts.jsonl",
        "/export/dcg.json",
        "/export/dcg.png",
    )
    rater, owner = client_of(study, owner=None), client_of(study, token=None, owner=None)
    for path in paths:
        assert rater.get(path).status_code == rater.get(f"{path}?token={TOKEN}").status_code == 403
    assert owner.get(f"/progress?token={OWNER}").status_code == 200
    assert [owner.get(path).status_code for path in paths[:3]] == [200] * 3
    assert owner.get("/").status_code == 200  # who runs the study may judge
    assert "widest" not in Page(rater).progress


def test_raters_hear_nothing_of_a_machine_whose_agreement_the_owner_sees(study, tmp_path, learning):
    """A rater's answers hold the very pairs that a study without a machine shows, and no further
    field or word.
    """
    with closing(
        Study(study.candidates, tmp_path / "proxied.jsonl", Rules(seed=0), TRUTH)
    ) as proxied:
        client, said = client_of(proxied, owner=None), []
        client.event_hooks["response"].append(
            lambda response: said.append(response.read().decode())
        )
        session, page = client.get("/api/session").json(), Page(client)
        for choice in 10 * ["left", "right", "both good"]:
            page.judge(choice)
        assert (
            page.post("/api/next", holding=[], spare=20).status_code == 200
            and "Every pair is judged" in page.done
        )
        answers = [json.loads(text) for text in said[1:]]
        assert session.keys() == client_of(study).get("/api/session").json().keys()
        shown = [pair for answer in answers for pair in (*answer["pairs"], *answer["spare"])]
        assert len(shown) == 30 and all(
            p == study._shown(p["pair"], p["shown_left"] == "a") for p in shown
        )
        assert {*page.progress} == {*Page(client_of(study)).progress}
        assert {key for answer in answers for key in answer} == {
            "pairs",
            "spare",
            "done",
            "dropped",
            "progress",
            "saved",
            "refused",
        }
        assert not any(
            word in text.lower() for text in said for word in ("machine", "llm", "agree", "model")
        )
        assert proxied.learned.newest().machine.dcg == TRUTH.normalised() and proxied.learned.wait()
        owner = client_of(proxied)
        while not (curve := owner.get("/api/progress").json()["machine"]):
            time.sleep(0.1)
        assert [point["n"] for point in curve] == [10, 20] and curve[-1]["low"] < curve[-1][
            "share"
        ] < curve[-1]["high"]
        assert (
            proxied.next_command("v.jsonl", "m.jsonl")
            == "dcglearn learn v.jsonl --llm m.jsonl -o dcg.json"
        )


def test_spare_pairs_come_when_they_are_wanted(client, study):
    who = {"rater": "ann", "tab": "t", "holding": []}
    for wanted, number in ((4, 4), (99, 20), (-3, 0), ("x", 0), (None, 0), (True, 0)):
        found = client.post("/api/next", json={**who, "spare": wanted}).json()
        assert len(found["spare"]) == number
        keys = {pair["pair"] for pair in found["spare"]}
        assert len(keys) == number and not keys & {pair["pair"] for pair in found["pairs"]}
    assert (
        len(client.post("/api/next", json={**who, "rater": "bob"}).json()["pairs"]) == 3
    )  # they are not kept from others


def test_cookies_of_other_programs_do_no_harm(study):
    client = client_of(study, token=None, owner=None)
    for others in ('a b=c; "x; =; ', "x={[]}; y@z=1; "):
        assert (
            client.get("/", headers={"cookie": f"{others}dcglearn_judge_8765={TOKEN}"}).status_code
            == 200
        )
        assert (
            client.get("/", headers={"cookie": f"{others}dcglearn_judge_8764={TOKEN}"}).status_code
            == 403
        )


def test_the_command_serves_until_interrupted(tmp_path):
    pytest.importorskip("uvicorn")
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": [1, 0], "b": [0, 1]}\n')
    command = [
        "-m",
        "dcglearn",
        "judge",
        path,
        "--log",
        tmp_path / "log.jsonl",
        "--no-browser",
        "--port",
        18_765,
    ]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    server = subprocess.Popen([sys.executable, *map(str, command)], **pipes)
    owners, url = (next(server.stdout).partition(": http")[2].strip() for _ in range(2))
    owners, url = f"http{owners}", f"http{url}"
    with urllib.request.urlopen(owners) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(url) as answer:
        assert (answer.status, b"Which list is better?" in answer.read()) == (200, True)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(url.split("?")[0])
    server.send_signal(signal.SIGINT)
    _, words = server.communicate(timeout=20)
    assert (server.returncode, "0 verdicts" in words) == (0, True), words


def test_foreign_hosts_and_origins_are_refused(client):
    assert client.get("/", headers={"host": "evil.example:8765"}).status_code == 421
    assert client.get("/", headers={"host": "127.0.0.1:9999"}).status_code == 421
    body = {"rater": "ann", "tab": "t", "holding": []}
    for origin in (
        "http://evil.example",
        "null",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:9999",
    ):
        assert client.post("/api/next", json=body, headers={"origin": origin}).status_code == 403
    assert (
        client.post("/api/next", json=body, headers={"origin": f"http://{HOST}"}).status_code == 200
    )
    assert client.get("/", headers={"host": "LOCALHOST:8765"}).status_code == 200


def test_only_small_json_is_read(client):
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert (
            client.post("/api/next", content=b"{}", headers={"content-type": kind}).status_code
            == 415
        )
    kind = {"content-type": "application/json"}
    contents = [(b"{", 400), (b"[" * 100_000, 400), (b"[]", 400)]
    for content, status in [*contents, (b" " * (MOST_BODY + 1), 413), (iter([b"{}"]), 413)]:
        assert client.post("/api/next", content=content, headers=kind).status_code == status
    who = {"rater": "ann", "tab": "t"}
    for body in ({**who, "holding": "x"}, {**who, "rater": " "}, {"rater": "ann"}):
        assert client.post("/api/next", json=body).status_code == 400
    assert client.post("/api/verdicts", json={**who, "verdicts": [1] * 201}).status_code == 400


def test_nothing_but_the_page_is_served(client):
    outside = ("/../pyproject.toml", "/%2e%2e/study.py", "/page/../study.py")
    for path in ("/verdicts.jsonl", "/page.html", "/docs", *outside):
        assert client.get(path).status_code == 404
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert page.headers["referrer-policy"] == "no-referrer"
    assert "img-src 'self' data:;" in policy + ";"
    for path, kind in (
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/progress", "text/html"),
    ):
        assert client.get(path).headers["content-type"].startswith(kind)
    assert "http" not in page.text.lower().replace("http-equiv", "")


def test_the_page_has_the_style_of_all_pages(client):
    style = client.get("/page.css").text
    shared = rendered("foundation/style.css")
    assert "prefers-color-scheme: dark" in shared and "--accent:" in shared
    assert style.startswith(shared) and style.count("--accent:") == shared.count("--accent:")
    assert shared in rendered("foundation/page.html", title="", finding=Section("found"))


def test_a_log_changed_by_hand_is_noticed_on_the_page(client, study):
    page = Page(client)
    for _ in range(2):
        page.judge()
    first, _ = lines(study.log.path)
    study.log.path.write_text(json.dumps(first) + "\n")
    page.judge()
    assert (page.progress["judged"], page.progress["changes"]) == (2, 1)
    study.log.path.write_text("nonsense\n")
    sent = answer(page.queue[0], number=3)
    response = page.post("/api/verdicts", verdicts=[sent], holding=[])
    assert response.status_code == 507
    assert "changed by another program" in response.json()["error"]
