"""A person at the terminal: what is pressed or typed, and `didact ask --person`.

Single keys of a terminal are read, and whole lines where there is none. Every answer is kept in a
file as it comes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
from rich.console import Group

from didact.active import AskSettings, Question, Run, Situation, Step, ask
from didact.active.run import ANSWERS_FORMAT, RUN_FORMAT
from didact.cli import printing
from didact.errors import InvalidParameter
from didact.files.json import write_json
from didact.files.kinds import json_kind
from didact.files.reading import shown_path
from didact.mdp import MDP, Comparison, Demonstration, Task
from didact.mdp.items import Item
from didact.mdp.naming import state_words
from didact.mdp.recordings.formats import given_items
from didact.mdp.task import ARROW_OF
from didact.planning.paths import draw
from didact.report.page.plain import wishes
from didact.report.terminal.tables import draw_question
from didact.report.words.beliefs import SURE, belief_line

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


Choose = Callable[[Question, Sequence[tuple[int, int]], int], int | None]
"""Asks for the action in a state, after steps of an answer; None to stop, UNDO to take one back."""
PERSON_SURE = 0.95
"""With a person, questions end when in every state so many of the draws agree."""


def ask_at_terminal(
    task: Task, *, out: str, n_queries: int, first: str | None, settings: AskSettings, **given: Any
) -> Run:
    """Ask a person, and keep every answer in `out` as it comes; the run replaces them at the end.

    An existing file is only continued (first, the answers to begin with, is the same file), never
    overwritten. The person's wishes are the truth, so nothing is measured against the task's own
    weights.
    """
    shown = () if first is None else given_items(first, task)
    same = first is not None and os.path.realpath(first) == os.path.realpath(out)
    if os.path.lexists(out) and not same:
        raise InvalidParameter(
            f"{shown_path(out)} exists already; go on with --demonstrations {shown_path(out)}, "
            "or choose another --out"
        )
    total = len(shown) + n_queries
    session = Session(task, total, out)
    person = Person(task, out, shown, session.choose)
    session.begin(len(shown))
    given = {"sure": PERSON_SURE, "horizon": 1, **given}
    settings = replace(settings, truth=False, on_step=session.learned)
    while True:
        run = ask(
            task,
            answer=person,
            n_queries=max(total - len(person.answers), 1),
            demonstrations=tuple(person.answers),
            settings=replace(settings, asked=person.asked()),
            **given,
        )
        if not person.takes_back:
            break
        person.take_back()
    run.save(out)
    return run


class Person:
    """Answers questions by having a person choose, step after step.

    The person may stop, the steps so far still count, or take back the last step: where this answer
    has none, the answer before it. Every step is in a file, which is whole after every key, before
    the next is asked. Of two actions to compare the better one is chosen, in one step.
    """

    def __init__(self, task: Task, path: str, before: Sequence[Item], choose: Choose):
        self.task, self.path, self.choose = task, path, choose
        self.answers: list[Item] = list(before)
        self.takes_back = self.has_stopped = False
        self.write(())

    def take_back(self) -> None:
        """Forget the last answer."""
        self.takes_back = False
        del self.answers[-1:]
        self.write(())

    def asked(self) -> list[int]:
        """The states in which it was told what to do."""
        return [answer[0][0] for answer in self.answers if isinstance(answer, Demonstration)]

    def write(self, path: Sequence[tuple[int, int]]) -> None:
        """Write all answers and the part of the one that is being given."""
        shown = [answer.document() for answer in self.answers]
        shown += [[list(pair) for pair in path]] if path else []
        is_mixed = not all(isinstance(answer, Demonstration) for answer in self.answers)
        named = {"items" if is_mixed else "demonstrations": shown}
        document = {"format": ANSWERS_FORMAT, "task": self.task.name, **named}
        write_json(document, self.path, kind=json_kind(RUN_FORMAT, ANSWERS_FORMAT))

    def __call__(self, question: Question) -> Demonstration | Comparison | None:
        """The person's answer, recorded; None where there is none, or one is taken back."""
        if question.actions is None:
            path = self._walked(question)
            said: Demonstration | Comparison | None = Demonstration(path) if path else None
        else:
            said = None if self.has_stopped else self._compared(question)
        if said is not None:
            self.answers.append(said)
            self.write(())
        return said

    def _compared(self, question: Question) -> Comparison | None:
        """Which of two actions is better."""
        assert question.actions is not None
        better: int | None = UNDO
        while better == UNDO:
            better = self.choose(question, (), question.state)
            if better == UNDO and self.answers:
                self.takes_back = True
                return None
        if better is None:
            self.has_stopped = True
            return None
        (other,) = set(question.actions) - {better}
        return Comparison(question.state, better, other)

    def _walked(self, question: Question) -> list[tuple[int, int]]:
        """The steps that were chosen until the end, the horizon or a stop."""
        mdp, state = self.task.mdp, question.state
        path: list[tuple[int, int]] = []
        while len(path) < question.horizon and not (mdp.terminal[state] or self.has_stopped):
            action = self.choose(question, tuple(path), state)
            if action is None:
                self.has_stopped = True
            elif action != UNDO:
                path.append((state, action))
                self.write(path)
                state = next_state(mdp, state, action, question.rng)
            elif path:
                state, _ = path.pop()
                self.write(path)
            elif self.answers:
                self.takes_back = True
                break
        return path


def next_state(mdp: MDP, state: int, action: int, rng: np.random.Generator) -> int:
    """Where an action leads, drawn where that is left to chance."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    outcome = draw(np.cumsum(moves.probabilities.floats[low:high]), rng)
    return int(moves.successors[low + outcome])


class Session:
    """Shows what is believed, asks, and reads keys or lines until one means an action."""

    def __init__(self, task: Task, total: int, out: str):
        self.task, self.keys, self.out = task, action_keys(task.mdp), out
        self.total, self.n_answers = total, 0

    def begin(self, n_before: int) -> None:
        """Say what to aim for, and what keys do."""
        printing.print_words("Say what is best in each place. Aim for what this world rewards:")
        for line in wishes(self.task):
            printing.print_words(f"  {line}")
        printing.print_words("Or aim for what you want: the answers alone count.")
        before = f" after {n_before} from before" if n_before else ""
        printing.print_words(f"Every answer is kept in {self.out}{before}. z undoes, q stops.")

    def learned(self, step: Step, situation: Situation) -> None:
        """Tell what is believed after an answer."""
        self.n_answers = len(situation.demonstrations) + len(situation.belief.feedback)
        printing.print_words(belief_line(step, situation))
        if step.is_telling and step.sure >= SURE:
            printing.print_words("I am sure now what to do in every state.")

    def choose(self, question: Question, path: Sequence[tuple[int, int]], state: int) -> int | None:
        """The action that the person chooses in a state; None to stop, UNDO to take one back."""
        self._show(question, path, state)
        while True:
            typed = self._typed()
            if typed is None or self.keys.is_stop(typed):
                return None
            if self.keys.is_undo(typed):
                if path or self.n_answers:
                    printing.print_words("  taken back")
                    return UNDO
                printing.print_words("  there is nothing to take back")
                continue
            action: int | None = self.keys.action(typed)
            if action is not None and action not in (question.actions or (action,)):
                printing.print_words(f"  {self.keys.names[action]} is not one of the two")
                continue
            if action is not None:
                printing.print_line(f"  {self.keys.names[action]}")
                return action
            if typed.strip():
                printing.print_words(
                    f"  {typed.strip()[:20]!r} is no action here: {self.keys.words}; "
                    "z undoes, q stops"
                )

    def _show(self, question: Question, path: Sequence[tuple[int, int]], state: int) -> None:
        printing.print_drawing(
            lambda width: Group(
                "", *draw_question(self.task, question.situation, state, path, width)
            )
        )
        step = f", step {len(path) + 1} of {question.horizon}" if question.horizon > 1 else ""
        where = state_words(self.task, state)
        asked = f"what to do in {where}?"
        if question.actions is not None:
            first, second = (self.keys.names[action] for action in question.actions)
            asked = f"which is better in {where}, {first} or {second}?"
        printing.print_words(
            f"question {question.number} of {self.total}{step}: {asked}  {self.keys.words}"
        )

    def _typed(self) -> str | None:
        sys.stdout.flush()
        if is_interactive() and self.keys.by_single_keys:
            return read_key()
        return read_line()
