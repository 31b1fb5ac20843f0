"""Logs, runs, judgements and queries from files, frames and other tools.

The readers of preferences, ratings and questions are at the top of `dcglearn` too; here stand also
logs joined with judgements. `io.pyi` lists the names.
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
