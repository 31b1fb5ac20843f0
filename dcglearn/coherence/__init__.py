"""Coherence: whether and how often metrics disagree, and whether it matters for systems.

``dcglearn.coherence(a, b)`` asks the first question; the module is callable, as its function
`coherence`.

Read `verdict.py` first: it searches `rankings.py` for the largest regret (`regret.py`).
`disagreements.py` counts pairs of rankings, `order_of_systems.py` compares the orders of systems.
"""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Any

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)


class _CallableModule(ModuleType):
    """A module that is called as its function of the same name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.coherence(*args, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.coherence)


sys.modules[__name__].__class__ = _CallableModule
