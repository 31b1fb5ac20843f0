"""The command line, and the report that it prints.

Read `app.py` first: it names the file of every command.
"""

from dcglearn.cli.app import app, main

__all__ = ["app", "main"]
