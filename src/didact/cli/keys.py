"""What a person presses or types: single keys of a terminal, whole lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import click

from didact.mdp import MDP
from didact.mdp.task import ARROW_OF

ARROW_KEYS = {
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left",
    "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
    "\xe0H": "up", "\xe0P": "down", "\xe0M": "right", "\xe0K": "left",
    "\x00H": "up", "\x00P": "down", "\x00M": "right", "\x00K": "left",
}  # fmt: skip

STOP = ("q", "quit")
BACK = ("z", "undo", "\x7f", "\b")
UNDO = -1
"""What a person chooses to take back the last step, instead of an action."""
COMPASS = ("up", "down", "left", "right")
ARROWS = {name: ARROW_OF[name] for name in COMPASS}
DIRECTIONS = {
    name: way for name, arrow in ARROW_OF.items() for way in COMPASS if ARROWS[way] == arrow
}
"""Which way a name means: north is up."""


def is_interactive() -> bool:
    """Whether a person sits at the keyboard."""
    return sys.stdin.isatty()


def read_key() -> str | None:
    """One key: its sign, or up, down, left, right; None at the end of input (Ctrl-D).

    Ctrl-C raises KeyboardInterrupt. Several signs at once, as a held key sends, count as the first.
    """
    try:
        pressed = click.getchar()
    except EOFError:
        return None
    if "\x03" in pressed:
        raise KeyboardInterrupt
    if pressed[:1] == "\x04":
        return None
    for length in (3, 2):
        if pressed[:length] in ARROW_KEYS:
            return ARROW_KEYS[pressed[:length]]
    return pressed[:1]


def read_line() -> str | None:
    """One line without its end; None at the end of input."""
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None


# What they mean


@dataclass(frozen=True)
class ActionKeys:
    """What a person may press or type for each action."""

    by_key: Mapping[str, int]
    by_direction: Mapping[str, int]
    names: tuple[str, ...]

    def action(self, typed: str) -> int | None:
        """The action meant by a key or a word; None where it means none."""
        word = typed.strip().lower()
        return self.by_direction.get(word, self.by_key.get(word))

    def is_stop(self, typed: str) -> bool:
        """Whether a key or a word ends the session."""
        return typed.strip().lower() in STOP and self.action(typed) is None

    def is_undo(self, typed: str) -> bool:
        """Whether a key or a word takes back the last step."""
        return typed.strip(" ").lower() in BACK and self.action(typed) is None

    @property
    def by_single_keys(self) -> bool:
        """Whether every action has a key of its own, so that no Enter is needed."""
        return len(self.names) <= 10

    @property
    def words(self) -> str:
        """'u up ↑, d down ↓, ...'."""
        pressed = {a: key for key, a in self.by_key.items() if len(key) == 1 and key.isalpha()}
        arrows = {a: ARROWS[d] for d, a in self.by_direction.items() if d in ARROWS}
        parts = []
        for action, name in enumerate(self.names):
            key = pressed.get(action, str(action))
            arrow = f" {arrows[action]}" if action in arrows else ""
            parts.append(f"{key}{arrow}" if key == name else f"{key} {name}{arrow}")
        return ", ".join(parts)


def action_keys(mdp: MDP) -> ActionKeys:
    """Keys for the actions: numbers, names, initials where they differ, arrows for moves.

    Four actions without names are up, down, left, right, as in every grid world here.
    """
    if mdp.action_names is None and mdp.n_actions == 4:
        names: tuple[str, ...] = COMPASS
    else:
        names = tuple(mdp.action_name(action) for action in range(mdp.n_actions))
    plain = [name.strip().lower() for name in names]
    keys = {str(action): action for action in range(len(names))}
    initials = [name[:1] for name in plain]
    if len(set(initials)) == len(initials) and all(sign.isalpha() for sign in initials):
        keys.update({sign: action for action, sign in enumerate(initials)})
    keys.update({name: action for action, name in enumerate(plain) if plain.count(name) == 1})
    directions = {DIRECTIONS[name]: a for a, name in enumerate(plain) if name in DIRECTIONS}
    return ActionKeys(keys, directions, names)
