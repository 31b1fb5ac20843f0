"""Whether two metrics can disagree, how often, and which list or system is better under all of
them.

Read `coherence.py` first: it searches `rankings.py` for the largest regret (`regret.py`).
`disagreement.py` counts pairs. `dominance.py` and `system_order.py` solve linear programs over all
metrics that respect a log.
"""
