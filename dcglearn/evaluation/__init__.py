"""Evaluate runs by judgements: (N)DCG of every query, paired tests between systems.

Read `evaluate.py` first: it joins the runs and judgements of `tables.py` and `trec.py` by `ranked.py`. `arrays.py`
evaluates plain arrays, `compare_systems.py` tests differences.
"""
