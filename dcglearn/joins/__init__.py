"""Logs made of runs, judgements and clicks."""
