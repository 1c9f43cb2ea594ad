"""Arrows as they stand on axes, and as pairs of a grid world say."""

import numpy as np

WAYS = [(0, -1), (0, 1), (-1, 0), (1, 0)]


def arrows(ax):
    """(x, y, right, down) of every arrow, by who drew it."""
    return [
        {
            (round(x), round(y), np.sign(u), np.sign(v))
            for x, y, u, v in zip(c.X, c.Y, c.U, c.V, strict=True)
        }
        for c in ax.collections
        if hasattr(c, "U")
    ]


def expected(pairs, columns):
    return {(state % columns, state // columns, *WAYS[action]) for state, action in pairs}
