"""The experiments of Zhou et al. 2008, and noise studies beyond them; ``python -m simulations`` runs them."""
