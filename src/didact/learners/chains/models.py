"""The arrays that the likelihood kernels work on, by kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidNumber
from didact.learners.chains.compiled_bfgs import climb_by_resolvent, climb_on_graph
from didact.learners.chains.dense import BY_RESOLVENT, MOST_UPDATES, DenseModel, DenseWork
from didact.learners.chains.deterministic import ON_GRAPH, GraphModel, GraphWork, Tour, arrange
from didact.learners.chains.moves import Mover, mover_of
from didact.learners.chains.sparse import BY_SWEEPS, SweepModel, SweepWork
from didact.learners.chains.steps import Choices, Sampler, Shown
from didact.learners.evidence import Evidence
from didact.mdp import MDP
from didact.numerics.compiled import Kernel
from didact.numerics.exact import Floats
from didact.planning.kernels import LARGEST, Model, model_of, new_sweep_plan, single_successors

DENSE_STATES = 150
"""Stochastic models with more states are planned by sweeps: a resolvent no longer pays."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """How log P(D | w) is computed on one model: kernels, what they read, and what they write.

    workspace: a fresh one, for one chain; values: the optimal values that a score leaves there;
    n_failed: how many plans did not settle in it. climb: to a summit, where there is a kernel for
    it. work: inner-loop steps of one score, roughly. backup: the model for Bellman backups.
    is_costly: whether a score may be ended early, and be rough (see `sparse`).
    """

    method: str
    sampler: Sampler
    mover: Mover
    climb: Kernel | None
    model: Any
    workspace: Callable[[], Any]
    work: int
    backup: Model
    values: Callable[[Any], Floats]
    n_failed: Callable[[Any], int]
    is_costly: bool = False


def scorer_of(evidence: Evidence) -> Scorer:
    """The quickest exact way for the model."""
    mdp = evidence.mdp
    if not float(np.abs(mdp.features.floats).max()) / (1.0 - mdp.discount) < LARGEST:
        raise InvalidNumber("features / (1 - discount) must stay below 1e300; rescale")
    if mdp.is_deterministic():
        return _on_graph(mdp)
    return _by_resolvent(mdp) if mdp.n_states <= DENSE_STATES else _by_sweeps(mdp)


def shown_in(evidence: Evidence, confidence: float) -> Shown:
    """What the likelihood kernels read of evidence."""
    states, shown = evidence.scored()
    counts = shown.reshape(-1).copy()
    return Shown(
        confidence,
        states.astype(np.uint32),
        counts,
        np.zeros(counts.size),
        np.full(1, -np.inf),
        _choices_in(evidence, states),
    )


def _choices_in(evidence: Evidence, states: Any) -> Choices:
    """What the kernels read of answers; states: those whose values are at hand."""
    answers = evidence.answers
    at = np.searchsorted(states, answers.states) * evidence.mdp.n_actions + answers.actions
    places = np.where(answers.of_actions, at, -1)
    room = np.zeros((2, len(places)))
    return Choices(answers.first.copy(), places, answers.counts.reshape(-1).copy(), *room)


def _feature_columns(mdp: MDP) -> Any:
    """Feature j of every state, or of every pair s*A + a, from place j * rows on."""
    return mdp.features.floats.reshape(-1, mdp.n_features).T.copy().reshape(-1)


def _first_rows(mdp: MDP) -> Any:
    return (np.arange(mdp.n_states) * mdp.n_actions).astype(np.uint32)


def _on_graph(mdp: MDP) -> Scorer:
    n, m = mdp.n_states, mdp.n_actions
    columns = _feature_columns(mdp)
    successor = single_successors(mdp).copy()
    successor[np.repeat(mdp.terminal, m)] = n
    gaps = 1.0 - mdp.discount ** np.arange(n + 1.0)
    by_action = int(mdp.has_action_features)

    def workspace() -> GraphWork:
        order, heads, lengths, path = np.zeros((4, n), dtype=np.uint32)
        cycles, seen = np.zeros(1, dtype=np.int64), np.zeros(n + 1, dtype=np.uint8)
        tour = Tour(successor[::m].copy(), order, heads, lengths, cycles, seen, path)
        arrange.run(2 * n, tour)
        rewards = np.zeros(columns.size // mdp.n_features)
        return GraphWork(rewards, np.zeros(n), np.zeros(n + 1), _first_rows(mdp), tour)

    return Scorer(
        "policy iteration on the functional graph",
        ON_GRAPH,
        mover_of(ON_GRAPH.score),
        climb_on_graph,
        GraphModel(n, m, mdp.discount, by_action, successor, gaps, columns),
        workspace,
        columns.size + 2 * n * m,
        model_of(mdp),
        lambda work: work.values,
        lambda work: 0,
    )


def _by_resolvent(mdp: MDP) -> Scorer:
    n, k = mdp.n_states, mdp.n_features
    columns = _feature_columns(mdp)
    model = model_of(mdp)

    def workspace() -> DenseWork:
        chosen = _first_rows(mdp)
        rewards, values = np.zeros(columns.size // k), np.zeros(n)
        dense = np.zeros(n * n), np.zeros(k * n), np.zeros(n + 2), np.zeros(2 * n)
        updates = np.full(1, MOST_UPDATES + 1)
        return DenseWork(rewards, values, chosen, chosen.copy(), *dense, updates)

    return Scorer(
        "policy iteration with a kept resolvent",
        BY_RESOLVENT,
        mover_of(BY_RESOLVENT.score),
        climb_by_resolvent,
        DenseModel(n, mdp.n_actions, mdp.discount, model.moves, columns),
        workspace,
        columns.size + 2 * mdp.transitions.n_entries + n * n,
        model,
        lambda work: work.values,
        lambda work: 0,
    )


def _by_sweeps(mdp: MDP) -> Scorer:
    columns = _feature_columns(mdp)
    model = model_of(mdp)

    def workspace() -> SweepWork:
        rewards = np.zeros(mdp.n_states * mdp.n_actions)
        paid = np.zeros(columns.size // mdp.n_features)
        failures, rough = np.zeros((2, 1), dtype=np.int64)
        return SweepWork(rewards, paid, new_sweep_plan(mdp), failures, rough)

    return Scorer(
        "policy iteration with BiCGSTAB",
        BY_SWEEPS,
        mover_of(BY_SWEEPS.score),
        None,
        SweepModel(model, columns),
        workspace,
        columns.size + 60 * mdp.transitions.n_entries,
        model,
        lambda work: work.plan.values,
        lambda work: int(work.failures[0]),
        is_costly=True,
    )
