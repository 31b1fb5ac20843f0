"""The judging page: pairs of lists shown in a browser, verdicts kept safely, and the DCG that they teach so far.

Read `study.py` first: it says what is asked of whom. `app.py` and `guard.py` are the server, `page/` is the page.
"""
