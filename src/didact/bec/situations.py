"""Independent situations of a policy: one state of each episode, at a time the discount draws.

The time is geometric, so the situation is drawn as discounted counts count it: the mean of g over
situations, where those after an episode's end count 0, is (1 - discount) E sum discount^t g(s_t).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from didact.bec.observed import Setting
from didact.bec.rewards import StepRewards, in_step
from didact.errors import NotConverged
from didact.worlds.simulators.batches import Batch

Choose = Callable[[Batch], Any]
"""The actions of a policy in every copy of a batch."""

MOST_DRAWS = 200
"""Times that situations are drawn again because episodes had ended."""


class Situations(NamedTuple):
    """Where episodes stood at their times: situations, what they show, and the times."""

    situations: list[Any]
    observations: list[Any]
    times: list[int]

    def __len__(self) -> int:
        return len(self.situations)


def fresh_situations(
    setting: Setting, n: int, rng: np.random.Generator
) -> tuple[Situations, Setting]:
    """n situations of the policy, one from each of n episodes that have not ended by then, and the
    setting that knows what the steps of these episodes paid."""
    found = Situations([], [], [])
    for _ in range(MOST_DRAWS):
        if len(found) == n:
            return found, setting
        paid = walk_to_times(setting, setting.chosen_in, n - len(found), rng, found)
        setting = replace(setting, rewards=setting.rewards.joined(paid).checked())
    raise NotConverged(
        f"episodes of {setting.simulator.name} end before the discount of {setting.discount:g} "
        f"lets situations be drawn: {len(found)} of {n}; give a smaller discount"
    )


def walk_to_times(
    setting: Setting, choose: Choose, n: int, rng: np.random.Generator, found: Situations
) -> StepRewards:
    """Follow n episodes to their times and add where they stand; what has ended is left out.

    Gives what their steps paid.
    """
    record = StepRewards(setting.weights)
    left = rng.geometric(1 - setting.discount, size=n) - 1
    batch, t = setting.simulator.begin(rng.integers(2**31, size=n).tolist()), 0
    while len(left):
        there = left == t
        if there.any():
            saved, shown_now = batch.situations(), batch.observations
            for i in np.flatnonzero(there):
                found.situations.append(saved[i])
                found.observations.append(shown_now[i])
                found.times.append(t)
            batch.keep(~there)
            left = left[~there]
            if not len(left):
                break
        before, actions = batch.observations, choose(batch)
        shown_after, rewards, ended = batch.step(actions)
        phi = setting.features(before, actions, shown_after, ended)
        record = record.with_steps(phi, rewards, in_step(t, "an episode"))
        batch.keep(~ended)
        left = left[~ended]
        t += 1
    return record
