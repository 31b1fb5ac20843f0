"""A DCG: gains and discounts, those of the textbooks, and discounts at real-valued ranks. Read
`dcg.py` first.
"""
