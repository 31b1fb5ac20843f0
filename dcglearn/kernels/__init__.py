"""The sums of the hot loops in C: sources, compilation, and the loader through which Python calls
them.
"""


class KernelError(ImportError):
    """The compiled kernels are missing, or of another version or platform; the message says what to
    do.
    """
