"""Pages for raters without a server, in a real browser: from the disk, with the network off, with
a store that is blocked or full, in two tabs, by two raters, with texts that would be code.

`make browser` runs these tests; see ``test_browser.py`` for what they need.
"""

import functools
import http.server
import importlib.util
import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from dcglearn.judge.candidates import read_candidates
from dcglearn.judge.exported import asked_by_file, page_of
from dcglearn.judge.study import Rules, Study
from dcglearn.judge.verdict_log import FIELDS
from dcglearn.readers.read_log import read_preferences
from tests.browsers import IN_BROWSER, chromium
from tests.judge.makers import candidates, lines
from tests.makers import write_lines

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "lists_to_judge.jsonl"
PICTURES = ROOT / "build" / "judge"
SHOWN = "[document.querySelector('#query').textContent, document.querySelector('#lists').innerText]"

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def context(browser):
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_offline(True)
    context.requested = []
    context.on("request", lambda request: context.requested.append(request.url))
    yield context
    context.close()


@pytest.fixture
def written(tmp_path):
    """Write a page of few pairs, and return its path."""

    def write(pairs=None, name="page", **rules):
        rules = {"seed": 1, **rules}
        study = Study(pairs or candidates(6), tmp_path / "none.jsonl", Rules(**rules))
        with closing(study):
            path = tmp_path / f"{name}.html"
            path.write_bytes(page_of(study, asked_by_file(study, 1)[0], name))
        return path

    return write


def opened(context, path, script=None):
    """Return a new tab with the page, and what went wrong in it."""
    page = context.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text))
    if script:
        page.add_init_script(script)
    page.goto(path.as_uri())
    return page


def enter(context, path, name="ann", script=None):
    page = opened(context, path, script)
    named(page, name)
    return page


def named(page, name):
    page.wait_for_selector("#start[open]")
    page.fill("#name", name)
    page.keyboard.press("Enter")
    began = "name => document.querySelector('#count').textContent.startsWith(`${name} ·`)"
    page.wait_for_function(began, arg=name.replace("\u0007", ""))


def give(page, keys):
    for key in keys:
        page.keyboard.press(key)


def handed(page, folder, which=0):
    """Return the file that the page hands over, saved in a folder."""
    page.click("#hand")
    with page.expect_download() as download:
        page.locator("#hand-files a").nth(which).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    page.keyboard.press("Escape")
    return path


def words(page, where="#saved"):
    return page.inner_text(where)


def picture(page, name):
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / f"{name}.png")


def test_a_page_from_the_disk_survives_a_reload_and_hands_its_verdicts_over(
    context, dcglearn, tmp_path
):
    path = tmp_path / "page.html"
    assert dcglearn("judge", EXAMPLE, "--export", path, "--seed", 1)[0] == 0
    page = enter(context, path)
    assert words(page, "#kind").startswith("Practice")
    give(page, "fff" + "fjg")
    before = page.evaluate(SHOWN)
    page.reload()
    page.wait_for_selector("#left li")
    assert page.evaluate(SHOWN) == before
    assert words(page, "#count") == "ann · 3 of 240 judged"
    give(page, "bsu")
    page.keyboard.press("f")
    assert words(page) == "Kept in this browser, 10 to hand over"
    log = handed(page, tmp_path)
    assert log.name == "verdicts-page-ann.jsonl"
    assert words(page) == "All handed over"
    assert context.requested == [path.as_uri()] * 2 and page.faults == []

    # learn, convert and the server's log take it
    assert [line["winner"] for line in lines(log)].count("open") == 3 + 2
    judged = read_preferences(log)
    assert len(judged) == 5 and judged.tie.sum() == 2
    assert dcglearn("convert", log)[0] == 0
    with closing(Study(read_candidates(EXAMPLE), log, Rules(practice=True))) as study:
        assert study.n_verdicts == 5
        assert len(study._done["ann"]) == 8
        assert {v["check"].split()[0] for v in study.checks} == {"practice"}


def test_lines_are_those_of_the_server(context, written, tmp_path):
    item = {"title": "\u2028 t", "url": "javascript:alert(1)", "image": "https://x.example/i.png"}
    given = [
        {
            **{"query": f"q {i}", "a": [2, i % 2], "b": [0, 1], "items_b": ["two", None]},
            **{"items_a": [item, {"title": "b", "url": "https://example.org"}]},
        }
        for i in range(12)
    ]
    pairs = read_candidates(write_lines(tmp_path / "pairs.jsonl", given), scale="bad,fair,good")
    rules = {"practice": True, "checks": 0.5, "strengths": 3}
    page = enter(context, written(pairs, **rules))
    keys = ["f2", "j1", "g", "b", "s", "f3", "u", "j2", "f1", "j3", "g", "f2"]
    for number, key in enumerate(keys):
        if number == 3:
            page.keyboard.press("n")
            page.keyboard.type("why")
            page.keyboard.press("Escape")
        give(page, key)
    own = lines(handed(page, tmp_path))

    # the same answers, taken by the server
    answers = page.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.includes(".answer.")).sort()
             .map((key) => JSON.parse(localStorage[key]))"""
    )
    with closing(Study(pairs, tmp_path / "server.jsonl", Rules(**rules))) as study:
        saved, refused = study.save("ann", "tab", answers)
    assert len(saved) == len(own) == len(keys) and refused == []
    of_server = lines(tmp_path / "server.jsonl")
    assert list(own[0]) == list(of_server[0]) == list(FIELDS)
    assert {line["check"] and line["check"].split()[0] for line in own} == {
        *(None, "practice", "check")
    }
    for line, other in zip(own, of_server, strict=True):
        assert {**line, "time": ""} == {**other, "time": ""}
    assert page.evaluate("document.querySelectorAll('#lists img').length") == 0


def test_a_blocked_store_is_said_at_once_and_nothing_is_lost(context, written, tmp_path):
    blocked = """for (const name of ["localStorage", "sessionStorage"]) {
      const get = () => { throw new DOMException("", "SecurityError"); };
      Object.defineProperty(window, name, { get });
    }"""
    page = opened(context, written(), blocked)
    page.wait_for_selector("#start[open]")
    assert "Nothing is kept here: the browser blocks its store" in words(page, "#start-note")
    picture(page, "exported_blocked")
    named(page, "ann")
    assert "Nothing is kept" in words(page)
    give(page, "fj")
    assert words(page).startswith("2 verdicts not kept, since the browser blocks its store")
    assert page.get_attribute("#hand", "class") == "urgent"

    # closing is asked about, until the verdicts are handed over
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    page.wait_for_timeout(300)
    assert asked == ["beforeunload"]
    assert len(lines(handed(page, tmp_path))) == 2
    assert page.faults == []
    with page.expect_event("close"):
        page.close(run_before_unload=True)
    assert asked == ["beforeunload"]


FILL = """() => {
  let size = 1 << 22, n = 0;
  while (size >= 1) {
    try { localStorage.setItem(`junk${n++}`, "x".repeat(size)); } catch { size >>= 1; }
  }
}"""


def test_a_full_store_offers_the_file_and_is_written_when_there_is_room(context, written, tmp_path):
    page = enter(context, written())
    page.keyboard.press("f")
    page.evaluate(FILL)
    page.keyboard.press("j")
    page.wait_for_selector("#hand-over[open]")
    assert "1 verdict not kept, since the browser's store for this page is full" in words(page)
    assert "store for this page is full" in words(page, "#hand-store")
    assert len(words(page, "#hand-files").splitlines()) == 2
    picture(page, "exported_full")
    page.keyboard.press("Escape")
    give(page, "g")
    assert words(page).startswith("2 verdicts not kept")
    assert [line["winner"] == "tie" for line in lines(handed(page, tmp_path))] == [
        *(False, False, True)
    ]

    # once there is room, all is kept
    page.evaluate("Object.keys(localStorage).filter((k) => /^junk/.test(k)).forEach((k) => "
                  "localStorage.removeItem(k))")  # fmt: skip
    page.keyboard.press("b")
    assert words(page) == "Kept in this browser, 1 to hand over"
    page.reload()
    page.wait_for_selector("#left li")
    assert words(page, "#count") == "ann · 4 of 6 judged"
    assert page.faults == []


def test_two_tabs_do_not_overwrite_each_other(context, written, tmp_path):
    path = written()
    first, second = enter(context, path), enter(context, path)
    assert first.evaluate(SHOWN) == second.evaluate(SHOWN)
    for page, other in [(first, second), (second, first)] * 2:
        before = page.evaluate(SHOWN)
        page.keyboard.press("f")
        other.wait_for_function(f"before => String({SHOWN}) !== String(before)", arg=before)
        assert page.evaluate(SHOWN) == other.evaluate(SHOWN)
    assert words(first, "#count") == words(second, "#count") == "ann · 4 of 6 judged"

    # without the event, a second verdict on the pair is refused in words
    second.evaluate(
        "window.addEventListener('storage', (event) => event.stopImmediatePropagation(), true)"
    )
    third = opened(context, path, "window.addEventListener('storage', (event) => "
                                  "event.stopImmediatePropagation(), true)")  # fmt: skip
    named(third, "ann")
    n = third.evaluate("localStorage.length")
    first.keyboard.press("j")
    third.wait_for_function("n => localStorage.length > n", arg=n)
    third.keyboard.press("f")
    assert "Judged in another tab already" in third.text_content("#said")
    assert words(third, "#count") == "ann · 5 of 6 judged"
    third.keyboard.press("g")
    assert "Every pair of this page is judged" in words(third, "#empty")
    own = lines(handed(third, tmp_path))
    assert len(own) == len({line["id"] for line in own}) == 6
    assert [line["winner"] for line in own].count("tie") == 1
    assert len(read_preferences(tmp_path / "verdicts-page-ann.jsonl")) == 6


def test_what_another_page_clears_is_put_back(context, written, tmp_path):
    path = written()
    page = enter(context, path)
    give(page, "fj")
    other = opened(context, written(name="other"))
    other.evaluate("localStorage.clear(); localStorage.setItem('cleared', 'yes')")
    page.wait_for_function("() => localStorage.getItem('cleared')")
    page.keyboard.press("g")
    kept = "Object.keys(localStorage).filter((key) => key.includes('.answer.')).length"
    other.wait_for_function(f"() => {kept} === 3")
    page.reload()
    page.wait_for_selector("#left li")
    assert words(page, "#count").endswith("3 of 6 judged")
    assert len(lines(handed(page, tmp_path))) == 3


def test_raters_of_one_file_are_kept_apart(context, written, tmp_path):
    page = enter(context, written(), "ann")
    first = page.evaluate(SHOWN)
    give(page, "fj")
    page.click("#rater")
    assert "under the name of: ann (2)" in words(page, "#start-note")
    named(page, "ann.b/\u0007<i>")
    assert page.evaluate(SHOWN) == first
    assert words(page, "#count") == "ann.b/<i> · 0 of 6 judged"
    page.keyboard.press("u")
    assert "no verdict to undo" in page.text_content("#said")
    page.keyboard.press("g")
    other = handed(page, tmp_path)
    assert other.name == "verdicts-page-ann-b-i-.jsonl"
    assert {line["rater"] for line in lines(other)} == {"ann.b/<i>"}
    page.click("#hand")
    picture(page, "exported_two_raters")
    assert "ann: 2 answers, 2 lines to hand over" in words(page, "#hand-files")
    with page.expect_download() as download:
        page.click("#hand-files p:last-child a")
    assert download.value.suggested_filename == "verdicts-page-ann.jsonl"
    assert len(lines(Path(download.value.path()))) == 2
    page.keyboard.press("Escape")
    page.click("#rater")
    named(page, "ann")
    assert words(page, "#count") == "ann · 2 of 6 judged"
    assert words(page) == "All handed over"


def test_the_text_can_be_copied_instead(browser, written):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = enter(context, written())
    give(page, "fj")
    page.click("#hand")
    page.click("#hand-over summary")
    page.wait_for_function("() => document.querySelector('#hand-text').value !== ''")
    page.click("#hand-copy")
    page.wait_for_function("() => document.querySelector('#hand-copied').textContent === 'Copied.'")
    page.keyboard.press("Escape")
    assert words(page) == "All handed over"
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [json.loads(line)["rater"] for line in copied.splitlines()] == ["ann"] * 2
    context.close()


HOSTILE = [
    "</script><script>window.hit = 1</script>",
    "<!--<script>",
    "<img src=x onerror='window.hit = 1'>\u2028\u2029\x85",
    "{{ 1 + 1 }} ${window.hit = 1} ]]> \\u003c/script> & &lt; \U0001f600",
]


def test_texts_are_never_code(context, written, tmp_path, dcglearn):
    pairs = [
        {
            **{"query": text, "intent": text, "a": [1, 0], "b": [0, 1]},
            **{"items_a": [{"title": text, "snippet": text, "url": "javascript:hit=1"}, text]},
            **{"items_b": [{"title": text, "url": f"https://example.org/{text}"}, text]},
        }
        for text in HOSTILE
    ]  # fmt: skip
    write_lines(tmp_path / "hostile.jsonl", pairs)
    path = tmp_path / "p&<b>.html"
    script = "--raters", "</script><img src=x onerror='window.hit=1'>,bob", "--no-practice"
    assert dcglearn("judge", tmp_path / "hostile.jsonl", "--export", path, *script)[0] == 0
    page = opened(context, path)
    page.wait_for_selector("#start[open]")
    page.click("#begin")
    page.wait_for_selector("#left li")
    assert page.is_visible("#rater")
    seen = set()
    for _ in HOSTILE:
        seen.add(page.text_content("#query"))
        links = page.eval_on_selector_all("a.title", "all => all.map((a) => a.protocol)")
        assert set(links) <= {"https:"}
        page.keyboard.press("f")
    assert seen == {*HOSTILE}
    log = handed(page, tmp_path)
    assert {line["query"] for line in lines(log)} == {*HOSTILE}
    assert len(log.read_text().splitlines()) == len(log.read_bytes().split(b"\n")) - 1 == 4
    assert page.evaluate("window.hit") is None
    assert context.requested == [path.as_uri()] and page.faults == []

    # the policy stops even what would get in
    page.evaluate(
        """() => {
          const image = document.createElement("img");
          image.src = "https://example.org/x.png";
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          document.body.append(image, script);
          return fetch("https://example.org/").catch(() => {});
        }"""
    )
    assert page.evaluate("window.hit") is None
    assert sum("Content Security Policy" in fault for fault in page.faults) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_phones_and_the_dark(browser, dcglearn, tmp_path, scheme, width):
    path = tmp_path / "page.html"
    dcglearn("judge", EXAMPLE, "--export", path, "--seed", 1)
    phone = {"has_touch": True, "is_mobile": True} if width == 390 else {}
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, **phone
    )
    page = enter(context, path)
    for choice in ("left", "right", "both good", "left"):
        page.click(f"button[data-choice='{choice}']")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    picture(page, f"exported_{width}_{scheme}")
    for name in ("#rater", "#hand"):
        box = page.query_selector(name).bounding_box()
        assert box["height"] >= 44 and box["width"] >= 44
    page.click("#hand")
    page.click("#hand-over summary")
    page.wait_for_selector("#hand-copy")
    box = page.query_selector("#hand-over").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert min(b.bounding_box()["height"] for b in page.query_selector_all(
        "#hand-over button, #hand-over a, #hand-over summary")) >= 44  # fmt: skip
    picture(page, f"exported_hand_over_{width}_{scheme}")
    page.keyboard.press("Escape")
    page.click("#rater")
    named(page, "W" * 60)
    page.keyboard.press("f")
    page.click("#hand")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('#hand-over').scrollWidth") <= width
    assert page.faults == []
    context.close()


def test_any_static_host_will_do(browser, written, tmp_path):
    path = written()
    path.with_name("progress").write_bytes(path.read_bytes())  # as hosts that hide suffixes

    class Host(http.server.SimpleHTTPRequestHandler):
        extensions_map = dict.fromkeys(("", ".html"), "text/html; charset=iso-8859-1")  # wrong
        log_message = print

    handler = functools.partial(Host, directory=path.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{host.server_port}"
        for address in (f"{at}/page.html?x=1#y", f"{at}/progress", f"{path.as_uri()}?x=1#y"):
            context = browser.new_context()
            page = context.new_page()
            page.goto(address)
            named(page, "ann")
            give(page, "fjgbsf")
            assert "Every pair of this page is judged" in words(page, "#empty")
            assert len(lines(handed(page, tmp_path))) == 6
            context.close()
        host.shutdown()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser, written, scheme):
    shipped = importlib.util.find_spec("axe_playwright_python")
    if shipped is None:
        pytest.skip("axe-playwright-python, which ships axe-core, is not installed: make browser")
    (axe,) = Path(shipped.origin).parent.rglob("axe.min.js")
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)
    page = enter(context, written(practice=True))
    give(page, "fj")
    page.add_script_tag(path=axe)
    for step in ("", "#hand", "Escape", "#rater"):
        if step.startswith("#"):
            page.click(step)
        elif step:
            page.keyboard.press(step)
        found = page.evaluate("axe.run()")
        faults = [(fault["id"], fault["nodes"][0]["html"]) for fault in found["violations"]
                  if fault["impact"] in ("serious", "critical")]  # fmt: skip
        assert faults == [], step
    context.close()
