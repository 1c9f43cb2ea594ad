"""Kernels of float policy iteration: exact evaluation on graphs, and inexact by BiCGSTAB.

Deterministic models: under a policy every state has one next state, so paths end in a terminal
state or in a cycle, and a cycle of length n is one equation: value = sum(discount^i * payment_i) /
(1 - discount^n). All values are found in O(S). Rounds end when no action is better by a tolerance.

Other models: a Gauss-Seidel sweep improves the policy and the values, then BiCGSTAB (van der Vorst
1992) solves the policy's linear system as far as it pays; where it breaks down, more sweeps follow.

Terminal states are worth their reward. Kernels on flat arrays: row s*A + a, no checks, no
allocation. First stands what they need of a model, and bounds on rounding; what depends on the
model alone is kept with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidNumber
from didact.mdp import MDP
from didact.mdp.model import kept_with_model
from didact.numerics.compiled import kernel
from didact.numerics.exact import Floats

UNIT = 2.0**-53
"""Half the distance from 1 to the next float: a rounded result is off by this share at most."""
LARGEST = 1e300
"""Values stay below it, so that no sum overflows."""

ENOUGH = 0.05
"""An evaluation ends when its residual is this share of the first ..."""
EXACT = 1e-12
"""... or this, once sweeps have stalled ..."""
MAX_STEPS = 200
"""... or after so many steps."""

STALLED = 8
"""Sweeps without a smaller change after which rounding is at work."""


def reward_table(mdp: MDP, weights: Floats) -> tuple[Floats, float]:
    """R[s*A + a] = w.phi(s, a), and a bound on the sums of |w|.|phi|, which bound its rounding."""
    features = mdp.features.floats
    scale = float(reward_reach(mdp, weights))
    if not scale / (1.0 - mdp.discount) < LARGEST:
        raise InvalidNumber("weights * features / (1 - discount) must stay below 1e300; rescale")
    rewards = features @ weights
    if features.ndim == 2:
        return np.repeat(rewards, mdp.n_actions), scale
    return np.ascontiguousarray(rewards).reshape(-1), scale


def reward_reach(mdp: MDP, weights: Floats) -> Floats:
    """A bound on sum |w|.|phi| of every state and action, for weights (..., k): shape (...).

    The lesser of two: the longest row of features times the largest weight, and the largest entry
    of each feature times its weight, which no rescaling of features against weights changes.
    """
    absolute = np.abs(weights)
    longest, largest = _feature_sizes(mdp)
    with np.errstate(over="ignore"):
        return np.asarray(np.minimum(longest * absolute.max(axis=-1), absolute @ largest))


def feature_sizes(mdp: MDP) -> Floats:
    """The largest |phi_j| of each feature, shape (k,)."""
    return _feature_sizes(mdp)[1]


@kept_with_model
def _feature_sizes(mdp: MDP) -> tuple[Any, Floats]:
    """The longest row of features, sum |phi_j|, and the largest |phi_j| of each."""
    features = np.abs(mdp.features.floats.reshape(-1, mdp.n_features))
    return features.sum(axis=1).max(), features.max(axis=0)


@kept_with_model
def single_successors(mdp: MDP) -> NDArray[np.uint32]:
    """The one next state of each row of a deterministic model; its own where the row is empty."""
    moves = mdp.transitions
    own = np.repeat(np.arange(mdp.n_states, dtype=np.uint32), mdp.n_actions)
    own[np.diff(moves.offsets) > 0] = moves.successors
    own.setflags(write=False)
    return own


def expected_next(mdp: MDP, values: Floats) -> Floats:
    """E[V(next)] of each row s*A + a, for values (S,) or (S, c); 0 where the row is empty."""
    if not mdp.is_deterministic():
        return np.asarray(mdp.transitions.matrix() @ values)
    # A lookup: to import SciPy takes longer than to plan in a small model.
    expected = values[single_successors(mdp)]
    expected[np.repeat(mdp.terminal, mdp.n_actions)] = 0.0
    return np.asarray(expected)


def longest_row(mdp: MDP) -> int:
    """The largest number of next states of one row."""
    return int(np.diff(mdp.transitions.offsets).max(initial=1))


def rounding_of_backup(mdp: MDP, scale: Any, reach: Any, longest: int) -> Any:
    """How far a computed R + discount * sum(p V) can be from the one in exact numbers.

    Stored features, weights, discount and probabilities are within rounding of the exact ones
    (probabilities of rows with n entries within 2n + 8 units), and sums of n products add n more.
    """
    return (
        1.01 * UNIT * ((mdp.n_features + 6) * scale + (3 * longest + 16) * mdp.discount * reach)
        + 1e-300
    )


def roundings(mdp: MDP) -> int:
    """By how many roundings of the largest value there can be an action must be better.

    Evaluation on the graph adds up along whole paths, a sweep only over one row.
    """
    return 32 if mdp.is_deterministic() else 4


def contraction_gap(mdp: MDP) -> float:
    """1 - discount, rounded down."""
    return float(1 - mdp.exact_discount) * (1 - 4 * UNIT)


def actions_by_state(taken: NDArray[np.bool_]) -> list[list[int]]:
    """For each state the actions that are marked (S, A), ascending, in one pass."""
    return [[a for a, is_taken in enumerate(row) if is_taken] for row in taken.tolist()]


class Moves(NamedTuple):
    """Rows of next states: those of row i are entries offsets[i] to offsets[i + 1].

    offsets are unsigned: an index that cannot be negative saves a test in the innermost loop.
    """

    offsets: Any
    successors: Any
    probabilities: Any


class Model(NamedTuple):
    """A model, flat: its moves, which states end, and which rows are allowed.

    successor: of a deterministic model the next state of each row, its own where that is empty; of
    others no entries.
    """

    n_states: int
    n_actions: int
    discount: float
    moves: Moves
    successor: Any
    ends: Any
    allowed: Any


class Paths(NamedTuple):
    """The next state of each state under a policy, and workspace to walk there; S entries each."""

    following: Any
    seen: Any
    path: Any


class System(NamedTuple):
    """(I - W) values = payments, W the rows that a policy takes times the discount."""

    offsets: Any
    successors: Any
    weights: Any
    payments: Any


class Krylov(NamedTuple):
    """The vectors of BiCGSTAB by their usual names; `shadow` is the first residual."""

    r: Any
    shadow: Any
    p: Any
    v: Any
    s: Any
    t: Any


class PlanWorkspace(NamedTuple):
    """A policy and its values (S,), which stay from one reward to the next, and workspace.

    payments, paths: for evaluations on the graph. system, krylov: for those by BiCGSTAB. What a
    model does not need has no entries.
    """

    policy: Any
    values: Any
    payments: Any
    paths: Paths
    system: System
    krylov: Krylov


@kept_with_model
def _moves_of(mdp: MDP) -> Moves:
    rows = mdp.transitions
    offsets = rows.offsets.astype(np.uint32) if rows.n_entries < 2**32 else rows.offsets
    return Moves(offsets, rows.successors, rows.probabilities.floats)


def model_of(mdp: MDP, allowed: NDArray[np.uint8] | None = None) -> Model:
    """The arrays of a model; without a mask all rows are allowed."""
    nothing = np.zeros(0, dtype=np.uint32)
    nothing.setflags(write=False)  # as the other one: compiled code is of one type
    return Model(
        mdp.n_states,
        mdp.n_actions,
        mdp.discount,
        _moves_of(mdp),
        single_successors(mdp) if mdp.is_deterministic() else nothing,
        mdp.terminal.view(np.uint8),
        np.ones(mdp.n_states * mdp.n_actions, dtype=np.uint8) if allowed is None else allowed,
    )


def new_paths(n_states: int, following: NDArray[np.uint32] | None = None) -> Paths:
    """A workspace for the paths of so many states."""
    first, path = np.zeros((2, n_states), dtype=np.uint32)
    seen = np.zeros(n_states, dtype=np.uint8)
    return Paths(first if following is None else following, seen, path)


def new_krylov(n_states: int) -> Krylov:
    """A workspace for the vectors of so many states."""
    return Krylov(*np.zeros((6, n_states)))


def new_plan(mdp: MDP, policy: NDArray[np.uint32] | None = None) -> PlanWorkspace:
    """A plan that begins with the policy, or with the first action everywhere, and values 0."""
    n = mdp.n_states
    n_graph, n_system = (n, 0) if mdp.is_deterministic() else (0, n)
    width = n_system * longest_row(mdp)
    offsets, successors = np.zeros(n_system + 1, np.uint32), np.zeros(width, np.uint32)
    return PlanWorkspace(
        np.zeros(n, dtype=np.uint32) if policy is None else policy,
        np.zeros(n),
        np.zeros(n_graph),
        new_paths(n_graph),
        System(offsets, successors, np.zeros(width), np.zeros(n_system)),
        new_krylov(n_system),
    )


@kernel
def walk_functional_graph(
    n_columns: int, discount: float, ends: Any, paths: Paths, payments: Any, values: Any
) -> None:
    """values[s] = payments[s] + discount * values[following[s]], all columns, in O(S).

    Walks each path until it meets a solved state, a terminal one or itself.
    """
    following, seen, path = paths
    n_states = len(path)
    for state in range(n_states):
        seen[state] = 0
    for root in range(n_states):
        if seen[root] != 0:
            continue
        length = 0
        state = root
        while seen[state] == 0 and ends[state] == 0:
            seen[state] = 1
            path[length] = state
            length += 1
            state = following[state]
        if seen[state] == 0:
            seen[state] = 2
            for c in range(n_columns):
                values[state * n_columns + c] = payments[state * n_columns + c]
        elif seen[state] == 1:
            # The path has met itself: a cycle begins where this state stands on the path.
            first = length - 1
            while path[first] != state:
                first -= 1
            power = discount ** (length - first)
            for c in range(n_columns):
                total = 0.0
                for i in range(length - 1, first - 1, -1):
                    total = payments[path[i] * n_columns + c] + discount * total
                values[state * n_columns + c] = total / (1.0 - power)
            seen[state] = 2
        for i in range(length - 1, -1, -1):
            state = path[i]
            if seen[state] == 1:
                after = following[state]
                for c in range(n_columns):
                    values[state * n_columns + c] = (
                        payments[state * n_columns + c] + discount * values[after * n_columns + c]
                    )
                seen[state] = 2


@kernel
def improve_on_graph(model: Model, rewards: Any, tolerance: float, policy: Any, values: Any) -> int:
    """Switch every state to its best action if that is better by the tolerance; count switches."""
    successor, ends, allowed = model.successor, model.ends, model.allowed
    switched = 0
    for state in range(model.n_states):
        if ends[state] != 0:
            continue
        row = state * model.n_actions
        own = policy[state]
        # The own action keeps its place unless another is better by more than rounding: else tied
        # actions would be exchanged for ever.
        best = rewards[row + own] + model.discount * values[successor[row + own]] + tolerance
        choice = own
        for action in range(model.n_actions):
            if allowed[row + action] != 0:
                value = rewards[row + action] + model.discount * values[successor[row + action]]
                if value > best:
                    best = value
                    choice = action
        if choice != own:
            policy[state] = choice
            switched += 1
    return switched


@kernel
def iterate_on_graph(
    model: Model, rewards: Any, tolerance: float, most: int, plan: PlanWorkspace
) -> int:
    """Policy iteration with exact evaluation; the number of rounds, or -1 after `most` of them."""
    n_states, n_actions, discount = model.n_states, model.n_actions, model.discount
    successor, ends = model.successor, model.ends
    policy, values, payments, paths = plan.policy, plan.values, plan.payments, plan.paths
    following = paths.following
    for state in range(n_states):
        if ends[state] != 0:
            payments[state] = rewards[state * n_actions]
    for rounds in range(most):
        for state in range(n_states):
            if ends[state] == 0:
                row = state * n_actions + policy[state]
                payments[state] = rewards[row]
                following[state] = successor[row]
        walk_functional_graph(1, discount, ends, paths, payments, values)
        if improve_on_graph(model, rewards, tolerance, policy, values) == 0:
            return rounds + 1
    return -1


@kernel
def expected_value(moves: Moves, row: int, values: Any) -> float:
    """E[V(next)] of one row; 0 where it is empty."""
    offsets, successors, probabilities = moves.offsets, moves.successors, moves.probabilities
    total = 0.0
    for i in range(offsets[row], offsets[row + 1]):
        total += probabilities[i] * values[successors[i]]
    return total


@kernel
def action_value(model: Model, rewards: Any, row: int, values: Any) -> float:
    """Q[row] = R[row] + discount * E[V(next)]."""
    found: float = rewards[row] + model.discount * expected_value(model.moves, row, values)
    return found


@kernel
def largest_of(values: Any) -> float:
    """The largest |value|."""
    largest = 0.0
    for i in range(len(values)):
        largest = max(largest, abs(values[i]))
    return largest


@kernel
def backup(model: Model, rewards: Any, tolerance: float, policy: Any, values: Any) -> float:
    """One Gauss-Seidel Bellman sweep in place with greedy choice; the largest change."""
    n_actions, ends, allowed = model.n_actions, model.ends, model.allowed
    largest = 0.0
    for state in range(model.n_states):
        row = state * n_actions
        if ends[state] != 0:
            best = rewards[row]
        else:
            own = policy[state]
            best = action_value(model, rewards, row + own, values)
            choice = own
            bar = best + tolerance  # tied actions are not exchanged for ever
            for action in range(n_actions):
                if allowed[row + action] != 0 and action != own:
                    value = action_value(model, rewards, row + action, values)
                    if value > bar:
                        bar = value
                        best = value
                        choice = action
            policy[state] = choice
        largest = max(largest, abs(best - values[state]))
        values[state] = best
    return largest


@kernel
def take_policy(model: Model, rewards: Any, policy: Any, system: System) -> None:
    """Copy the rows that a policy chooses side by side, times the discount; and what they pay."""
    offsets, successors = model.moves.offsets, model.moves.successors
    probabilities, ends = model.moves.probabilities, model.ends
    chosen_successors, weights = system.successors, system.weights
    count = 0
    for state in range(model.n_states):
        system.offsets[state] = count
        row = state * model.n_actions
        if ends[state] == 0:
            row += policy[state]
            for i in range(offsets[row], offsets[row + 1]):
                chosen_successors[count] = successors[i]
                weights[count] = model.discount * probabilities[i]
                count += 1
        system.payments[state] = rewards[row]
    system.offsets[model.n_states] = count


@kernel
def residual_of(system: System, values: Any, r: Any) -> float:
    """r = payments - (I - W) values; its squared length."""
    offsets, successors, weights = system.offsets, system.successors, system.weights
    payments = system.payments
    norm = 0.0
    for state in range(len(payments)):
        total = payments[state] - values[state]
        for i in range(offsets[state], offsets[state + 1]):
            total += weights[i] * values[successors[i]]
        r[state] = total
        norm += total * total
    return norm


@kernel
def multiply(system: System, vector: Any, other: Any, product: Any) -> tuple[float, float]:
    """product = (I - W) vector; its inner products with another vector and with itself."""
    offsets, successors, weights = system.offsets, system.successors, system.weights
    inner = 0.0
    square = 0.0
    for state in range(len(vector)):
        total = vector[state]
        for i in range(offsets[state], offsets[state + 1]):
            total -= weights[i] * vector[successors[i]]
        product[state] = total
        inner += total * other[state]
        square += total * total
    return inner, square


@kernel
def solve_policy(system: System, reduction: float, most: int, values: Any, krylov: Krylov) -> int:
    """BiCGSTAB on (I - W) values = payments until the residual is `reduction` times the first.

    Returns the number of steps, or -1 when the recurrence broke down or the residual did not
    shrink enough in `most` steps.
    """
    r, shadow, p = krylov.r, krylov.shadow, krylov.p
    v, s, t = krylov.v, krylov.s, krylov.t
    n_states = len(values)
    norm = residual_of(system, values, r)
    shadow[:] = r
    p[:] = r
    target = norm * reduction * reduction
    rho = norm
    for step in range(most):
        if norm <= target or norm == 0.0:
            return step
        slope, _ = multiply(system, p, shadow, v)
        if slope == 0.0 or rho == 0.0:  # broken down: the next lines divide by it
            return -1
        alpha = rho / slope
        for i in range(n_states):
            s[i] = r[i] - alpha * v[i]
        ts, tt = multiply(system, s, s, t)
        omega = ts / tt if tt > 0.0 else 0.0
        norm = 0.0
        following = 0.0
        for i in range(n_states):
            values[i] += alpha * p[i] + omega * s[i]
            r[i] = s[i] - omega * t[i]
            norm += r[i] * r[i]
            following += shadow[i] * r[i]
        # Diverged (also where norm is NaN), or stuck: without omega no later step changes anything.
        if not norm < 1e300 or (omega == 0.0 and norm > target):
            return -1
        if omega != 0.0:
            beta = following / rho * (alpha / omega)
            for i in range(n_states):
                p[i] = r[i] + beta * (p[i] - omega * v[i])
        rho = following
    return most if norm <= target else -1


@kernel
def sweep_again(model: Model, rewards: Any, tolerance: float, policy: Any, values: Any) -> None:
    """Twenty sweeps in place of an evaluation that broke down; values that overflowed restart."""
    for state in range(model.n_states):
        if not (-1e300 < values[state] < 1e300):
            values[state] = 0.0
    for _ in range(20):
        backup(model, rewards, tolerance, policy, values)


@kernel
def sweep_until(
    model: Model, rewards: Any, tolerance: float, enough: float, most: int, plan: PlanWorkspace
) -> int:
    """Greedy sweeps and inexact evaluations in turn, until a sweep changes nothing that counts.

    Ends when a sweep changes values by at most `enough`, or by 16 units of the largest one, or does
    not get smaller any more and is below 1e-12 of it. The number of rounds, or -1 after `most`.
    """
    policy, values, system, krylov = plan.policy, plan.values, plan.system, plan.krylov
    best = 1e308
    stalled = 0
    for rounds in range(most):
        change = backup(model, rewards, tolerance, policy, values)
        reach = largest_of(values)
        # Only halving counts as progress, so that rounding cannot keep the rounds going.
        if change < 0.5 * best:
            best = change
            stalled = 0
        else:
            stalled += 1
        if change <= enough or change <= 16.0 * UNIT * reach:
            return rounds + 1
        if stalled >= STALLED and change <= 1e-12 * reach:
            return rounds + 1
        take_policy(model, rewards, policy, system)
        reduction = ENOUGH if stalled < STALLED else EXACT
        if solve_policy(system, reduction, MAX_STEPS, values, krylov) < 0:
            sweep_again(model, rewards, tolerance, policy, values)
    return -1


@kernel
def iterate(model: Model, rewards: Any, tolerance: float, most: int, plan: PlanWorkspace) -> int:
    """Policy iteration from the plan's policy on; the number of rounds, or -1 after `most`."""
    if len(model.successor) > 0:
        rounds: int = iterate_on_graph(model, rewards, tolerance, most, plan)
    else:
        rounds = sweep_until(model, rewards, tolerance, 0.0, most, plan)
    return rounds
