"""Walks: everything that actions reach in an environment that can be put back into any state.

The walk goes breadth first from the resets. Two ways into one state are compared: where they go on
differently, the key leaves something out and the environment is refused.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.inputs import is_whole, shown, whole_in, whole_number
from didact.mdp.observations import Observations
from didact.worlds.gym.numbering import MOST_NUMBERS, Node, Numbering, as_found, by_observation
from didact.worlds.gym.tables import Model, Outcome

LIMIT = 50_000
"""States that a walk may find before it gives up."""
SPARSE = 1000
"""Where no space says how many numbers there are: so many, and ten for each that was found."""
TOLD_EVERY = 10_000
"""A line of progress each time so many states are found."""

log = logging.getLogger("didact.worlds")


@dataclass(frozen=True)
class Step:
    """What an action did: where it leads, the exact reward, and whether the episode ended."""

    snapshot: Any
    key: Hashable
    reward: Fraction
    ends: bool


class Walker(Protocol):
    """An environment that can be put back into any state it was in."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def n_actions(self) -> int:
        """A."""

    def begin(self, seed: int) -> tuple[Any, Hashable]:
        """A snapshot of the state after a reset, and its key."""

    def step(self, snapshot: Any, action: int) -> Step:
        """What an action does in a snapshot, which stays as it is."""

    def seen(self, key: Hashable) -> str | None:
        """What recordings hold of a state: its observation, or the key where one was given."""


@dataclass(frozen=True)
class Walk:
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


def in_own_numbers(walk: Walk, space: Any = None) -> Walk:
    """The walk in the environment's own numbers, where its keys are whole numbers from 0.

    space: the environment's, which says how many there are where it is Discrete.
    """
    numbers = [key for key in walk.keys if is_whole(key) and key >= 0]
    if len(numbers) < len(walk.keys):
        return walk
    size, most = max(numbers) + 1, SPARSE + 10 * len(numbers)
    if is_whole(n := getattr(space, "n", None)):
        size, most = max(size, int(getattr(space, "start", 0)) + int(n)), MOST_NUMBERS
    if size > min(most, MOST_NUMBERS):
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


def explore(walker: Walker, *, seeds: Sequence[int], limit: int = LIMIT) -> Walk:
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
            [Outcome(Fraction(1), arrive(s.snapshot, s.key, ends=s.ends), s.reward, s.ends)]
            for s in steps
        ]
        if second.get(number) is not None:
            _require_same(walker, number, second[number], model[number], numbers)
            second[number] = None
    return Walk(model, sorted(found), list(numbers), starts, [walker.seen(k) for k in numbers])


def _require_within(walker: Walker, n_states: int, limit: int) -> None:
    if n_states > limit:
        raise Unsupported(
            f"{walker.name} has more than {limit} states, too many to tabularise; choose a smaller "
            f"environment, a coarser key, or raise the limit (limit={2 * limit})"
        )
    if n_states % TOLD_EVERY == 0:
        log.info("%s: %d states found, at most %d", walker.name, n_states, limit)


def _require_same(
    walker: Walker,
    number: int,
    snapshot: Any,
    outcomes: list[list[Outcome]],
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
