"""Fitting as functions: a log and a description in; gains, discounts, judges or a utility out.

Read `descriptions.py` first, then `fit_dcg.py` and `fit_utility.py`.
"""
