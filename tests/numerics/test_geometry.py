"""Cut polygons against membership, areas and another way to their corners, all in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.numerics.geometry import (
    cut,
    cut_by_line,
    null_space,
    row_space,
    singular_directions,
    square,
)

whole = st.integers(-4, 4)
lines = st.lists(st.tuples(whole, whole, st.integers(-2, 3)), max_size=5)
BOX = [(1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)]


def fractions(line):
    return tuple(map(Fraction, line))


def polygon_of(given_lines):
    corners = square(Fraction(1))
    for line in given_lines:
        corners = cut_by_line(corners, fractions(line))
    return corners


def fits(point, given_lines):
    return all(a * point[0] + b * point[1] + c >= 0 for a, b, c in given_lines)


def corners_by_pairs(given_lines):
    """Every point where two borders meet and all lines hold."""
    found = set()
    for (a, b, c), (d, e, f) in combinations([*BOX, *given_lines], 2):
        below = a * e - b * d
        if below:
            point = (Fraction(b * f - c * e, below), Fraction(c * d - a * f, below))
            if fits(point, [*BOX, *given_lines]):
                found.add(point)
    return found


def area(corners):
    sides = zip(corners, corners[1:] + corners[:1], strict=True)
    return sum((x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in sides), Fraction(0)) / 2


def is_between(point, start, end):
    """Whether a corner lies on the segment between two others."""
    (x, y), (x0, y0), (x1, y1) = point, start, end
    on_line = (x - x0) * (y1 - y0) == (y - y0) * (x1 - x0)
    return on_line and min(x0, x1) <= x <= max(x0, x1) and min(y0, y1) <= y <= max(y0, y1)


@given(lines)
def test_the_corners_are_those_where_borders_meet(given_lines):
    found = polygon_of(given_lines)
    expected = corners_by_pairs(given_lines)
    assert set(found) <= expected
    for point in expected - set(found):  # a border that only touches, in the middle of a side
        assert any(is_between(point, p, q) for p, q in combinations(found, 2))


@given(lines, st.tuples(whole, whole, whole))
def test_the_two_parts_of_a_cut_make_up_the_whole(given_lines, line):
    whole_polygon = polygon_of(given_lines)
    one = cut_by_line(whole_polygon, fractions(line))
    other = cut_by_line(whole_polygon, fractions([-entry for entry in line]))
    everything = area(one) + area(other)
    if line[0] or line[1]:
        assert everything == area(whole_polygon)
    assert area(one) >= 0
    assert area(other) >= 0


def test_segments_and_points_are_polygons_and_nothing_stays_nothing():
    segment = cut_by_line(square(Fraction(1)), fractions((1, 0, -1)))
    assert sorted(segment) == [(1, -1), (1, 1)]
    point = cut_by_line(segment, fractions((0, 1, -1)))
    assert point == [(1, 1)]
    assert cut_by_line(point, fractions((1, 1, -3))) == []
    assert cut_by_line([], fractions((1, 1, 1))) == []


@given(st.tuples(whole, whole, whole))
def test_floats_and_more_coordinates_are_cut_alike(line):
    """A square of the cube [-1, 1]^3 at height 1: its cut is that of the plane by the same line."""
    flat = [tuple(map(float, corner)) for corner in square(Fraction(1))]
    raised = [(x, y, 1.0) for x, y in flat]
    heights = (np.array(raised) @ np.array(line, dtype=float)).tolist()
    exact = [a * x + b * y + c for (a, b, c) in [fractions(line)] for x, y in square(Fraction(1))]
    expected = [tuple(map(float, corner)) for corner in cut(square(Fraction(1)), exact)]
    found = cut(raised, heights)
    assert [corner[2] for corner in found] == pytest.approx([1.0] * len(found))
    assert np.array([corner[:2] for corner in found]) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("n", [0, 1, 3, 5, 40])
def test_row_space_and_null_space_are_orthonormal_and_complete(n):
    """Rows of rank 3 at most, in five dimensions."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 5))
    spanned, across = row_space(rows, 1e-9), null_space(rows, 1e-9)
    assert len(spanned) == min(n, 3)
    both = np.vstack([spanned, across])
    assert np.allclose(both @ both.T, np.eye(5))
    assert np.allclose(rows @ across.T, 0.0)
    assert np.allclose(rows @ spanned.T @ spanned, rows)
    sizes, _ = singular_directions(rows)
    assert np.allclose(sizes[: min(n, 5)], np.linalg.svd(rows, compute_uv=False))
    assert sizes.shape == (5,)
