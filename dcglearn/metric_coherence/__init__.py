"""Coherence: whether and how often metrics disagree, and what holds under all metrics of a log.

Read `coherence.py` first: it searches `rankings.py` for the largest regret (`regret.py`).
`disagreement.py` counts pairs. `dominance.py` and `system_order.py` solve linear programs over all
metrics that respect a log.
"""
