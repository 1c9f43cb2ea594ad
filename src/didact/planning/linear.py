"""The linear system of a policy, (I - discount * T_pi) x = payments, in several columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import NotConverged
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.kernels import (
    UNIT,
    System,
    new_krylov,
    new_paths,
    residual_of,
    single_successors,
    solve_policy,
    walk_functional_graph,
)

Indices = NDArray[np.int64]

DENSE_STATES = 300
"""Up to so many states a dense solve is quickest to start."""
DIRECT_STATES = 30_000
"""Up to so many states a sparse factorisation is quickest."""


def discounted_sums(mdp: MDP, policy: Floats, payments: Floats) -> Floats:
    """Expected discounted payments (S, c) of a policy (S, A), from each state on."""
    if mdp.is_deterministic():
        sums = _walk(mdp, policy, payments)
        tied = np.flatnonzero(((policy > 0.0) & (policy < 1.0)).any(axis=1))
        if not tied.size or _solves(mdp, policy[tied], payments[tied], sums, tied):
            return sums
    if mdp.n_states <= DENSE_STATES:
        system = np.eye(mdp.n_states) - mdp.discount * dense_policy_matrix(mdp, policy)
        return np.asarray(np.linalg.solve(system, payments), dtype=np.float64)
    matrix = policy_matrix(mdp, policy)
    if mdp.n_states <= DIRECT_STATES:
        return _factorise(mdp, matrix, payments)
    return _iterate(mdp, matrix, payments)


def _solves(mdp: MDP, policy: Floats, payments: Floats, sums: Floats, tied: Indices) -> bool:
    """Whether sums of one choice are those of all: where choices tie they lead to equal sums.

    policy, payments: of the tied states alone.
    """
    after = sums[single_successors(mdp).reshape(mdp.n_states, -1)[tied]]
    expected = payments + mdp.discount * np.einsum("sa,sac->sc", policy, after)
    limit = 16 * UNIT * float(np.abs(sums).max(initial=0.0))
    return bool(np.abs(expected - sums[tied]).max(initial=0.0) <= limit)


def dense_policy_matrix(mdp: MDP, policy: Floats) -> Floats:
    """T_pi (S, S): every outcome added where it belongs, in the order of a sparse product."""
    moves, n = mdp.transitions, mdp.n_states
    rows = np.repeat(np.arange(n * mdp.n_actions), np.diff(moves.offsets))
    places = rows // mdp.n_actions * n + moves.successors
    shares = np.take(policy, rows) * moves.probabilities.floats
    sums = np.asarray(np.bincount(places, shares, n * n), dtype=np.float64)
    return sums.reshape(n, n)


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


def _factorise(mdp: MDP, matrix: Any, payments: Floats) -> Floats:
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    system = eye_array(mdp.n_states, format="csc") - mdp.discount * matrix.tocsc()
    return np.asarray(splu(system.tocsc()).solve(np.ascontiguousarray(payments)))


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
