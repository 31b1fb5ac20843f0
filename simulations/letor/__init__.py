"""The five-fold protocol of LETOR: folds, methods, grids, results.

Every method is trained on each fold's training file, its best candidates are chosen on the
validation file, and measured on the test file. Read `protocol.py` first: `run_trial` is one method
on one fold.
"""

from typing import Literal, TypeAlias, get_args

Grid: TypeAlias = Literal["default", "quick", "papers"]
GRIDS: tuple[str, ...] = get_args(Grid)
Choice: TypeAlias = Literal["blend", "best"]
CHOICES: tuple[str, ...] = get_args(Choice)
