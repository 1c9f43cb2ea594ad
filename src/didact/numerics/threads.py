"""How many threads the libraries of linear algebra may use; they read it when they are loaded."""

from __future__ import annotations

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMBA_NUM_THREADS",
    )
}
"""Variables for a process that uses one thread: as many run at once as there are workers, and sums
of floats do not depend on the machine's load."""
