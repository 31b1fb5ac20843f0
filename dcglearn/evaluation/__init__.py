"""Runs and judgements in; (N)DCG of every query, tests between systems, preferences between runs out.

Read `evaluate.py` first.
"""
