"""Checks, files, bytes and threads: tools for every wing, without knowledge of DCG."""
