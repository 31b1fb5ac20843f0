"""Checks, files, bytes, threads and clusters: tools for every wing, without knowledge of DCG."""
