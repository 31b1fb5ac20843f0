"""Titles of panels that state a finding only where claims bear it out."""

from simulations.claims import AGREES, headline

__all__ = ["AGREES", "headline"]
