"""The five-fold protocol of LETOR: folds, methods, grids, results.

Every method is trained on each fold's training file, its best candidates are chosen on the validation file, and
measured on the test file. Read `protocol.py` first, then `trial.py`: one method on one fold.
"""
