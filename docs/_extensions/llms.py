"""The site for language models: `llms.txt` lists its pages, `llms-full.txt` holds their text.

https://llmstxt.org describes both files.
"""

import re
from pathlib import Path

SUMMARY = (
    "Learn the gains and discounts of DCG from what people preferred, "
    "and know how far to trust them."
)


def sections(front):
    """Return the sentence that the front page says of each page, by section and name."""
    listed = {}
    for section, rows in re.findall(r"^## (.+)\n\n((?:- .+\n)+)", front, re.MULTILINE):
        told = re.findall(r"^- \[[^\]]+\]\(([^)]+)\.md\): (.+)$", rows, re.MULTILINE)
        listed[section] = {name: _capital(words) for name, words in told}
    return listed


def _capital(words):
    return re.sub(r"^[a-z](?![A-Z])", lambda first: first[0].upper(), words)


def texts(titles, source):
    """Return the list of pages and their text; `source` is the folder of the pages."""
    listed, whole = [f"# dcglearn\n\n> {SUMMARY}\n"], []
    for section, told in sections((Path(source) / "index.md").read_text()).items():
        listed.append(f"## {section}\n")
        for name, words in told.items():
            path = Path(source) / f"{name}.md"
            if path.exists():
                listed.append(f"- [{titles[name]}]({name}.html): {words}")
                whole.append(path.read_text().strip())
        listed.append("")
    return "\n".join(listed), "\n\n---\n\n".join(whole) + "\n"


def _write(app, error):
    if error is None and app.builder.format == "html":
        titles = {name: title.astext() for name, title in app.env.titles.items()}
        listed, whole = texts(titles, app.srcdir)
        (Path(app.outdir) / "llms.txt").write_text(listed)
        (Path(app.outdir) / "llms-full.txt").write_text(whole)


def setup(app):
    """Write both files when the pages are built."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
