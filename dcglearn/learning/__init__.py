"""Fitting as functions: a log and options in; gains, discounts, judges or a utility out.

Read `options.py` first, then `fit.py`, `weighing.py` and `fit_utility.py`.
"""
