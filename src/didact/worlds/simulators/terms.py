"""Terms of rewards: ready ones of standard environments, those in `info`, and a search for others.

The reward of most environments is a weighted sum of a few terms. Gymnasium's MuJoCo environments
report them in `info` as reward_forward, reward_ctrl and so on, with weight 1; for those that do
not, the terms that Gymnasium documents are computed here from observations and actions. Whichever
way, `observe` compares weights . features with every reward, so that a wrong table is found out.

`reward_terms` looks for terms where nobody knows them: by orthogonal matching pursuit among numbers
of a step and their simple functions, and says on which steps the reward is something else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import whole_number
from didact.random import Seed, as_generator
from didact.worlds.simulators.batches import Simulator, Stepped, batch_policy

Floats = NDArray[np.float64]


class RewardFeatures(NamedTuple):
    """Features of a step with their names and weights in the reward."""

    features: Callable[..., Any]
    names: tuple[str, ...]
    weights: tuple[float, ...]


def _alive(next_observation: Any) -> Any:
    return np.ones((len(next_observation), 1))


def _until_goal(terminated: Any) -> Any:
    return 1.0 - np.asarray(terminated)[:, None]


def _goal_and_effort(action: Any, terminated: Any) -> Any:
    return np.stack([terminated, -(np.asarray(action, dtype=np.float64)[:, 0] ** 2)], axis=1)


def _swing(observation: Any, action: Any) -> Any:
    seen = np.asarray(observation, dtype=np.float64)
    angle = np.arctan2(seen[:, 1], seen[:, 0])
    force = np.clip(np.asarray(action, dtype=np.float64)[:, 0], -2, 2)
    return -np.stack([angle**2, seen[:, 2] ** 2, force**2], axis=1)


def _landing(observation: Any, action: Any, next_observation: Any, terminated: Any) -> Any:
    ended = np.asarray(terminated, dtype=bool)
    seen = np.asarray(next_observation, dtype=np.float64)
    nearer = (_shape(seen) - _shape(np.asarray(observation, np.float64))) * ~ended[:, None]
    taken = np.asarray(action)
    if taken.ndim == 2:  # power of both engines, which start at a half
        power = np.clip(np.asarray(taken, np.float64), -1, 1)
        main = np.where(power[:, 0] > 0, (power[:, 0] + 1) / 2, 0.0)
        side = np.where(np.abs(power[:, 1]) > 0.5, np.abs(power[:, 1]), 0.0)
    else:
        main, side = taken == 2, (taken == 1) | (taken == 3)
    # a lander at rest sleeps, and then its speeds are exactly 0; all others that end are lost
    lost = ended & ((np.abs(seen[:, 0]) >= 1) | (np.abs(seen[:, [2, 3, 5]]).max(axis=1) > 0))
    fuel = -np.stack([main, side], axis=1).astype(float) * ~ended[:, None]
    return np.column_stack([nearer, fuel, ended & ~lost, -1.0 * lost])


def _shape(seen: Floats) -> Floats:
    away, speed = np.hypot(seen[:, 0], seen[:, 1]), np.hypot(seen[:, 2], seen[:, 3])
    return np.stack([-away, -speed, -np.abs(seen[:, 4]), seen[:, 6] + seen[:, 7]], axis=1)


_LANDING = (
    "nearer",
    "slower",
    "upright",
    "legs",
    "-main engine",
    "-side engines",
    "landed",
    "-lost",
)
_LANDER = RewardFeatures(_landing, _LANDING, (100, 100, 100, 10, 0.3, 0.03, 100, 100))
_STEPS = RewardFeatures(_until_goal, ("step before the end",), (-1.0,))
READY = {
    "CartPole": RewardFeatures(_alive, ("step",), (1.0,)),
    "Acrobot": _STEPS,
    "MountainCar": RewardFeatures(_alive, ("step",), (-1.0,)),
    "MountainCarContinuous": RewardFeatures(_goal_and_effort, ("goal", "-effort"), (100.0, 0.1)),
    "Pendulum": RewardFeatures(_swing, ("-angle^2", "-speed^2", "-force^2"), (1.0, 0.1, 0.001)),
    "LunarLander": _LANDER,
    "LunarLanderContinuous": _LANDER,
}
"""Terms that Gymnasium documents, by the name of an environment without its version."""


class InfoTerms:
    """Numbers of `info` as features, and 1 for each step where the reward has a constant."""

    def __init__(self, names: tuple[str, ...], *, has_constant: bool = False):
        self.names = names
        self._more = [1.0] if has_constant else []

    def __call__(self, info: Any) -> list[float]:
        """Of one step."""
        return [float(info[name]) for name in self.names] + self._more


def ready_features(simulator: Simulator) -> RewardFeatures:
    """The known terms of a simulator's reward, as features='auto' means them."""
    batch = simulator.begin([0])
    space = copy.deepcopy(simulator.action_space)
    space.seed(0)
    stepped = batch.step(np.asarray(space.sample())[None])
    batch.keep(np.zeros(1, dtype=np.bool_))
    told = _numbers(stepped.infos[0]) if stepped.infos else {}
    names = tuple(name for name in told if name.startswith("reward_") or name.endswith("_penalty"))
    if names:
        # HumanoidStandup pays 1 for each step and does not say so
        rest = float(stepped.rewards[0]) - sum(told[name] for name in names)
        if round(rest) and abs(rest - round(rest)) < SMALL:
            terms = InfoTerms(names, has_constant=True)
            return RewardFeatures(terms, (*names, "step"), (1.0,) * len(names) + (round(rest),))
        return RewardFeatures(InfoTerms(names), names, (1.0,) * len(names))
    ready = READY.get(simulator.name.rsplit("-v", 1)[0])
    if ready is None:
        raise InvalidParameter(
            f"features='auto' knows {', '.join(READY)}, and environments that report reward_... "
            f"in info; {simulator.name} is none of them. Give features; didact.reward_terms(env) "
            "finds terms that make up a reward"
        )
    return ready


def _numbers(info: dict[str, Any]) -> dict[str, float]:
    """The entries of an info that are single finite numbers."""
    found = {}
    for name, value in info.items():
        if np.ndim(value) == 0 and isinstance(value, (bool, int, float, np.generic)):
            number = float(value) if np.asarray(value).dtype.kind in "biuf" else np.nan
            if np.isfinite(number):
                found[str(name)] = number
    return found


SMALL = 1e-5
"""Share of the reward's size that terms may miss: observations often have single precision."""


@dataclass(frozen=True)
class RewardTerms:
    """Which linear terms reproduce the reward of an environment's steps.

    names, weights: the terms that were found. missed: the largest difference that they leave.
    n_steps: steps that were compared. missing: where the difference is, in words; empty where the
    terms say every reward.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]
    missed: float
    n_steps: int
    missing: str = ""

    def __repr__(self) -> str:
        told = " ".join(
            f"{w:+.6g} {name}" for name, w in zip(self.names, self.weights, strict=True)
        )
        return (
            f"RewardTerms({told or 'none'}; missed by at most {self.missed:.2g} on {self.n_steps} "
            f"steps{'. ' if self.missing else ''}{self.missing})"
        )


def find_terms(simulator: Simulator, policy: Any, n_steps: int, seed: Seed) -> RewardTerms:
    """The fewest terms, found one after the other, that reproduce the rewards of these steps."""
    whole_number(n_steps, "n_steps", 10)
    rng = as_generator(seed, "terms")
    steps = list(_steps(simulator, policy, n_steps, rng))
    rewards = np.array([step[-1] for step in steps])
    columns = _candidates(steps)
    names, table = list(columns), np.stack(list(columns.values()), axis=1)
    size = max(float(np.abs(rewards).max()), 1e-12)
    chosen, fitted = _pursued(table, rewards, SMALL * size)
    left = np.abs(rewards - table[:, chosen] @ fitted)
    missed = float(left.max())
    missing = ""
    if missed > SMALL * size:
        worst = int(left.argmax())
        ended = np.array([step[2].ended[0] for step in steps])
        only_last = bool((left[~ended] <= SMALL * size).all()) and bool(ended.any())
        where = "only where an episode ends" if only_last else f"most in step {worst + 1} of all"
        missing = (
            f"no term of observations, actions, info and the end says the rest: {where} the reward "
            f"is {rewards[worst]:.6g} instead of {rewards[worst] - left[worst]:.6g} or "
            f"{rewards[worst] + left[worst]:.6g}; it differs on {int((left > SMALL * size).sum())} "
            f"of {len(left)} steps"
        )
    return RewardTerms(
        tuple(names[i] for i in chosen), tuple(map(float, fitted)), missed, len(steps), missing
    )


def _steps(
    simulator: Simulator, policy: Any, n_steps: int, rng: np.random.Generator
) -> Iterator[tuple[Any, Any, Stepped, float]]:
    """Single steps of episodes by chance, and of every second one by the policy if one is given."""
    # a space of its own: drawing from the environment's would look like chance in its steps
    space = copy.deepcopy(simulator.action_space)
    space.seed(int(rng.integers(2**31)))
    act, n_made, number = None, 0, 0
    while n_made < n_steps:
        batch = simulator.begin([int(rng.integers(2**31))])
        if policy is not None and act is None:
            act = batch_policy(policy, simulator, batch.observations)
        by_policy, number = act is not None and number % 2 == 1, number + 1
        for _ in range(max(20, n_steps // 4)):
            before = batch.observations
            sample = np.asarray(space.sample())[None]
            actions = act(before) if by_policy and act is not None else sample
            stepped = batch.step(actions)
            n_made += 1
            yield before, actions, stepped, float(stepped.rewards[0])
            if stepped.ended[0] or n_made >= n_steps:
                break
        batch.keep(np.zeros(1, dtype=np.bool_))


def _candidates(steps: list[tuple[Any, Any, Stepped, float]]) -> dict[str, Floats]:
    """Numbers of steps and simple functions of them, by name; those that never vary once, as 1."""
    before = np.array([np.ravel(step[0][0]) for step in steps], dtype=np.float64)
    after = np.array([np.ravel(step[2].observations[0]) for step in steps], dtype=np.float64)
    actions = np.array([np.ravel(step[1][0]) for step in steps], dtype=np.float64)
    ended = np.array([step[2].ended[0] for step in steps], dtype=np.float64)
    columns = {"1": np.ones(len(steps)), "terminated": ended}
    infos = [_numbers((step[2].infos or [{}])[0]) for step in steps]
    for name in infos[0]:
        if all(name in info for info in infos):
            columns[f"info[{name!r}]"] = np.array([info[name] for info in infos])
    if len(np.unique(actions)) <= 20 and actions.shape[1] == 1:
        for value in np.unique(actions).tolist():
            columns[f"action == {value:g}"] = (actions[:, 0] == value).astype(float)
    columns["sum(action^2)"] = (actions**2).sum(axis=1)
    columns["sum(|action|)"] = np.abs(actions).sum(axis=1)
    for label, seen in (("obs", before), ("next_obs", after)):
        for j in range(min(seen.shape[1], 60)):
            columns[f"{label}[{j}]"] = seen[:, j]
            columns[f"{label}[{j}]^2"] = seen[:, j] ** 2
            columns[f"|{label}[{j}]|"] = np.abs(seen[:, j])
            columns[f"{label}[{j}] * not terminated"] = seen[:, j] * (1 - ended)
    return {
        name: column
        for name, column in columns.items()
        if name == "1" or (np.isfinite(column).all() and np.ptp(column) > 0)
    }


MAX_TERMS = 15
"""Of a reward that is searched; more would fit anything."""


def _pursued(table: Floats, rewards: Floats, enough: float) -> tuple[list[int], Floats]:
    """Orthogonal matching pursuit: the column that says most of what is left, again and again."""
    sizes = np.linalg.norm(table, axis=0)
    units = table / np.where(sizes > 0, sizes, 1.0)
    chosen: list[int] = []
    fitted: Floats = np.empty(0)

    def fit(columns: list[int]) -> Floats:
        return np.asarray(np.linalg.lstsq(table[:, columns], rewards, rcond=None)[0], float)

    left = rewards
    while np.abs(left).max() > enough and len(chosen) < min(MAX_TERMS, table.shape[1]):
        chosen.append(int(np.abs(units.T @ left).argmax()))
        if len(set(chosen)) < len(chosen):
            chosen.pop()
            break
        fitted = fit(chosen)
        left = rewards - table[:, chosen] @ fitted
    # a term that only a wrong start brought in goes
    for column in list(chosen):
        rest = [other for other in chosen if other != column]
        weights = fit(rest)
        if np.abs(rewards - table[:, rest] @ weights).max() <= max(enough, np.abs(left).max()):
            chosen, fitted = rest, weights
    return chosen, fitted
