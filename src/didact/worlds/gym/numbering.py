"""Which number a state of an environment has in the task.

Where observations are 0 to n - 1, state numbers are observations: what a recording of the
environment says is what didact reads. Observations that never come up stay as idle states, and one
that ends an episode and also goes on gets a second state, after n, in which the episode has ended.
Other things that environments show are numbered in the order in which they were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from didact.mdp import Transitions

if TYPE_CHECKING:
    from didact.worlds.gym.tables import Model

Node = tuple[int, bool]
"""A state by its number in the environment, and whether it is the one that ends the episode."""

MOST_NUMBERS = 100_000
"""Observations keep their numbers up to so many; above, only those that were found are states."""


@dataclass(frozen=True)
class Numbering:
    """What each state of the task is, None where it never comes up; and the state of each node.

    n_copies: how many states at the end are those in which an episode has ended.
    """

    nodes: tuple[Node | None, ...]
    number: Mapping[Node, int]
    n_copies: int = 0

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.nodes)

    @property
    def terminal(self) -> list[int]:
        """States in which the episode has ended."""
        return [state for state, node in enumerate(self.nodes) if node is not None and node[1]]

    def names(self, given: Any, own: Sequence[str], keys: Sequence[Any]) -> Sequence[str]:
        """The names of the states: what a caller gives, else their own.

        given: None, a function of the key, a name for each state, or for each but the ended copies.
        """
        if callable(given):
            return [
                own[i] if node is None else f"{given(keys[node[0]])}{self._ending(node)}"
                for i, node in enumerate(self.nodes)
            ]
        n = self.n_states - self.n_copies
        if self.n_copies and isinstance(given, list | tuple) and len(given) == n:
            copies = [node for node in self.nodes[n:] if node is not None]
            return [*given, *(f"{given[state]} (end)" for state, _ in copies)]
        return own if given is None else given

    def _ending(self, node: Node) -> str:
        """What tells the name of an ended state from the same one that goes on."""
        return " (end)" if node[1] and (node[0], False) in self.number else ""

    def transitions(self, model: Model, n_actions: int) -> Transitions:
        """Where actions lead in the numbers of the task; idle states stay where they are."""
        return Transitions.from_rows(self._rows(model, n_actions), self.n_states, n_actions)

    def _rows(self, model: Model, n_actions: int) -> Iterator[tuple[int, int, int, Fraction]]:
        for state, actions in model.items():
            for action, outcomes in enumerate(actions):
                for o in outcomes:
                    after = self.number[o.successor, o.ends]
                    yield self.number[state, False], action, after, o.probability
        for state, node in enumerate(self.nodes):
            if node is None:
                yield from ((state, action, state, Fraction(1)) for action in range(n_actions))


def by_observation(found: Iterable[Node], n_observations: int) -> Numbering:
    """Numbers as the environment has them; after them the ends of observations that also go on."""
    listed = sorted(found)
    going = {state for state, ends in listed if not ends}
    nodes: list[Node | None] = [None] * n_observations
    for node in listed:
        if node[1] and node[0] in going:
            nodes.append(node)
        else:
            nodes[node[0]] = node
    return _numbered(nodes, len(nodes) - n_observations)


def as_found(found: Iterable[Node]) -> Numbering:
    """Numbers in the order of the nodes."""
    return _numbered(sorted(found))


def _numbered(nodes: Iterable[Node | None], n_copies: int = 0) -> Numbering:
    kept = tuple(nodes)
    number = {node: i for i, node in enumerate(kept) if node is not None}
    return Numbering(kept, number, n_copies)
