"""The command line, and the report that it prints. Read `app.py` first: it names the file of every command."""
