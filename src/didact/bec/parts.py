"""The tasks whose rows make a class, and one numbering of all their states.

The class of a task has one part, the class of a family one for each member. Where states of all
parts stand together, as in the statements of rows and the pairs of candidates, a state has the
number of its part's first state more than it has at home.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.rows import demonstrated_pairs
from didact.mdp import Demonstration, Task
from didact.planning import ExactSuccessorFeatures, Plan

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Part:
    """A task in a class: what is optimal in it, and where its states begin.

    counts: exact successor features of the policy; None in floats.
    first: the number of its first state among those of all parts.
    member: its number in a family; None for a task alone.
    """

    task: Task
    plan: Plan
    counts: ExactSuccessorFeatures | None
    first: int = 0
    member: int | None = None

    def own(self, demonstrations: Iterable[Demonstration]) -> list[Demonstration]:
        """The demonstrations of this part, in order."""
        return [d for d in demonstrations if self.member is None or d.member == self.member]


def part_with(parts: Sequence[Part], state: int) -> Part:
    """The part that a state of the common numbering belongs to."""
    return parts[bisect_right(parts, state, key=lambda part: part.first) - 1]


def home_statement(parts: Sequence[Part], statement: Sequence[int]) -> tuple[int, ...]:
    """(state, action, other) with the state's number at home; in a family the member before it."""
    state, action, other = statement
    part = part_with(parts, state)
    at_home = (state - part.first, action, other)
    return at_home if part.member is None else (part.member, *at_home)


def most_actions(parts: Sequence[Part]) -> int:
    """How many actions a pair's number allows for: the most of any part."""
    return max(part.task.mdp.n_actions for part in parts)


def stacked(parts: Sequence[Part], masks: Iterable[Mask]) -> Mask:
    """Masks of pairs (S, A) of the parts as one of the common numbering; other actions False."""
    width = most_actions(parts)
    return np.vstack([np.pad(mask, ((0, 0), (0, width - mask.shape[1]))) for mask in masks])


def shown_pairs(
    parts: Sequence[Part], demonstrations: Sequence[Demonstration], *, optimal: bool = False
) -> Mask:
    """Which pairs of the common numbering are shown; with `optimal` all of them must be."""
    return stacked(
        parts,
        (
            demonstrated_pairs(part.task, part.own(demonstrations), part.plan if optimal else None)
            for part in parts
        ),
    )


def of_home(part: Part, statement: Sequence[int]) -> dict[str, Any]:
    """A statement of a part by names: member where there is one, state, action, other."""
    state, action, other = statement
    named = {"state": state - part.first, "action": action, "other": other}
    return named if part.member is None else {"member": part.member, **named}


def exact_gap(of: Part, state: int, action: int, better: int) -> Fraction | None:
    """w.(mu(s, better) - mu(s, a)): the value lost by one step, then acting optimally.

    None in float arithmetic.
    """
    if of.counts is None:
        return None
    from didact.planning.exact import as_rationals, dot

    counts = of.counts.pairs
    gap = dot(counts[state, better] - counts[state, action], as_rationals(of.task.true_weights))
    return Fraction(int(gap.p), int(gap.q))
