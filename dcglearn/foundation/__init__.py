"""Checks, files, bytes, threads, clusters: what every wing needs and what knows nothing of DCG."""
