"""DCG: gains and discounts, textbook DCGs, discounts at real-valued ranks. Read `dcg.py` first."""
