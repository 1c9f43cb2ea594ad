"""Which points half-spaces exclude: plain and compiled alike, and as the products say."""

from __future__ import annotations

import numpy as np

from didact.random import stream
from didact.teaching.methods.half_spaces import (
    Points,
    Room,
    Stated,
    count_outside,
    move_inside,
    stated_half_spaces,
)
from tests.teaching.methods.test_volume_greedy import packed, random_case


def test_plain_and_compiled_kernels_agree_with_the_products():
    rng = stream(5, "kernels")
    for _ in range(20):
        normals, stated = random_case(rng)
        candidates = stated_half_spaces(normals, *packed(stated))
        points = 2.0 * rng.random((candidates.k, 600)) - 1.0
        rows = np.arange(candidates.n_rows)
        outside = [(normals[list(rows)] @ points[:, :577] < 0).any(axis=0) for rows in stated]
        for way in ("plain", "compiled"):
            removed = np.zeros(len(candidates), dtype=np.int64)
            room = Room(np.empty(64), np.empty(candidates.n_rows * 2, dtype=np.int64))
            getattr(count_outside, way)(
                Points(points.ravel(), candidates.k, 600, 577),
                candidates.half_spaces,
                Stated(rows, candidates.offsets, candidates.members),
                room,
                removed,
            )
            assert removed.tolist() == [int(part.sum()) for part in outside]
            if not stated:
                continue
            cloud = Points(points.ravel().copy(), candidates.k, 600, 577)
            kept = getattr(move_inside, way)(
                cloud, candidates.half_spaces, candidates.stated_by(0), room
            )
            left = cloud.values.reshape(points.shape)[:, :kept]
            np.testing.assert_array_equal(left, points[:, :577][:, ~outside[0]])
