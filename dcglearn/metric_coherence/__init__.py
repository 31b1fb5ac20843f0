"""Whether two metrics can disagree, how often, and which list or system is better under all of them.

Read `coherence.py` first.
"""
