"""The arrays that the likelihood kernels work on, by kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidNumber
from didact.learners.chains.dense import (
    MOST_UPDATES,
    run_by_resolvent,
    score_by_resolvent,
    try_by_resolvent,
)
from didact.learners.chains.deterministic import (
    arrange,
    run_on_graph,
    score_on_graph,
    try_on_graph,
)
from didact.learners.chains.sparse import run_by_sweeps, score_by_sweeps, try_by_sweeps
from didact.learners.evidence import Evidence
from didact.mdp import MDP
from didact.numerics.compiled import Kernel
from didact.planning.derived import LARGEST, single_successors
from didact.planning.sweeps import Model, model_of, new_sweep_plan

DENSE_STATES = 150
"""Stochastic models with more states are planned by sweeps: a resolvent no longer pays."""

Arrays = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Scorer:
    """How log P(D | w) is computed on one model: kernels and what they read.

    workspace: a fresh tuple of what they write, for one chain; its entry `values_at` holds the
    optimal values after a score, its entry `failures_at` counts plans that did not settle. work:
    inner-loop steps of one score, roughly. backup: the model for Bellman backups.
    """

    method: str
    run: Kernel
    trial: Kernel
    score: Kernel
    model: Arrays
    columns: Any
    workspace: Callable[[], Arrays]
    values_at: int
    work: int
    backup: Model
    failures_at: int | None = None


def scorer_of(evidence: Evidence) -> Scorer:
    """The quickest exact way for the model."""
    mdp = evidence.mdp
    if not float(np.abs(mdp.features.floats).max()) / (1.0 - mdp.discount) < LARGEST:
        raise InvalidNumber("features / (1 - discount) must stay below 1e300; rescale")
    if mdp.is_deterministic():
        return _on_graph(mdp)
    return _by_resolvent(mdp) if mdp.n_states <= DENSE_STATES else _by_sweeps(mdp)


def shown_arrays(evidence: Evidence, confidence: float) -> Arrays:
    """confidence, shown states, how often each action was shown, and room for their values."""
    states = evidence.states.astype(np.uint32)
    return confidence, states, evidence.counts.reshape(-1).copy(), np.zeros(evidence.counts.size)


def _feature_columns(mdp: MDP) -> Any:
    """Feature j of every state, or of every pair s*A + a, from place j * rows on."""
    return mdp.features.floats.reshape(-1, mdp.n_features).T.copy().reshape(-1)


def _first_rows(mdp: MDP) -> Any:
    return (np.arange(mdp.n_states) * mdp.n_actions).astype(np.uint32)


def _on_graph(mdp: MDP) -> Scorer:
    n, m = mdp.n_states, mdp.n_actions
    columns = _feature_columns(mdp)
    n_rows = columns.size // mdp.n_features
    successor = single_successors(mdp).copy()
    successor[np.repeat(mdp.terminal, m)] = n
    gaps = 1.0 - mdp.discount ** np.arange(n + 1.0)
    by_action = int(mdp.has_action_features)

    def workspace() -> Arrays:
        following = successor[::m].copy()
        order, heads, lengths, path = np.zeros((4, n), dtype=np.uint32)
        seen = np.zeros(n + 1, dtype=np.uint8)
        cycles = np.zeros(1, dtype=np.int64)
        cycles[0] = arrange.run(2 * n, n, following, order, heads, lengths, seen, path)
        numbers = np.zeros(n_rows), np.zeros(n), np.zeros(n + 1)
        return (*numbers, _first_rows(mdp), following, order, heads, lengths, seen, path, cycles)

    return Scorer(
        "policy iteration on the functional graph",
        run_on_graph,
        try_on_graph,
        score_on_graph,
        (n, m, mdp.discount, by_action, successor, gaps),
        columns,
        workspace,
        2,
        columns.size + 2 * n * m,
        model_of(mdp),
    )


def _by_resolvent(mdp: MDP) -> Scorer:
    n, k = mdp.n_states, mdp.n_features
    columns = _feature_columns(mdp)
    moves = mdp.transitions
    arrays = (
        moves.offsets.astype(np.uint32),
        moves.successors.astype(np.uint32),
        moves.probabilities.floats.copy(),
    )

    def workspace() -> Arrays:
        chosen = _first_rows(mdp)
        sizes = np.zeros(columns.size // k), np.zeros(n)
        dense = np.zeros(n * n), np.zeros(k * n), np.zeros(n + 2), np.zeros(2 * n)
        return (*sizes, chosen, chosen.copy(), *dense, np.full(1, MOST_UPDATES + 1))

    return Scorer(
        "policy iteration with a kept resolvent",
        run_by_resolvent,
        try_by_resolvent,
        score_by_resolvent,
        (n, mdp.n_actions, mdp.discount, arrays),
        columns,
        workspace,
        1,
        columns.size + 2 * moves.n_entries + n * n,
        model_of(mdp),
    )


def _by_sweeps(mdp: MDP) -> Scorer:
    n, m, k = mdp.n_states, mdp.n_actions, mdp.n_features
    columns = _feature_columns(mdp)
    model = model_of(mdp)

    def workspace() -> Arrays:
        plan, paid = new_sweep_plan(mdp), np.zeros(columns.size // k)
        return np.zeros(n * m), plan.values, plan, paid, np.zeros(1, dtype=np.int64)

    return Scorer(
        "policy iteration with BiCGSTAB",
        run_by_sweeps,
        try_by_sweeps,
        score_by_sweeps,
        model,
        columns,
        workspace,
        1,
        columns.size + 60 * mdp.transitions.n_entries,
        model,
        4,
    )
