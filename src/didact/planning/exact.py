"""Exact planning: rational policy evaluation, and how long its results will be (python-flint).

The graph of a policy is condensed into strongly connected components and solved backwards. In
episodic tasks nearly every component is one state; under a deterministic policy every cycle is one
small equation; only what remains needs a dense rational solve.

By Cramer's rule the successor features of a dense component have its determinant below the
fraction line, and that is about as long as the denominators of its rows together: rows that are
equal count once, since they add no rank. So the length is known before the work is begun. Chains
and small cycles are quick to solve, so that their results are measured instead. What is longer than
`MAX_WRITTEN_DIGITS` could not be written into a proof.

FLINT is imported by the functions that need it: float planning does not wait for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import Unsupported
from didact.mdp import MDP
from didact.mdp.model import kept_with_model
from didact.numerics.exact import Numbers
from didact.numerics.texts import MAX_WRITTEN_DIGITS, short_repr
from didact.planning.kernels import actions_by_state

if TYPE_CHECKING:
    from didact.planning.solve import Plan

Row = list[tuple[int, Any]]
"""A sparse row: (state, rational weight) pairs."""
Solved = list[list[Any] | None]
"""The columns of each state; None where they are not needed."""

DIGITS_PER_BIT = math.log10(2)
PROOF_PER_FEATURE = 2
"""A proof's multipliers divide rows by rows, and are twice as long as the successor features."""


@dataclass(frozen=True, eq=False)
class ExactModel:
    """An MDP in rationals: discounted successor rows, features, terminal flags.

    features: phi(s, a) of each row s*A + a; those that are alike are one list.
    """

    n_states: int
    n_actions: int
    discount: Any
    rows: list[Row]
    features: list[list[Any]]
    terminal: list[bool]

    def payment(self, state: int, action: int) -> list[Any]:
        """phi(s, a) as k rationals."""
        return self.features[state * self.n_actions + action]

    def rewards(self, weights: Numbers) -> list[Any]:
        """w.phi(s, a) of each row s*A + a."""
        w, distinct = as_rationals(weights), {id(phi): phi for phi in self.features}
        worth = {place: dot(phi, w) for place, phi in distinct.items()}
        return [worth[id(phi)] for phi in self.features]


@dataclass(frozen=True, eq=False)
class PolicyGraph:
    """A policy in a model, uniform over the actions that it lists for each state.

    rows: discounted successor rows. components: strongly connected ones of their graph from some
    roots on, each after all it leads to.
    """

    policy: Sequence[Sequence[int]]
    rows: list[Row]
    components: list[list[int]]

    @classmethod
    def of(
        cls, model: ExactModel, policy: Sequence[Sequence[int]], roots: Iterable[int] | None = None
    ) -> PolicyGraph:
        """What a policy does, from the roots on; from everywhere by default."""
        rows = policy_rows(model, policy)
        found = components(rows, range(model.n_states) if roots is None else roots)
        return cls(policy, rows, list(found))


@kept_with_model
def exact_model(mdp: MDP) -> ExactModel:
    """The MDP in rationals, built once and kept with it."""
    discount = rational(mdp.exact_discount.numerator, mdp.exact_discount.denominator)
    palette, codes = mdp.transitions.exact()
    weights = [discount * rational(p.numerator, p.denominator) for p in palette]
    code_list = codes.tolist()
    successors = mdp.transitions.successors.tolist()
    offsets = mdp.transitions.offsets.tolist()
    rows = [
        [(successors[i], weights[code_list[i]]) for i in range(offsets[row], offsets[row + 1])]
        for row in range(mdp.n_states * mdp.n_actions)
    ]
    features = _feature_rows(mdp)
    return ExactModel(mdp.n_states, mdp.n_actions, discount, rows, features, mdp.terminal.tolist())


def _feature_rows(mdp: MDP) -> list[list[Any]]:
    """The features of each row as rationals; rows that are alike are one list."""
    palette, codes = mdp.features.exact()
    rationals = [rational(v.numerator, v.denominator) for v in palette]
    known: dict[bytes, list[Any]] = {}
    found = []
    for row in np.ascontiguousarray(codes.reshape(-1, mdp.n_features)):
        key = row.tobytes()
        if key not in known:
            known[key] = [rationals[code] for code in row.tolist()]
        found.append(known[key])
    return found if mdp.has_action_features else [p for p in found for _ in range(mdp.n_actions)]


def as_rationals(numbers: Numbers) -> list[Any]:
    """Every entry as an fmpq, in row order."""
    palette, codes = numbers.exact()
    rationals = [rational(v.numerator, v.denominator) for v in palette]
    return [rationals[code] for code in codes.ravel().tolist()]


def rational(above: int, below: int = 1) -> Any:
    """above / below as FLINT's fraction."""
    from flint import fmpq

    return fmpq(above, below)


def dot(left: Iterable[Any], right: Iterable[Any]) -> Any:
    """Sum of products of two rational vectors."""
    total = rational(0)
    for a, b in zip(left, right, strict=True):
        if a and b:
            total += a * b
    return total


def evaluate_exactly(
    model: ExactModel, followed: PolicyGraph, payments: Sequence[list[Any]]
) -> Solved:
    """The discounted payments of a policy from its roots on.

    `payments` maps row s*A + a to its columns; terminal states pay those of row s*A once.
    """
    solved: Solved = [None] * model.n_states
    for component in followed.components:
        solve_component(model, followed, payments, component, solved)
    return solved


@dataclass(frozen=True, eq=False)
class ExactSuccessorFeatures:
    """mu as object arrays of rationals (flint.fmpq): states (S, k), pairs (S, A, k).

    model: in rationals; those of pairs are found by it when they are first asked for.
    """

    states: NDArray[Any]
    model: ExactModel

    __repr__ = short_repr

    @cached_property
    def pairs(self) -> NDArray[Any]:
        """mu(s, a) = phi(s, a) + discount * E[mu(next)], shape (S, A, k)."""
        model, (n, k) = self.model, self.states.shape
        states = self.states.tolist()
        pairs = np.empty((n * model.n_actions, k), dtype=object)
        for row, mu in enumerate(model.features):
            for target, weight in model.rows[row]:
                after = states[target]
                mu = [x + weight * v if v else x for x, v in zip(mu, after, strict=True)]
            pairs[row] = mu
        return pairs.reshape(n, model.n_actions, k)

    @classmethod
    def of(cls, model: ExactModel, followed: PolicyGraph) -> ExactSuccessorFeatures:
        """Those of a policy in the model."""
        found = evaluate_exactly(model, followed, model.features)
        states = np.empty((len(found), len(model.features[0])), dtype=object)
        for state, mu in enumerate(found):
            states[state] = mu
        return cls(states, model)


def policy_rows(model: ExactModel, policy: Sequence[Sequence[int]]) -> list[Row]:
    """Discounted successor rows of the policy; empty for terminal states."""
    rows: list[Row] = []
    for state, actions in enumerate(policy):
        if model.terminal[state]:
            rows.append([])
        elif len(actions) == 1:
            rows.append(model.rows[state * model.n_actions + actions[0]])
        else:
            share = rational(1, len(actions))
            mixed: dict[int, Any] = {}
            for action in actions:
                for target, weight in model.rows[state * model.n_actions + action]:
                    mixed[target] = mixed.get(target, 0) + share * weight
            rows.append(list(mixed.items()))
    return rows


def components(rows: Sequence[Row], roots: Iterable[int]) -> Iterable[list[int]]:
    """Strongly connected components reachable from the roots, each after all it leads to.

    Tarjan's algorithm without recursion.
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    for root in roots:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        visits = [(root, iter(rows[root]))]
        while visits:
            state, targets = visits[-1]
            for target, _ in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    visits.append((target, iter(rows[target])))
                    break
                if target in on_stack:
                    low[state] = min(low[state], index[target])
            else:
                visits.pop()
                if visits:
                    above = visits[-1][0]
                    low[above] = min(low[above], low[state])
                if low[state] == index[state]:
                    at = len(stack) - 1
                    while stack[at] != state:
                        at -= 1
                    component = stack[at:]
                    del stack[at:]
                    on_stack.difference_update(component)
                    yield component


def solve_component(
    model: ExactModel,
    taken: PolicyGraph,
    payments: Sequence[list[Any]],
    component: list[int],
    solved: Solved,
) -> None:
    """Solve the states of one component, all states after it being solved."""
    policy, followed = taken.policy, taken.rows
    inside = {state: i for i, state in enumerate(component)}
    sides = []
    links: list[Row] = []
    for state in component:
        actions = (0,) if model.terminal[state] else policy[state]
        side = _mean([payments[state * model.n_actions + a] for a in actions])
        own: Row = []
        for target, weight in followed[state]:
            if target in inside:
                own.append((inside[target], weight))
            else:
                after = solved[target]
                assert after is not None
                side = [b + weight * v if v else b for b, v in zip(side, after, strict=True)]
        sides.append(side)
        links.append(own)
    if len(component) == 1:
        factor = 1 - sum((w for _, w in links[0]), rational(0))
        solved[component[0]] = sides[0] if factor == 1 else [b / factor for b in sides[0]]
    elif all(len(own) == 1 for own in links):
        _solve_cycle(component, links, sides, solved)
    else:
        _solve_dense(component, links, sides, solved)


def _mean(columns: list[list[Any]]) -> list[Any]:
    if len(columns) == 1:
        return columns[0]
    share = rational(1, len(columns))
    return [share * sum(entries, rational(0)) for entries in zip(*columns, strict=True)]


def _solve_cycle(
    component: list[int],
    links: list[Row],
    sides: list[list[Any]],
    solved: Solved,
) -> None:
    """One equation around the cycle, then back along it."""
    order = [0]
    while links[order[-1]][0][0] != 0:
        order.append(links[order[-1]][0][0])
    total = [rational(0)] * len(sides[0])
    product = rational(1)
    for i in reversed(order):
        weight = links[i][0][1]
        total = [b + weight * v for b, v in zip(sides[i], total, strict=True)]
        product *= weight
    value = [v / (1 - product) for v in total]
    solved[component[0]] = value
    for i in reversed(order[1:]):
        weight = links[i][0][1]
        value = [b + weight * v for b, v in zip(sides[i], value, strict=True)]
        solved[component[i]] = value


def _solve_dense(
    component: list[int],
    links: list[Row],
    sides: list[list[Any]],
    solved: Solved,
) -> None:
    from flint import fmpq_mat

    size = len(component)
    matrix = fmpq_mat(size, size)
    for i, own in enumerate(links):
        matrix[i, i] = rational(1)
        for j, weight in own:
            matrix[i, j] = matrix[i, j] - weight
    answer = matrix.solve(fmpq_mat(size, len(sides[0]), [b for side in sides for b in side]))
    for i, state in enumerate(component):
        solved[state] = [answer[i, j] for j in range(len(sides[0]))]


def expected_digits(mdp: MDP, plan: Plan) -> int:
    """About how many digits a proof about the policy needs, by its largest dense component."""
    return followed_digits(PolicyGraph.of(exact_model(mdp), actions_by_state(plan.optimal)))


def followed_digits(policy: PolicyGraph) -> int:
    """`expected_digits` of a policy in the exact model."""
    followed, longest = policy.rows, 0
    for component in policy.components:
        if len(component) == 1:
            continue
        inside = set(component)
        own = [[(t, w) for t, w in followed[s] if t in inside] for s in component]
        if not all(len(row) == 1 for row in own):
            rows = {_as_integers(sorted(row, key=itemgetter(0))) for row in own}
            longest = max(longest, sum(_denominator_bits(row) for row in rows))
    return int(longest * DIGITS_PER_BIT * PROOF_PER_FEATURE)


def _as_integers(row: Iterable[tuple[int, Any]]) -> tuple[tuple[int, int, int], ...]:
    return tuple((target, int(weight.p), int(weight.q)) for target, weight in row)


def _denominator_bits(row: tuple[tuple[int, int, int], ...]) -> int:
    return math.lcm(*(below for _, _, below in row)).bit_length() - 1


@kept_with_model
def multiplier_digits(mdp: MDP) -> int:
    """About how many digits more the multipliers of a proof have.

    They weigh at most one row for each feature against another, and every row brings along the
    denominators of its own action.
    """
    longest = max(map(_denominator_bits, map(_as_integers, exact_model(mdp).rows)))
    return int((mdp.n_features + 1) * longest * DIGITS_PER_BIT)


def require_writable(n_digits: int) -> None:
    """Refuse exact work whose results could not be written down."""
    if n_digits > MAX_WRITTEN_DIGITS:
        raise Unsupported(
            f"exact numbers must have at most {MAX_WRITTEN_DIGITS:,} digits; here they would have "
            f"about {n_digits:,}. Round the task's numbers, or use arithmetic='float'"
        )


def digits_with(features: ExactSuccessorFeatures) -> int:
    """About how many digits a proof needs that holds these successor features."""
    longest = max((number.q.bit_length() for number in features.states.flat), default=0)
    return int(longest * DIGITS_PER_BIT * PROOF_PER_FEATURE)
