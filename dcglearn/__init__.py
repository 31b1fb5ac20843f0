"""Learn the gains and discounts of DCG from what people preferred."""

__version__ = "0.1.0"
