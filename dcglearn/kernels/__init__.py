"""Hot loops in C: sources, compilation, and the loader through which Python calls the sums."""


class KernelError(ImportError):
    """Compiled kernels are missing, or of another version or platform; the message has a remedy."""
