"""Where a direction is least on a slice: floats that screen against fractions that know."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from didact.bec.linear import dot
from didact.bec.pruning import Slice
from tests.effort import number


def expected(vectors, heights, direction):
    ratios = [Fraction(dot(v, direction), h) for v, h in zip(vectors, heights, strict=True)]
    tied = [ray for ray, ratio in enumerate(ratios) if ratio == min(ratios)]
    others = [ray for ray in range(len(ratios)) if ray not in tied]
    least = min((ratios[ray] for ray in others), default=None)
    following = next((ray for ray in others if ratios[ray] == least), -1)
    return tied, following


@pytest.mark.parametrize("digits", [1, 2, 15, 17, 40, 200, 400])
def test_the_least_ratios_are_those_of_fractions(digits):
    """Small numbers tie often; 400 digits have no float; and some ratios differ in the last one."""
    draw = random.Random(digits)
    for _ in range(number(60, 150)):
        k, n = draw.randint(1, 4), draw.randint(1, 12)
        most = 10 ** draw.randint(1, digits)
        vectors = [tuple(draw.randint(-most, most) for _ in range(k)) for _ in range(n)]
        heights = [draw.randint(1, 10 ** draw.randint(1, digits)) for _ in range(n)]
        for ray in range(1, n, 3):  # the same place but for one unit of a longer vector
            vectors[ray] = tuple(3 * x for x in vectors[ray - 1])
            heights[ray] = 3 * heights[ray - 1]
            if draw.random() < 0.5:
                vectors[ray] = (vectors[ray][0] + 1, *vectors[ray][1:])
        direction = tuple(draw.randint(-most, most) for _ in range(k))
        values, tied, following = Slice(vectors, heights).least(direction)
        assert (tied, following) == expected(vectors, heights, direction)
        assert all(values[ray] == dot(vectors[ray], direction) for ray in {*tied, following} - {-1})


def test_numbers_beyond_floats_are_compared_too():
    vectors, heights = [(-(10**400),), (-(10**400) - 1,), (5,)], [1, 1, 1]
    assert Slice(vectors, heights).least((1,))[1:] == ([1], 0)
    assert Slice([(1,), (0,)], [10**400, 1]).least((1,))[1:] == ([1], 0)
    assert Slice([(1,), (2,)], [1, 1]).least((0,))[1:] == ([0, 1], -1)
