"""The built site in a real browser: its search finds what people type, its code is not cut, the
first page's picture answers and asks nobody.

`make browser` builds the site and runs these tests; see ``tests/judge/test_page_in_browser.py`` for
what they need.
"""

from pathlib import Path

import pytest

from tests.browsers import IN_BROWSER, chromium

SITE = Path(__file__).parents[1] / "build" / "site"
PICTURES = SITE.parent / "first_page"

pytestmark = IN_BROWSER

SEARCHES = {
    "quickstart": "tutorials/dcg_by_lunch",
    "how many judgements": "tutorials/dcg_by_lunch",
    "LLM judge": "tutorials/machine_judges",
    "LLM as a judge": "tutorials/machine_judges",
    "thumbs": "which_judge",
    "which judge can I trust": "which_judge",
    "my grades are stars": "logs",
    "google forms": "logs",
    "excel": "logs",
    "clicks": "recipes",
    "interleaving": "recipes",
    "label studio": "recipes",
    "RAG": "recipes",
    "annotation tool": "judging",
    "dask": "scale",
    "audit my metric": "audit",
    "sign test": "two_runs",
    "significance test": "evaluation",
    "unjudged documents": "evaluation",
    "nDCG by hand": "is_my_ndcg_right",
    "why is my ndcg different": "is_my_ndcg_right",
    "MRR": "metrics",
    "average precision": "metrics",
    "calibration": "people",
    "github actions": "gate",
    "deploy": "gate",
    "metric disagreement": "coherence",
    "leaderboard": "coherence",
    "elasticsearch": "exports",
    "quepid": "exports",
    "LambdaMART": "rankers",
    "learning to rank": "rankers",
    "GridSearchCV": "in_your_stack",
    "pytorch": "in_your_stack",
    "listwise loss": "losses",
    "cohen kappa": "learner",
    "position bias": "learner",
    "confidence intervals": "bands",
    "noise ceiling": "what_a_log_can_tell",
    "sample size": "claims",
}
"""What people type, and the page that should come first."""


@pytest.fixture(scope="module")
def browser():
    with chromium("--allow-file-access-from-files") as browser:
        yield browser


def opened(browser, page, width=1280, **options):
    shown = browser.new_page(viewport={"width": width, "height": 800}, **options)
    asked = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto((SITE / page).as_uri())
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    return shown


def test_the_right_page_comes_first(browser):
    assert len(SEARCHES) >= 40
    page = opened(browser, "search.html")
    page.wait_for_function("Search.hasIndex()")
    first = {
        words: page.evaluate(
            "words => (Search._performSearch(...Search._parseQuery(words)).at(-1) ?? [])[0]", words
        )
        for words in SEARCHES
    }
    print(*(f"{words}: {name}" for words, name in first.items()), sep="\n")
    assert first == SEARCHES
    page.close()


def test_words_for_the_search_name_pages_that_are_there(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE.parents[1] / "docs" / "_extensions"))
    from search_words import WORDS

    assert [name for name in WORDS if not (SITE / f"{name}.html").exists()] == []
    words = [word for line in WORDS.values() for word in line.split("; ")]
    assert len(words) == len({*words}) and all(words)


def test_no_code_is_cut(browser):
    page = opened(browser, "index.html")
    cut = {}
    for path in sorted(SITE.rglob("*.html")):
        page.goto(path.as_uri())
        found = page.evaluate(
            "[...document.querySelectorAll('.bd-article pre')]"
            ".filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1)"
            ".map(e => e.textContent.slice(0, 80))"
        )
        if found or page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            cut[path.name] = found
    assert cut == {}
    page.close()


def test_code_of_88_characters_has_one_line(browser):
    page = opened(browser, "in_your_stack.html")
    lines = page.evaluate(
        """() => {
            const pre = document.querySelector('.bd-article pre');
            pre.textContent = 'x'.repeat(88);
            return pre.clientHeight / parseFloat(getComputedStyle(pre).lineHeight);
        }"""
    )
    assert lines < 3.5  # with the padding, of which there is less than two lines
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_page_answers(browser, width, scheme):
    page = opened(browser, "index.html", width, color_scheme=scheme)
    PICTURES.mkdir(exist_ok=True)

    def told():
        tops = [row["y"] for row in (row.bounding_box() for row in lists)]
        return page.locator(".turn figcaption").inner_text(), tops[0] < tops[1]

    # log2 puts the other list ahead
    lists = page.locator(".turn-list").all()
    page.wait_for_timeout(600)
    words, is_first = told()
    assert "although the rater preferred list A" in words and not is_first
    page.screenshot(path=PICTURES / f"{width}-{scheme}.png", full_page=True)

    # the learned discounts put it right, by the keyboard
    page.locator(".turn input").focus()
    page.keyboard.press("End")
    page.wait_for_timeout(600)
    words, is_first = told()
    assert "as the rater said" in words and is_first
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".turn").screenshot(path=PICTURES / f"{width}-{scheme}-learned.png")
    page.close()


def test_the_first_page_tells_the_same_without_script(browser):
    page = opened(browser, "index.html", java_script_enabled=False)
    assert page.locator(".turn input").is_hidden()
    assert "list A" in page.locator(".turn figcaption").inner_text()
    first, second = (row.bounding_box()["y"] for row in page.locator(".turn-list").all())
    assert first < second
    page.close()
