"""Simulations of Zhou et al. 2008 and of papers on ranking objectives; ``python -m simulations`` runs them."""
