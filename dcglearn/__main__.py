"""``python -m dcglearn``: the command line."""

import os
import sys

# Python looks for modules in the working folder first, where a stranger's numpy.py may lie.
# pathlib would be imported from that folder.
if not sys.flags.safe_path and sys.path[0] == os.getcwd():  # noqa: PTH109
    del sys.path[0]

from dcglearn.cli.app import main

main()
