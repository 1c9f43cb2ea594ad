"""Random reward weights."""

from __future__ import annotations

import numpy as np

from didact.numerics.exact import Floats


def draw_unit_weights(n_features: int, rng: np.random.Generator) -> Floats:
    """Weights (k,) uniform on the signed L1 unit sphere, |w1| + ... + |wk| = 1.

    The sphere is 2^k congruent simplices, one for each choice of signs. Exponential magnitudes
    divided by their sum are Dirichlet(1, ..., 1), which is uniform on the simplex, and the signs
    choose one of the simplices with equal probability, so the product is uniform on their union.
    """
    magnitudes = rng.standard_exponential(n_features)
    signs = rng.choice(np.array([-1.0, 1.0]), size=n_features)
    weights: Floats = signs * (magnitudes / magnitudes.sum())
    return weights
