"""Learners in place of people: simulated participants, and the closed loop of real ones.

Worlds of a family are one model for learners, since they share one reward.

**Simulated participants** take the test. A learner sees its condition's lesson and believes what
BIRL makes of it. In each question one reward of its belief is drawn, and the answer is soft:
exp(confidence Q), with Q scaled by its range. Low confidences are people who slip often. From the
spread of scores follows how many people it takes to see a difference.

**The closed loop** chooses the next demonstration from the answers of a participant. The reward
that explains the answers best is the most likely one under a softmax in the action values (maximum
likelihood IRL), for any number of features. Of the optimal demonstrations in the design's pool that
one is chosen which this reward makes look worst: the largest regret of a shown action, as a share
of the range of its action values. The participant's reward is excluded by the half-space of that
step. Lee et al. (Closed-loop teaching via demonstrations to improve policy transparency, 2024) keep
particles on the sphere of three features for this.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.learners import Belief, learn
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.family import disjoint_union
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of
from didact.random import stream
from didact.studies.people.answers import Kept
from didact.studies.people.conditions import Place
from didact.studies.people.design import ASKING, Design


def one_model(subject: Task | Family) -> tuple[MDP, Sequence[int]]:
    """The model of all worlds of a study, and the number of the first state of each there."""
    if isinstance(subject, Task):
        return subject.mdp, [0]
    union = disjoint_union(subject)
    return union.task.mdp, union.first


# Simulated participants.

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
    mdp, firsts = one_model(subject)
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


# The closed loop.

CONFIDENCE = 20.0
"""Of the softmax: people who answer by a reward slip now and then."""
SMALLEST = 1e-6
"""Regrets below are ties of the explaining reward, and exclude nothing."""


@dataclass(frozen=True)
class NextDemonstration:
    """What the closed loop chose: the number in the pool, None where nothing excludes the reward.

    weights: the reward that explains the answers best. regret: of the shown step that excludes it.
    """

    chosen: int | None
    weights: tuple[float, ...] = ()
    regret: float = 0.0


def next_demonstration(
    subject: Task | Family, design: Design, answers: Sequence[Kept], seen: Collection[int] = ()
) -> NextDemonstration:
    """The demonstration that excludes the reward which explains the answers best.

    answers: those that name one action are used. seen: demonstrations that were chosen before.
    Without a mistake, nothing is chosen.
    """
    given: list[tuple[Place, int]] = [
        ((each.member or 0, int(each.state or 0)), int(each.action or 0))
        for each in answers
        if each.kind in ASKING
    ]
    if all(design.is_right(place, action) for place, action in given):
        return NextDemonstration(None)
    mdp, firsts = one_model(subject)
    shown = [[(firsts[member] + state, action)] for (member, state), action in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        belief = learn(
            mdp, shown, learner="ml-irl", confidence=CONFIDENCE, n_starts=2, seed=design.seed
        )
    weights = np.asarray(belief.map_weights, dtype=np.float64)
    values = action_values_of(mdp, weights[None, :])[0]
    regrets = pool_regrets(design, values, firsts)
    regrets[list(seen)] = 0.0
    best = int(np.argmax(regrets))
    told = tuple(float(w) for w in weights)
    if regrets[best] <= SMALLEST:
        return NextDemonstration(None, told)
    return NextDemonstration(best, told, float(regrets[best]))


def pool_regrets(design: Design, values: Floats, firsts: Sequence[int]) -> Floats:
    """For each demonstration of the pool the largest regret (P,) of a step, as a share of values.

    values: the action values (S, A) of a reward. firsts: the number of each member's first state.
    """
    spread = float(np.ptp(values)) or 1.0
    regret = (values.max(axis=1, keepdims=True) - values) / spread
    return np.array(
        [
            max(regret[firsts[each.member or 0] + state, action] for state, action in each)
            for each in design.pool
        ]
    )
