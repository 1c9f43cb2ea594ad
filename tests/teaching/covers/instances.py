"""Set covers to test with, and brute force over their subsets."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import lcm


def cheapest_by_force(n_candidates, costs, is_cover, fixed=lambda chosen: 0):
    """The cost of the cheapest subset that covers, or None; fixed: what a subset costs besides."""
    subsets = itertools.chain.from_iterable(
        itertools.combinations(range(n_candidates), size) for size in range(n_candidates + 1)
    )
    unit = lcm(*(Fraction(cost).denominator for cost in costs))
    whole = [int(cost * unit) for cost in costs]
    best = None
    for chosen in subsets:
        cost = sum(whole[i] for i in chosen) + fixed(chosen) * unit
        if (best is None or cost < best) and is_cover(chosen):
            best = cost
    return None if best is None else Fraction(best, unit)


def hitting(cuts):
    sets = [set(cut) for cut in cuts]
    return lambda chosen: all(cut & set(chosen) for cut in sets)


def cover_oracle(elements, order=None):
    """Plain set cover as an oracle: the first element, in some order, that is not hit."""
    listed = [frozenset(element) for element in (order or elements)]

    def find_gap(chosen):
        return next((element for element in listed if not element & set(chosen)), None)

    return find_gap


def random_elements(rng, n_candidates, n_elements, least=1, most=5):
    most = min(most, n_candidates)
    return [
        set(rng.choice(n_candidates, size=rng.integers(least, most + 1), replace=False).tolist())
        for _ in range(n_elements)
    ]


def random_costs(rng, n_candidates):
    kind = rng.integers(4)
    if kind == 0:
        return [1] * n_candidates
    if kind == 1:
        return rng.integers(1, 6, size=n_candidates).tolist()
    if kind == 2:
        return [Fraction(int(p), int(q)) for p, q in rng.integers(1, 7, size=(n_candidates, 2))]
    return [round(float(x), 2) for x in rng.uniform(0.1, 3.0, size=n_candidates)]


def exactly(costs):
    return [Fraction(str(cost)) for cost in costs]


def tight_family(t):
    """2 (2**t - 1) elements: two halves cover them, and greedy takes t blocks across both."""
    half = 2**t - 1
    columns = [list(range(2**i - 1, 2 ** (i + 1) - 1)) for i in range(t)]
    blocks = [sum(1 << x | 1 << (x + half) for x in column) for column in columns]
    return [*blocks, (1 << half) - 1, ((1 << half) - 1) << half], 2 * half


def elements_of(masks, n_elements):
    return [{i for i, mask in enumerate(masks) if mask >> e & 1} for e in range(n_elements)]
