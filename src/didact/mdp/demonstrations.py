"""Demonstrations: what a teacher shows, as plain (state, action) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from didact.errors import InvalidModel
from didact.inputs import plain_array, shown
from didact.mdp.model import MDP
from didact.mdp.transitions import require_index

MOST_SHOWN = 6
"""Pairs that a demonstration shows of itself."""


@dataclass(frozen=True)
class Demonstration:
    """A tuple of (state, action) pairs in the order shown; hashable, plain ints.

    pairs: at least one [state, action], in the order shown.
    """

    pairs: tuple[tuple[int, int], ...]

    def __init__(self, pairs: Iterable[Iterable[Any]]):
        plain = []
        for i, pair in enumerate(_entries(pairs, "a demonstration must be [state, action] pairs")):
            entries = _entries(pair, f"pair {i} must be [state, action]")
            if len(entries) != 2:
                raise InvalidModel(f"pair {i} must be [state, action]; it is {shown(pair)}")
            state = require_index(entries[0], 2**62, f"pair {i}: state")
            action = require_index(entries[1], 2**62, f"pair {i}: action")
            plain.append((state, action))
        if not plain:
            raise InvalidModel("a demonstration must show at least one (state, action) pair")
        object.__setattr__(self, "pairs", tuple(plain))

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.pairs[:MOST_SHOWN]))
        more = f", ... {len(self)} pairs" if len(self) > MOST_SHOWN else ""
        return f"Demonstration([{first}{more}])"

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, step: int) -> tuple[int, int]:
        return self.pairs[step]


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


def as_demonstrations(given: Iterable[Any], mdp: MDP) -> tuple[Demonstration, ...]:
    """Demonstrations of this MDP: states and actions in range, nothing shown after the end."""
    checked = []
    for i, entry in enumerate(_entries(given, "demonstrations must be a list")):
        try:
            demonstration = entry if isinstance(entry, Demonstration) else Demonstration(entry)
        except InvalidModel as error:
            raise InvalidModel(f"demonstrations[{i}]: {error}") from None
        for step, (state, action) in enumerate(demonstration):
            place = f"demonstrations[{i}][{step}]"
            require_index(state, mdp.n_states, f"{place}: state")
            require_index(action, mdp.n_actions, f"{place}: action")
            if mdp.terminal[state]:
                raise InvalidModel(
                    f"{place}: state {state} is terminal, so no action is taken there; remove it"
                )
        _require_possible(demonstration, mdp, f"demonstrations[{i}]")
        checked.append(demonstration)
    return tuple(checked)


def _require_possible(demonstration: Demonstration, mdp: MDP, place: str) -> None:
    """Each state must be a possible outcome of the pair before it."""
    moves = mdp.transitions
    for step, ((state, action), (following, _)) in enumerate(pairwise(demonstration)):
        row = state * mdp.n_actions + action
        targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]]
        if following not in targets:
            raise InvalidModel(
                f"{place}[{step + 1}]: state {following} cannot follow state {state} with action "
                f"{action}; begin another demonstration there"
            )
