"""What an environment shows in each state, and what its recordings therefore mean.

An observation is kept as the text of its JSON, written in one way: arrays and tuples are lists,
truth values and whole floats are whole numbers, names are sorted. So arrays, tuples and what a file
holds of them compare equal. Several states may look alike. Then a recorded episode is read as a
whole: only states that its steps can have led through are left.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

from didact.errors import InvalidModel
from didact.inputs import is_whole, shown, whole_in
from didact.mdp.model import MDP
from didact.mdp.transitions import require_index


class NearlyWhole(ValueError):
    """A number is not whole, and its nearest float is."""


def observation_text(value: Any, place: str = "observation") -> str:
    """The text of an observation: numbers, texts, arrays, lists, and objects of them by name."""
    try:
        return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except NearlyWhole:
        raise InvalidModel(
            f"{place} must be a whole number, or differ from one as a float too; it is "
            f"{shown(value)}. Round it"
        ) from None
    except (TypeError, ValueError, RecursionError):
        raise InvalidModel(
            f"{place} must be numbers or texts, or lists, arrays or objects of them; "
            f"it is {shown(value)}"
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        listed = value.tolist()
        is_plain = type(value) is np.ndarray and value.dtype.kind in "iu"
        return listed if is_plain else _plain(listed)
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float | Decimal):
        return _number(value)
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(value[name]) for name in sorted(value, key=str)}
    raise TypeError


def _number(value: float | Decimal) -> int | float:
    """A whole number where it is one; one that only its float would make whole is refused."""
    nearest = float(value)
    if not math.isfinite(nearest):
        raise ValueError
    if value == int(value):
        return int(value)
    if nearest == int(nearest):
        raise NearlyWhole
    return nearest


def observation_of(text: str) -> Any:
    """The observation that a text stands for; lists are tuples, so that most can be compared."""
    return _tuples(json.loads(text))


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_tuples(entry) for entry in value)
    if isinstance(value, dict):
        return {name: _tuples(entry) for name, entry in value.items()}
    return value


@dataclass(frozen=True)
class ObservedDemonstration:
    """An episode as it was watched: (observation, action) pairs, each observation as its text."""

    pairs: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, pairs: Iterable[Sequence[Any]]) -> ObservedDemonstration:
        """The episode of these pairs."""
        read = []
        for i, pair in enumerate(pairs):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise InvalidModel(
                    f"step {i + 1} must be [observation, action]; it is {shown(pair)}"
                )
            action = _as_action(pair[1], f"step {i + 1}: action")
            read.append((observation_text(pair[0], f"step {i + 1}: observation"), action))
        if not read:
            raise InvalidModel("a demonstration must show at least one (observation, action) pair")
        return cls(tuple(read))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self.pairs)

    def numbers(self) -> list[tuple[int, int]] | None:
        """The pairs where observations are whole numbers, also alone in lists; else None."""
        read = [(text.removeprefix("[").removesuffix("]"), action) for text, action in self.pairs]
        found = [(whole_in(text), action) for text, action in read]
        numbers = [(n, action) for n, action in found if n is not None and n >= 0]
        return numbers if len(numbers) == len(found) else None

    def document(self) -> list[list[Any]]:
        """The pairs as a file holds them."""
        return [[json.loads(text), action] for text, action in self.pairs]


def _as_action(given: Any, place: str) -> int:
    """An action as its environment numbers it; some begin below 0."""
    below = is_whole(given) and given < 0
    return -require_index(-given, 2**62, place) if below else require_index(given, 2**62, place)


@dataclass(frozen=True)
class Observations:
    """The observation of each state as a text; None for a state that shows nothing.

    first_action: the environment's number of action 0, as of `Discrete(4, start=1)`.
    """

    texts: tuple[str | None, ...]
    first_action: int = 0

    @classmethod
    def read(cls, given: Any, n_states: int, first_action: int = 0) -> Observations | None:
        """From one observation for each state, None where there is none; or of the task's own.

        given: None, where states show their numbers.
        """
        if given is None and first_action:
            return cls(tuple(map(str, range(n_states))), first_action)
        if given is None:
            return None
        if isinstance(given, Observations):
            return replace(given, first_action=first_action or given.first_action)
        if not isinstance(given, list | tuple) or len(given) != n_states:
            raise InvalidModel(
                f"observations must list one for each of the {n_states} states; it is "
                f"{shown(given)}"
            )
        return cls(
            tuple(
                None if value is None else observation_text(value, f"observations[{state}]")
                for state, value in enumerate(given)
            ),
            first_action,
        )

    @cached_property
    def states(self) -> Mapping[str, tuple[int, ...]]:
        """The states that show each text."""
        found: dict[str, list[int]] = {}
        for state, text in enumerate(self.texts):
            if text is not None:
                found.setdefault(text, []).append(state)
        return {text: tuple(states) for text, states in found.items()}

    @cached_property
    def are_renumbered(self) -> bool:
        """Whether numbers mean others: of states that show another number, or of all actions."""
        if self.first_action:
            return True
        numbers = [(whole_in(text), states) for text, states in self.states.items()]
        return any(n is not None and n not in states for n, states in numbers)

    def document(self) -> list[Any]:
        """One JSON value for each state."""
        return [None if text is None else json.loads(text) for text in self.texts]


def states_of_observed(
    observations: Observations, mdp: MDP, watched: ObservedDemonstration, place: str
) -> list[tuple[int, int]]:
    """The states and actions of an episode that was watched."""
    watched = _in_own_actions(watched, observations.first_action, mdp.n_actions, place)
    alike = [
        _looking_alike(observations, mdp, watched, step, place) for step in range(len(watched))
    ]
    paths = _possible(mdp, watched, alike, place)
    if max(map(len, paths)) > 1:
        starting = paths[0] & set(np.flatnonzero(mdp.start.floats).tolist())
        if starting:
            paths = _possible(mdp, watched, [starting, *paths[1:]], place)
    for step, states in enumerate(paths):
        if len(states) > 1:
            raise InvalidModel(
                f"{place}, step {step + 1}: {len(states)} states look like this, and the episode "
                "does not tell which it was; record episodes from the reset on, or give "
                "state numbers"
            )
    actions = (action for _, action in watched.pairs)
    return [(next(iter(states)), a) for states, a in zip(paths, actions, strict=True)]


def _in_own_actions(
    watched: ObservedDemonstration, first: int, n_actions: int, place: str
) -> ObservedDemonstration:
    """The same with actions from 0, as the task has them."""
    if not first:
        return watched
    last = first + n_actions - 1
    for step, (_, action) in enumerate(watched.pairs):
        if not first <= action <= last:
            raise InvalidModel(
                f"{place}, step {step + 1}: action must be from {first} to {last}, as the "
                f"environment numbers them; it is {action}"
            )
    return ObservedDemonstration(tuple((text, action - first) for text, action in watched.pairs))


def _looking_alike(
    observations: Observations, mdp: MDP, watched: ObservedDemonstration, step: int, place: str
) -> set[int]:
    """The states that go on and show what was observed at a step."""
    text, _ = watched.pairs[step]
    alike = observations.states.get(text, ())
    if not alike:
        raise InvalidModel(
            f"{place}, step {step + 1}: no state of the task shows the observation "
            f"{shown_text(text)}"
        )
    going = {state for state in alike if not mdp.terminal[state]}
    if not going:
        raise InvalidModel(
            f"{place}, step {step + 1}: the episode has ended where {shown_text(text)} is "
            "observed, so no action is taken there; remove it"
        )
    return going


def _possible(
    mdp: MDP, watched: ObservedDemonstration, alike: Sequence[set[int]], place: str
) -> list[set[int]]:
    """Of the states that look alike at each step those that what came before and after allow."""
    paths = [alike[0]]
    for step, (_, action) in enumerate(watched.pairs[:-1]):
        require_index(action, mdp.n_actions, f"{place}, step {step + 1}: action")
        paths.append(alike[step + 1] & _after(mdp, paths[-1], action))
        if not paths[-1]:
            before, after = (shown_text(watched.pairs[step + i][0]) for i in (0, 1))
            raise InvalidModel(
                f"{place}, step {step + 2}: observation {after} cannot follow {before} with action "
                f"{action}; begin another demonstration there"
            )
    for step in range(len(paths) - 2, -1, -1):
        action = watched.pairs[step][1]
        paths[step] = {s for s in paths[step] if _after(mdp, {s}, action) & paths[step + 1]}
    return paths


def _after(mdp: MDP, states: set[int], action: int) -> set[int]:
    moves, found = mdp.transitions, set()
    for state in states:
        row = state * mdp.n_actions + action
        found |= set(moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist())
    return found


def shown_text(text: str) -> str:
    """An observation in a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def holds_observations(pairs: Iterable[Any], observations: Observations | None) -> bool:
    """Whether plain pairs hold observations: not whole numbers, or others than those of states."""
    if observations is not None and observations.are_renumbered:
        return True
    listed = [pair for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
    if any(isinstance(x, list | tuple | dict) or np.ndim(x) or _is_negative(x) for x, _ in listed):
        return True
    return observations is not None and any(
        isinstance(first, str | float) or _is_negative(action) for first, action in listed
    )


def _is_negative(number: Any) -> bool:
    return is_whole(number) and number < 0
