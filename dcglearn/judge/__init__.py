"""Questions to people and models: pairs of lists as a page that needs no server, or as prompts.

Read `pages.py` first: it says which pairs a page asks about. `page/` is the page.
"""
