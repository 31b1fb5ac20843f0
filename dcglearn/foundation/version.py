"""The version of dcglearn, in a file of its own so that the build and every wing can read it."""

__version__ = "0.1.0"
