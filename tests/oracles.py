"""Slow and plain reference answers in fractions, sharing nothing with the package but the types."""

from __future__ import annotations

import itertools
from fractions import Fraction

from didact.mdp import MDP


class Plain:
    """An MDP as nested lists of fractions."""

    def __init__(self, mdp: MDP):
        self.n_states, self.n_actions, self.k = mdp.n_states, mdp.n_actions, mdp.n_features
        self.discount = mdp.exact_discount
        self.terminal = mdp.terminal.tolist()
        palette, codes = mdp.transitions.exact()
        offsets = mdp.transitions.offsets
        self.rows = [
            {
                int(mdp.transitions.successors[i]): palette[codes[i]]
                for i in range(offsets[row], offsets[row + 1])
            }
            for row in range(self.n_states * self.n_actions)
        ]
        flat = mdp.features.fractions()
        wide = mdp.has_action_features
        self.phi = [
            [
                flat[(s * self.n_actions + a if wide else s) * self.k :][: self.k]
                for a in range(self.n_actions)
            ]
            for s in range(self.n_states)
        ]

    def row(self, state: int, action: int) -> dict[int, Fraction]:
        return self.rows[state * self.n_actions + action]

    def reward(self, state: int, action: int, weights: list[Fraction]) -> Fraction:
        return sum(
            (w * x for w, x in zip(weights, self.phi[state][action], strict=True)), Fraction(0)
        )


def solve_linear(matrix: list[list[Fraction]], side: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss-Jordan elimination in fractions."""
    n = len(matrix)
    rows = [list(m) + list(b) for m, b in zip(matrix, side, strict=True)]
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        factor = rows[column][column]
        rows[column] = [x / factor for x in rows[column]]
        for r in range(n):
            if r != column and rows[r][column] != 0:
                times = rows[r][column]
                rows[r] = [x - times * y for x, y in zip(rows[r], rows[column], strict=True)]
    return [row[n:] for row in rows]


def policy_sums(
    plain: Plain, policy: list[dict[int, Fraction]], payments: list[list[list[Fraction]]]
) -> list[list[Fraction]]:
    """Discounted sums of payments[s][a] (a vector) under action probabilities."""
    n = plain.n_states
    columns = len(payments[0][0])
    matrix = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    side = [[Fraction(0)] * columns for _ in range(n)]
    for s in range(n):
        chosen = {0: Fraction(1)} if plain.terminal[s] else policy[s]
        for a, share in chosen.items():
            side[s] = [b + share * x for b, x in zip(side[s], payments[s][a], strict=True)]
            for t, p in plain.row(s, a).items():
                matrix[s][t] -= plain.discount * share * p
    return solve_linear(matrix, side)


def pure_policies(plain: Plain, allowed: list[list[int]] | None = None) -> object:
    choices = [
        [0] if plain.terminal[s] else (allowed[s] if allowed else range(plain.n_actions))
        for s in range(plain.n_states)
    ]
    return itertools.product(*choices)


def best_values(
    plain: Plain,
    payments: list[list[list[Fraction]]],
    allowed: list[list[int]] | None = None,
) -> list[Fraction]:
    """The best discounted sum from every state, by brute force over deterministic policies."""
    best: list[Fraction] | None = None
    for choice in pure_policies(plain, allowed):
        values = policy_sums(plain, [{a: Fraction(1)} for a in choice], payments)
        flat = [v[0] for v in values]
        best = flat if best is None else [max(x, y) for x, y in zip(best, flat, strict=True)]
    assert best is not None
    return best


def reward_payments(plain: Plain, weights: list[Fraction]) -> list[list[list[Fraction]]]:
    return [
        [[plain.reward(s, a, weights)] for a in range(plain.n_actions)]
        for s in range(plain.n_states)
    ]


def action_values(
    plain: Plain, weights: list[Fraction], values: list[Fraction]
) -> list[list[Fraction]]:
    return [
        [
            plain.reward(s, a, weights)
            + plain.discount * sum((p * values[t] for t, p in plain.row(s, a).items()), Fraction(0))
            for a in range(plain.n_actions)
        ]
        for s in range(plain.n_states)
    ]


def optimal_sets(
    plain: Plain, weights: list[Fraction]
) -> tuple[list[list[Fraction]], list[list[int]]]:
    """Exact action values and the optimal actions of every state (none where terminal)."""
    q = action_values(plain, weights, best_values(plain, reward_payments(plain, weights)))
    return q, [
        [] if plain.terminal[s] else [a for a, v in enumerate(q[s]) if v == max(q[s])]
        for s in range(plain.n_states)
    ]
