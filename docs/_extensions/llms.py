"""The site for language models: `llms.txt` lists its pages, `llms-full.txt` holds their text.

https://llmstxt.org describes both files.
"""

import re
from pathlib import Path

SECTIONS = {
    "Tutorials": "tutorials/index",
    "How-to guides": "how_to/index",
    "Explanation": "explanation",
    "Reference": "reference/index",
}
SUMMARY = (
    "Learn the gains and discounts of DCG from what people preferred, "
    "and know how far to trust them."
)


def described(index):
    """Return what an index page says of the pages that it lists, by the end of their path."""
    rows = re.findall(r"^- \[[^\]]+\]\((?:\.\./)?([^)]+)\.md\): (.+)$", index, re.MULTILINE)
    return {name: re.sub(r"^[a-z](?![A-Z])", lambda m: m[0].upper(), words) for name, words in rows}


def texts(included, titles, source):
    """Return the list of pages and their text.

    `included` maps an index to its pages, which are files in `source`.
    """
    listed, whole = [f"# dcglearn\n\n> {SUMMARY}\n"], []
    for section, index in SECTIONS.items():
        listed.append(f"## {section}\n")
        words = described((Path(source) / f"{index}.md").read_text())
        folder = index.rpartition("/")[0]
        for name in included[index]:
            path = Path(source) / f"{name}.md"
            if path.exists():
                own = words[name.removeprefix(f"{folder}/")]
                listed.append(f"- [{titles[name]}]({name}.html): {own}")
                whole.append(path.read_text().strip())
        listed.append("")
    return "\n".join(listed), "\n\n---\n\n".join(whole) + "\n"


def _write(app, error):
    if error is None and app.builder.format == "html":
        titles = {name: title.astext() for name, title in app.env.titles.items()}
        listed, whole = texts(app.env.toctree_includes, titles, app.srcdir)
        (Path(app.outdir) / "llms.txt").write_text(listed)
        (Path(app.outdir) / "llms-full.txt").write_text(whole)


def setup(app):
    """Write both files when the pages are built."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
