"""How far a fit can be trusted: held-out comparison, bands, ceiling, lack of fit, segments, choice of parameters."""
