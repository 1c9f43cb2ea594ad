"""Statements of a class as two trajectories that people can be shown.

Both begin in the same state, one with each action, go on with best actions, and stop where they
meet at the same time or have both ended. What they count differs by the row of the comparison, up
to the equalities, because best actions that tie differ by equalities only. With unequal lengths an
answer would also fix the zero of the reward, which says nothing of behaviour.

A comparison whose trajectories never meet, or depend on chance, cannot be shown so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.bec.families import Known
from didact.bec.parts import Part, part_with
from didact.mdp import MDP, Demonstration

if TYPE_CHECKING:
    from didact.planning.rationals import ExactModel


class Pair(NamedTuple):
    """Two trajectories of a part, the one of the better action first, and what they differ by."""

    part: Part
    better: Demonstration
    other: Demonstration
    difference: tuple[Any, ...]


def statements_of(known: Known, rows: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """(row, state, action, other) of all who state one of the rows."""
    wanted = np.zeros(known.rows.n_rows + 1, dtype=np.bool_)
    wanted[list(rows)] = True
    hit = np.flatnonzero(wanted[known.rows.number])
    return [(int(known.rows.number[i]), *known.rows.statements[i].tolist()) for i in hit.tolist()]


def shortest_pair(known: Known, rows: Sequence[int], member: int | None = None) -> Pair | None:
    """The shortest two trajectories that state one of the rows, of a member where one is named."""
    stated = [statement for _, *statement in statements_of(known, rows)]
    if member is not None:
        stated = [s for s in stated if part_with(known.parts, s[0]).member == member]
    walked = [_walked(known, *statement) for statement in stated]
    found = [walks for walks in walked if walks is not None]
    shortest = min(found, key=lambda walks: len(walks.better) + len(walks.other), default=None)
    return None if shortest is None else _counted(shortest)


def pair_of(known: Known, state: int, action: int, other: int) -> Pair | None:
    """The two trajectories of a statement; None where they depend on chance or never meet."""
    walks = _walked(known, state, action, other)
    return None if walks is None else _counted(walks)


class _Walks(NamedTuple):
    """The pairs of two trajectories, and the terminal states where they ended; None where not."""

    part: Part
    better: list[tuple[int, int]]
    other: list[tuple[int, int]]
    ends: tuple[int | None, int | None]


def _walked(known: Known, state: int, action: int, other: int) -> _Walks | None:
    """Both walks until they meet or have ended; None where chance decides or they go in circles."""
    part = part_with(known.parts, state)
    mdp, first = part.task.mdp, state - part.first
    pairs: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    at, actions = [first, first], [action, other]
    seen: set[tuple[int, int]] = set()
    while True:
        for side in (0, 1):
            if mdp.terminal[at[side]]:
                continue
            pairs[side].append((at[side], actions[side]))
            after = _successor(mdp, at[side], actions[side])
            if after is None:
                return None
            at[side] = after
        ended = [bool(mdp.terminal[place]) for place in at]
        if all(ended) or (at[0] == at[1] and not any(ended)):
            ends = (at[0] if ended[0] else None, at[1] if ended[1] else None)
            return _Walks(part, *pairs, ends)
        if (at[0], at[1]) in seen or len(seen) == mdp.n_states:
            return None
        seen.add((at[0], at[1]))
        actions = [int(part.plan.optimal[place].argmax()) for place in at]


def _successor(mdp: MDP, state: int, action: int) -> int | None:
    """Where an action surely leads; None where chance decides."""
    row, moves = state * mdp.n_actions + action, mdp.transitions
    low = moves.offsets[row]
    return int(moves.successors[low]) if moves.offsets[row + 1] == low + 1 else None


def _counted(walks: _Walks) -> Pair:
    """The pair with what its trajectories differ by."""
    from didact.planning.rationals import exact_model

    model = exact_model(walks.part.task.mdp)
    better, other = (
        _counts(model, pairs, end)
        for pairs, end in zip((walks.better, walks.other), walks.ends, strict=True)
    )
    difference = tuple(a - b for a, b in zip(better, other, strict=True))
    return Pair(walks.part, Demonstration(walks.better), Demonstration(walks.other), difference)


def _counts(model: ExactModel, pairs: Sequence[tuple[int, int]], end: int | None) -> list[Any]:
    """Discounted feature counts (k,) of a walk, with the state where it ended."""
    total, weight = [0 * x for x in model.payment(*pairs[0])], model.discount**0
    for state, action in (*pairs, *([] if end is None else [(end, 0)])):
        paid = model.payment(state, action)
        total = [t + weight * x if x else t for t, x in zip(total, paid, strict=True)]
        weight *= model.discount
    return total
