"""Demonstrations: what a teacher shows, as plain (state, action) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from didact.errors import InvalidModel
from didact.inputs import is_whole, plain_array, shown
from didact.mdp.model import MDP
from didact.mdp.naming import numbered_state, pair_words, step_words
from didact.mdp.observations import (
    Observations,
    ObservedDemonstration,
    holds_observations,
    shown_text,
    states_of_observed,
)
from didact.mdp.task import Task, as_mdp
from didact.mdp.transitions import require_index

MAX_SHOWN = 6
"""Pairs that a demonstration shows of itself."""


@dataclass(frozen=True)
class Demonstration:
    """A tuple of (state, action) pairs in the order shown; hashable, plain ints.

    pairs: at least one [state, action], in the order shown.
    member: the number of the member of a family that it is of; None for a task alone.
    """

    pairs: tuple[tuple[int, int], ...]
    member: int | None = None

    def __init__(self, pairs: Iterable[Iterable[Any]], member: int | None = None):
        plain = []
        for i, pair in enumerate(_entries(pairs, "a demonstration must be [state, action] pairs")):
            if _is_plain(pair):
                plain.append(pair)
                continue
            entries = _entries(pair, f"step {i + 1} must be [state, action]")
            if len(entries) != 2:
                raise InvalidModel(f"step {i + 1} must be [state, action]; it is {shown(pair)}")
            state = require_index(_number(entries[0]), 2**62, f"step {i + 1}: state")
            action = require_index(_number(entries[1]), 2**62, f"step {i + 1}: action")
            plain.append((state, action))
        if not plain:
            raise InvalidModel("a demonstration must show at least one (state, action) pair")
        object.__setattr__(self, "pairs", tuple(plain))
        number = None if member is None else require_index(member, 2**62, "member")
        object.__setattr__(self, "member", number)

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.pairs[:MAX_SHOWN]))
        more = f", ... {len(self)} pairs" if len(self) > MAX_SHOWN else ""
        of = "" if self.member is None else f", member={self.member}"
        return f"Demonstration([{first}{more}]{of})"

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, step: int) -> tuple[int, int]:
        return self.pairs[step]

    def document(self) -> list[Any]:
        """The pairs as plain lists; [member, pairs] where it is of a member of a family."""
        pairs = [list(pair) for pair in self.pairs]
        return pairs if self.member is None else [self.member, pairs]


def demonstration_of(
    pairs: tuple[tuple[int, int], ...], member: int | None = None
) -> Demonstration:
    """Of one or more pairs of Python's own whole numbers, as our own code makes them: unchecked."""
    made = object.__new__(Demonstration)
    made.__dict__.update(pairs=pairs, member=member)
    return made


def _is_plain(pair: Any) -> bool:
    """Whether it is a pair of small Python integers, as our own code makes them."""
    return (
        type(pair) is tuple
        and len(pair) == 2
        and type(pair[0]) is int
        and type(pair[1]) is int
        and 0 <= pair[0] < 2**62
        and 0 <= pair[1] < 2**62
    )


def _entries(given: Any, rule: str) -> list[Any]:
    """What is listed; of a frame the names of its columns, which are then refused.

    Its columns may stand in any order, so it is not read by their places.
    """
    if isinstance(given, list | tuple):
        return list(given)
    if not hasattr(given, "columns"):
        given = plain_array(given, rule.partition(" must")[0])
    if not isinstance(given, str | bytes | Mapping):
        with suppress(Exception):  # whatever a stranger's own iterator raises
            return list(given)
    raise InvalidModel(f"{rule}; it is {shown(given)}")


def _number(value: Any) -> Any:
    """An array without sides as the number it holds, as environments and agents return it."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def only_demonstrations(given: Any) -> Any:
    """What a lesson or selection demonstrates, else what is given; other items are refused.

    Taking the demonstrations of a mix alone would silently drop what its other items say.
    """
    items = getattr(given, "items", None)
    if isinstance(items, tuple) and not all(isinstance(item, Demonstration) for item in items):
        raise InvalidModel(
            "it has other items than demonstrations, which are not used here; give its "
            "demonstrations alone"
        )
    return getattr(given, "demonstrations", given)


def as_demonstrations(given: Iterable[Any], where: MDP | Task) -> tuple[Demonstration, ...]:
    """Demonstrations of this model: states and actions in range, nothing shown after the end.

    where: an MDP, or a task, which knows what its environment's observations mean.
    """
    mdp, observations = as_mdp(where), where.observations if isinstance(where, Task) else None
    checked, listed = [], _entries(given, "demonstrations must be a list")
    if listed and all(_is_pair(entry) for entry in listed):
        raise InvalidModel(
            "demonstrations must be a list of trajectories, each a list of (state, action); this "
            "is one trajectory. Wrap it in a list: [[(state, action), ...]]"
        )
    for i, entry in enumerate(listed):
        demonstration = _as_demonstration(entry, mdp, observations, f"demonstration {i + 1}")
        if demonstration.member is not None:
            raise InvalidModel(
                f"demonstration {i + 1} is of member {demonstration.member} of a family; a task "
                "takes demonstrations of its own, without a member"
            )
        for step, (state, action) in enumerate(demonstration):
            try:
                require_index(state, mdp.n_states, "state")
                require_index(action, mdp.n_actions, "action")
            except InvalidModel as error:
                raise InvalidModel(f"{step_words(i, step)}: {error}") from None
            if mdp.terminal[state]:
                raise InvalidModel(
                    f"{step_words(i, step)}: {numbered_state(where, state)} is terminal, so no "
                    "action is taken there; remove it"
                )
        _require_possible(demonstration, where, i)
        checked.append(demonstration)
    return tuple(checked)


def _is_pair(entry: Any) -> bool:
    """Whether this is one state-action pair (two numbers) where a trajectory should be."""
    return isinstance(entry, tuple | list) and len(entry) == 2 and all(map(is_whole, entry))


def _as_demonstration(
    entry: Any, mdp: MDP, observations: Observations | None, place: str
) -> Demonstration:
    """States and actions, from what was given as such or as observations and actions."""
    if isinstance(entry, Demonstration):
        return entry
    try:
        if not isinstance(entry, ObservedDemonstration):
            pairs = _entries(entry, "a demonstration must be [state, action] pairs")
            if observations is None or not holds_observations(pairs, observations):
                return Demonstration(pairs)
            entry = ObservedDemonstration.of(pairs)
    except InvalidModel as error:
        raise InvalidModel(f"{place}: {error}") from None
    if observations is None and (numbers := entry.numbers()) is not None:
        return Demonstration(numbers)
    if observations is None:
        raise InvalidModel(
            f"{place}: the task does not say what its observations mean, so only state numbers can "
            f"be read; it shows {shown_text(entry.pairs[0][0])}"
        )
    return Demonstration(states_of_observed(observations, mdp, entry, place))


def _require_possible(demonstration: Demonstration, where: MDP | Task, number: int) -> None:
    """Each state must be a possible outcome of the pair before it."""
    mdp = as_mdp(where)
    moves = mdp.transitions
    for step, ((state, action), (following, _)) in enumerate(pairwise(demonstration)):
        row = state * mdp.n_actions + action
        targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]]
        if following not in targets:
            raise InvalidModel(
                f"{step_words(number, step + 1)}: {numbered_state(where, following)} cannot follow "
                f"{pair_words(where, state, action)}; begin another demonstration there"
            )
