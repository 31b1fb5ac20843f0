"""What people preferred: in memory, in files, in parts on disk, over a cluster.

Read `preferences.py` first, then `readers.py` and `read_table.py`.
"""
