"""The command line, and the report that it prints. Read `commands.py` first: it names the file of
every command.
"""
