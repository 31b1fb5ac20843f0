"""The page of an audit in a real browser: nothing runs that names smuggle in, nobody is shut out,
nothing sticks out.

`make browser` runs these tests; see ``tests/judge/test_page_in_browser.py`` for what they need.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from dcglearn.audits.audit import audit
from dcglearn.reading.read import read_preferences
from tests.audits.makers import judged
from tests.browsers import IN_BROWSER, chromium
from tests.makers import noisy_runs

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "audit"
SMUGGLED = '"><img src=x onerror="window.smuggled=1"><script>window.smuggled=1</script>'

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of the example log, with runs; and one whose raters, queries, runs and documents are
    called tags.
    """
    folder = tmp_path_factory.mktemp("audits")
    judgements, runs = noisy_runs({"old": 1.0, "new": 0.7, "third": 1.2}, 30, 12)
    log = read_preferences(ROOT / "examples" / "side_by_side.jsonl")
    settings = {"runs": runs, "judgements": judgements}
    months = np.array([f"2026-{1 + i // 100:02}-15" for i in range(len(log))])
    audit(log.changed(time=months), **settings, command="dcglearn audit").save(
        folder / "example.html"
    )
    qrels = {f"{SMUGGLED}{i}": {f"{SMUGGLED}{g}": g for g in range(3)} for i in range(4)}
    named = {
        f"{SMUGGLED} {k}": {
            q: {d: (-1.0) ** k * g for d, g in docs.items()} for q, docs in qrels.items()
        }
        for k in (0, 1)
    }
    labels = {
        name: np.array([f"{SMUGGLED} {name} {i % 2}" for i in range(60)])
        for name in ("rater", "query", "time")
    }
    audit(judged(60, **labels), judgements=qrels, runs=named, command=SMUGGLED).save(
        folder / "smuggled.html"
    )
    return folder


def opened(browser, path, width=1200, **settings):
    page = browser.new_context(
        viewport={"width": width, "height": 900}, offline=True, **settings
    ).new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on(
        "console",
        lambda message: page.errors.append(message.text) if message.type == "error" else None,
    )
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    return page


def test_names_that_are_markup_are_shown_and_do_nothing(browser, made):
    page = opened(browser, made / "smuggled.html")
    assert page.evaluate("window.smuggled") is None and page.errors == []
    assert page.locator("script, img, iframe").count() == 0
    assert page.get_by_text(SMUGGLED).count() > 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(
    not importlib.util.find_spec("axe_playwright_python"), reason="needs axe-core: make browser"
)
def test_no_barrier_that_axe_knows(browser, made, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(browser, made / "example.html", color_scheme=scheme)
    page.context.set_offline(False)
    found = Axe().run(page).response["violations"]
    assert [
        (one["id"], one["nodes"][0]["html"])
        for one in found
        if one["impact"] in ("serious", "critical")
    ] == []


def test_wide_narrow_and_on_paper(browser, made):
    PICTURES.mkdir(parents=True, exist_ok=True)
    for width, scheme in ((1200, "light"), (390, "light"), (390, "dark")):
        page = opened(browser, made / "example.html", width, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("svg").count() > 6
        page.screenshot(path=PICTURES / f"{width}-{scheme}.png", full_page=True)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false })")
        page.screenshot(path=PICTURES / f"closed-{width}-{scheme}.png", full_page=True)
    wide = opened(browser, made / "example.html")
    wide.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false })")
    wide.screenshot(
        path=PICTURES / "audit.png",
        clip={"x": 130, "y": 0, "width": 940, "height": 1560},
        full_page=True,
    )
    wide.emulate_media(media="print")
    wide.set_viewport_size({"width": 690, "height": 1000})
    wide.screenshot(path=PICTURES / "paper.png", full_page=True)
    page.pdf(path=PICTURES / "audit.pdf", format="A4")
    assert (PICTURES / "audit.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_stay_within_their_pictures(browser, width, tmp_path):
    names = [f"a grade with a name of some length, number {grade}" for grade in range(4)]
    raters = [f"annotator-with-a-long-name-{rater:04}@vendor.example.org" for rater in range(4)]
    run = "bm25_k1=0.9_b=0.4__rm3_10_terms__monot5_large_rerank_top1000_v"
    judgements, runs = noisy_runs({f"{run}1": 1.0, f"{run}2": 0.7, f"{run}3": 1.2}, 12, 6)
    log = judged(80, grade_names=names, rater=np.tile(raters, 20))
    audit(log, runs=runs, judgements=judgements).save(tmp_path / "long.html")
    page = opened(browser, tmp_path / "long.html", width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = """() => [...document.querySelectorAll("svg text")].filter((text) => {
        const [own, all] = [text, text.ownerSVGElement].map((one) => one.getBoundingClientRect())
        return own.left < all.left - 1 || own.right > all.right + 1
    }).map((text) => text.textContent)"""
    assert page.evaluate(beyond) == []
