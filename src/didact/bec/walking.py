"""Situations along episodes: a policy's own rollouts, or episodes that somebody recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.mdp.exchange.minari_episodes import Episode
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Batch, Simulator

ALIKE = 1e-5
"""Recorded observations may differ from replayed ones by this share: datasets keep few digits."""


class Walked:
    """Situations along rollouts, what was done there, and the steps' features and rewards."""

    def __init__(self) -> None:
        self.situations: list[Any] = []
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


def rollouts(
    simulator: Simulator, policy: Policy, features: Features, seeds: list[int], length: int
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
        for t, action in enumerate(episode.actions[:length]):
            before, situations = batch.observations, batch.situations()
            chosen = np.asarray(action)[None]
            stepped = batch.step(chosen)
            _require_same(stepped.observations, episode, number, t + 1)
            phi = features(before, chosen, stepped.observations, stepped.ended)
            where = (np.array([number]), np.array([t]))
            walked.add(situations, before, chosen, phi, stepped.rewards, stepped.ended, *where)
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
