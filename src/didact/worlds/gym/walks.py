"""Environments without a table -> tasks: a walk through all states that actions can reach.

The walk needs steps without chance, a way back to every state, and a key that tells states apart.
It goes breadth first from the resets. Two ways into one state are compared: where they go on
differently, the key leaves something out and the environment is refused. `CopyWalker` walks any
environment that can be copied: a snapshot is a copy, a key is what is observed. Time limits are no
part of the model.

Observations that are floats may still be few: cells as decimals, one-hot vectors. Before the walk a
short random one tells: where nearly every step shows numbers that were never seen before, and they
are no whole numbers, the states cannot be listed."""

from __future__ import annotations

import copy
import functools
import logging
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import FAILURES, is_whole, own_code, reason_of, shown, whole_in, whole_number
from didact.mdp import MDP, Task
from didact.mdp.observations import Observations, observation_text
from didact.numerics.exact import read_number
from didact.worlds.gym.environments import (
    MAX_NUMBERS,
    Node,
    Numbering,
    as_found,
    by_observation,
    has_table,
    name_of,
    walkable,
)
from didact.worlds.gym.tables import Model, TableOutcome, from_gymnasium, paid_features

if TYPE_CHECKING:
    from didact.worlds.gym.minigrid import GridWalker

LIMIT = 50_000
"""States that a walk may find before it gives up."""
SPARSE = 1000
"""Where no space says how many numbers there are: so many, and ten for each that was found."""
TOLD_EVERY = 10_000
"""A line of progress each time so many states are found."""

log = logging.getLogger("didact.worlds")


@dataclass(frozen=True)
class WalkStep:
    """What an action did: where it leads, the exact reward, and whether the episode ended."""

    snapshot: Any
    key: Hashable
    reward: Fraction
    ends: bool


@dataclass(frozen=True)
class Exploration:
    """Everything that was found: outcomes by number, nodes, the key of each number, the starts.

    seen: what recordings hold of each number, as a text. keep: how many numbers there are, where
    they are the environment's own and stay; else None.
    """

    model: Model
    nodes: list[Node]
    keys: Sequence[Hashable]
    starts: dict[int, Fraction]
    seen: Sequence[str | None]
    keep: int | None = None

    @property
    def numbering(self) -> Numbering:
        """The state of each node."""
        return as_found(self.nodes) if self.keep is None else by_observation(self.nodes, self.keep)

    def observations(self) -> Observations | None:
        """What recordings hold of each state; None where that is its number."""
        nodes = self.numbering.nodes
        if self.keep == len(nodes):
            return None
        return Observations(tuple(None if n is None else self.seen[n[0]] for n in nodes))


def in_own_numbers(walk: Exploration, space: Any = None) -> Exploration:
    """The walk in the environment's own numbers, where its keys are whole numbers from 0.

    space: the environment's, which says how many there are where it is Discrete.
    """
    numbers = [key for key in walk.keys if is_whole(key) and key >= 0]
    if len(numbers) < len(walk.keys):
        return walk
    size, most = max(numbers) + 1, SPARSE + 10 * len(numbers)
    if is_whole(n := getattr(space, "n", None)):
        size, most = max(size, int(getattr(space, "start", 0)) + int(n)), MAX_NUMBERS
    if size > min(most, MAX_NUMBERS):
        return walk
    own = dict(enumerate(numbers))
    return replace(
        walk,
        model={
            own[state]: [
                [replace(o, successor=own[o.successor]) for o in outcomes] for outcomes in actions
            ]
            for state, actions in walk.model.items()
        },
        nodes=[(own[state], ends) for state, ends in walk.nodes],
        keys=range(size),
        starts={own[state]: share for state, share in walk.starts.items()},
        seen=list(map(str, range(size))),
        keep=size,
    )


def explore(
    walker: CopyWalker | GridWalker, *, seeds: Sequence[int], limit: int = LIMIT
) -> Exploration:
    """All states that any actions reach from the resets, in the order of their discovery."""
    most = whole_number(limit, "limit", 1)
    numbers: dict[Hashable, int] = {}
    found: dict[Node, None] = {}
    waiting: deque[tuple[int, Any]] = deque()
    second: dict[int, Any] = {}
    model: Model = {}
    starts: dict[int, Fraction] = {}

    def arrive(snapshot: Any, key: Hashable, *, ends: bool) -> int:
        number = numbers.setdefault(key, len(numbers))
        node = (number, ends)
        if node not in found:
            found[node] = None
            _require_within(walker, len(found), most)
            if not ends:
                waiting.append((number, snapshot))
        elif not ends and number not in second:
            second[number] = snapshot
            if number in model:
                _require_same(walker, number, snapshot, model[number], numbers)
        return number

    for seed in seeds:
        number = arrive(*walker.begin(seed), ends=False)
        starts[number] = starts.get(number, Fraction(0)) + Fraction(1, len(seeds))
    while waiting:
        number, snapshot = waiting.popleft()
        steps = [walker.step(snapshot, action) for action in range(walker.n_actions)]
        model[number] = [
            [TableOutcome(Fraction(1), arrive(s.snapshot, s.key, ends=s.ends), s.reward, s.ends)]
            for s in steps
        ]
        if second.get(number) is not None:
            _require_same(walker, number, second[number], model[number], numbers)
            second[number] = None
    return Exploration(
        model, sorted(found), list(numbers), starts, [walker.seen(k) for k in numbers]
    )


def _require_within(walker: CopyWalker | GridWalker, n_states: int, limit: int) -> None:
    if n_states > limit:
        raise Unsupported(
            f"{walker.name} has more than {limit} states, too many to tabularise; choose a smaller "
            f"environment, a coarser key, or raise the limit (limit={2 * limit})"
        )
    if n_states % TOLD_EVERY == 0:
        log.info("%s: %d states found, at most %d", walker.name, n_states, limit)


def _require_same(
    walker: CopyWalker | GridWalker,
    number: int,
    snapshot: Any,
    outcomes: list[list[TableOutcome]],
    numbers: dict[Hashable, int],
) -> None:
    """A second way into a state must go on as the first did."""
    for action, (expected,) in enumerate(outcomes):
        step = walker.step(snapshot, action)
        got = (numbers.get(step.key), step.reward, step.ends)
        if got != (expected.successor, expected.reward, expected.ends):
            what = "reward" if got[0] == expected.successor else "next state"
            key = next(key for key, i in numbers.items() if i == number)
            raise InvalidModel(
                f"{walker.name}: two ways into the state {shown(key)} go on differently: action "
                f"{action} has another {what}. The key must hold all that matters, and steps must "
                "not depend on chance or on the time"
            )


def as_seeds(seed: Any) -> list[int]:
    """One seed or several, as whole numbers; texts such as '3' come from the command line."""
    listed = list(seed) if isinstance(seed, list | tuple | range | np.ndarray) else [seed]
    if not listed:
        raise InvalidParameter("seed must be a whole number or several; there is none")
    numbers = [whole_in(entry) if isinstance(entry, str) else entry for entry in listed]
    return [
        whole_number(entry if number is None else number, "seed", 0, 2**32 - 1)
        for entry, number in zip(listed, numbers, strict=True)
    ]


def require_discrete(env: Any) -> tuple[int, int]:
    """The first action and how many there are."""
    space = getattr(env, "action_space", None)
    n, first = getattr(space, "n", None), getattr(space, "start", 0)
    if not isinstance(n, int | np.integer) or not callable(getattr(env, "step", None)):
        raise Unsupported(
            f"{type(env).__name__} must have reset, step and a Discrete action_space to be walked "
            f"through; its actions are {shown(space)}"
        )
    return int(first), int(n)


def random_state(env: Any) -> Any:
    """The state of the environment's own generator, to see whether a step drew from it."""
    generator = getattr(getattr(env, "unwrapped", env), "_np_random", None)
    return None if generator is None else generator.bit_generator.state


def require_no_chance(name: str, before: Any, after: Any) -> None:
    """Refuse steps that drew random numbers."""
    if before != after:
        raise Unsupported(
            f"{name} draws random numbers in its steps, so a walk cannot know their probabilities; "
            "give the environment a table P, or build an MDP by hand"
        )


class CopyWalker:
    """Any environment that can be copied; a snapshot is a copy."""

    def __init__(self, env: Any, key: Callable[[Any], Hashable] | None):
        if key is not None and not callable(key):
            raise InvalidParameter(f"key must be a function of the environment; it is {shown(key)}")
        self._env = env
        self._key = key
        self.first_action, self.n_actions = require_discrete(env)
        self._seen: dict[Hashable, str | None] = {}
        self.name = name_of(env)

    def begin(self, seed: int) -> tuple[Any, Hashable]:
        """A copy after a reset, and its key."""
        env = self._copied(self._env)
        with own_code(f"reset of {self.name}"):
            observation, _ = env.reset(seed=seed)
        return env, self._key_of(env, observation)

    def step(self, snapshot: Any, action: int) -> WalkStep:
        """What an action does in another copy; one that draws random numbers is refused."""
        env = self._copied(snapshot)
        before = random_state(env)
        with own_code(f"step of {self.name}"):
            observation, reward, ends, _, _ = env.step(self.first_action + action)
        require_no_chance(self.name, before, random_state(env))
        text = str(reward) if isinstance(reward, np.floating) else reward
        exact = read_number(text, f"{self.name}: reward of action {action}")
        return WalkStep(env, self._key_of(env, observation), exact, bool(ends))

    def _copied(self, env: Any) -> Any:
        kept = (getattr(env, n, None) for n in ("spec", "action_space", "observation_space"))
        try:
            return copy.deepcopy(env, {id(part): part for part in kept if part is not None})
        except FAILURES as error:
            raise Unsupported(
                f"{self.name} cannot be copied, and the walk must come back to every state: "
                f"{reason_of(error)}"
            ) from None

    def _key_of(self, env: Any, observation: Any) -> Hashable:
        with own_code(f"the key of {self.name}"):
            found = frozen(observation) if self._key is None else self._key(env)
        try:
            if found not in self._seen:
                self._seen[found] = _text_of(observation if self._key is None else frozen(found))
        except TypeError:
            raise InvalidParameter(
                f"{self.name}: a key must be hashable, as a number or a tuple; it is {shown(found)}"
            ) from None
        return found

    def seen(self, key: Hashable) -> str | None:
        """The observation of a state, or its key where one was given, as a text."""
        return self._seen[key]

    def require_countable(self, seed: int) -> None:
        """Refuse observations of which a walk finds no end."""
        require_countable(self._env, self.name, seed, self.first_action, self.n_actions)


def _text_of(value: Any) -> str | None:
    """The text of what was observed; None where a file cannot hold it."""
    try:
        return observation_text(value)
    except InvalidModel:
        return None


def frozen(value: Any) -> Any:
    """Numbers, texts, arrays, and containers of them as hashable plain values."""
    if isinstance(value, np.ndarray):
        return frozen(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return tuple(frozen(entry) for entry in value)
    if isinstance(value, dict):
        return tuple((name, frozen(value[name])) for name in sorted(value))
    return value


STEPS = 200
"""Of the walk at random."""
MAX_NEW = 0.9
"""A larger share of steps that show something new means that there is no end to it."""


def require_countable(env: Any, name: str, seed: int, first: int, n_actions: int) -> None:
    """Refuse an environment whose observations are continuous."""
    space = getattr(env, "observation_space", None)
    if not _has_floats(space):
        return
    seen = _looked_at(env, seed, first, n_actions)
    fractional = any(np.any(part != np.round(part)) for part in seen)
    if fractional and len({part.tobytes() for part in seen}) > MAX_NEW * len(seen):
        raise Unsupported(
            f"{name} observes continuous numbers, {shown(space)}, so its states cannot be listed; "
            "give key=, a function of the environment that puts them into bins, as "
            "key=lambda env: tuple(env.unwrapped.state.round()), or build an MDP by hand"
        )


def _has_floats(space: Any) -> bool:
    """Whether a space, or a part of it, holds floats."""
    parts = getattr(space, "spaces", None)
    if parts is not None:
        return any(map(_has_floats, parts.values() if hasattr(parts, "values") else parts))
    return getattr(getattr(space, "dtype", None), "kind", "") == "f"


def _looked_at(env: Any, seed: int, first: int, n_actions: int) -> list[np.ndarray]:
    """The numbers that a walk at random observes; none where the environment cannot be copied."""
    rng = np.random.default_rng(seed)
    seen: list[np.ndarray] = []
    try:
        walked = copy.deepcopy(env)
        observation, _ = walked.reset(seed=seed)
        for _ in range(STEPS):
            seen.append(np.concatenate([[0.0], *_numbers(observation)]))
            observation, _, ends, cut, _ = walked.step(first + int(rng.integers(n_actions)))
            if ends or cut:
                observation, _ = walked.reset()
    except FAILURES:
        return []  # the walk itself tells why
    return seen


def _numbers(observation: Any) -> list[np.ndarray]:
    if isinstance(observation, dict):
        return [part for name in sorted(observation) for part in _numbers(observation[name])]
    if isinstance(observation, tuple):
        return [part for entry in observation for part in _numbers(entry)]
    array = np.asarray(observation)
    return [array.ravel().astype(float)] if array.dtype.kind in "biuf" else []


# What a walk has found -> a task.


def from_environment(
    env: Any,
    /,
    *,
    key: Callable[[Any], Hashable] | None = None,
    limit: int = LIMIT,
    seed: int | Sequence[int] = 0,
    features: Any = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: str | None = None,
    name: str | None = None,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Task:
    """The task of a small environment without chance, found by walking through all its states.

    Where it has a table P and no key is given, the table is read instead, chance and all.

    env: anything with `reset`, `step` and a discrete `action_space`, as Gymnasium has them, that
        `copy.deepcopy` can copy.
    key: a function of the environment that tells its states apart; by default what it observes.
    limit: how many states there may be.
    seed: of the reset; several seeds are several starts, each as likely.
    features: None for one indicator for each distinct reward, with the rewards as weights; else a
        function of a key, or of (key, action, next key, reward).
    weights: needed with features of your own.
    discount: in [0, 1), exactly as given.
    start: None for the state after the reset; 'uniform' for every state that goes on.
    name: of the task; by default the environment's.
    state_names: a name for each state, or a function of a key.
    action_names: a name for each action.
    feature_names: a name for each feature.
    """
    named: dict[str, Any] = {
        "features": features,
        "weights": weights,
        "discount": discount,
        "start": start,
        "state_names": state_names,
        "action_names": action_names,
        "feature_names": feature_names,
    }
    if key is None and has_table(env):
        return from_gymnasium(env, name=name, **named)
    opened = walkable(env)
    walker = CopyWalker(opened, key)
    seeds = as_seeds(seed)
    if key is None:
        walker.require_countable(seeds[0])
    walk = explore(walker, seeds=seeds, limit=limit)
    space = getattr(opened, "observation_space", None) if key is None else None
    return task_of(
        in_own_numbers(walk, space),
        n_actions=walker.n_actions,
        first_action=walker.first_action,
        name=name or walker.name,
        **named,
    )


def task_of(
    walk: Exploration,
    *,
    n_actions: int,
    first_action: int = 0,
    features: Any = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: str | None = None,
    name: str = "environment",
    state_name: Callable[[Any], str] = str,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    layout: Mapping[str, Any] | None = None,
) -> Task:
    """The task that a walk has found."""
    numbering = walk.numbering
    by_key = None if features is None else _by_key(features, walk.keys)
    paid = paid_features(
        by_key, weights, feature_names, model=walk.model, nodes=numbering.nodes, n=len(walk.keys)
    )
    mdp = MDP(
        numbering.transitions(walk.model, n_actions),
        paid.features,
        discount,
        start=[(numbering.number[s, False], p) for s, p in _starts(walk, start).items()],
        terminal=numbering.terminal,
        state_names=numbering.names(state_names, _state_names(walk, state_name), walk.keys),
        action_names=action_names or [f"action {first_action + i}" for i in range(n_actions)],
        feature_names=paid.names,
    )
    return Task(
        mdp,
        paid.weights,
        name=name,
        layout=layout,
        observations=walk.observations(),
        first_action=first_action,
    )


def _starts(walk: Exploration, start: str | None) -> dict[int, Fraction]:
    if start is None:
        return walk.starts
    if start != "uniform":
        raise InvalidParameter(
            f"start must be None, the state after the reset, or 'uniform'; it is {shown(start)}"
        )
    return dict.fromkeys(walk.model, Fraction(1, len(walk.model)))


def _state_names(walk: Exploration, state_name: Callable[[Any], str]) -> list[str]:
    """A name for each node; the one that ends says so where the same key also goes on."""
    return [
        str(i)
        if node is None
        else state_name(walk.keys[node[0]])
        + (" (end)" if node[1] and node[0] in walk.model else "")
        for i, node in enumerate(walk.numbering.nodes)
    ]


def _by_key(features: Any, keys: Sequence[Hashable]) -> Callable[..., Any]:
    """The same function of state numbers; its signature still says how many arguments it takes."""
    if not callable(features):
        raise InvalidParameter(
            "features must be a function of a key, or of (key, action, next key, reward); "
            f"it is {shown(features)}"
        )

    @functools.wraps(features)
    def called(*given: Any) -> Any:
        if len(given) == 1:
            return features(keys[given[0]])
        state, action, successor, reward = given
        return features(keys[state], action, keys[successor], reward)

    return called
