"""Situations along episodes: a policy's own rollouts, or episodes that somebody recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.rewards import StepRewards, in_step
from didact.errors import InvalidParameter
from didact.mdp.exchange.minari_episodes import Episode
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Batch, Simulator

Floats = NDArray[np.float64]

ALIKE = 1e-5
"""Recorded observations may differ from replayed ones by this share: datasets keep few digits."""


class Walked:
    """Situations along rollouts, what was done there, and the steps' features and rewards.

    later: features and rewards of the episodes' steps after these, and their numbers.
    """

    def __init__(self) -> None:
        self.situations: list[Any] = []
        self.later: list[tuple[Floats, Floats, int]] = []
        self._parts: list[tuple[Any, ...]] = []

    def add(self, situations: list[Any], *columns: Any) -> None:
        """Steps of some copies at one time."""
        self.situations += situations
        self._parts.append(columns)

    def close(self) -> Walked:
        """Sort all by rollout and step."""
        columns = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        order = np.lexsort((columns[-1], columns[-2]))
        self.situations = [self.situations[i] for i in order]
        (
            self.observations,
            self.actions,
            self.features,
            self.rewards,
            self.ended,
            self.rollout,
            self.step,
        ) = (column[order] for column in columns)
        return self

    def paid(self, record: StepRewards) -> StepRewards:
        """The record with all steps of these episodes."""

        def place(at: int) -> str:
            return f"in step {self.step[at] + 1} of rollout {self.rollout[at] + 1}"

        record = record.with_steps(self.features, self.rewards, place)
        for features, rewards, number in self.later:
            record = record.with_steps(features, rewards, in_step(number, "a rollout"))
        return record


def rollouts(
    simulator: Simulator,
    policy: Policy,
    features: Features,
    seeds: list[int],
    length: int,
) -> Walked:
    """Episodes of the policy, all at once."""
    return followed(simulator.begin(seeds), policy, features, length)


def followed(batch: Batch, policy: Policy, features: Features, length: int) -> Walked:
    """What the policy does from where the copies of a batch stand, which is used up."""
    walked, alive = Walked(), np.arange(len(batch.observations))
    for t in range(length):
        before, situations = batch.observations, batch.situations()
        chosen = policy(before)
        stepped = batch.step(chosen)
        phi = features(before, chosen, stepped.observations, stepped.ended)
        steps = np.full(len(alive), t)
        walked.add(situations, before, chosen, phi, stepped.rewards, stepped.ended, alive, steps)
        batch.keep(~stepped.ended)
        alive = alive[~stepped.ended]
        if not len(alive):
            break
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    return walked.close()


def replayed(
    simulator: Simulator, features: Features, episodes: Sequence[Episode], length: int
) -> Walked:
    """Recorded episodes, led through the simulator once more by their seeds and actions."""
    walked = Walked()
    for number, episode in enumerate(episodes):
        batch = simulator.begin([episode.seed])
        _require_same(batch.observations, episode, number, 0)
        for t, action in enumerate(episode.actions):
            before = batch.observations
            situations = batch.situations() if t < length else []
            chosen = np.asarray(action)[None]
            stepped = batch.step(chosen)
            _require_same(stepped.observations, episode, number, t + 1)
            phi = features(before, chosen, stepped.observations, stepped.ended)
            where = (np.array([number]), np.array([t]))
            if t < length:
                walked.add(situations, before, chosen, phi, stepped.rewards, stepped.ended, *where)
            else:
                walked.later.append((phi.copy(), stepped.rewards.copy(), t))
            if stepped.ended[0]:
                break
        batch.keep(np.zeros(1, dtype=np.bool_))
    return walked.close()


def _require_same(shown: Any, episode: Episode, number: int, step: int) -> None:
    if step >= len(episode.observations):
        return
    given = np.asarray(episode.observations[step], dtype=np.float64)
    here = np.asarray(shown[0], dtype=np.float64)
    if given.shape != here.shape or not np.allclose(here, given, rtol=ALIKE, atol=ALIKE):
        raise InvalidParameter(
            f"recorded episodes must follow from their seeds and actions; episode {number} shows "
            f"something else at step {step}. Name the very environment that was recorded"
        )
