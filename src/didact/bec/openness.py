"""How far rows are from a cone of shown rows: what a reward that fits may still prefer.

For a row r and the cone C of the rows shown, dist(r, C) is the largest -r.w over unit rewards w
that fit everything shown (Moreau), and the residual of the nearest point is, up to its sign, such a
reward: the witness.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.nnls import FREE, Fit, Generators, descend, new_fit, recompute_residual
from didact.numerics.compiled import kernel

Floats = NDArray[np.float64]


class Distances(NamedTuple):
    """Distances (n,) of rows to a cone, and their residuals (n, k): row minus nearest point."""

    lengths: Floats
    residuals: Floats


def distances_to_cone(generators: Floats, rows: Floats) -> Distances:
    """How far each row (n, k) is from the cone of these generators (m, k), which need no scale."""
    lengths = np.linalg.norm(generators, axis=1) if len(generators) else np.empty(0)
    units = generators[lengths > 0] / lengths[lengths > 0, None]
    if not len(units):
        return Distances(np.linalg.norm(rows, axis=1), rows.copy())
    sizes = np.linalg.norm(rows, axis=1)
    targets = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    m, k = units.shape
    found, residuals = np.zeros(len(rows)), np.zeros(rows.size)
    transposed = Generators(units.ravel(order="F"), m)
    find_distances.run(len(rows) * m * k * 4, transposed, targets.ravel(), new_fit(m, k), found,
                       residuals)  # fmt: skip
    return Distances(found * sizes, residuals.reshape(rows.shape) * sizes[:, None])


@kernel
def find_distances(
    generators: Generators, targets: Any, fit: Fit, found: Any, residuals: Any
) -> None:
    """A cold solve for each target; what it reports is recomputed from its multipliers."""
    n, k = len(fit.state), len(fit.residual)
    none = n - n
    for row in range(len(found)):
        at = max(row * k, 0)
        for i in range(n):
            fit.state[i] = FREE
        for j in range(k):
            fit.residual[j] = targets[at + j]
        size, _ = descend(generators, n, none, fit)
        distance, _ = recompute_residual(generators, targets, at, size, fit)
        found[row] = distance
        for j in range(k):
            residuals[at + j] = fit.residual[j]
