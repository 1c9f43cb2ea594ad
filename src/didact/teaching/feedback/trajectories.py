"""Statements of a class as trajectories that people can be shown, two of them or more.

All begin in the same state, one with each action, go on with best actions, and stop where they
meet at the same time or have all ended. What they count differs by the row of the comparison, up
to the equalities, because best actions that tie differ by equalities only. With unequal lengths an
answer would also fix the zero of the reward, which says nothing of behaviour.

A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.parts import Part, part_with
from didact.mdp import MDP, Demonstration

if TYPE_CHECKING:
    from didact.planning.rationals import ExactModel

MOST_PLACES = 20_000
"""Places of the walks together that are looked at for one comparison."""


class Ways(NamedTuple):
    """Trajectories of a part from one state, the best first, and what each counts more."""

    part: Part
    ways: tuple[Demonstration, ...]
    differences: tuple[tuple[Any, ...], ...]

    @property
    def better(self) -> Demonstration:
        """The first."""
        return self.ways[0]

    @property
    def other(self) -> Demonstration:
        """The second."""
        return self.ways[1]

    @property
    def difference(self) -> tuple[Any, ...]:
        """By what the first two differ."""
        return self.differences[0]


def statements_of(known: Known, rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(row, state, action, other) of all who state one of the rows."""
    wanted = np.zeros(known.rows.n_rows + 1, dtype=np.bool_)
    wanted[list(rows)] = True
    hit = np.flatnonzero(wanted[known.rows.number])
    return [(int(known.rows.number[i]), *known.rows.statements[i].tolist()) for i in hit.tolist()]


def shortest_pair(known: Known, rows: Sequence[int], member: int | None = None) -> Ways | None:
    """The shortest two trajectories that state one of the rows, of a member where one is named."""
    stated = [statement for _, *statement in statements_of(known, rows)]
    if member is not None:
        stated = [s for s in stated if part_with(known.parts, s[0]).member == member]
    walked = [_walked(known, state, pair) for state, *pair in stated]
    found = [walks for walks in walked if walks is not None]
    shortest = min(found, key=lambda walks: sum(map(len, walks.ways)), default=None)
    return None if shortest is None else _counted(shortest)


def pair_of(known: Known, state: int, action: int, other: int) -> Ways | None:
    """The two trajectories of a statement; None where they depend on chance or never meet."""
    return ways_that_meet(known, state, (action, other))


def ways_that_meet(known: Known, state: int, actions: Sequence[int]) -> Ways | None:
    """A trajectory for each action of a state; None where chance decides or they never meet."""
    walks = _walked(known, state, actions)
    return None if walks is None else _counted(walks)


class _Walks(NamedTuple):
    """The pairs of trajectories, and the terminal states where they ended; None where not."""

    part: Part
    ways: tuple[list[tuple[int, int]], ...]
    ends: tuple[int | None, ...]


def _walked(known: Known, state: int, actions: Sequence[int]) -> _Walks | None:
    """Walks that soonest meet or have all ended; None where chance decides or they never do.

    Where best actions tie, any of them may go on: which one is numbered first decides nothing.
    """
    part = part_with(known.parts, state)
    mdp, first = part.task.mdp, state - part.first
    begun = [_successor(mdp, first, action) for action in actions]
    if None in begun:
        return None
    at = tuple(place for place in begun if place is not None)
    before: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]] | None] = {at: None}
    queue = deque([at])
    while queue:
        at = queue.popleft()
        ended = [bool(mdp.terminal[place]) for place in at]
        if all(ended) or (len(set(at)) == 1 and not any(ended)):
            ends = tuple(p if e else None for p, e in zip(at, ended, strict=True))
            return _Walks(part, _back(before, at, first, actions), ends)
        for taken in product(*(_sure_best(part, place) for place in at)):
            pairs = zip(at, taken, strict=True)
            after = tuple(p if a < 0 else _successor(mdp, p, a) or 0 for p, a in pairs)
            if after not in before and len(before) < MOST_PLACES:
                before[after] = (at, taken)
                queue.append(after)
    return None


def _sure_best(part: Part, state: int) -> list[int]:
    """Best actions of a state that surely lead somewhere; -1 where it is terminal."""
    if part.task.mdp.terminal[state]:
        return [-1]
    best = np.flatnonzero(part.plan.optimal[state]).tolist()
    return [a for a in best if _successor(part.task.mdp, state, a) is not None]


def _back(
    before: dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]] | None],
    at: tuple[int, ...],
    first: int,
    actions: Sequence[int],
) -> tuple[list[tuple[int, int]], ...]:
    """The steps of each walk that led there; none after it has ended."""
    ways: list[list[tuple[int, int]]] = [[] for _ in actions]
    while (step := before[at]) is not None:
        at, taken = step
        for way, place, action in zip(ways, at, taken, strict=True):
            if action >= 0:
                way.append((place, action))
    return tuple(
        [(first, action), *reversed(way)] for way, action in zip(ways, actions, strict=True)
    )


def _successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action surely leads; None where chance decides."""
    row, moves = state * mdp.n_actions + action, mdp.transitions
    low = moves.offsets[row]
    return int(moves.successors[low]) if moves.offsets[row + 1] == low + 1 else None


def _counted(walks: _Walks) -> Ways:
    """The trajectories with what they differ by."""
    from didact.planning.rationals import exact_model

    model = exact_model(walks.part.task.mdp)
    counts = [_counts(model, way, end) for way, end in zip(walks.ways, walks.ends, strict=True)]
    differences = tuple(
        tuple(a - b for a, b in zip(better, other, strict=True))
        for better, other in pairwise(counts)
    )
    return Ways(walks.part, tuple(map(Demonstration, walks.ways)), differences)


def _counts(model: ExactModel, pairs: Sequence[tuple[int, int]], end: int | None) -> list[Any]:
    """Discounted feature counts (k,) of a walk, with the state where it ended."""
    total, weight = [0 * x for x in model.payment(*pairs[0])], model.discount**0
    for state, action in (*pairs, *([] if end is None else [(end, 0)])):
        paid = model.payment(state, action)
        total = [t + weight * x if x else t for t, x in zip(total, paid, strict=True)]
        weight *= model.discount
    return total
