"""Simulated participants: Bayesian learners of several confidences take the test.

A learner sees its condition's lesson and believes what BIRL makes of it. In each question one
reward of its belief is drawn, and the answer is soft: exp(confidence Q), with Q scaled by its
range. Low confidences are people who slip often. From the spread of scores follows how many people
it takes to see a difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.learners import Belief, learn
from didact.mdp import Task
from didact.planning.many_rewards import action_values_of
from didact.random import stream
from didact.studies.people.design import Design

CONFIDENCES = (2.0, 10.0, 50.0)
BUDGET = 60_000
DRAWS = 200


def simulated_answers(
    task: Task, design: Design, n: int, confidences: Sequence[float] = CONFIDENCES
) -> list[dict[str, Any]]:
    """Answers to the test of n participants, each of the confidences in turn, as `answers` rows."""
    chances = {name: _chances(task, design, name, confidences) for name in design.conditions}
    rows = []
    for number in range(n):
        condition = design.condition_of(number)
        rng = stream(design.seed, "simulated", number)
        which = (number // len(design.conditions)) % len(confidences)
        table = chances[condition][which]
        draw = rng.integers(table.shape[0], size=len(design.test))
        for i, state in enumerate(design.test):
            action = int(rng.choice(design.n_actions, p=table[draw[i], i]))
            rows.append(
                {
                    **{"participant": number, "condition": condition, "kind": "test"},
                    **{"state": state, "action": action},
                    "correct": int(action in design.right[state]),
                }
            )
    return rows


def _chances(task: Task, design: Design, condition: str, confidences: Sequence[float]) -> Any:
    """Probabilities of actions (confidences, draws, questions, A) after a condition's lesson."""
    belief = _belief(task, design, condition)
    flat = belief.samples_flat
    weights = flat[np.linspace(0, len(flat) - 1, min(DRAWS, len(flat))).astype(int)]
    values = action_values_of(task.mdp, weights)[:, list(design.test)]
    values = values - values.max(axis=2, keepdims=True)
    scale = np.abs(values).max(axis=(1, 2), keepdims=True)
    values = values / np.where(scale > 0, scale, 1.0)
    soft = np.exp(np.asarray(confidences)[:, None, None, None] * values)
    return soft / soft.sum(axis=3, keepdims=True)


def _belief(task: Task, design: Design, condition: str) -> Belief:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learn(task.mdp, design.demonstrations(condition), budget=BUDGET, seed=design.seed)
