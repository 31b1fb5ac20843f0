"""Logs made of runs and judgements."""
