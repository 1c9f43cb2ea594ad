"""What was observed of a policy in a simulator, and its files (`didact.observed/1`).

A row is a half-space normal: the discounted features of the policy's action minus those of another
one, the policy going on after both. Rows of a simulator are measured, so nothing that follows from
them is a proof.

A file is an .npz of arrays and one header. It holds rows and how far they can be trusted, which is
all that lessons and learners need. It holds no environment and no policy, so certificates need both
once more.

**Openness.** For a row r and the cone C of the rows shown, dist(r, C) is the largest -r.w over unit
rewards w that fit everything shown (Moreau): the most by which such a reward could prefer the other
action. The residual of the nearest point is, up to its sign, that reward: the witness.

**Nearest reward.** A policy may err under the reward it was trained for. Soft choices between its
action and each alternative have a likelihood that is concave in the weights: its maximum is the
nearest reward. A state in which another action is better even under it is not explained. Whether
any reward at all makes an action best is a question of its own rows: none does where they point to
all sides."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.nnls import residuals_from_cone
from didact.bec.observed.setting import (
    Alternatives,
    Floats,
    Setting,
    StepRewards,
    blind_directions,
)
from didact.errors import InvalidFile, InvalidParameter, Unsupported
from didact.files.archives import Archive, read_archive, write_archive
from didact.files.json import Reader, as_texts, each, or_null, read_entries
from didact.inputs import (
    LARGEST_COUNT,
    as_text,
    counted,
    finite_number,
    is_number,
    shown,
    whole_number,
)
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.batches import (
    Features,
    Policy,
    Simulator,
    batch_features,
    batch_policy,
)
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
        setting, others = self.setting, self.setting.alternatives
        require_arrays(self.observations)
        declared = setting.rewards.declared
        header = {
            "format": OBSERVED_FORMAT,
            "name": setting.simulator.name,
            "restoring": setting.simulator.restoring,
            "feature_names": list(setting.feature_names),
            "discount": setting.discount,
            "tolerance": setting.tolerance,
            "residual": self.residual,
            "rewards": [setting.rewards.low, setting.rewards.high],
            "reward_range": None if declared is None else list(declared),
            "n_paid": setting.rewards.n,
            "notes": list(self.notes),
            "jitter": self.jitter,
            "horizon": setting.horizon,
            "repeats": setting.repeats,
            "n_steps": self.n_steps,
            "episode_return": self.episode_return,
            "n_actions": others.n_actions,
            "first_action": others.first,
            "n_random": others.n_random,
            "seed": others.seed,
            **({} if others.held == (1,) else {"held": list(others.held)}),
        }
        given = [] if others.n_actions else [others.low, others.high, others.width]
        shape = np.shape(others.low) if given else ()
        are_arrays = bool(self.states) and isinstance(self.states[0], np.ndarray)
        arrays = {
            **{name: np.asarray(getattr(self, name)) for name in ("observations", "own", "others")},
            "rows": self.rows,
            "weights": setting.weights,
            "scale": setting.scale,
            "states": np.stack(self.states) if are_arrays else np.empty(0),
            "covariances": np.empty(0) if self.covariances is None else self.covariances,
            "extremes": np.empty(0) if setting.extremes is None else setting.extremes,
            "bounds": np.array([np.broadcast_to(part, shape) for part in given]),
        }
        arrays = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
        places = {name: np.asarray(getattr(self, name), dtype=np.int64) for name in PLACES}
        write_archive(header, {**arrays, **places}, path)

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
    act, phi = on_first_steps(simulator, (agent, chosen, old.feature_names), range(2))
    some = seen.observations[:20]
    if not np.allclose(act(some), seen.own[: len(some)]):
        raise InvalidParameter(
            "policy must be the one that was seen; it acts otherwise in what the file shows"
        )
    others = replace(old.alternatives, masks=simulator.masks)
    setting = replace(old, simulator=simulator, policy=act, features=phi, alternatives=others)
    return replace(seen, setting=setting)


def on_first_steps(
    simulator: Simulator, given: tuple[Any, Any, Any], seeds: Sequence[int]
) -> tuple[Policy, Features]:
    """Policy and features for many states at once, tried on the first steps of episodes.

    given: the policy, the features and their names, as somebody gave them.
    """
    policy, features, names = given
    batch = simulator.begin(seeds)
    before = batch.observations
    act = batch_policy(policy, simulator, before)
    chosen = act(before)
    stepped = batch.step(chosen)
    phi = batch_features(features, names, (before, chosen, stepped), simulator.masks)
    batch.keep(np.zeros(len(seeds), dtype=np.bool_))
    return act, phi


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
    header = read_entries({"held": [1]} | header, _HEADER, "the header")
    if not 0 < header["discount"] < 1 or not header["tolerance"] > 0:
        raise InvalidFile("discount must be between 0 and 1, and tolerance above 0")
    _require_arrays(header, arrays)
    absent = Absent(header["name"], header["restoring"])
    low, high = header["rewards"]
    n_actions, has_chance, n = header["n_actions"], header["repeats"] > 1, len(arrays["rows"])
    low_action, high_action, width = [None] * 3 if n_actions else arrays["bounds"]
    setting = Setting(
        *(absent, absent, absent, arrays["weights"], header["feature_names"]),
        *(header["discount"], header["horizon"], header["tolerance"]),
        scale=arrays["scale"],
        alternatives=Alternatives(
            *(n_actions, header["first_action"], low_action, high_action, width),
            *(header["n_random"], header["seed"], header["held"]),
        ),
        rewards=StepRewards(
            *(arrays["weights"], header["n_paid"], low, high, header["residual"]),
            declared=header["reward_range"],
        ),
        repeats=header["repeats"],
        blind=blind_directions(arrays["rows"], arrays["scale"]),
        extremes=arrays["extremes"] if has_chance else None,
    )
    kind = np.int64 if n_actions else np.float64
    return Observed(
        setting,
        tuple(arrays["states"]) if arrays["states"].size else (None,) * n,
        *(arrays["observations"], arrays["own"].astype(kind), arrays["others"].astype(kind)),
        *(arrays["rows"], arrays["rollout"], arrays["step"]),
        jitter=header["jitter"],
        n_steps=header["n_steps"],
        covariances=arrays["covariances"] if has_chance else None,
        notes=header["notes"],
        episode_return=header["episode_return"],
    )


def _held(value: Any, place: str) -> tuple[int, ...]:
    steps: tuple[int, ...] = each(partial(whole_number, lowest=1))(value, place)
    if not steps:
        raise InvalidFile(f"{place} must be numbers of steps; there are none")
    return steps


def _bounds(given: Any, name: str) -> tuple[float, float]:
    """The least and the largest reward; those seen have 0 among them."""
    numbers = isinstance(given, list) and len(given) == 2
    if not numbers or not all(is_number(bound) and np.isfinite(bound) for bound in given):
        raise InvalidFile(f"{name} must be the least and the largest reward; it is {shown(given)}")
    if given[0] > given[1] or (name == "rewards" and not given[0] <= 0 <= given[1]):
        raise InvalidFile(f"{name} must rise, and 0 be one of rewards; it is {shown(given)}")
    return float(given[0]), float(given[1])


_AMOUNT, _COUNT = partial(finite_number, lowest=0.0), partial(whole_number, lowest=0)
_HEADER: dict[str, Reader] = {
    **dict.fromkeys(("format", "name", "restoring"), as_text),
    **dict.fromkeys(("feature_names", "notes"), as_texts),
    **dict.fromkeys(("discount", "tolerance", "residual"), _AMOUNT),
    **dict.fromkeys(("horizon", "repeats", "n_steps", "n_actions"), _COUNT),
    **dict.fromkeys(("n_random", "seed", "n_paid"), _COUNT),
    "first_action": partial(whole_number, lowest=-LARGEST_COUNT),
    "episode_return": or_null(partial(finite_number, lowest=-np.inf)),
    "jitter": or_null(_AMOUNT),
    "rewards": _bounds,
    "reward_range": or_null(_bounds),
    "held": _held,
}


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
    if n_others % len(header["held"]):
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


SURE = 30.0
"""Confidence of soft choices, over the tolerance: a loss of the tolerance is e^-30 as likely."""
MANY = 0.5
"""Share of mistakes above which a report names the reward that the policy seems to follow."""
SAME = 1e-6
"""Distance of a unit row to a cone up to which it lies inside: rounding of NNLS."""


class Distances(NamedTuple):
    """Distances (n,) of rows to a cone, and their residuals (n, k): row minus nearest point."""

    lengths: Floats
    residuals: Floats


def unit_rows(rows: Floats) -> Floats:
    """Rows (m, k) of length 1, without those that are 0."""
    lengths = np.linalg.norm(rows, axis=1)
    return np.asarray(rows[lengths > 0] / lengths[lengths > 0, None])


def distances_to_cone(generators: Floats, rows: Floats) -> Distances:
    """How far each row (n, k) is from the cone of these generators (m, k), which need no scale."""
    units = unit_rows(generators)
    if not len(units):
        return Distances(np.linalg.norm(rows, axis=1), rows.copy())
    sizes = np.linalg.norm(rows, axis=1)
    targets = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    residuals = residuals_from_cone(units, targets) * sizes[:, None]
    return Distances(np.linalg.norm(residuals, axis=1), residuals)


class ObservedNearest(NamedTuple):
    """Unit weights (k,) in the features' own units, the share of states that are mistakes under
    them, and the share that no reward explains."""

    weights: Floats
    mistaken: float
    unexplained: float


def nearest_to_observed(seen: Observed) -> ObservedNearest:
    """The reward that the policy seems to follow."""
    setting, rows = seen.setting, seen.scaled_rows
    n, _, k = rows.shape
    middle = most_likely(rows.reshape(-1, k), SURE / setting.tolerance)
    mistaken = float(((rows @ middle) < -setting.tolerance).any(axis=1).mean())
    own = middle / setting.scale
    never = sum(_nothing_explains(each, setting.tolerance) for each in rows)
    return ObservedNearest(own / max(float(np.linalg.norm(own)), 1e-300), mistaken, never / n)


def _nothing_explains(rows: Floats, tolerance: float) -> bool:
    """Whether no reward makes the action best by any margin: the cone of rows has the negative of
    their sum, though they are more than nothing."""
    long = rows[np.linalg.norm(rows, axis=1) > tolerance]
    if not len(long):
        return False
    units = unit_rows(long)
    return bool((distances_to_cone(units, -units).lengths <= SAME).all())


def most_likely(rows: Floats, confidence: float) -> Floats:
    """The unit weights for which soft choices of the rows' winners are most likely."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = confidence * (rows @ weights)
        total = np.logaddexp(0.0, -margins).sum() + 0.5 * weights @ weights
        slopes = -0.5 * (1.0 - np.tanh(0.5 * margins))
        return float(total), confidence * (slopes @ rows) + weights

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    return np.asarray(found / max(float(np.linalg.norm(found)), 1e-300))
