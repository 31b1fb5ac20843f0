"""How far a fit can be trusted: held-out comparison, bands, ceiling, lack of fit, segments.

Also what to choose (C, the ridge, the form) and what to ask (the next pairs).
"""
