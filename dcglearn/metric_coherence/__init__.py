"""Can two metrics disagree? Which list, which system is better under all of them?

Read `coherence.py` first.
"""
