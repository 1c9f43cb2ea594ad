"""What was observed of a policy in a simulator, and its files (`didact.observed/1`).

A row is a half-space normal: the discounted features of the policy's action minus those of another
one, the policy going on after both. Rows of a simulator are measured, so nothing that follows from
them is a proof.

A file is an .npz of arrays and one header. It holds rows and how far they can be trusted, which is
all that lessons and learners need. It holds no environment and no policy, so certificates need both
once more.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.setting import (
    Alternatives,
    Floats,
    Setting,
    StepRewards,
    blind_directions,
)
from didact.errors import InvalidFile, InvalidParameter, Unsupported
from didact.files.archives import Archive, read_archive, write_archive
from didact.inputs import counted, is_number, is_whole, shown
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.batches import Simulator, batch_features, batch_policy
from didact.worlds.simulators.opening import named_environment, open_simulator, seen_by

OBSERVED_FORMAT = "didact.observed/1"
NUMBERS = (
    "observations",
    "own",
    "others",
    "rows",
    "weights",
    "scale",
    "states",
    "bounds",
    "covariances",
    "extremes",
)
PLACES = ("rollout", "step")
KINDS = {**dict.fromkeys(NUMBERS, "f"), **dict.fromkeys(PLACES, "i")}


@dataclass(frozen=True, eq=False)
class Observed:
    """A policy observed in a simulator: half-space normals in the states along its rollouts.

    setting: who is observed, where, and by which measure.
    states: as the simulator saves them, to stand in each of them again.
    observations: what each shows.
    own: the policy's actions there.
    others: the actions they are compared with, (n, B).
    rows: half-space normals mu(s, own) - mu(s, other), (n, B, k).
    rollout: the rollout that each state comes from.
    step: its step in that rollout.
    jitter: how much rows move when states move in their last digits, in return; None where states
        cannot be moved.
    n_steps: simulator steps spent.
    covariances: of the rows, (n, B, k, k), where steps depend on chance.
    notes: what is worth knowing of how weights were fitted, in words.
    episode_return: the policy's mean return of an episode, without discount, up to the
        environment's own time limit.
    """

    setting: Setting
    states: tuple[Any, ...]
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
    episode_return: float | None = None

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
        """How many rollouts the states come from."""
        return len(np.unique(self.rollout))

    @cached_property
    def margins(self) -> Floats:
        """What the policy's action is worth more than each alternative, in return, (n, B)."""
        return np.asarray(self.rows @ self.setting.weights)

    @cached_property
    def mistaken(self) -> NDArray[np.bool_]:
        """The states where an alternative is better by more than the tolerance, or where that is
        undecided."""
        return np.asarray((self.least_margins < -self.setting.tolerance).any(axis=1))

    @cached_property
    def least_margins(self) -> Floats:
        """The margins, less what chance may have added to them, (n, B)."""
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
        return np.where(self.least_margins[:, :, None] > 0, self.scaled_rows, 0.0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.observed/1` file, which `load_observed` reads; it holds no environment.

        path: of the file, an .npz.
        """
        save_observed(self, path)

    def __repr__(self) -> str:
        return (
            f"Observed({self.setting.simulator.name}: {counted(len(self.rows), 'state')}, "
            f"{int(self.mistaken.sum())} with a mistake, {self.n_steps} steps, states restored "
            f"{self.setting.simulator.restoring})"
        )


class Absent:
    """The simulator, policy and features of what was read from a file: there are none."""

    action_space = None
    n_steps = 0
    is_random = False
    time_limit: int | None = None
    view: Any = None
    masks: Any = None
    chance_assumption = ""

    def __init__(self, name: str, restoring: str):
        self.name, self.restoring = name, restoring

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Unsupported(
            f"what was seen of {self.name} was read from a file, without its simulator; "
            "load_observed(path, env=..., policy=..., features=...) brings it back"
        )

    start_from = begin = resume = standing = nudged = __call__ = _refuse


def require_arrays(observations: Any) -> None:
    """Refuse to write observations that are dicts, or whatever else is no array of numbers."""
    if np.asarray(observations).dtype.kind not in "biuf":
        raise Unsupported(
            "only observations that are arrays of numbers are written to files; put a "
            "gymnasium.wrappers.FlattenObservation around the environment, or write none"
        )


def save_observed(seen: Observed, path: str | os.PathLike[str]) -> None:
    """Write what was seen; the file appears whole or not at all."""
    setting, others = seen.setting, seen.setting.alternatives
    require_arrays(seen.observations)
    header = {
        "format": OBSERVED_FORMAT,
        "name": setting.simulator.name,
        "restoring": setting.simulator.restoring,
        "feature_names": list(setting.feature_names),
        "discount": setting.discount,
        "tolerance": setting.tolerance,
        "residual": seen.residual,
        "rewards": [setting.rewards.low, setting.rewards.high],
        "reward_range": _listed(setting.rewards.declared),
        "n_paid": setting.rewards.n,
        "notes": list(seen.notes),
        "jitter": seen.jitter,
        "horizon": setting.horizon,
        "repeats": setting.repeats,
        "n_steps": seen.n_steps,
        "episode_return": seen.episode_return,
        "n_actions": others.n_actions,
        "first_action": others.first,
        "n_random": others.n_random,
        "seed": others.seed,
        **({} if others.held == (1,) else {"held": list(others.held)}),
    }
    given = [] if others.n_actions else [others.low, others.high, others.width]
    shape = np.shape(others.low) if given else ()
    states = np.stack(seen.states) if _are_arrays(seen.states) else np.empty(0)
    arrays = {
        **{name: np.asarray(getattr(seen, name)) for name in ("observations", "own", "others")},
        "rows": seen.rows,
        "weights": setting.weights,
        "scale": setting.scale,
        "states": states,
        "covariances": np.empty(0) if seen.covariances is None else seen.covariances,
        "extremes": np.empty(0) if setting.extremes is None else setting.extremes,
        "bounds": np.array([np.broadcast_to(part, shape) for part in given]),
    }
    arrays = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    places = {name: np.asarray(getattr(seen, name), dtype=np.int64) for name in PLACES}
    write_archive(header, {**arrays, **places}, path)


def _listed(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _are_arrays(states: Sequence[Any]) -> bool:
    return bool(states) and isinstance(states[0], np.ndarray)


def load_observed(
    path: str | os.PathLike[str], *, env: Any = None, policy: Any = None, features: Any = None
) -> Observed:
    """What was seen of a policy, from a `didact.observed/1` file.

    path: of the file.
    env: the environment, where states are to be branched again, as `certify` does; as for
        `observe`.
    policy: the policy that was seen.
    features: the features that were seen.
    """
    seen: Observed = read_archive(path, OBSERVED_FORMAT, _read)
    if env is None:
        for value, name in ((policy, "policy"), (features, "features")):
            if value is not None:
                raise InvalidParameter(f"{name} must come with env; give both, or neither")
        return seen
    return _attached(seen, seen_by(policy, named_environment(env)), policy, features)


def _attached(seen: Observed, env: Any, policy: Any, features: Any) -> Observed:
    """The same, with its simulator; refuses one in which the policy acts otherwise."""
    old = seen.setting
    chosen = features if features is not None else getattr(env, "features", None)
    agent = policy
    if policy is None and hasattr(env, "best_policy"):
        agent = env.best_policy(old.discount)
    simulator = open_simulator(env)
    _require_chance(simulator, old.repeats > 1)
    some = seen.observations[: min(20, len(seen.observations))]
    act = batch_policy(agent, simulator, some)
    if not np.allclose(act(some), seen.own[: len(some)]):
        raise InvalidParameter(
            "policy must be the one that was seen; it acts otherwise in what the file shows"
        )
    batch = simulator.begin(range(2))
    before = batch.observations
    chosen_actions = act(before)
    stepped = batch.step(chosen_actions)
    tried = (before, chosen_actions, stepped)
    phi = batch_features(chosen, old.feature_names, tried, simulator.masks)
    batch.keep(np.zeros(2, dtype=np.bool_))
    others = replace(old.alternatives, masks=simulator.masks)
    setting = replace(old, simulator=simulator, policy=act, features=phi, alternatives=others)
    return replace(seen, setting=setting)


def _require_chance(simulator: Simulator, had_chance: bool) -> None:
    """Refuse a simulator whose steps depend on chance where those that were seen did not, and one
    of arrays the other way round; objects are believed to have the chance that was seen."""
    if had_chance and not isinstance(simulator, ArraySimulator):
        simulator.is_random = True
    if simulator.is_random != had_chance:
        raise InvalidParameter(
            f"env must be the one that was seen; steps of {simulator.name} depend on chance"
            + (" no more" if had_chance else ", and those that were seen did not")
        )


def _read(file: Any) -> Observed:
    with Archive(file, OBSERVED_FORMAT, KINDS, "seen.save") as archive:
        header, arrays = archive.header(), archive.arrays()
    _require_header(header)
    _require_arrays(header, arrays)
    absent = Absent(header["name"], header["restoring"])
    low, high = map(float, header["rewards"])
    declared = header["reward_range"]
    rewards = StepRewards(
        *(arrays["weights"], int(header["n_paid"]), low, high, float(header["residual"])),
        declared=None if declared is None else (float(declared[0]), float(declared[1])),
    )
    discrete = header["n_actions"] > 0
    kind = np.int64 if discrete else np.float64
    setting = Setting(
        *(absent, absent, absent, arrays["weights"], tuple(header["feature_names"])),
        *(float(header["discount"]), int(header["horizon"]), float(header["tolerance"])),
        scale=arrays["scale"],
        alternatives=_alternatives(header, arrays["bounds"]),
        rewards=rewards,
        repeats=int(header["repeats"]),
        blind=blind_directions(arrays["rows"], arrays["scale"]),
        extremes=arrays["extremes"] if header["repeats"] > 1 else None,
    )
    n, jitter = len(arrays["rows"]), header["jitter"]
    return Observed(
        setting,
        tuple(arrays["states"]) if arrays["states"].size else (None,) * n,
        *(arrays["observations"], arrays["own"].astype(kind), arrays["others"].astype(kind)),
        *(arrays["rows"], arrays["rollout"], arrays["step"]),
        jitter=None if jitter is None else float(jitter),
        n_steps=int(header["n_steps"]),
        covariances=arrays["covariances"] if header["repeats"] > 1 else None,
        notes=tuple(header["notes"]),
        episode_return=header["episode_return"],
    )


def _alternatives(header: dict[str, Any], bounds: NDArray[Any]) -> Alternatives:
    n_actions, first = int(header["n_actions"]), int(header["first_action"])
    low, high, width = [None] * 3 if n_actions else bounds
    n_random, seed = int(header["n_random"]), int(header["seed"])
    held = tuple(header.get("held", (1,)))
    return Alternatives(n_actions, first, low, high, width, n_random, seed, held)


def _is_amount(value: Any) -> bool:
    return is_number(value) and bool(np.isfinite(value)) and value >= 0


def _is_count(value: Any) -> bool:
    return is_whole(value) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_held(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(is_whole(n) and n > 0 for n in value)


_AMOUNT = (_is_amount, "a number from 0 on")
_COUNT = (_is_count, "a whole number from 0 on")
_TEXT = (lambda value: isinstance(value, str), "a text")
_TEXTS = (_is_texts, "texts")
_HEADER: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("name", "restoring"), _TEXT),
    **dict.fromkeys(("feature_names", "notes"), _TEXTS),
    **dict.fromkeys(("discount", "tolerance", "residual"), _AMOUNT),
    **dict.fromkeys(("horizon", "repeats", "n_steps", "n_actions"), _COUNT),
    **dict.fromkeys(("n_random", "seed", "n_paid"), _COUNT),
    "first_action": (is_whole, "a whole number"),
    "episode_return": (
        lambda value: value is None or (is_number(value) and bool(np.isfinite(value))),
        "null or a number",
    ),
    "jitter": (lambda value: value is None or _is_amount(value), "null or a number from 0 on"),
    "held": (_is_held, "numbers of steps"),
}
"""Of each entry of the header, but for its format and bounds of rewards, what it must be."""


def _require_header(header: dict[str, Any]) -> None:
    known = {"format", "rewards", "reward_range", *_HEADER}
    wrong = sorted({"held", *header} ^ known)  # held may be left out
    if wrong:
        raise InvalidFile(f"the header must have exactly its own entries; look at {wrong[0]!r}")
    for name, (is_right, what) in _HEADER.items():
        if name in header and not is_right(header[name]):
            raise InvalidFile(f"{name} must be {what}; it is {shown(header[name])}")
    for name in ("rewards", "reward_range"):
        _require_bounds(header[name], name)
    if not 0 < header["discount"] < 1 or not header["tolerance"] > 0:
        raise InvalidFile("discount must be between 0 and 1, and tolerance above 0")


def _require_bounds(given: Any, name: str) -> None:
    """Refuse what is no least and largest reward; those seen have 0 among them."""
    if given is None and name == "reward_range":
        return
    numbers = isinstance(given, list) and len(given) == 2
    if not numbers or not all(is_number(bound) and np.isfinite(bound) for bound in given):
        raise InvalidFile(f"{name} must be the least and the largest reward; it is {shown(given)}")
    if given[0] > given[1] or (name == "rewards" and not given[0] <= 0 <= given[1]):
        raise InvalidFile(f"{name} must rise, and 0 be one of rewards; it is {shown(given)}")


def _shapes(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    """The shapes that arrays must have beside the rows."""
    n, n_others, k = arrays["rows"].shape
    discrete, random = header["n_actions"] > 0, header["repeats"] > 1
    shape = () if discrete else arrays["own"].shape[1:]
    return {
        "weights": (k,),
        "scale": (k,),
        "rollout": (n,),
        "step": (n,),
        "own": (n, *shape),
        "others": (n, n_others, *shape),
        "bounds": (0,) if discrete else (3, *shape),
        "covariances": (n, n_others, k, k) if random else (0,),
        "extremes": (2, k) if random else (0,),
    }


def _require_arrays(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    rows, states = arrays["rows"], arrays["states"]
    if rows.ndim != 3 or not rows.size:
        raise InvalidFile(f"rows must be (states, actions, features); they are {rows.shape}")
    n, n_others, k = rows.shape
    if n_others % len(header.get("held", [1])):
        raise InvalidFile(f"held must divide the {n_others} alternatives; it does not")
    for name, wanted in _shapes(header, arrays).items():
        if arrays[name].shape != wanted:
            raise InvalidFile(f"{name} must have the shape {wanted}; it has {arrays[name].shape}")
    for name in ("observations", "states") if states.size else ("observations",):
        if len(arrays[name]) != n:
            raise InvalidFile(
                f"{name} must be {n}, one for each state; they are {len(arrays[name])}"
            )
    for name in (*NUMBERS, *PLACES):
        if not np.isfinite(arrays[name]).all():
            raise InvalidFile(f"{name} must be finite; some number in it is not")
    if len(header["feature_names"]) != k or not (arrays["scale"] > 0).all():
        raise InvalidFile(f"there must be {k} feature_names, and scales above 0")
    if (arrays["rollout"] < 0).any() or (arrays["step"] < 0).any():
        raise InvalidFile("rollout and step must be from 0 on")
