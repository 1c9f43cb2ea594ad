"""The greedy cover against a search of every step, and its guarantee against brute force."""

from __future__ import annotations

from fractions import Fraction

import pytest

from didact.errors import InvalidParameter
from didact.random import stream
from didact.teaching.covers.greedy import greedy_cover, harmonic
from didact.teaching.covers.minimum import cheapest_cover, lp_bound
from tests.effort import number
from tests.teaching.covers.instances import (
    cheapest_by_force,
    cover_oracle,
    elements_of,
    exactly,
    hitting,
    random_costs,
    tight_family,
)


def numbered(masks):
    return dict(enumerate(masks))


def greedy_by_hand(masks, costs, rank=int, closure=int, most=None):
    """The best candidate at each step by its exact key."""
    covered, picks, gains = 0, [], []
    while len(picks) != most:
        keys = [
            (-Fraction(gain) / costs[i], -gain, costs[i], rank(i), i)
            for i, mask in masks.items()
            if (gain := (mask & ~covered).bit_count())
        ]
        if not keys:
            break
        best = min(keys)[-1]
        after = closure(covered | masks[best])
        picks.append(best)
        gains.append((after & ~covered).bit_count())
        covered = after
    return tuple(picks), tuple(gains)


def test_ties_by_rank_what_follows_and_a_limit_are_as_in_a_search_of_every_step():
    rng = stream(11, "greedy")
    for _ in range(number(200, 500)):
        n, n_elements = int(rng.integers(1, 24)), int(rng.integers(1, 14))
        drawn = rng.integers(0, 2**n_elements, size=(n, 2)).tolist()
        masks = {i: drawn[i][0] & drawn[i][1] for i in rng.permutation(n).tolist()}
        costs = exactly(random_costs(rng, n))
        together = int(rng.integers(0, 2**n_elements))
        order = rng.permutation(n).tolist()
        ways = {
            "rank": order.__getitem__,
            "closure": lambda covered, all=together: covered | (all if covered & all else 0),
            "most": int(rng.integers(1, 9)),
        }
        for name in (None, *ways):
            chosen = ways if name is None else {name: ways[name]}
            found = greedy_cover(masks, costs, n_elements, **chosen)
            assert found == greedy_by_hand(masks, costs, **chosen)


def test_greedy_is_lazy_but_the_same_and_keeps_its_guarantee():
    rng = stream(9, "greedy")
    n_worse = 0
    for _ in range(number(200, 500)):
        n, n_elements = int(rng.integers(1, 10)), int(rng.integers(1, 14))
        masks = [int(m) for m in rng.integers(0, 2**n_elements, size=n)]
        masks = [m & int(rng.integers(0, 2**n_elements)) for m in masks]
        costs = random_costs(rng, n)
        exact = exactly(costs)
        found = greedy_cover(numbered(masks), exact, n_elements)
        assert found == greedy_by_hand(numbered(masks), exact)
        elements = [e for e in elements_of(masks, n_elements) if e]
        best = cheapest_by_force(n, exact, hitting(elements))
        paid = sum((exact[i] for i in found.picks), Fraction(0))
        largest = max(mask.bit_count() for mask in masks)
        assert hitting(elements)(found.picks)
        assert best <= paid <= harmonic(largest) * best
        assert lp_bound(elements, costs) <= best
        assert paid <= harmonic(largest) * lp_bound(elements, costs) * Fraction(1000001, 1000000)
        n_worse += paid > best
    assert n_worse > number(2, 5)


@pytest.mark.parametrize(("t", "n_elements"), [(3, 14), (4, 30), (5, 62)])
def test_greedy_takes_more_than_two_where_two_suffice(t, n_elements):
    masks, size = tight_family(t)
    assert size == n_elements
    costs = [1] * len(masks)
    picked = greedy_cover(numbered(masks), costs, size)
    assert len(picked.picks) == t
    assert picked.gains == tuple(2**i for i in range(t, 0, -1))
    elements = elements_of(masks, size)
    stated = [{e for e in range(size) if mask >> e & 1} for mask in masks]
    found = cheapest_cover(stated, costs, cover_oracle(elements), elements=elements)
    assert (found.cost, found.proved, found.chosen) == (2, True, (t, t + 1))
    assert lp_bound(elements, costs) == 2
    assert t <= 2 * harmonic(2**t)


def test_greedy_ties():
    assert greedy_cover(numbered([0b0011, 0b0011, 0b1100]), [1, 1, 1], 4).picks == (0, 2)
    assert greedy_cover(numbered([0b0001, 0b0110]), [1, 2], 3).picks == (1, 0)
    third = Fraction(1, 3)
    assert greedy_cover(numbered([0b001, 0b110]), [third, 2 * third], 3).picks == (1, 0)
    assert greedy_cover(numbered([0b001, 0b110]), exactly([0.1, 0.2]), 3).picks == (1, 0)
    assert greedy_cover(numbered([0b001, 0b110]), [10**17, 2 * 10**17 + 1], 3).picks == (0, 1)


def test_greedy_stops_at_what_nobody_covers():
    assert greedy_cover(numbered([0b001, 0b100]), [1, 1], 3) == ((0, 1), (1, 1))
    assert greedy_cover(numbered([]), [], 3) == ((), ())
    assert greedy_cover(numbered([0, 0]), [1, 1], 0) == ((), ())
    with pytest.raises(InvalidParameter, match="below 2"):
        greedy_cover(numbered([0b100]), [1], 2)


def test_harmonic_numbers():
    assert [harmonic(d) for d in range(5)] == [
        0,
        1,
        Fraction(3, 2),
        Fraction(11, 6),
        Fraction(25, 12),
    ]
    assert harmonic(300) == sum((Fraction(1, i) for i in range(1, 301)), Fraction(0))
    with pytest.raises(InvalidParameter):
        harmonic(-1)
