"""``python -m dcglearn``: the command line."""

from dcglearn.cli import main

main()
