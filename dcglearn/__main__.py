"""``python -m dcglearn``: the command line."""

from dcglearn.cli.app import main

main()
