"""What several studies of the paper do: draw a world, give a lesson to a learner, draw losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from didact.learners import learn
from didact.learners.chains.options import published_chain
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import Task
from didact.numerics.exact import Floats
from didact.planning import Plan, evaluate, solve
from didact.random import stream
from didact.studies.study import Record
from didact.studies.summary import Estimate, Lines, estimate, series_of
from didact.worlds import make

STUCK = 3.0
"""A chain is stuck when weights are known that are likelier than its best by so many nats."""


def drawn_seed(seed: int, study: str, number: int, *names: str | int) -> int:
    """A seed from the study's seed, the study and the trial alone, for what takes whole numbers."""
    return int(stream(seed, study, number, *names).integers(2**32))


def random_world(study: str, settings: Any, number: int, n_features: int) -> tuple[int, Task]:
    """The seed of a trial's random grid, and the grid, of the settings' size and discount."""
    seed = drawn_seed(settings.seed, study, number, "world")
    shape = {"size": settings.size, "discount": settings.discount}
    return seed, make("random-grid", n_features=n_features, seed=seed, **shape)


def chain_of(settings: Any, n_features: int) -> dict[str, Any]:
    """The paper's chain with the confidence, steps and step size of the settings."""
    return published_chain(
        n_features,
        confidence=settings.confidence,
        n_steps=settings.steps,
        step_size=settings.step_size,
    )


def learned(
    task: Task, plan: Plan, demonstrations: Sequence[Any], options: Mapping[str, Any], seed: int
) -> tuple[Floats, dict[str, Any]]:
    """The most likely weights after demonstrations, and the losses of their policy."""
    belief = learn(task.mdp, demonstrations, seed=seed, **options)
    result = evaluate(task, belief.map_weights, plan=plan)
    return belief.map_weights, {"loss": result.policy_loss, "wrong": result.wrong_actions}


def is_stuck(
    task: Task,
    demonstrations: Sequence[Any],
    found: Floats,
    others: Sequence[Floats],
    confidence: float,
) -> bool:
    """Whether some of the other weights are likelier than those found by more than STUCK nats.

    All are compared at the same norm: absolute values sum to 1, as on the published chain.
    """
    shown = as_evidence(task.mdp, demonstrations)

    def log_likelihood(weights: Floats) -> float:
        values = solve(task.mdp, weights / np.abs(weights).sum()).action_values
        return softmax_log_likelihood(shown, values, confidence)

    best = max(log_likelihood(np.asarray(weights)) for weights in others)
    return best - log_likelihood(found) > STUCK


MEASURES = {"wrong": "wrong actions, % of states", "loss": "policy loss"}
Curves = dict[str, list[Estimate]]
"""A measure at each place, by who was measured."""


def curves_of(
    records: Sequence[Record], names: Iterable[str], measure: str, places: Sequence[int]
) -> Curves:
    """The means over trials of a measure at places of each one's list."""
    return {
        name: [estimate(record[name][measure][place] for record in records) for place in places]
        for name in names
    }


def curves_panel(
    measure: str, x_title: str, xs: Sequence[int], curves: Mapping[str, Sequence[Estimate]]
) -> Lines:
    """The curves of a measure as lines."""
    title = MEASURES[measure]
    series = tuple(series_of(name, xs, found) for name, found in curves.items())
    return Lines(title, x_title, title, series)
