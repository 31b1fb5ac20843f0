"""The sums of the hot loops in C: sources, compilation, and the loader through which Python calls them."""
