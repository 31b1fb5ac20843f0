"""The judging page in a real browser: from the disk, with the network off, with a store that is
blocked or full, in two tabs, by two raters, with texts that would be code, on narrow screens.

`make browser` runs these tests. They need Chromium (``/usr/bin/chromium``, or the path in CHROMIUM)
and playwright, and the test of accessibility needs axe-core, which axe-playwright-python ships.
"""

import functools
import http.server
import importlib.util
import json
import threading
from pathlib import Path

import numpy as np
import pytest

from dcglearn.judge.candidates import known_pairs, read_candidates
from dcglearn.judge.pages import asked_by_page, page_of
from dcglearn.reading.read import read_preferences
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
    """Write a page of few pairs, without practice unless asked for, and return its path."""

    def write(pairs=None, name="page", practice=False, checks=0.0):
        pairs = pairs or candidates(6)
        n = len(pairs)
        (asked,) = asked_by_page(pairs, np.arange(n), [1] * n, checks=checks, random_state=1)
        asked = [one for one in asked if practice or one.known != "practice"]
        path = tmp_path / f"{name}.html"
        path.write_bytes(page_of(pairs, asked, name))
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
    assert dcglearn("ask", EXAMPLE, "-o", path, "--checks", 0)[0] == 0
    page = enter(context, path)
    assert words(page, "#kind").startswith("Practice")
    give(page, "fff" + "fjgfjfjf")
    before = page.evaluate(SHOWN)
    page.reload()
    page.wait_for_selector("#left li")
    assert page.evaluate(SHOWN) == before
    assert words(page, "#count") == "ann · 8 of 20 judged"
    give(page, "bsu")
    give(page, "fjf")
    assert words(page, "#count") == "ann · 12 of 20 judged"
    assert words(page) == "Kept in this browser, 17 to hand over"
    log = handed(page, tmp_path)
    assert log.name == "verdicts-page-ann.jsonl"
    assert words(page) == "All handed over"
    assert context.requested == [path.as_uri()] * 2 and page.faults == []

    # learn, convert and the next page take it
    assert [line["winner"] for line in lines(log)].count("open") == 3 + 2
    judged = read_preferences(log)
    assert len(judged) == 12 and judged.tie.sum() == 2
    assert dcglearn("convert", log, "-o", tmp_path / "all.jsonl")[0] == 0
    dcg = tmp_path / "dcg.json"
    learn = ("learn", tmp_path / "all.jsonl", "--grades", 4, "--bands", 0)
    assert dcglearn(*learn, "-o", dcg)[0] == 0
    assert len(json.loads(dcg.read_text())["gains"]) == 4
    further = tmp_path / "next.html"
    assert dcglearn("ask", EXAMPLE, "--log", log, "-o", further)[0] == 0


def test_lines_are_those_of_a_log(context, written, tmp_path):
    item = {"title": "\u2028 t", "url": "javascript:alert(1)"}
    given = [
        {
            **{"query": f"q {i}", "a": [2, i % 2], "b": [0, 1], "items_b": ["two", None]},
            **{"items_a": [item, {"title": "b", "url": "https://example.org"}]},
            "scale": ["bad", "fair", "good"],
        }
        for i in range(12)
    ]
    pairs = read_candidates(write_lines(tmp_path / "pairs.jsonl", given))
    page = enter(context, written(pairs, practice=True, checks=0.5))
    keys = "fjgbsfujfjgf"
    for number, key in enumerate(keys):
        if number == 3:
            page.keyboard.press("n")
            page.keyboard.type("why")
            page.keyboard.press("Escape")
        give(page, key)
    own = lines(handed(page, tmp_path))

    # the answers in the browser, and the pairs that they are about
    answers = page.evaluate(
        """() => Object.keys(localStorage).filter((key) => key.includes(".answer.")).sort()
             .map((key) => JSON.parse(localStorage[key]))"""
    )
    asked = {pair.key: pair for pair in (*pairs.pairs, *known_pairs(pairs))}
    assert len(own) == len(answers) == len(keys)
    for line, answer in zip(own, answers, strict=True):
        pair, left, choice = asked[answer["pair"]], answer["shown_left"], answer["choice"]
        sides = {"left": left, "right": "ba"["ab".index(left)]}
        winner = sides.get(choice, "tie" if choice.startswith("both") else "open")
        known = line["check"] is not None
        if known:
            assert line["check"].split()[1] == ("right" if winner == "a" else "wrong")
        assert line == {
            **{"id": answer["id"], "query": pair.query, "a": [*pair.a], "b": [*pair.b]},
            **{"items_a": [*pair.items_a], "items_b": [*pair.items_b]},
            "winner": "open" if known else winner,
            "tie": choice if winner == "tie" and not known else None,
            **{"shown_left": left, "rater": "ann", "time": answer["time"]},
            **{"seconds": answer.get("seconds"), "note": answer.get("note") or None},
            **{"supersedes": answer.get("supersedes"), "check": line["check"]},
            "scale": ["bad", "fair", "good"],
        }
    assert {line["check"] and line["check"].split()[0] for line in own} == {
        *(None, "practice", "check")
    }
    assert [line["note"] for line in own].count("why") == 1
    assert read_preferences(own).grade_names == ("bad", "fair", "good")


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
    options = "--seed", 1, "--checks", 0
    assert dcglearn("ask", tmp_path / "hostile.jsonl", "-o", path, *options)[0] == 0
    page = enter(context, path, "</script><img src=x onerror='window.hit=1'>")
    seen, n_practice = set(), 3
    give(page, "f" * n_practice)
    for _ in HOSTILE:
        seen.add(page.text_content("#query"))
        links = page.eval_on_selector_all("a.title", "all => all.map((a) => a.protocol)")
        assert set(links) <= {"https:"}
        page.keyboard.press("f")
    assert seen == {*HOSTILE}
    log = handed(page, tmp_path)
    assert {line["query"] for line in lines(log)} == {*HOSTILE}
    assert len(log.read_text().splitlines()) == len(log.read_bytes().split(b"\n")) - 1 == 7
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
    dcglearn("ask", EXAMPLE, "-o", path)
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
    path.with_name("page").write_bytes(path.read_bytes())  # as hosts that hide suffixes

    class Host(http.server.SimpleHTTPRequestHandler):
        extensions_map = dict.fromkeys(("", ".html"), "text/html; charset=iso-8859-1")  # wrong
        log_message = print

    handler = functools.partial(Host, directory=path.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{host.server_port}"
        for address in (f"{at}/page.html?x=1#y", f"{at}/page", f"{path.as_uri()}?x=1#y"):
            context = browser.new_context()
            page = context.new_page()
            page.goto(address)
            named(page, "ann")
            give(page, "fjgbsf")
            assert "Every pair of this page is judged" in words(page, "#empty")
            assert len(lines(handed(page, tmp_path))) == 6
            context.close()
        host.shutdown()


def test_a_verdict_and_an_undo_are_confirmed_for_a_second(context, written):
    page = enter(context, written())
    for key, said in (
        ("f", "Left is better · undo with U"),
        ("u", "Undone: judge this pair again"),
        ("s", "Skipped"),
    ):
        page.keyboard.press(key)
        page.wait_for_selector("#said.shown")
        assert page.text_content("#said").startswith(said)
        page.wait_for_selector("#said:not(.shown)", state="attached", timeout=3000)
    give(page, "uu")
    page.wait_for_function(
        "() => document.querySelector('#said').innerText.includes('no verdict to undo')"
    )


def test_practice_tells_the_answer_and_does_not_count(context, written):
    page = enter(context, written(practice=True))
    for _ in range(3):
        assert page.is_visible("#kind")
        give(page, "f")
        assert "with the best first" in page.text_content("#said")
    assert not page.is_visible("#kind")
    give(page, "f")
    assert words(page, "#count") == "ann · 1 of 6 judged"


def test_help_and_notes_by_keyboard(context, written, tmp_path):
    page = enter(context, written())
    page.keyboard.press("?")
    page.wait_for_selector("#help[open]")
    picture(page, "keys")
    # A dialog's close event may come after the next keys: the note is kept without it.
    page.evaluate("document.addEventListener('close', (event) => event.stopPropagation(), true)")
    for key in ("f", "Escape", "n"):  # the first gives no verdict while a dialog is open
        page.keyboard.press(key)
    page.keyboard.type("fj: why")
    for key in ("Escape", "j"):
        page.keyboard.press(key)
    (line,) = lines(handed(page, tmp_path))
    assert line["note"] == "fj: why"
    assert line["winner"] == ("b" if line["shown_left"] == "a" else "a")


def test_a_double_click_gives_one_verdict(context, written):
    page = enter(context, written())
    page.dblclick("button[data-choice=left]")
    assert words(page, "#count") == "ann · 1 of 6 judged"


def test_screen_readers_are_told(context, written):
    page = enter(context, written())
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("f")
    assert words(page, "#live") == "Left is better. Next pair."
    order = []
    for _ in range(40):
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                "document.activeElement.dataset.choice || document.activeElement.className"
            )
        )
        if order[-1] == "help":
            break
    choices = [name for name in order if name not in ("title", "")]
    assert choices == ["left", "both good", "both bad", "right", "skip", "undo", "note", "help"]
    assert order[:10] == ["title"] * 10


def test_a_narrow_screen_has_large_buttons(browser, written):
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, color_scheme="dark", has_touch=True, is_mobile=True
    )
    page = enter(context, written())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (
        min(page.query_selector(side).bounding_box()["width"] for side in ("#left", "#right")) > 130
    )
    for box in (button.bounding_box() for button in page.query_selector_all("#verdicts button")):
        assert box["height"] >= 44 and box["width"] >= 44 and box["y"] + box["height"] <= 800
    assert page.query_selector("#verdicts").bounding_box()["height"] <= 0.12 * 800
    assert not any(key.is_visible() for key in page.query_selector_all("kbd"))
    targets = [
        target
        for target in page.query_selector_all("#judging button, #judging a")
        if target.is_visible()
    ]
    assert min(target.bounding_box()["height"] for target in targets) >= 44 and len(targets) > 10
    page.tap("button[data-choice=right]")
    assert words(page, "#count") == "ann · 1 of 6 judged"
    context.close()


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
