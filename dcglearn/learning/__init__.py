"""A log in; a DCG, its bands and the next questions out.

Read `dcg_learner.py` first, then `utility_learner.py`.
"""
