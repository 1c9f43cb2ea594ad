"""The closed loop: the next demonstration is chosen from the answers of a participant.

The reward that explains the answers best is the most likely one under a softmax in the action
values (maximum likelihood IRL), for any number of features. Of the optimal demonstrations in the
design's pool that one is chosen which this reward makes look worst: the largest regret of a shown
action, as a share of the range of its action values. The participant's reward is excluded by the
half-space of that step. Lee et al. (Closed-loop teaching via demonstrations to improve policy
transparency, 2024) keep particles on the sphere of three features for this.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from didact.learners import learn
from didact.mdp import Family, Task
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of
from didact.studies.people.answers import Kept
from didact.studies.people.conditions import Place, members_of
from didact.studies.people.design import ASKING, Design
from didact.studies.people.simulated import side_by_side

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
    mdp, firsts = side_by_side(members_of(subject))
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
