"""A DCG in other tools: programs, settings or callables, and errors where values would differ."""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
