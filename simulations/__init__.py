"""Simulations of Zhou et al. 2008 and of papers on ranking objectives.

``python -m simulations`` runs them.

The kernels of OpenBLAS are fixed to those that every x86-64 processor with AVX2 has. Those that it
chooses by itself on a newer processor round differently, and a search among many optima then ends
elsewhere: the tables would differ.
"""

import os
import platform
import sys

# Once NumPy is loaded its kernels are chosen: a change would only reach new processes, and part
# them from this one.
if platform.machine() in ("x86_64", "AMD64") and "numpy" not in sys.modules:
    os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
