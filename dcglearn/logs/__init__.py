"""Judgements of pairs of lists in memory: the container of a log, and what can be counted in it.

Read `preferences.py` first, then `readers.py` and `read_table.py`.
"""
