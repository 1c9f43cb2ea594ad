"""Optimal values and the set of optimal actions of every state, with evidence.

`float` gives values with a proved bound; actions closer than twice the bound count as tied.
`exact` decides everything in rational arithmetic. `auto` takes floats first, and settles exactly
each comparison that the bound leaves open while the model is small enough for it.

Float policy iteration. Deterministic models: each policy is evaluated exactly in O(S) on its
functional graph. Others: inexact evaluation by BiCGSTAB, and direct solves where that goes in
circles. The result is any value function V; what makes it an answer is the bound |V - V*| <=
(residual + rounding) / (1 - discount), which holds for every V.

At the end, the linear system of a policy, (I - discount * T_pi) x = payments, in several columns at
once: along the graph, by a dense or sparse factorisation, or by BiCGSTAB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter, NotConverged
from didact.inputs import choice, counted, explains_names
from didact.mdp import MDP, Task, as_mdp
from didact.mdp.model import as_weights, idle_states
from didact.mdp.showing import draw, in_notebook
from didact.numerics.exact import Floats, Numbers
from didact.planning.exact import PolicyGraph, components, evaluate_exactly, exact_model
from didact.planning.kernels import (
    UNIT,
    System,
    actions_by_state,
    contraction_gap,
    expected_next,
    iterate,
    longest_row,
    model_of,
    new_krylov,
    new_paths,
    new_plan,
    residual_of,
    reward_table,
    rounding_of_backup,
    roundings,
    single_successors,
    solve_policy,
    walk_functional_graph,
)

Arithmetic = Literal["auto", "float", "exact"]

EXACT_STATES = 20_000
"""`auto` settles exactly at most so many states ..."""
EXACT_COMPONENT = 150
"""... none of them in a cyclic component of more than so many states that needs a dense solve."""

DENSE_STATES = 300
"""Up to so many states a dense solve of a policy's linear system is quickest to start."""
DIRECT_STATES = 30_000
"""Up to so many states a sparse factorisation is quickest."""

MAX_ROUNDS = 1_000
"""Rounds of policy iteration after which direct solves take over ..."""
MAX_DIRECT_ROUNDS = 200
"""... and these end."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is optimal, and how that was found out.

    values: (S,), of the states.
    action_values: (S, A); within `error_bound` of the true ones (nearest floats if exact).
    optimal: (S, A), which actions are optimal; all False in terminal states.
    error_bound: how far action values can be from the true ones.
    arithmetic: 'exact' or 'float'.
    method: the solver that found it.
    n_close: comparisons with the best action that the float bound left open.
    n_settled: how many of those were settled in exact arithmetic.
    exact_values: rational values of the states, where they were computed exactly.
    """

    values: Floats
    action_values: Floats
    optimal: NDArray[np.bool_]
    error_bound: float
    arithmetic: str
    method: str
    n_close: int
    n_settled: int
    exact_values: tuple[Fraction | None, ...] | None = None

    _repr_html_ = in_notebook

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each state: state, value, and the list of its optimal actions."""
        return [
            {"state": s, "value": float(value), "optimal": self.optimal_actions(s)}
            for s, value in enumerate(self.values)
        ]

    def __repr__(self) -> str:
        n_states, n_actions = self.optimal.shape
        proved = "proved" if self.is_proved else f"{self.n_close - self.n_settled} close calls"
        sizes = f"{counted(n_states, 'state')}, {counted(n_actions, 'action')}"
        return f"Plan({sizes}, {self.arithmetic}, {proved}, by {self.method})"

    @property
    def is_proved(self) -> bool:
        """Whether every optimal set is proved: by the bound or in exact arithmetic."""
        return self.n_close == self.n_settled

    @cached_property
    def n_optimal(self) -> NDArray[np.int64]:
        """How many actions are optimal in each state, (S,)."""
        return np.asarray(self.optimal.sum(axis=1))

    @property
    def policy(self) -> Floats:
        """Equal probability for all optimal actions, shape (S, A); zero in terminal states."""
        return np.asarray(self.optimal / np.maximum(self.n_optimal, 1)[:, None])

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the optimal actions on the world of `task=`, or else all values.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.plan`.
        """
        return draw(self, ax, **style)

    def optimal_actions(self, state: int) -> list[int]:
        """The optimal actions of a state; none where it is terminal.

        state: the state's number.
        """
        return [int(a) for a in np.flatnonzero(self.optimal[state])]


@explains_names
def solve(mdp: MDP | Task, weights: Any = None, *, arithmetic: Arithmetic = "auto") -> Plan:
    """The optimal plan of an MDP for reward weights (k,), or of a task.

    mdp: the model, or a task.
    weights: one number for each feature, read exactly; a task's own by default.
    arithmetic: 'float' gives values with a proved error bound; 'exact' settles in fractions what
        the bound leaves open; 'auto' does so while that is affordable.
    """
    if weights is None and isinstance(mdp, Task):
        weights = mdp.true_weights
    mdp = as_mdp(mdp)
    if weights is None:
        raise InvalidParameter("solve(mdp, weights) needs the argument weights; a Task has its own")
    given = as_weights(weights, mdp.n_features)
    choice(arithmetic, "arithmetic", get_args(Arithmetic))
    found = plan_in_floats(mdp, *reward_table(mdp, given.floats))
    candidates = _candidates(mdp, found, everything=arithmetic == "exact")
    compared = candidates & ~idle_states(mdp)[:, None]
    n_close = int(np.count_nonzero(compared)) - int(compared.any(axis=1).sum())
    if arithmetic == "exact":
        return _settled(mdp, given, found, candidates, range(mdp.n_states), n_close)
    if arithmetic == "auto" and n_close and mdp.n_states <= EXACT_STATES:
        open_states = np.flatnonzero(compared.sum(axis=1) > 1)
        roots = _successors_of(mdp, open_states.tolist(), candidates)
        taken = found.policy[:, None] == np.arange(mdp.n_actions)
        if mdp.is_deterministic() or is_exact_affordable(mdp, taken, roots):
            return _settled(mdp, given, found, candidates, roots, n_close)
    shape = candidates.shape
    return Plan(
        found.values,
        found.action_values.reshape(shape),
        candidates,
        found.error_bound,
        "float",
        found.method,
        n_close,
        0,
    )


def solve_among(mdp: MDP, weights: Numbers, allowed: NDArray[np.bool_]) -> Plan:
    """The best plan for weights (k,) among allowed actions (S, A), in fractions."""
    rewards, scale = reward_table(mdp, weights.floats)
    found = plan_in_floats(mdp, rewards, scale, allowed)
    candidates = allowed & ~mdp.terminal[:, None]
    return _settled(mdp, weights, found, candidates, range(mdp.n_states), 0)


def exact_policy_values(
    mdp: MDP, weights: Numbers, taken: NDArray[np.bool_]
) -> tuple[Fraction, ...]:
    """The value of each state under the policy that is uniform over the taken actions (S, A)."""
    model = exact_model(mdp)
    followed = PolicyGraph.of(model, actions_by_state(taken))
    solved = evaluate_exactly(model, followed, [[reward] for reward in model.rewards(weights)])
    return tuple(Fraction(int(v[0].p), int(v[0].q)) for v in solved if v is not None)


def _candidates(mdp: MDP, found: FloatPlan, *, everything: bool) -> NDArray[np.bool_]:
    """Actions that may be optimal as far as the bound tells; none in terminal states."""
    choices = found.action_values.reshape(mdp.n_states, mdp.n_actions)
    if everything:
        mask = np.ones(choices.shape, dtype=np.bool_)
    else:
        mask = choices >= choices.max(axis=1, keepdims=True) - 2 * found.error_bound
    if mdp.n_going < mdp.n_states:
        mask &= ~mdp.terminal[:, None]
    return mask


def _successors_of(mdp: MDP, states: Iterable[int], candidates: NDArray[np.bool_]) -> list[int]:
    """The states themselves and where their candidate actions lead."""
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    reached: dict[int, None] = {}
    for state in states:
        reached[state] = None
        for action in np.flatnonzero(candidates[state]).tolist():
            row = state * mdp.n_actions + action
            reached.update(dict.fromkeys(successors[offsets[row] : offsets[row + 1]].tolist()))
    return list(reached)


def is_exact_affordable(
    mdp: MDP, taken: NDArray[np.bool_], roots: Iterable[int] | None = None
) -> bool:
    """Whether a policy over the taken actions (S, A) needs no large dense rational system.

    roots: where its values are wanted; everywhere by default.
    """
    if mdp.n_states > EXACT_STATES:
        return False
    offsets, successors = mdp.transitions.offsets.tolist(), mdp.transitions.successors.tolist()
    rows: list[list[tuple[int, Any]]] = []
    for state, chosen in enumerate(actions_by_state(taken)):
        first = state * mdp.n_actions
        ranges = [range(offsets[first + a], offsets[first + a + 1]) for a in chosen]
        rows.append([(successors[i], None) for entries in ranges for i in entries])
    found = components(rows, range(mdp.n_states) if roots is None else roots)
    return all(len(component) <= EXACT_COMPONENT for component in found)


def _settled(
    mdp: MDP,
    weights: Numbers,
    found: FloatPlan,
    candidates: NDArray[np.bool_],
    roots: Iterable[int],
    n_close: int,
) -> Plan:
    """Exact policy iteration among the candidates, from the float policy on.

    The candidates hold every optimal action, so a policy that no candidate improves is optimal.
    """
    model = exact_model(mdp)
    rewards = model.rewards(weights)
    paid = [[reward] for reward in rewards]
    policy = [[int(a)] for a in found.policy]
    roots = list(roots)
    tied = idle_states(mdp) if len(roots) < mdp.n_states else np.zeros(mdp.n_states, np.bool_)
    choices = actions_by_state(candidates & ~tied[:, None])
    least = 1 if candidates.sum() == mdp.n_actions * mdp.n_going else 2
    while True:
        solved = evaluate_exactly(model, PolicyGraph.of(model, policy, roots), paid)
        values = [None if v is None else v[0] for v in solved]
        exact_q = {
            (state, a): sum((w * values[t] for t, w in model.rows[row]), rewards[row])
            for state, actions in enumerate(choices)
            if len(actions) >= least
            for a in actions
            for row in (state * model.n_actions + a,)
        }
        optimal, better = _compared(exact_q, values, candidates)
        if not better:
            return _exact_plan(mdp, found, optimal, values, exact_q, n_close)
        policy = [[better[s]] if s in better else actions for s, actions in enumerate(policy)]


def _compared(
    exact_q: dict[tuple[int, int], Any], values: list[Any], candidates: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], dict[int, int]]:
    """The candidates that are best by their exact values, and for each state that can be improved
    the first action that is best there."""
    best: dict[int, Any] = {}
    for (state, _), value in exact_q.items():
        if state not in best or value > best[state]:
            best[state] = value
    optimal, better = candidates.copy(), dict[int, int]()
    for (state, action), value in exact_q.items():
        optimal[state, action] = value == best[state]
        if value == best[state] and value > values[state]:
            better.setdefault(state, action)
    return optimal, better


def _exact_plan(
    mdp: MDP,
    found: FloatPlan,
    optimal: NDArray[np.bool_],
    values: list[Any],
    exact_q: dict[tuple[int, int], Any],
    n_close: int,
) -> Plan:
    """The plan with exact numbers put in place of floats where they are known."""
    floats = found.values.copy()
    action_values = found.action_values.reshape(mdp.n_states, mdp.n_actions).copy()
    for state, value in enumerate(values):
        if value is not None:
            floats[state] = int(value.p) / int(value.q)
            if mdp.terminal[state]:
                action_values[state] = floats[state]
    for (state, action), value in exact_q.items():
        action_values[state, action] = int(value.p) / int(value.q)
    whole = len(exact_q) == mdp.n_going * mdp.n_actions and all(v is not None for v in values)
    return Plan(
        floats,
        action_values,
        optimal,
        float(np.spacing(max(np.abs(action_values).max(), 1e-300))) if whole else found.error_bound,
        "exact" if whole else "float, open comparisons settled exactly",
        found.method,
        n_close,
        n_close,
        tuple(None if v is None else Fraction(int(v.p), int(v.q)) for v in values),
    )


@dataclass(frozen=True, eq=False)
class FloatPlan:
    """Values (S,), action values (S*A,), a greedy policy (S,), and the bound on their errors."""

    values: Floats
    action_values: Floats
    policy: NDArray[np.uint32]
    error_bound: float
    method: str


def plan_in_floats(
    mdp: MDP, rewards: Floats, scale: float, among: NDArray[np.bool_] | None = None
) -> FloatPlan:
    """The best value of every state when only allowed actions may be taken.

    rewards: (S*A,), each within rounding of sums of k products whose absolute terms add up to at
    most `scale`. among: the allowed actions (S, A), all by default; every non-terminal state needs
    one.
    """
    allowed = np.ones(rewards.size, dtype=np.uint8)
    policy = np.zeros(mdp.n_states, dtype=np.uint32)
    if among is not None:
        allowed[:] = (among | mdp.terminal[:, None]).ravel()
        policy[:] = allowed.reshape(among.shape).argmax(axis=1)
    largest = scale / (1.0 - mdp.discount)
    plan, is_graph = new_plan(mdp, policy), mdp.is_deterministic()
    method = f"policy iteration {'on the functional graph' if is_graph else 'with BiCGSTAB'}"
    work = 10 * rewards.size if is_graph else 200 * mdp.transitions.n_entries
    tolerance = roundings(mdp) * UNIT * largest
    if iterate.run(work, model_of(mdp, allowed), rewards, tolerance, MAX_ROUNDS, plan) < 0:
        plan.values[:], _ = iterate_directly(mdp, rewards, allowed, policy)
        method = "policy iteration with direct solves"
    values = plan.values
    action_values = rewards + mdp.discount * expected_next(mdp, values)
    among = np.where(allowed != 0, action_values, -np.inf).reshape(mdp.n_states, -1)
    residual = float(np.abs(among.max(axis=1) - values).max())
    reach = max(float(values.max()), -float(values.min()))
    rounding = rounding_of_backup(mdp, scale, reach, longest_row(mdp))
    error_bound = (residual + rounding) / contraction_gap(mdp) * (1 + 8 * UNIT) + rounding
    return FloatPlan(values, action_values, policy, error_bound, method)


def iterate_directly(
    mdp: MDP, rewards: Floats, allowed: NDArray[np.uint8], policy: NDArray[np.uint32]
) -> tuple[Floats, int]:
    """Values (S,) of the best policy found from this one on, and the rounds; `policy` follows.

    Each policy is solved by elimination, then improved wherever an action is better by more than
    rounding. Policies whose values differ by less than that may follow one another for ever, so the
    first one that comes again ends the rounds. What is returned has the least residual seen.
    """
    pairs = rewards.reshape(mdp.n_states, mdp.n_actions)
    closed = allowed.reshape(pairs.shape) == 0
    states = np.arange(mdp.n_states)
    best, least, best_policy = np.zeros(mdp.n_states), np.inf, policy.copy()
    seen: set[bytes] = set()
    while policy.tobytes() not in seen and len(seen) < MAX_DIRECT_ROUNDS:
        seen.add(policy.tobytes())
        try:
            values = _values_of(mdp, pairs, policy)
        except NotConverged:
            break
        following = expected_next(mdp, values).reshape(pairs.shape)
        choices = np.where(closed, -np.inf, pairs + mdp.discount * following)
        residual = float(np.abs(choices.max(axis=1) - values).max())
        if residual < least:
            best, least, best_policy = values, residual, policy.copy()
        bar = choices[states, policy] + 4 * UNIT * float(np.abs(values).max())
        better = (choices.max(axis=1) > bar) & ~mdp.terminal
        policy[better] = choices[better].argmax(axis=1)
    policy[:] = best_policy
    return best, len(seen)


def _values_of(mdp: MDP, pairs: Floats, policy: NDArray[np.uint32]) -> Floats:
    """The values of a deterministic policy, corrected once by the solution for its residual."""
    states = np.arange(mdp.n_states)
    taken = np.zeros(pairs.shape)
    taken[states, policy] = 1.0
    taken[mdp.terminal] = 0.0
    paid = np.where(mdp.terminal, pairs[:, 0], pairs[states, policy])
    values = discounted_sums(mdp, taken, paid[:, None])[:, 0]
    following = expected_next(mdp, values).reshape(pairs.shape)[states, policy]
    missing = paid + mdp.discount * following - values
    return np.asarray(values + discounted_sums(mdp, taken, missing[:, None])[:, 0])


def discounted_sums(mdp: MDP, policy: Floats, payments: Floats) -> Floats:
    """Expected discounted payments (S, c) of a policy (S, A), from each state on."""
    if mdp.is_deterministic():
        sums = _walk(mdp, policy, payments)
        tied = np.flatnonzero(((policy > 0.0) & (policy < 1.0)).any(axis=1))
        if not tied.size or _solves(mdp, policy[tied], payments[tied], sums, tied):
            return sums
    matrix = policy_matrix(mdp, policy)
    if mdp.n_states <= DENSE_STATES:
        system = np.eye(mdp.n_states) - mdp.discount * matrix.toarray()
        return np.asarray(np.linalg.solve(system, payments), dtype=np.float64)
    if mdp.n_states <= DIRECT_STATES:
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        sparse = eye_array(mdp.n_states, format="csc") - mdp.discount * matrix.tocsc()
        return np.asarray(splu(sparse.tocsc()).solve(np.ascontiguousarray(payments)))
    return _iterate(mdp, matrix, payments)


def _solves(
    mdp: MDP, policy: Floats, payments: Floats, sums: Floats, tied: NDArray[np.int64]
) -> bool:
    """Whether sums of one choice are those of all: where choices tie they lead to equal sums.

    policy, payments: of the tied states alone.
    """
    after = sums[single_successors(mdp).reshape(mdp.n_states, -1)[tied]]
    expected = payments + mdp.discount * np.einsum("sa,sac->sc", policy, after)
    limit = 16 * UNIT * float(np.abs(sums).max(initial=0.0))
    return bool(np.abs(expected - sums[tied]).max(initial=0.0) <= limit)


def policy_matrix(mdp: MDP, policy: Floats) -> Any:
    """T_pi as a sparse matrix (S, S); empty rows in terminal states."""
    from scipy.sparse import csr_array

    taken = np.flatnonzero(policy)
    offsets = np.concatenate(([0], np.cumsum((policy != 0).sum(axis=1))))
    chooser = csr_array(
        (policy.ravel()[taken], taken, offsets),
        shape=(mdp.n_states, mdp.n_states * mdp.n_actions),
    )
    return (chooser @ mdp.transitions.matrix()).tocsr()


def _walk(mdp: MDP, policy: Floats, payments: Floats) -> Floats:
    """One successor for each state: along its functional graph in O(S)."""
    n, c = payments.shape
    following = single_successors(mdp).reshape(n, -1)[np.arange(n), policy.argmax(axis=1)]
    sums = np.zeros(n * c)
    walk_functional_graph.run(
        n * c,
        *(c, mdp.discount, mdp.terminal.view(np.uint8), new_paths(n, following)),
        *(np.ascontiguousarray(payments).ravel(), sums),
    )
    return sums.reshape(n, c)


def _iterate(mdp: MDP, matrix: Any, payments: Floats) -> Floats:
    """BiCGSTAB column by column, restarted until the residual is at rounding level."""
    n = mdp.n_states
    offsets, successors = matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32)
    weights, krylov = mdp.discount * matrix.data, new_krylov(n)
    sums = np.zeros(payments.shape)
    for column in range(payments.shape[1]):
        system = System(offsets, successors, weights, np.ascontiguousarray(payments[:, column]))
        values = system.payments.copy()
        for _ in range(200):
            steps = solve_policy.run(n, system, 0.01, 500, values, krylov)
            residual_of.run(n, system, values, krylov.r)
            change = float(np.abs(krylov.r).max())
            if change <= 16 * UNIT * max(float(np.abs(values).max()), 1e-300):
                break
            if steps < 0:
                values += krylov.r
        else:
            raise NotConverged(
                f"column {column} of the policy's linear system still changes by {change:.3g}"
            )
        sums[:, column] = values
    return sums
