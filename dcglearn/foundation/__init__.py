"""Checks, files, bytes, threads and clusters: the tools of every wing, without any knowledge of
DCG.
"""
