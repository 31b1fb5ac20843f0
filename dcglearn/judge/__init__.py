"""The judging page: pairs of lists in a browser, verdicts kept safely, and the DCG learned so far.

Read `study.py` first: it says what is asked of whom. `server.py` is the server, `exported.py`
writes pages that need none, and `page/` is the page.
"""
