"""Audit of a metric against a log of preferences: findings, pictures and tables on one page."""
