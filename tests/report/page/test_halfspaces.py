"""Half-space pictures: sectors and slices against membership, and what a picture says."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact import equivalence_class, from_gymnasium, make, teach
from didact.bec.halfspaces import demonstrated_pairs
from didact.errors import InvalidParameter
from didact.numerics.geometry import cut_by_line
from didact.report.page.halfspaces import (
    half_space_picture,
    likely_pairs,
    slice_of,
    wedge,
)
from didact.report.page.lesson import lesson_page


def test_one_feature_has_no_picture():
    task = make("random-grid", size=2, n_features=1)
    assert 'id="half-spaces"' not in lesson_page(task, teach(task))
    assert 'id="half-spaces"' in lesson_page(make("six-cell"), teach(make("six-cell")))


def test_two_features_show_the_whole_truth():
    task = make("six-cell")
    shown = half_space_picture(equivalence_class(task), teach(task).demonstrations)
    assert "rays" in shown
    assert shown["frame"].title == "Rewards that fit: white against grey"
    assert len(shown["goal"]) == 1
    assert [ray["star"] is not None for ray in shown["rays"]] == [True]


def test_a_narrow_class_is_stretched_and_says_so():
    task = from_gymnasium("FrozenLake-v1")
    shown = half_space_picture(equivalence_class(task), [])
    assert shown["names"][0] == "reward 0 × 100"
    assert "reward 0 × 100" in shown["frame"].description


def test_a_slice_lies_around_the_true_weights():
    """The star is in the middle, the numbers at the sides are the reach away from it."""
    task = make("chain")
    bec, lesson = equivalence_class(task), teach(task)
    shown = half_space_picture(bec, lesson.demonstrations, pair=(0, 1))
    assert "ticks" in shown
    assert [sum(part) / 10 for part in zip(*shown["star"], strict=True)] == [160, 160]
    assert len(shown["regions"]) == len(lesson.demonstrations) + 1
    for corners in (*shown["regions"], shown["goal"]):
        assert all(46 <= x <= 274 and 46 <= y <= 274 for x, y in corners)


entries = st.integers(-4, 4)
normals = st.lists(st.tuples(entries, entries), max_size=6)


@given(normals)
def test_a_wedge_holds_exactly_the_directions_that_fit(rows):
    useful = [row for row in rows if any(row)]
    spans = wedge([[Fraction(x), Fraction(y)] for x, y in rows])
    if spans is None:
        assert not useful
        return
    for step in range(360):
        angle = math.radians(step + 0.37)
        slack = [x * math.cos(angle) + y * math.sin(angle) for x, y in useful]
        if any(abs(s) < 1e-9 for s in slack):
            continue
        inside = any(first <= a <= last for first, last in spans for a in turns(angle))
        assert inside == all(s > 0 for s in slack)
    for first, last in spans:
        for edge in (first, last):
            assert all(x * math.cos(edge) + y * math.sin(edge) > -1e-9 for x, y in useful)


def turns(angle: float) -> list[float]:
    return [angle - 2 * math.pi, angle, angle + 2 * math.pi]


def test_wedges_of_equalities_are_lines_and_rays():
    one = Fraction(1)
    assert wedge([[one, 0 * one], [-one, 0 * one]]) == [
        (-math.pi / 2, -math.pi / 2),
        (math.pi / 2, math.pi / 2),
    ]
    assert wedge([[one, 0 * one], [-one, 0 * one], [0 * one, one]]) == [(math.pi / 2, math.pi / 2)]


square = [(Fraction(x), Fraction(y)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
cuts = st.lists(st.tuples(entries, entries, st.integers(0, 3)), max_size=5)


@given(cuts, st.integers(-7, 7), st.integers(-7, 7))
def test_a_cut_polygon_holds_exactly_the_points_that_fit(given_cuts, x, y):
    """Cuts that keep the middle, as those of a slice through the true weights do."""
    corners = list(square)
    for a, b, c in given_cuts:
        corners = cut_by_line(corners, (Fraction(a), Fraction(b), Fraction(c)))
    assert corners
    for px, py in corners:
        assert all(a * px + b * py + c >= 0 for a, b, c in given_cuts)
    point = Fraction(x, 7), Fraction(y, 7)
    fits = all(a * point[0] + b * point[1] + c >= 0 for a, b, c in given_cuts)
    assert in_hull(point, corners) == fits


def in_hull(point, corners) -> bool:
    """Whether a point is in the convex polygon, segment or point of these corners."""
    if len(corners) == 1:
        return point == corners[0]
    sides = []
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        sides.append((x1 - x0) * (point[1] - y0) - (y1 - y0) * (point[0] - x0))
    if all(side == 0 for side in sides):
        xs, ys = zip(*corners, strict=True)
        return min(xs) <= point[0] <= max(xs) and min(ys) <= point[1] <= max(ys)
    return all(side >= 0 for side in sides) or all(side <= 0 for side in sides)


@pytest.mark.parametrize("name", ["uvm-failure", "chain", "ball-sorting", "garnet"])
def test_regions_hold_exactly_the_rewards_that_fit(name):
    task = make(name)
    bec = equivalence_class(task)
    lesson = teach(task, bec=bec)
    weights = task.true_weights.fractions()
    shown = lesson.demonstrations
    for pair in likely_pairs(bec, 4):
        cut = slice_of(bec, shown, pair)
        assert len(cut.regions) == len(shown) + 1
        for n, region in enumerate(cut.regions):
            stated = bec.rows.stated_by(demonstrated_pairs(task.mdp, shown[:n]))
            for a in range(-3, 4):
                for b in range(-3, 4):
                    offset = cut.reach * Fraction(a, 4), cut.reach * Fraction(b, 4)
                    other = list(weights)
                    other[pair[0]] += offset[0]
                    other[pair[1]] += offset[1]
                    rows = [bec.rows.exact[row] for row in stated]
                    fits = all(sum(n * w for n, w in zip(r, other, strict=True)) >= 0 for r in rows)
                    assert in_hull(offset, list(region)) == fits
        assert sorted(set(cut.regions[-1])) == sorted(set(cut.goal)), "a complete lesson cuts all"


def test_a_slice_shows_the_class_with_three_fifths_of_air_around_it():
    task = make("garnet")
    bec = equivalence_class(task)
    for pair in likely_pairs(bec, 4):
        cut = slice_of(bec, [], pair)
        extent = max(abs(x) for corner in cut.goal for x in corner)
        assert cut.reach == extent * Fraction(8, 5)


def test_a_slice_reaches_at_most_twice_the_largest_weight():
    task = make("chain")
    cut = slice_of(equivalence_class(task), [], (0, 1))
    assert cut.reach == 2 * max(map(abs, task.true_weights.fractions()))


@pytest.mark.parametrize("pair", [(0, 0), (0, 3), (-1, 1)])
def test_a_wrong_pair_is_refused(pair):
    with pytest.raises(InvalidParameter, match="pair must be two different features from 0 to 2"):
        slice_of(equivalence_class(make("chain")), [], pair)
