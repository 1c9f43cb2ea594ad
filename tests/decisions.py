"""Worlds of single decisions: one step each, so that rows are what the actions pay.

In state s action a pays the features `states[s][a]` and leads back; the discount is 0, so the rows
of s are the differences between its best action and the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from didact.mdp import MDP, Task, Transitions

Payments = Sequence[Sequence[Sequence[Any]]]


def decisions(states: Payments, weights: Sequence[Any], name: str = "decisions") -> Task:
    """The task of these decisions; actions that a state lacks pay as its worst one does."""
    n_actions = max(map(len, states))
    features = [[*state, *[_worst(state, weights)] * (n_actions - len(state))] for state in states]
    rows = [(s, a, s, 1) for s in range(len(states)) for a in range(n_actions)]
    mdp = MDP(Transitions.from_rows(rows, len(states), n_actions), features, 0)
    return Task(mdp, list(weights), name=name)


def _worst(state: Sequence[Sequence[Any]], weights: Sequence[Any]) -> Sequence[Any]:
    return min(
        state,
        key=lambda pays: sum(Fraction(w) * Fraction(x) for w, x in zip(weights, pays, strict=True)),
    )


def unit(k: int, i: int, size: int = 1) -> list[int]:
    """The vector that pays `size` of feature i and nothing else."""
    return [size * int(i == j) for j in range(k)]
