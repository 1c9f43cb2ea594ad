"""What was seen of a policy in a simulator: rows in situations, with what they can be trusted for.

A row says by which counts the policy's action differs from another one, the policy going on after
both. Rows of a simulator are measured, so nothing that follows from them is a proof.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.blocks import BLOCK, Block, Found, Workers, measure
from didact.bec.chance import joined_extremes, slack_of
from didact.bec.rewards import StepRewards
from didact.inputs import counted
from didact.random import stream
from didact.worlds.simulators.agents import Features, Policy
from didact.worlds.simulators.batches import Batch, Simulator

Floats = NDArray[np.float64]


BLIND = 1e-6
"""Against the largest one, the size up to which a singular value of the rows is rounding."""
HERE = Workers()
"""This process alone."""


class Measured(NamedTuple):
    """Rows (n, B, k), the actions they are measured against, the rows' covariances (n, B, k, k)
    where steps depend on chance, and the setting with what these steps add to its knowledge: what
    steps paid, and how far single repeats differ."""

    rows: Floats
    others: Any
    covariances: Floats | None
    setting: Setting


@dataclass(frozen=True)
class Setting:
    """Whom we look at, where, and by which measure; the same for every situation.

    tolerance: return below which a difference counts as none. scale: typical size of each feature
    in a row, fixed before anything is judged. alternatives: what else is tried in a situation.
    repeats: branches of each action, more than one where steps depend on chance. workers: who
    measures; results do not depend on them. blind: directions (m, k) of scaled rewards, each of
    length 1, that no row sees, such as a constant for every step; None before rows are measured.
    rewards: what steps so far paid. extremes: where steps depend on chance, the least and the
    largest entries (2, k) of rows of single repeats so far.
    """

    simulator: Simulator
    policy: Policy
    features: Features
    weights: Floats
    feature_names: tuple[str, ...]
    discount: float
    horizon: int
    tolerance: float
    scale: Floats
    alternatives: Alternatives
    rewards: StepRewards
    repeats: int = 1
    workers: Workers = HERE
    blind: Floats | None = None
    extremes: Floats | None = None

    @property
    def unit(self) -> float:
        """Return of a unit row, in scaled features, under a reward of the true one's size."""
        return float(np.linalg.norm(self._visible))

    @property
    def truth(self) -> Floats:
        """The true reward in scaled features: scaled rows times it are margins."""
        return np.asarray(self.weights * self.scale / self.unit)

    @property
    def visible(self) -> Floats:
        """The part of the truth that rows see, of length 1; it gives them the same margins."""
        return self._visible / self.unit

    @property
    def _visible(self) -> Floats:
        own = np.asarray(self.weights * self.scale)
        if self.blind is None:
            return own
        seen = own - self.blind.T @ (self.blind @ own)
        return np.asarray(seen) if np.linalg.norm(seen) > BLIND * np.linalg.norm(own) else own

    def scaled(self, rows: Floats) -> Floats:
        """Rows in units in which their columns are alike and distances are in return."""
        return np.asarray(rows / self.scale * self.unit)

    def chosen_in(self, batch: Batch) -> Any:
        """The policy's action in every copy."""
        return self.policy(batch.observations)

    def rows_of(
        self,
        situations: Sequence[Any],
        observations: Any,
        rng: np.random.Generator,
        done: Any = None,
    ) -> Measured:
        """Rows of situations; the generator is for chance. done: actions, if not the policy's."""
        own = self.policy(observations) if done is None else done
        others = self.alternatives.beside(own, observations)
        firsts = np.concatenate([own[:, None], others], axis=1)
        held = self.alternatives.steps_held(others.shape[1])
        found, setting = self.rows_against(situations, firsts, rng, held)
        return Measured(found.rows, others, found.covariances, setting)

    def rows_against(
        self,
        situations: Sequence[Any],
        firsts: Any,
        rng: np.random.Generator,
        held: tuple[int, ...] | None = None,
    ) -> tuple[Found, Setting]:
        """Rows of firsts[:, 0] against the other firsts, and the setting that knows their steps;
        refused where these pay something else than weights . features.

        held: for how many steps each of the firsts is taken, once by default.
        """
        seeds = rng.integers(2**31, size=len(situations) // BLOCK + 1) if self.repeats > 1 else None
        blocks = [
            Block(
                *(self.simulator, self.policy, self.features),
                situations[low : low + BLOCK],
                firsts[low : low + BLOCK],
                *(self.discount, self.horizon, self.repeats),
                seed=0 if seeds is None else int(seeds[low // BLOCK]),
                rewards=StepRewards(self.weights),
                held=held,
            )
            for low in range(0, len(situations), BLOCK)
        ]
        found = measure(blocks, self.workers)
        known = replace(
            self,
            rewards=self.rewards.joined(found.rewards).checked(),
            extremes=joined_extremes([self.extremes, found.extremes]),
        )
        return found, known

    def slack(self, covariances: Floats | None, weights: Floats) -> Floats | float:
        """How far rows . weights may be above the truth by chance, (n, B)."""
        return slack_of(covariances, weights, self.repeats, self.span(weights))

    def span(self, weights: Floats) -> float:
        """The range of rows . weights of single repeats: what bounds of the reward say, else what
        was seen of each feature."""
        if self.extremes is None:
            return 0.0
        if self.rewards.declared is not None and weights is self.weights:
            return 2 * self.rewards.largest_return(self.discount)
        return float((self.extremes[1] - self.extremes[0]) @ np.abs(weights))

    def shortfall(self, rows: Floats, covariances: Floats | None, weights: Floats) -> Floats:
        """For rows (n, B, k) the least that rows . weights may be by chance, (n, B)."""
        return np.asarray(rows @ weights - self.slack(covariances, weights))

    @property
    def tail(self) -> float:
        """What may follow after the horizon, in return."""
        return self.rewards.tail(self.discount, self.horizon)

    @property
    def error(self) -> float:
        """How far the margin of a row may be from the truth, chance apart: what follows after the
        horizon, and what the features miss of the reward."""
        return self.tail + self.rewards.unexplained(self.discount)


def blind_directions(rows: Floats, scale: Floats) -> Floats:
    """An orthonormal basis (m, k) of scaled rewards for which all rows (..., k) are nothing."""
    scaled = rows.reshape(-1, rows.shape[-1]) / scale
    _, sizes, directions = np.linalg.svd(np.linalg.qr(scaled, mode="r"))
    sizes = np.append(sizes, np.zeros(len(directions) - len(sizes)))
    return np.asarray(directions[sizes <= BLIND * max(float(sizes[0]), 1e-300)])


@dataclass(frozen=True)
class Alternatives:
    """The actions that are tried beside the policy's own.

    n_actions: all others of a discrete space. Of a continuous one: steps of `width` along every
    axis, both ways, and `n_random` actions anywhere, within the bounds; the same ones for the same
    observation. held: for how many steps they are taken before the policy goes on, each number of
    steps being an alternative of its own.
    """

    n_actions: int = 0
    first: int = 0
    low: Any = None
    high: Any = None
    width: Any = None
    n_random: int = 0
    seed: int = 0
    held: tuple[int, ...] = (1,)

    def steps_held(self, n_others: int) -> tuple[int, ...]:
        """For how many steps the policy's action and each of the alternatives are taken."""
        each = n_others // len(self.held)
        return (1, *(steps for steps in self.held for _ in range(each)))

    def beside(self, own: Any, observations: Any) -> Any:
        """(n, B, ...): the alternatives in each situation, those held for longer last."""
        return np.concatenate([self._tried(own, observations)] * len(self.held), axis=1)

    def _tried(self, own: Any, observations: Any) -> Any:
        if self.n_actions:
            shift = np.arange(1, self.n_actions)
            return (own[:, None] - self.first + shift) % self.n_actions + self.first
        m = own.shape[1]
        steps = np.concatenate([np.eye(m), -np.eye(m)]) * self.width
        near = np.clip(own[:, None] + steps, self.low, self.high)
        rng = stream(self.seed, "alternatives", len(observations))
        anywhere = rng.uniform(self.low, self.high, (len(own), self.n_random, m))
        return np.concatenate([near, anywhere], axis=1)


@dataclass(frozen=True, eq=False)
class Observed:
    """A policy seen in a simulator: rows of the situations along its rollouts.

    setting: whom we look at, where, and by which measure.
    situations: what the simulator needs to stand in each of them again.
    observations: what each shows.
    own: the policy's actions there.
    others: the actions they are measured against, (n, B).
    rows: what the policy's action has more of each feature than each alternative, (n, B, k).
    rollout: the rollout that each situation comes from.
    step: its step in that rollout.
    jitter: how much rows move when states move in their last digits, in return; None where states
        cannot be moved.
    n_steps: simulator steps spent.
    covariances: of the rows, (n, B, k, k), where steps depend on chance.
    notes: what is worth knowing of how weights were fitted, in words.
    """

    setting: Setting
    situations: tuple[Any, ...]
    observations: Any
    own: Any
    others: Any
    rows: Floats
    rollout: NDArray[np.int64]
    step: NDArray[np.int64]
    jitter: float | None
    n_steps: int
    covariances: Floats | None = None
    notes: tuple[str, ...] = ()

    @property
    def residual(self) -> float:
        """The largest difference between the environment's reward and weights . features, on
        every step of rollouts, of branches, and of episodes to their end."""
        return self.setting.rewards.missed

    @property
    def tail(self) -> float:
        """What may follow after the horizon, in return."""
        return self.setting.tail

    @property
    def n_rollouts(self) -> int:
        """How many rollouts the situations come from."""
        return len(np.unique(self.rollout))

    @cached_property
    def margins(self) -> Floats:
        """What the policy's action is worth more than each alternative, in return, (n, B)."""
        return np.asarray(self.rows @ self.setting.weights)

    @cached_property
    def mistaken(self) -> NDArray[np.bool_]:
        """The situations where an alternative is better by more than the tolerance, or where that
        is undecided."""
        return np.asarray((self._least < -self.setting.tolerance).any(axis=1))

    @cached_property
    def _least(self) -> Floats:
        return self.setting.shortfall(self.rows, self.covariances, self.setting.weights)

    @cached_property
    def scaled_rows(self) -> Floats:
        """Rows in units in which their columns are alike and distances are in return."""
        return self.setting.scaled(self.rows)

    @cached_property
    def certain_rows(self) -> Floats:
        """Scaled rows that may be shown: with chance, 0 where a row's sign is not certain."""
        if self.covariances is None:
            return self.scaled_rows
        return np.where(self._least[:, :, None] > 0, self.scaled_rows, 0.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.observed/1` file, which `load_observed` reads; it holds no environment.

        path: of the file, an .npz.
        """
        from didact.bec.observed_files import save_observed

        save_observed(self, path)

    def __repr__(self) -> str:
        return (
            f"Observed({self.setting.simulator.name}: {counted(len(self.rows), 'situation')}, "
            f"{int(self.mistaken.sum())} with a mistake, {self.n_steps} steps, states restored "
            f"{self.setting.simulator.restoring})"
        )
