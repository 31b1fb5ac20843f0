"""Evaluation of runs by judgements: (N)DCG of every query, paired tests between systems.

Read `run_values.py` first. `tables.py` and `trec.py` read the files, `ranked.py` joins runs with
judgements, `arrays.py` evaluates plain arrays, and `system_tests.py` tests differences.
"""
