"""What branching asks of a simulator, a policy and features: batches.

Copies of an environment step together and can be resumed. A saved state is whatever a simulator
needs to stand in a state again: a row of numbers, a saved environment, or a seed and the actions
that lead there. Nobody but the simulator looks into it.

Policies and features are asked for many states at once, where they can be. A function that was
written for one state is called for one after the other; whether it takes many is tried on the first
ones, and must give the same. No function is made inside another one, so that a result that holds
them can be pickled wherever the given function can."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import (
    FAILURES,
    own_code,
    parameters_of,
    plain_array,
    reason_of,
    shown,
    without_exploration,
)

Mask = NDArray[np.bool_]


class DrawsChance(Unsupported):
    """Steps drew from a random generator where none had been seen to."""


class Stepped(NamedTuple):
    """What one step of a batch gave: observations after it, rewards, and which copies ended.

    An episode ends where the environment says `terminated`; a time limit ends nothing. infos: the
    dict that each copy's step gave; None where a simulator gives none.
    """

    observations: Any
    rewards: NDArray[np.float64]
    ended: Mask
    infos: list[dict[str, Any]] | None = None


class SimulatorBatch(Protocol):
    """Copies of one environment."""

    @property
    def observations(self) -> Any:
        """What each copy shows, along the first axis."""

    def step(self, actions: Any) -> Stepped:
        """One step of every copy, each with its action; copies that ended must be dropped."""

    def keep(self, which: Mask) -> None:
        """Drop the other copies."""

    def saved_states(self) -> list[Any]:
        """Where each copy stands, to be resumed from as often as one likes."""

    def same_state(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> Mask:
        """Whether these copies stand in the very state of those; False where nobody can tell."""


class Masks(NamedTuple):
    """Masks of `n` actions from `first` on, which stand at the end of observations of this shape.

    A masked action counts as the first allowed one, as the environment may refuse it.
    """

    n: int
    first: int
    shape: tuple[int, ...]

    def seen(self, observations: Any) -> Any:
        """One or many observations without their masks."""
        given = np.asarray(observations)
        return given[..., : -self.n].reshape(*given.shape[:-1], *self.shape)

    def allowed(self, observations: Any) -> Mask:
        """Which actions are allowed, (..., n)."""
        return np.asarray(observations)[..., -self.n :] > 0

    def taken(self, observations: Any, actions: Any) -> Any:
        """The actions that the environment takes in many states."""
        allowed, given = self.allowed(observations), np.asarray(actions)
        may = allowed[np.arange(len(given)), given - self.first]
        return np.where(may, given, self.first + allowed.argmax(axis=1))

    def beside(self, own: Any, others: Any, observations: Any) -> Any:
        """The others (n, B), with the own action instead of masked ones, so that these say
        nothing."""
        may = np.take_along_axis(self.allowed(observations), others - self.first, axis=1)
        return np.where(may, others, own[:, None])


class Simulator(Protocol):
    """An environment that can be started and resumed in batches.

    restoring: in words, how a state is restored. n_steps: steps that it has made so far. is_random:
    whether steps depend on chance. time_limit: steps after which the environment's own limit, which
    ends nothing here, would cut an episode off; None without. view: what policies see of
    observations; None where they see them as they are. masks: of the actions, at the end of
    observations; None without.
    """

    name: str
    action_space: Any
    restoring: str
    n_steps: int
    is_random: bool
    time_limit: int | None
    view: Callable[[Any], Any] | None
    masks: Masks | None

    @property
    def chance_assumption(self) -> str:
        """What is taken for granted of chance, in words."""

    def start_from(self, starts: Any) -> None:
        """Let episodes begin in one of these states, or by one of these seeds."""

    def begin(self, seeds: Sequence[int]) -> SimulatorBatch:
        """A fresh episode for each seed."""

    def resume(
        self, saved_states: Sequence[Any], seeds: Any = None, *, watched: bool = False
    ) -> SimulatorBatch:
        """Copies in these states; seeds of the chance that follows.

        watched: look at shared generators too, as is done for episodes that begin."""

    def standing(self, observation: Any) -> SimulatorBatch | None:
        """A copy in the state that shows this; None where observations are no states. Whether it
        is the right state is seen by what the next step shows."""

    def nudged(
        self, saved_states: Sequence[Any], size: float, rng: np.random.Generator
    ) -> list[Any] | None:
        """The same states, with the numbers moved by so small a share; None where
        states cannot be written."""


Floats = NDArray[np.float64]
Policy = Callable[[Any], Any]
Features = Callable[[Any, Any, Stepped], Floats]
"""Of what copies showed, their actions, and what the step gave: (n, k)."""


def as_rows(observations: Any) -> NDArray[Any]:
    """Observations as rows of numbers, (n, d): the entries of dicts by their names, and nothing of
    what are no numbers."""
    n = len(observations)
    if n and isinstance(observations[0], dict):
        columns = [
            np.stack([one[name] for one in observations]) for name in sorted(observations[0])
        ]
    else:
        columns = [np.asarray(observations)]
    rows = [part.reshape(n, -1) for part in columns if part.dtype.kind in "biuf"]
    return np.concatenate(rows, axis=1) if len(rows) > 1 else rows[0] if rows else np.empty((n, 0))


EXACTLY, ROUGHLY = 1e-6, 1e-3
"""Shares by which answers to one question may differ."""


def batch_policy(policy: Any, simulator: Any, some: Any) -> Policy:
    """The actions of a policy in many of a simulator's states; `some` observations are tried.

    policy: an object with `predict`, as Stable-Baselines3 has it, or a function of an observation
    or of many. It must answer the same when it is asked again.
    """
    answer = policy
    if hasattr(policy, "predict"):
        answer = partial(_predicted, policy, without_exploration(policy.predict))
    view = own_view(policy) or simulator.view
    if view is not None and not getattr(policy, "is_normalised", False):
        answer = partial(_viewed, answer, view)
    if simulator.masks is not None:
        answer = partial(_by_masks, answer, simulator.masks, takes_masks(policy))
    if not callable(answer):
        raise InvalidParameter(
            f"policy must be a function of observations or have predict; it is {shown(policy)}"
        )
    shape = tuple(getattr(simulator.action_space, "shape", ()) or ())
    if not _takes_many(answer, (some,)):
        of_dicts = partial(_of_dicts, answer)
        is_dict = hasattr(policy, "predict") and isinstance(some[0], dict)
        answer = (
            of_dicts if is_dict and _takes_many(of_dicts, (some,)) else partial(_one_by_one, answer)
        )
    if not _equal(_actions(answer, shape, some), _actions(answer, shape, some)):
        raise Unsupported(
            "the policy must act the same whenever it sees the same; it does not. Give its "
            "deterministic version"
        )
    return partial(_actions, answer, shape)


def own_view(policy: Any) -> Callable[[Any], Any] | None:
    """How the VecNormalize that a model was trained with normalises what it sees; None without."""
    held = getattr(policy, "get_vec_normalize_env", None)
    normalisation = held() if callable(held) else None
    mean = getattr(getattr(normalisation, "obs_rms", None), "mean", None)
    seen = getattr(getattr(policy, "observation_space", None), "shape", None)
    # frames that were stacked after they were normalised have another shape
    return normaliser(normalisation) if mean is not None and np.shape(mean) == seen else None


def normaliser(normalisation: Any) -> Callable[[Any], Any] | None:
    """How a VecNormalize normalises observations, as it is now; None where it does not."""
    if not normalisation.norm_obs:
        return None
    with own_code("copying VecNormalize"):  # a copy is without its environments
        return Normaliser(copy.deepcopy(normalisation))


class Normaliser:
    """What a VecNormalize that nobody else holds makes of observations."""

    def __init__(self, normalisation: Any):
        self._normalisation = normalisation

    def __call__(self, observations: Any) -> Any:
        """Of one or many."""
        return self._normalisation.normalize_obs(observations)

    def __deepcopy__(self, memo: Any) -> Normaliser:
        """Itself: nothing changes it, and a VecNormalize without environments has no copies."""
        return self


def _viewed(
    answer: Callable[..., Any], view: Callable[[Any], Any], observations: Any, **masks: Any
) -> Any:
    return answer(view(observations), **masks)


def takes_masks(policy: Any) -> bool:
    """Whether a policy acts by masks of actions, as MaskablePPO does."""
    asked = getattr(getattr(policy, "_agent", policy), "predict", policy)
    return "action_masks" in parameters_of(asked)


def _by_masks(answer: Callable[..., Any], masks: Masks, given: bool, observations: Any) -> Any:
    """The policy's answers; given: whether it gets the masks. Refused where one is masked."""
    allowed = masks.allowed(observations)
    chosen = answer(masks.seen(observations), **({"action_masks": allowed} if given else {}))
    rows, places = allowed.reshape(-1, masks.n), np.asarray(chosen).reshape(-1) - masks.first
    if len(places) != len(rows) or places.dtype.kind not in "iu":
        return chosen  # `_actions` says what it should have been
    masked = ~np.take_along_axis(rows, np.clip(places, 0, masks.n - 1)[:, None], axis=1)[:, 0]
    if masked.any():
        at = int(masked.argmax())
        raise InvalidModel(
            "the policy must take actions that action_masks() allows; it takes "
            f"{places[at] + masks.first}, and allowed are "
            f"{(np.flatnonzero(rows[at]) + masks.first).tolist()}: let it take action_masks as "
            "a parameter, and act by it"
        )
    return chosen


def _predicted(agent: Any, greedy: dict[str, bool], observations: Any, **masks: Any) -> Any:
    given = agent.predict(observations, **greedy, **masks)
    if isinstance(given, tuple):
        if len(given) > 1 and given[1] is not None:
            raise Unsupported("the policy remembers earlier states; only those without memory "
                              "can be observed")  # fmt: skip
        return given[0]
    return given


def _of_dicts(answer: Callable[..., Any], observations: Any) -> Any:
    """The answer to many observations that are dicts, as one dict of arrays: agents of
    Stable-Baselines3 take that, ten times faster than one after the other."""
    return answer({name: np.stack([one[name] for one in observations]) for name in observations[0]})


def _one_by_one(function: Callable[..., Any], *many: Any) -> Any:
    """The function asked for one after the other."""
    return np.stack([np.asarray(function(*one)).squeeze() for one in zip(*many, strict=True)])


def _actions(answer: Callable[[Any], Any], shape: tuple[int, ...], observations: Any) -> Any:
    with own_code("the policy"):
        given = np.asarray(answer(observations))
    wanted = (len(observations), *shape)
    if given.size == int(np.prod(wanted)) and given.shape != wanted:
        given = given.reshape(wanted)
    if given.shape != wanted or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InvalidModel(
            f"the policy must give actions of shape {wanted}, finite numbers; it gave "
            f"{shown(given)}"
        )
    return given


PARTS = {
    "observation": ("observation", "observations", "obs"),
    "action": ("action", "actions"),
    "next_observation": ("next_observation", "next_observations", "next_obs", "after"),
    "terminated": ("terminated", "ended"),
    "info": ("info",),
}
"""What features may name of a step, in the order in which four of them are given without names."""


def batch_features(
    features: Any, names: Any, some: tuple[Any, Any, Stepped], masks: Masks | None = None
) -> Features:
    """The features of many steps at once; `some` steps are tried.

    features: a function that names what it takes of a step: observation (obs), action,
    next_observation (next_obs), terminated, info; or one of four arguments, the first four in this
    order. Of one step or of many; one that takes `info` is asked for one step.
    masks: at the end of observations, of which features see nothing.
    """
    if not callable(features):
        raise InvalidParameter(
            "features must be a function (observation, action, next_observation, terminated) -> "
            f"k numbers; it is {shown(features)}"
        )
    taken, by_keyword = _parts_taken(features)
    if by_keyword:
        features = partial(_by_keyword, features, by_keyword)
    tried = _parts(taken, _without_masks(masks, *some))
    together = "info" not in taken and _takes_many(features, tried)
    chosen = features if together else partial(_reshaped, features)
    _require_either(features, chosen, tried)
    k = _numbers(chosen, tried, None).shape[1]
    if names is not None and len(names) != k:
        raise InvalidParameter(f"feature_names must be {k}, one for each; there are {len(names)}")
    return partial(_numbers_of, chosen, k, taken, masks)


def _without_masks(masks: Masks | None, before: Any, actions: Any, stepped: Stepped) -> Any:
    """A step without masks, and with the actions that were taken."""
    if masks is None:
        return before, actions, stepped
    after = stepped._replace(observations=masks.seen(stepped.observations))
    return masks.seen(before), masks.taken(before, actions), after


def _parts_taken(function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a function takes of a step, in the order of its parameters, and their names where they
    must be given by keyword."""
    canonical = {alias: part for part, aliases in PARTS.items() for alias in aliases}
    given = parameters_of(function).values()
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        one
        for one in given
        if one.kind in (*plain, inspect.Parameter.KEYWORD_ONLY) and one.default is one.empty
    ]
    if not needed or any(one.name not in canonical for one in needed):
        return tuple(PARTS)[:4], ()
    names = tuple(one.name for one in needed)
    is_plain = all(one.kind in plain for one in needed)
    return tuple(canonical[name] for name in names), () if is_plain else names


def _by_keyword(function: Callable[..., Any], names: tuple[str, ...], *parts: Any) -> Any:
    return function(**dict(zip(names, parts, strict=True)))


def _parts(taken: tuple[str, ...], step: tuple[Any, Any, Stepped]) -> tuple[Any, ...]:
    """These parts of a step of all copies."""
    before, actions, stepped = step
    if "info" in taken and stepped.infos is None:
        raise InvalidParameter(
            "features take info, which this simulator's steps do not give; give a function that "
            "makes the environment, or features without info"
        )
    all_parts = (before, actions, stepped.observations, stepped.ended, stepped.infos)
    known = dict(zip(PARTS, all_parts, strict=True))
    return tuple(known[name] for name in taken)


def _require_either(of_many: Callable[..., Any], of_one: Callable[..., Any], some: Any) -> None:
    """Refuse features that fail on many steps and on one, with both reasons."""
    reasons = []
    for what, function in (("many steps", of_many), ("one step", of_one)):
        try:
            function(*some)
            return
        except FAILURES as error:
            reasons.append(f"on {what} {reason_of(error, 120)}")
    raise InvalidParameter(f"the features failed: {'; '.join(reasons)}")


def _reshaped(function: Callable[..., Any], *many: Any) -> Any:
    """Asked for one after the other; one number for each step is one feature."""
    return _one_by_one(function, *many).reshape(len(many[0]), -1)


def _numbers_of(
    function: Any, k: int, taken: tuple[str, ...], masks: Masks | None, *step: Any
) -> Floats:
    return _numbers(function, _parts(taken, _without_masks(masks, *step)), k)


def _numbers(function: Any, steps: Any, k: int | None) -> Floats:
    with own_code("the features"):
        given = np.asarray(function(*steps), dtype=np.float64)
    if given.ndim != 2 or len(given) != len(steps[0]) or (k is not None and given.shape[1] != k):
        raise InvalidModel(
            f"features must give {k or 'k'} numbers for each of {len(steps[0])} steps; the shape "
            f"is {given.shape}"
        )
    if not np.isfinite(given).all():
        at, j = np.argwhere(~np.isfinite(given))[0]
        raise InvalidModel(f"features must be finite; feature {j} is {given[at, j]}")
    return given


def _takes_many(function: Callable[..., Any], many: tuple[Any, ...]) -> bool:
    """Whether asking for all at once gives what asking for each gives, alone or as one of one."""
    n = len(many[0])
    try:
        together = np.asarray(function(*many))
        alone = [np.asarray(function(*(part[i : i + 1] for part in many))) for i in range(n)]
        apart = np.concatenate(alone)
    except FAILURES:
        return False
    try:
        single = _one_by_one(function, *many)
    except FAILURES:  # made for many only; in single precision sums may depend on how many
        return _equal(together, apart, ROUGHLY)
    if not _equal(together, apart):
        return False
    return single.size != together.size or _equal(together.ravel(), single.ravel())


def _equal(one: Any, other: Any, share: float = EXACTLY) -> bool:
    if np.shape(one) != np.shape(other):
        return False
    size = float(np.abs(one).max(initial=0.0)) if np.isfinite(one).all() else 1.0
    small = share * 1e-3 * max(size, 1e-6)
    return bool(np.allclose(one, other, rtol=share, atol=small, equal_nan=True))


def as_weights(given: Any, n_features: int) -> NDArray[np.float64]:
    """One finite number for each feature, not all of them 0."""
    try:
        weights = np.array(plain_array(given, "weights"), dtype=np.float64)
    except FAILURES:
        weights = np.empty(0)
    if weights.shape != (n_features,) or not np.isfinite(weights).all() or not weights.any():
        raise InvalidParameter(
            f"weights must be {n_features} finite numbers, one for each feature, and not all 0; "
            f"they are {shown(given)}"
        )
    return weights
