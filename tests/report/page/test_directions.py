"""Sectors of directions against membership: a direction is inside exactly when it fits."""

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from didact.report.page.directions import wedge

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
