"""Simulated participants: Bayesian learners of several confidences take the test.

A learner sees its condition's lesson and believes what BIRL makes of it. In each question one
reward of its belief is drawn, and the answer is soft: exp(confidence Q), with Q scaled by its
range. Low confidences are people who slip often. From the spread of scores follows how many people
it takes to see a difference. The worlds of a family stand side by side in one model, since they
share one reward.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.errors import Unsupported
from didact.learners import Belief, learn
from didact.mdp import MDP, Demonstration, Family, Task, Transitions
from didact.planning.batch import action_values_of
from didact.random import stream
from didact.studies.people.conditions import members_of
from didact.studies.people.design import Design
from didact.studies.people.results import ScoreReport

CONFIDENCES = (2.0, 10.0, 50.0)
MAX_LIKELIHOODS = 60_000
DRAWS = 200


def simulated_answers(
    subject: Task | Family, design: Design, n: int, confidences: Sequence[float] = CONFIDENCES
) -> list[dict[str, Any]]:
    """Answers to the test of n participants, each of the confidences in turn, as `answers` rows."""
    chances = {name: _chances(subject, design, name, confidences) for name in design.conditions}
    rows = []
    for number in range(n):
        condition = design.condition_of(number)
        rng = stream(design.seed, "simulated", number)
        which = (number // len(design.conditions)) % len(confidences)
        table = chances[condition][which]
        draw = rng.integers(table.shape[0], size=len(design.test))
        for i, (member, state) in enumerate(design.test):
            action = int(rng.choice(table.shape[2], p=table[draw[i], i]))
            rows.append(
                {
                    **{"participant": number, "condition": condition, "kind": "test"},
                    **{"member": member, "state": state, "action": action},
                    "correct": int(action in design.right[member, state]),
                }
            )
    return rows


def _chances(
    subject: Task | Family, design: Design, condition: str, confidences: Sequence[float]
) -> Any:
    """Probabilities of actions (confidences, draws, questions, A) after a condition's lesson."""
    mdp, firsts = side_by_side(members_of(subject))
    belief = _belief(mdp, firsts, design, condition)
    flat = belief.samples_flat
    weights = flat[np.linspace(0, len(flat) - 1, min(DRAWS, len(flat))).astype(int)]
    asked = [firsts[member] + state for member, state in design.test]
    values = action_values_of(mdp, weights)[:, asked]
    values = values - values.max(axis=2, keepdims=True)
    scale = np.abs(values).max(axis=(1, 2), keepdims=True)
    values = values / np.where(scale > 0, scale, 1.0)
    soft = np.exp(np.asarray(confidences)[:, None, None, None] * values)
    return soft / soft.sum(axis=3, keepdims=True)


def _belief(mdp: MDP, firsts: Sequence[int], design: Design, condition: str) -> Belief:
    shown = [
        Demonstration([(firsts[each.member or 0] + state, action) for state, action in each])
        for each in design.shown[condition]
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learn(mdp, shown, max_likelihoods=MAX_LIKELIHOODS, seed=design.seed)


def side_by_side(members: Sequence[Task]) -> tuple[MDP, list[int]]:
    """One model of all members, in floats, and the number of the first state of each."""
    models = [task.mdp for task in members]
    sizes = [mdp.n_states for mdp in models]
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    if len(models) == 1:
        return models[0], firsts
    alike = {(mdp.discount, mdp.n_actions, mdp.features.floats.ndim) for mdp in models}
    if len(alike) > 1:
        raise Unsupported(
            "learners take a study of worlds with one discount and the same actions and kind of "
            "features; these differ. People can take it"
        )
    moves = [mdp.transitions for mdp in models]
    entries = np.cumsum([0, *(len(each.successors) for each in moves)])
    offsets = [each.offsets[:-1] + start for each, start in zip(moves, entries, strict=False)]
    targets = [
        each.successors.astype(np.int64) + first for each, first in zip(moves, firsts, strict=True)
    ]
    transitions = Transitions.from_arrays(
        sum(sizes),
        models[0].n_actions,
        np.concatenate([*offsets, entries[-1:]]),
        np.concatenate(targets),
        np.concatenate([each.probabilities.floats for each in moves]),
    )
    features = np.concatenate([mdp.features.floats for mdp in models])
    terminal = np.flatnonzero(np.concatenate([mdp.terminal for mdp in models])).tolist()
    return MDP(transitions, features, models[0].discount, terminal=terminal), firsts


@dataclass(frozen=True, eq=False)
class SimulatedStudy:
    """A study that learners took: its report, and how many people would see a difference."""

    design: Design
    n: int
    report: ScoreReport
    conditions: Mapping[str, Any]
    spread: float
    needed: int | None
    seen: float

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "participants": self.n,
            "conditions": dict(self.conditions),
            "difference": self.seen,
            "needed_per_condition": self.needed,
        }
