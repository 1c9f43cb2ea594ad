"""Statements of a class as trajectories that people can be shown, two of them or more.

All begin in the same state, one with each action, go on with best actions, and stop where they
meet at the same time or have all ended. What they count differs by the row of the comparison, up
to the equalities, because best actions that tie differ by equalities only. With unequal lengths an
answer would also fix the zero of the reward, which says nothing of behaviour.

A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.parts import Part, part_with
from didact.mdp import MDP, Demonstration

if TYPE_CHECKING:
    from didact.planning.rationals import ExactModel


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
    """All walks until they meet or have ended; None where chance decides or they go in circles."""
    part = part_with(known.parts, state)
    mdp, first = part.task.mdp, state - part.first
    ways: tuple[list[tuple[int, int]], ...] = tuple([] for _ in actions)
    at, taken = [first] * len(actions), list(actions)
    seen: set[tuple[int, ...]] = set()
    while True:
        for side, way in enumerate(ways):
            if mdp.terminal[at[side]]:
                continue
            way.append((at[side], taken[side]))
            after = _successor(mdp, at[side], taken[side])
            if after is None:
                return None
            at[side] = after
        ended = [bool(mdp.terminal[place]) for place in at]
        if all(ended) or (len(set(at)) == 1 and not any(ended)):
            return _Walks(
                part, ways, tuple(p if e else None for p, e in zip(at, ended, strict=True))
            )
        if tuple(at) in seen or len(seen) == mdp.n_states:
            return None
        seen.add(tuple(at))
        taken = [int(part.plan.optimal[place].argmax()) for place in at]


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
