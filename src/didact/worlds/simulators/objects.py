"""Simulators that are Gymnasium objects: a pool of them steps together, one for each copy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import entries, own_code, whole_number
from didact.random import stream
from didact.worlds.simulators.batches import DrawsChance, Mask, Masks, Stepped
from didact.worlds.simulators.generators import (
    Source,
    marks_of,
    own_sources,
    put_states,
    seed_all,
    shared_sources,
    states_of,
    unchanged,
)
from didact.worlds.simulators.restoring import History, Replaying, Way, put_state, same

PLAIN = 0.01
"""A share by which a state is moved to see whether that shows."""


class ObjectSimulator:
    """Environments that `make` makes, restored one way or another; origin: whence, in words."""

    view: Any = None

    def __init__(
        self,
        make: Callable[[], Any],
        name: str,
        way: Way,
        make_drawn: Callable[[], Any] | None = None,
        *,
        chance: Chance | None = None,
        origin: str = "",
    ):
        self._make, self.way, self._make_drawn = make, way, make_drawn
        self._pool: list[Any] = []
        self.name = name
        first = make()
        self.action_space = first.action_space
        shown_masks = getattr(first, "masks", None)
        self.masks = shown_masks if isinstance(shown_masks, Masks) else None
        limit = getattr(getattr(first, "spec", None), "max_episode_steps", None)
        self.time_limit = None if limit is None else int(limit)
        self.restoring = f"{way.words}, {origin}" if origin else way.words
        self.n_steps = 0
        self._starts: list[int] | None = None
        self.chance = Chance.NONE if chance is None else chance

    @property
    def is_random(self) -> bool:
        """Whether steps drew from a generator."""
        return self.chance is not Chance.NONE

    @is_random.setter
    def is_random(self, given: bool) -> None:
        """Once steps were seen to draw: from any generator there is."""
        self.chance = Chance.SHARED if given else Chance.NONE

    @property
    def chance_assumption(self) -> str:
        """What is taken for granted of chance."""
        if self.is_random:
            return "chance comes from generators of NumPy or Python alone"
        return (
            "steps depend on state and action alone, as copies agreed along whole episodes and no "
            "generator of NumPy or Python was drawn from"
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but the pool: another process makes its own objects."""
        return {**self.__dict__, "_pool": []}

    def start_from(self, starts: Any) -> None:
        """Let episodes begin as reset does with one of these seeds, each as likely."""
        given = entries(starts, "starts", "seeds of resets")
        if not given or self.is_random:
            raise InvalidParameter(
                "starts must be seeds of resets, at least one, of an environment without chance"
            )
        self._starts = [whole_number(seed, "starts", 0) for seed in given]

    def begin(self, seeds: Sequence[int]) -> ObjectBatch:
        """A fresh episode for each seed."""
        if self._starts is not None:
            drawn = [stream(seed, "start").integers(len(self._starts)) for seed in seeds]
            seeds = [self._starts[i] for i in drawn]
        envs = self._taken(len(seeds))
        if self.is_random:  # generators that reset does not seed
            for env, seed in zip(envs, seeds, strict=True):
                seed_all(own_sources(env), int(seed))
        chance = self._shared_chance(envs, seeds)
        with own_code(f"reset of {self.name}"), chance.drawn():
            shown = [env.reset(seed=int(seed))[0] for env, seed in zip(envs, seeds, strict=True)]
        histories = [History(int(seed), ()) for seed in seeds]
        return ObjectBatch(self, envs, histories, shown, chance, watch_shared=True)

    def resume(
        self, saved_states: Sequence[Any], seeds: Any = None, *, watched: bool = False
    ) -> ObjectBatch:
        """Copies in these states; seeds of the chance that follows."""
        envs = self._taken(len(saved_states))
        with own_code(f"restoring {self.name}"):
            envs = [
                self.way.restore(env, saved)
                for env, (saved, _, _) in zip(envs, saved_states, strict=True)
            ]
        for env, seed in zip(envs, () if seeds is None else seeds, strict=False):
            seed_all(own_sources(env), int(seed))
            env.unwrapped.np_random = np.random.default_rng(int(seed))
        self.n_steps += sum(
            len(saved.actions) for saved, _, _ in saved_states if isinstance(saved, History)
        )
        histories = [history for _, history, _ in saved_states]
        chance = self._shared_chance(envs, seeds)
        shown = [shown for _, _, shown in saved_states]
        return ObjectBatch(self, envs, histories, shown, chance, watch_shared=watched)

    def standing(self, observation: Any) -> ObjectBatch | None:
        """A copy whose state is what is observed; None where the state is something else."""
        with own_code(f"restoring {self.name}"):
            env, history = self._make(), History(0, ())
            env.reset(seed=0)
            if not put_state(env.unwrapped, np.asarray(observation)):
                return None
            saved = self.way.save(env, history)
        if saved is history:  # only its seed and actions would be told
            return None
        return self.resume([(saved, history, observation)])

    def _shared_chance(self, envs: Sequence[Any], seeds: Any) -> SharedChance:
        """The shared generators as they are for one batch, seeded by its seeds."""
        if self.chance is not Chance.SHARED or not envs:
            return SharedChance((), 0)
        given = [0] if seeds is None or not len(seeds) else [int(seed) for seed in seeds]
        seed = np.random.SeedSequence(given).generate_state(1, np.uint64)[0]
        return SharedChance(shared_sources(envs[0]), int(seed))

    def nudged(
        self, saved_states: Sequence[Any], size: float, rng: np.random.Generator
    ) -> list[Any] | None:
        """The same states, with the numbers moved by so small a share; None where the
        way they are restored cannot write them, or where writing them changes nothing."""
        with own_code(f"restoring {self.name}"):
            env, (first, _, _) = self._make(), saved_states[0]
            env.reset(seed=0)
            env.action_space.seed(0)
            action = env.action_space.sample()
            plainly = self.way.nudged(env, first, PLAIN, rng)
            if plainly is None:
                return None
            here, there = (
                copy.deepcopy(self.way.restore(env, state).step(action)[0])
                for state in (first, plainly)
            )
            if same(here, there):
                return None
            moved = [
                (self.way.nudged(env, saved, size, rng), *rest) for saved, *rest in saved_states
            ]
            return None if any(first is None for first, *_ in moved) else moved

    def drawn(self) -> Any:
        """An environment that draws itself, and what leads it to a state; None without."""
        if self._make_drawn is None:
            return None
        env = self._make_drawn()
        return env, lambda saved: Replaying().restore(env, saved[1])

    def _taken(self, n: int) -> list[Any]:
        """So many objects; batches give theirs back when they drop them."""
        while len(self._pool) < n:
            self._pool.append(self._make())
        taken, self._pool = self._pool[:n], self._pool[n:]
        return taken

    def give_back(self, envs: Sequence[Any]) -> None:
        """Objects that another batch may use."""
        self._pool.extend(envs)


class Chance(Enum):
    """From which generators steps draw: none, the environment's own, or shared ones too."""

    NONE = "none"
    OWN = "own"
    SHARED = "shared"


class SharedChance:
    """Shared generators for one batch: they go on where the batch left them, and for everybody
    else as if nothing had been drawn."""

    def __init__(self, sources: Sequence[Source], seed: int):
        self._sources = sources
        with unchanged(sources):
            seed_all(sources, seed)
            self._states = states_of(sources)

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """While the batch draws."""
        with unchanged(self._sources):
            put_states(self._sources, self._states)
            yield
            self._states = states_of(self._sources)


class ObjectBatch:
    """Copies as environment objects.

    Where steps were not seen to draw from a generator, it is looked at what every copy holds, and
    with `watch_shared` at what copies share, when copies are dropped.
    """

    def __init__(
        self,
        simulator: ObjectSimulator,
        envs: list[Any],
        histories: list[History],
        shown: list[Any],
        chance: SharedChance,
        *,
        watch_shared: bool = False,
    ):
        self._simulator, self._chance = simulator, chance
        self._envs, self._histories, self._shown = envs, histories, shown
        is_watched = not simulator.is_random
        self._own = [own_sources(env) if is_watched else [] for env in envs]
        self._marks = [marks_of(sources) for sources in self._own]
        self._shared = shared_sources(envs[0]) if is_watched and watch_shared and envs else []
        self._shared_marks = marks_of(self._shared)

    @property
    def observations(self) -> Any:
        """What each copy shows, along the first axis."""
        return np.stack([np.asarray(observation) for observation in self._shown])

    def step(self, actions: Any) -> Stepped:
        """One step of every copy."""
        rewards, ended = np.empty(len(self._envs)), np.empty(len(self._envs), dtype=np.bool_)
        infos: list[dict[str, Any]] = [{}] * len(self._envs)
        with own_code(f"step of {self._simulator.name}"), self._chance.drawn():
            for i, env in enumerate(self._envs):
                action = actions[i].item() if np.ndim(actions[i]) == 0 else actions[i]
                self._shown[i], rewards[i], ended[i], _, infos[i] = env.step(action)
                seed, before = self._histories[i]
                self._histories[i] = History(seed, (*before, action))
        self._simulator.n_steps += len(self._envs)
        return Stepped(self.observations, rewards, ended, infos)

    def keep(self, which: Mask) -> None:
        """Drop the other copies, whose objects go back to the pool."""
        for sources, marks, kept in zip(self._own, self._marks, which, strict=True):
            if not kept and marks_of(sources) != marks:
                raise DrawsChance(
                    f"{self._simulator.name} drew random numbers in its steps, as it had not done "
                    "before; observe it with repeats"
                )
        if not np.any(which) and marks_of(self._shared) != self._shared_marks:
            raise DrawsChance(
                f"random numbers were drawn while {self._simulator.name} was stepped, as had not "
                "been done before; observe it with repeats"
            )
        self._simulator.give_back([env for env, kept in zip(self._envs, which, strict=True)
                                   if not kept])  # fmt: skip
        for name in ("_envs", "_histories", "_shown", "_own", "_marks"):
            entries = getattr(self, name)
            setattr(self, name, [e for e, kept in zip(entries, which, strict=True) if kept])

    def saved_states(self) -> list[Any]:
        """For each copy its saved state, its history, and what it shows."""
        copies = zip(self._envs, self._histories, self._shown, strict=True)
        save = self._simulator.way.save
        with own_code(f"saving {self._simulator.name}"):
            return [(save(env, history), history, shown) for env, history, shown in copies]

    def same_state(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> Mask:
        """Nobody can tell: objects may differ in what they do not show."""
        return np.zeros(len(one), dtype=np.bool_)
