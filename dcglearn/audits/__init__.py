"""A metric audited against a log of preferences: findings in sentences, pictures and tables, on one
page.
"""
