"""How far a fit can be trusted: held-out comparison, bands, ceiling, segments.

Also what to choose (C, the ridge) and what to ask (the next pairs).
"""

from dcglearn.foundation.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
