"""Learn a task by asking: the use case behind `didact ask`, and what a person's answers need."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from didact.active import AskSettings, Question, Run, ask
from didact.active.run import ANSWERS_FORMAT, RUN_FORMAT
from didact.errors import InvalidParameter
from didact.files.json import require_writable, write_json
from didact.files.kinds import json_kind
from didact.files.reading import shown_path
from didact.mdp import MDP, Comparison, Demonstration, Task
from didact.mdp.items import Item
from didact.mdp.recordings.formats import given_items
from didact.mdp.task import ARROW_OF
from didact.planning.paths import draw

MOST_QUERIES = 10
PERSON_SURE = 0.95
"""With a person, questions end when in every state so many of the draws agree."""

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


@dataclass(frozen=True, eq=False)
class AskedTask:
    """A task and a run of questions about it."""

    task: Task
    run: Run


def ask_task(
    task: Task,
    *,
    first: str | None = None,
    out: str | None = None,
    settings: AskSettings | None = None,
    **options: Any,
) -> AskedTask:
    """Ask about a task; first: a file of demonstrations to begin with; out: where the run goes."""
    shown = () if first is None else given_items(first, task)
    if out is not None:
        require_writable(out, json_kind(RUN_FORMAT), [first])
    run = ask(task, demonstrations=shown, settings=settings, **options)
    if out is not None:
        run.save(out)
    return AskedTask(task, run)


# A person's answers


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


class Recorder:
    """Keeps what a person answered, in a file that is whole after every key."""

    def __init__(self, task: Task, path: str | None, before: Sequence[Item] = ()):
        self.task, self.path = task, path
        self.answers: list[Item] = list(before)
        self.takes_back = False
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
        if self.path is None:
            return
        shown = [answer.document() for answer in self.answers]
        shown += [[list(pair) for pair in path]] if path else []
        is_mixed = not all(isinstance(answer, Demonstration) for answer in self.answers)
        named = {"items" if is_mixed else "demonstrations": shown}
        document = {"format": ANSWERS_FORMAT, "task": self.task.name, **named}
        write_json(document, self.path, kind=json_kind(RUN_FORMAT, ANSWERS_FORMAT))


class Person:
    """Answers questions by having a person choose, step after step.

    choose: called with the question, the steps so far and the state to act in; returns an action,
    None to stop, the steps so far still count, or UNDO to take back the last step: where this
    answer has none, the answer before it. Every step is recorded before the next is asked. Of two
    actions to compare the better one is chosen, in one step.
    """

    def __init__(
        self,
        recorder: Recorder,
        choose: Callable[[Question, Sequence[tuple[int, int]], int], int | None],
    ):
        self.recorder, self.choose = recorder, choose
        self.has_stopped = False

    def __call__(self, question: Question) -> Demonstration | Comparison | None:
        """The person's answer, recorded; None where there is none, or one is taken back."""
        if question.actions is None:
            path = self._walked(question)
            said: Demonstration | Comparison | None = Demonstration(path) if path else None
        else:
            said = None if self.has_stopped else self._compared(question)
        if said is not None:
            self.recorder.answers.append(said)
            self.recorder.write(())
        return said

    def _compared(self, question: Question) -> Comparison | None:
        """Which of two actions is better."""
        assert question.actions is not None
        better: int | None = UNDO
        while better == UNDO:
            better = self.choose(question, (), question.state)
            if better == UNDO and self.recorder.answers:
                self.recorder.takes_back = True
                return None
        if better is None:
            self.has_stopped = True
            return None
        (other,) = set(question.actions) - {better}
        return Comparison(question.state, better, other)

    def _walked(self, question: Question) -> list[tuple[int, int]]:
        """The steps that were chosen until the end, the horizon or a stop."""
        mdp, recorder, state = self.recorder.task.mdp, self.recorder, question.state
        path: list[tuple[int, int]] = []
        while len(path) < question.horizon and not (mdp.terminal[state] or self.has_stopped):
            action = self.choose(question, tuple(path), state)
            if action is None:
                self.has_stopped = True
            elif action != UNDO:
                path.append((state, action))
                recorder.write(path)
                state = next_state(mdp, state, action, question.rng)
            elif path:
                state, _ = path.pop()
                recorder.write(path)
            elif recorder.answers:
                recorder.takes_back = True
                break
        return path


def next_state(mdp: MDP, state: int, action: int, rng: np.random.Generator) -> int:
    """Where an action leads, drawn where that is left to chance."""
    moves = mdp.transitions
    row = state * mdp.n_actions + action
    low, high = int(moves.offsets[row]), int(moves.offsets[row + 1])
    outcome = draw(np.cumsum(moves.probabilities.floats[low:high]), rng)
    return int(moves.successors[low + outcome])


def ask_person(
    task: Task,
    choose: Callable[[Question, Sequence[tuple[int, int]], int], int | None],
    *,
    out: str,
    first: str | None = None,
    begin: Callable[[int], None] | None = None,
    settings: AskSettings | None = None,
    **options: Any,
) -> AskedTask:
    """Ask a person, and keep every answer in `out` as it comes; the run replaces them at the end.

    An existing file is only continued (first is the same file), never overwritten; begin is called
    with the number of earlier answers once the file is there to be written. The person's wishes are
    the truth, so nothing is measured against the task's own weights.
    """
    shown = () if first is None else given_items(first, task)
    same = first is not None and os.path.realpath(first) == os.path.realpath(out)
    if os.path.lexists(out) and not same:
        raise InvalidParameter(
            f"{shown_path(out)} exists already; go on with --demonstrations {shown_path(out)}, "
            "or choose another --out"
        )
    recorder = Recorder(task, out, shown)
    if begin is not None:
        begin(len(shown))
    answer = Person(recorder, choose)
    given = {"sure": PERSON_SURE, **options}
    settings = replace(settings or AskSettings(), truth=False)
    total = len(shown) + given.pop("n_queries", MOST_QUERIES)
    while True:
        left = max(total - len(recorder.answers), 1)
        run = ask(
            task,
            answer=answer,
            n_queries=left,
            demonstrations=tuple(recorder.answers),
            settings=replace(settings, asked=recorder.asked()),
            **given,
        )
        if not recorder.takes_back:
            break
        recorder.take_back()
    run.save(out)
    return AskedTask(task, run)
