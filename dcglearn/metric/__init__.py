"""A DCG: gains and discounts, the textbooks' choices of them, discounts at real-valued ranks.

Read `dcg.py` first.
"""
