"""The command line and its report. Read `commands.py` first: it names the file of every command."""
