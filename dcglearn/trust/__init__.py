"""How far a fit can be trusted: held-out comparison, bands, ceiling, lack of fit, segments; what to
choose or ask.
"""
