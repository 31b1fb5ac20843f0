"""Coherence: whether and how often metrics disagree, and what holds under all metrics of a log.

Read `verdict.py` first: it searches `rankings.py` for the largest regret (`regret.py`).
`pair_shares.py` counts pairs. `cone.py` and `rank_changes.py` solve linear programs over all
metrics that respect a log.
"""
