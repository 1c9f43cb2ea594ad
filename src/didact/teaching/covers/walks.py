"""Sampled walks where every step is sure, each distinct one once.

A walk is a line of choices, optimal pairs of states; draws between 0 and 1 say which of a state's
choices comes next. Lines are told apart by a table of those found, which holds each where a number
made of it says, or behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.numerics.compiled import inlined, kernel
from didact.numerics.pcg64 import Stream, after, draw, four

Indices = NDArray[np.int64]

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


class Begin(NamedTuple):
    """Where walks begin, so many from each start.

    first, count: of each start the place of its first choice, and how many it has.
    """

    first: Any
    count: Any
    each: int


class Lines(NamedTuple):
    """Distinct walks so far, one after the other: their pairs, and a number made of each.

    table: a power of two of entries, more than there are walks: which line a number leads to, -1
    for none.
    """

    pairs: Any
    key: Any
    table: Any


def distinct_walks(choices: Choices, begin: Begin, horizon: int, stream: Stream) -> Indices:
    """The distinct walks (n, H) by their pairs, in order of first appearance.

    stream: a row for each step, whose first draws are those of the walks.
    """
    n = len(begin.first) * begin.each
    table = np.full(1 << (2 * n).bit_length(), -1, dtype=np.int64)
    lines = Lines(np.empty(n * horizon, np.int64), np.empty(n, dtype=np.int64), table)
    found = walk_choices.run(n * horizon, choices, begin, stream, lines)
    return np.asarray(lines.pairs[: found * horizon].reshape(found, horizon))


@kernel
def walk_choices(choices: Choices, begin: Begin, stream: Stream, lines: Lines) -> int:
    """Fill in the lines of distinct walks; their number.

    Where a walk from a start meets no choice, the others from there are like it.
    """
    pairs, each, mask = lines.pairs, begin.each, len(lines.table) - 1
    n = len(begin.first) * each
    horizon = len(pairs) // n
    step, row = four(stream.step), four(stream.row)
    first_high, first_low = stream.state[0], stream.state[1]
    found = 0
    meets_choice = True
    for walk in range(n):
        first_high, first_low = after(first_high, first_low, step)
        if not meets_choice and walk % each > 0:
            continue
        here, ways = begin.first[walk // each], begin.count[walk // each]
        high, low, key, at = first_high, first_low, 0, found * horizon
        meets_choice = False
        for _ in range(horizon):
            place = here
            if ways > 1.0:
                meets_choice = True
                place += int(draw(high, low) * ways)
            pairs[at] = choices.pair[place]
            key = (key * _FACTOR + place) & _MOST
            here, ways, at = choices.first[place], choices.count[place], at + 1
            high, low = after(high, low, row)
        slot = (key ^ (key >> 15)) & mask
        while lines.table[slot] >= 0 and not is_line(lines, lines.table[slot], found, key, horizon):
            slot = (slot + 1) & mask
        if lines.table[slot] < 0:
            lines.table[slot] = found
            lines.key[found] = key
            found += 1
    return found


@inlined
def is_line(lines: Lines, other: int, own: int, key: int, horizon: int) -> bool:
    """Whether the line that was just walked, of that key, is another one."""
    same: bool = lines.key[other] == key
    at = 0
    while same and at < horizon:
        same = lines.pairs[other * horizon + at] == lines.pairs[own * horizon + at]
        at += 1
    return same
