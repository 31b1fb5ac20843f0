"""The five-fold protocol of LETOR: folds, methods, grids, results.

Read `protocol.py` first.
"""
