"""Judgements of pairs of lists in memory: the container of a log, and what can be counted in it.

Read `preference_pairs.py` first; `reading/preferences.py` is the public log.
"""
