"""Sampled walks where every step is sure, each distinct one once.

A walk is a line of choices, optimal pairs of states; draws between 0 and 1 say which of a state's
choices comes next. Lines are told apart by a table of those found, which holds each where a number
made of it says, or behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import kernel

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

_FACTOR, _MOST = 1103515245, 2**31 - 1
"""Of the number that a line is looked up by; products stay below 2**62."""


class Choices(NamedTuple):
    """All choices, one state's after the other's: their pairs, and where they lead.

    pair: the number of each. first, count: the place of the first choice of the state that follows
    each, and how many that state has.
    """

    pair: Any
    first: Any
    count: Any


class Walks(NamedTuple):
    """Walks under way: the place of the first choice of the state that each is in, and how many.

    key: a number made of the choices so far. places: (H * n,) the choices, step by step.
    """

    first: Any
    count: Any
    key: Any
    places: Any


def distinct_walks(choices: Choices, first: Indices, count: Floats, draws: Floats) -> Indices:
    """The distinct walks (n, H) by their pairs, in order of first appearance; draws (H, n).

    first, count: the place of the first choice of each start, and how many there are; they change.
    """
    horizon, n = draws.shape
    places, lines = np.empty((2, n * horizon), dtype=np.int64)
    table = np.full(1 << (2 * n).bit_length(), -1, dtype=np.int64)
    walks = Walks(first, count, np.zeros(n, dtype=np.int64), places)
    found = walk_choices.run(n * horizon, choices, walks, draws.ravel(), table, lines)
    return np.array(lines[: found * horizon].reshape(found, horizon))


@kernel
def walk_choices(choices: Choices, walks: Walks, draws: Any, table: Any, lines: Any) -> int:
    """Fill in the lines of distinct walks, one after the other; their number.

    All walks take a step before any takes the next, so that none waits for another. table: a power
    of two of entries, more than there are walks, all -1; then the first walk with each line.
    """
    first, count, key, places = walks.first, walks.count, walks.key, walks.places
    n, mask, found = len(first), len(table) - 1, 0
    for step in range(0, len(draws), n):
        for walk in range(n):
            place = first[walk] + int(draws[step + walk] * count[walk])
            places[step + walk] = place
            first[walk] = choices.first[place]
            count[walk] = choices.count[place]
            key[walk] = (key[walk] * _FACTOR + place) & _MOST
    for walk in range(n):
        slot = (key[walk] ^ (key[walk] >> 15)) & mask
        is_new = True
        while is_new and table[slot] >= 0:
            other = table[slot]
            at = 0 if key[other] == key[walk] else len(draws) + 1
            while at < len(draws) and places[at + other] == places[at + walk]:
                at += n
            is_new = at != len(draws)
            slot = (slot + 1) & mask
        if is_new:
            table[slot] = walk
            for step in range(0, len(draws), n):
                lines[found] = choices.pair[places[step + walk]]
                found += 1
    return found * n // len(draws)
