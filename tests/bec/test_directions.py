"""Unit rows and labels against brute force over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.bec.directions import (
    TOLERANCE,
    fixed_direction,
    label_units,
    unit_rows,
)


def label_directions(rows):
    """Labels of rows of any length, none of them zero."""
    return label_units(unit_rows(np.asarray(rows, dtype=float)))


def brute_force_labels(units):
    """Classes of the transitive closure of 'within the tolerance', numbered by appearance.

    Pairs at the tolerance itself may go either way: labels promise to join up to it, not beyond.
    """
    n = len(units)
    distances = np.linalg.norm(units[:, None, :] - units[None, :, :], axis=2)
    assume(not ((distances > 0.99 * TOLERANCE) & (distances < 1.05 * TOLERANCE)).any())
    labels = np.full(n, -1)
    count = 0
    for row in range(n):
        if labels[row] >= 0:
            continue
        frontier = [row]
        labels[row] = count
        while frontier:
            for other in np.flatnonzero((distances[frontier.pop()] <= TOLERANCE) & (labels < 0)):
                labels[other] = count
                frontier.append(int(other))
        count += 1
    return labels


def noisy_copies(rng, k):
    """Rows of few directions, their negatives, copies with noise far below or above TOLERANCE."""
    centers = rng.integers(-2, 3, size=(6, k)).astype(float)
    centers = centers[np.any(centers != 0, axis=1)]
    rows = np.concatenate([centers, -centers])
    rows = rows[rng.integers(len(rows), size=60)] if len(rows) else np.ones((60, k))
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    noise = rng.choice([0.0, 1e-15, 2e-10, 1e-7], size=(60, 1))
    rows = rows + noise * rng.uniform(-1, 1, size=rows.shape) / np.sqrt(k)
    return rows * rng.uniform(0.01, 100.0, size=(60, 1))


class TestLabels:
    @given(st.integers(0, 10**6), st.integers(1, 5))
    def test_agree_with_all_pairs(self, seed, k):
        rows = noisy_copies(np.random.default_rng(seed), k)
        labels, representatives = label_directions(rows)
        expected = brute_force_labels(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        assert labels.tolist() == expected.tolist()
        first = [expected.tolist().index(label) for label in range(expected.max() + 1)]
        assert representatives.tolist() == first

    @given(st.integers(0, 10**6), st.integers(1, 5))
    def test_classes_do_not_depend_on_order_or_length(self, seed, k):
        rng = np.random.default_rng(seed)
        rows = noisy_copies(rng, k)
        brute_force_labels(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        labels, _ = label_directions(rows)
        order = rng.permutation(len(rows))
        permuted, _ = label_directions(rows[order] * rng.uniform(1, 8, size=(len(rows), 1)))
        assert len(set(zip(labels[order], permuted, strict=True))) == labels.max() + 1
        assert permuted.max() == labels.max()

    def test_opposite_rows_never_merge(self):
        assert label_directions([[1.0], [-2.0], [3.0]])[0].tolist() == [0, 1, 0]

    @pytest.mark.parametrize(("spacing", "n_labels"), [(0.95, 1), (1.1, 50)])
    def test_chains_join_and_gaps_separate(self, spacing, n_labels):
        angles = spacing * TOLERANCE * np.arange(50)
        rows = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(50)])
        order = np.random.default_rng(3).permutation(50)
        assert label_directions(rows[order])[0].max() + 1 == n_labels

    def test_a_row_between_two_others_joins_them(self):
        """Whatever the sorting line meets first: sometimes it is the two, and then the bridge."""
        rng = np.random.default_rng(8)
        for _ in range(40):
            axes = np.linalg.qr(rng.standard_normal((4, 4)))[0]
            offsets = TOLERANCE * np.array([[0.0, 0.0], [1.5, 0.0], [0.75, 0.5]])
            assert label_directions(axes[0] + offsets @ axes[1:3])[0].tolist() == [0, 0, 0]
            assert label_directions(axes[0] + offsets[:2] @ axes[1:3])[0].tolist() == [0, 1]

    @pytest.mark.parametrize("angle", [1e-8, 1e-7, 1e-5])
    def test_close_directions_stay_apart(self, angle):
        assert label_directions([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])[0].tolist() == [0, 1]

    def test_many_copies_are_as_cheap_as_many_directions(self):
        rng = np.random.default_rng(5)
        centers = rng.standard_normal((3, 8))
        which = rng.integers(3, size=100_000)
        rows = centers[which] * rng.uniform(0.1, 3.0, size=(100_000, 1))
        labels, representatives = label_directions(rows)
        assert len(representatives) == 3
        assert len(set(zip(which, labels, strict=True))) == 3

    def test_directions_that_meet_on_the_line_are_told_apart(self):
        """Rows that differ only across the sorting line, and copies of each."""
        line = fixed_direction("directions", 3)
        across = np.linalg.svd(line[None])[2][1]
        rows = np.array([line + turn * across for turn in (0.0, 1e-3, -1e-3, 0.3)] * 50)
        assert label_directions(rows)[0].tolist() == [0, 1, 2, 3] * 50
        units = rows + 1e-12 * np.random.default_rng(0).standard_normal(rows.shape)
        assert label_units(units)[0].tolist() == [0, 1, 2, 3] * 50

    def test_no_rows(self):
        labels, representatives = label_units(np.zeros((0, 4)))
        assert len(labels) == len(representatives) == 0
