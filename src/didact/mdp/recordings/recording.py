"""Recordings: demonstrations with the task they belong to, as files and datasets hold them.

What didact writes carries its task, and the lesson where it is one, so that it reads back equal;
only a table holds neither. What others wrote holds observations of their environment, and a task
says which states they are. Datasets hold one observation more than actions, rewards, and whether
the episode ended (`Episode`)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.json import plain_numbers
from didact.inputs import entries, flag, instance, is_whole, shown, whole_number
from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.files import task_document, task_from_document
from didact.mdp.model import MDP
from didact.mdp.observations import ObservedDemonstration, holds_observations
from didact.mdp.task import Task
from didact.numerics.texts import short_repr

DEMONSTRATIONS_FORMAT = "didact.demonstrations/1"
LESSON_FORMAT = "didact.lesson/1"
MAX_PAIRS = 50_000_000
"""A recording holds at most so many pairs."""
MAX_STATES = 2**62
"""No state has a number from here on."""


@dataclass(frozen=True)
class Environment:
    """The Gymnasium environment that a dataset says it was recorded in."""

    id: str
    options: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Recording:
    """Demonstrations, and what is known of them.

    demonstrations: in the order of the file; while no task is known, observations that are no
        numbers stay as they were watched.
    episodes: the number of each in its file; Minari's `filter_episodes` knows the same numbers.
    task: whose states and actions they are, or None.
    lesson: the `didact.lesson/1` object they are, or None.
    foreign: whether others recorded them, so that states are observations of their environment.
    environment: which one that was, where it is known.
    """

    demonstrations: tuple[Any, ...]
    episodes: tuple[int, ...] = ()
    task: Task | None = None
    lesson: Mapping[str, Any] | None = None
    foreign: bool = False
    environment: Environment | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        # Recording(demonstrations, task) has one thing in another's place.
        flag(self.foreign, "foreign")
        for value, kind, place in (
            (self.task, Task, "task"),
            (self.lesson, Mapping, "lesson"),
            (self.environment, Environment, "environment"),
        ):
            if value is not None:
                instance(value, kind, place, "given by its name")
        shown_ones = tuple(entries(self.demonstrations, "demonstrations", "demonstrations"))
        object.__setattr__(self, "demonstrations", shown_ones)
        if self.task is None:
            shown_ones = tuple(map(_as_shown, shown_ones))
        else:
            shown_ones = as_demonstrations(self.read_by(self.task), self.task)
        object.__setattr__(self, "demonstrations", shown_ones)
        listed = entries(self.episodes, "episodes", "whole numbers")
        numbers = tuple(whole_number(n, f"episodes[{i}]", 0) for i, n in enumerate(listed))
        numbers = numbers or tuple(range(len(shown_ones)))
        if len(numbers) != len(shown_ones) or len(set(numbers)) != len(numbers):
            raise InvalidParameter("episodes must have a number of its own for each demonstration")
        object.__setattr__(self, "episodes", numbers)
        if self.lesson is not None and not _is_of(self.lesson, shown_ones):
            object.__setattr__(self, "lesson", None)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are in all."""
        return sum(map(len, self.demonstrations))

    def part(self, episodes: Iterable[int]) -> Recording:
        """The named episodes alone, in the order named.

        episodes: numbers as in `recording.episodes`.
        """
        place = {number: i for i, number in enumerate(self.episodes)}
        chosen = tuple(episodes)
        for number in chosen:
            if number not in place:
                raise InvalidParameter(f"there is no episode {shown(number)}")
        return replace(
            self,
            demonstrations=tuple(self.demonstrations[place[n]] for n in chosen),
            episodes=chosen,
        )

    def save(
        self,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,
        replace: bool = False,
    ) -> Path:
        """Write demonstrations, whole or not at all; the path they have then.

        target: a path or a name. A Minari dataset goes where Minari keeps its datasets, unless the
            target begins with '.', '/' or '~'.
        format: by default JSON for names in .json, JSON lines for .jsonl, a table for .csv, a
            Minari dataset for names such as lesson-v0, else a folder for imitation.
        replace: give up what is there.
        """
        from didact.mdp.recordings.formats import target_path

        path, chosen = target_path(target, format)
        chosen.write(self, path, replace=replace)
        return path

    def of_task(self, task: Task, number_of: Mapping[int, int] | None = None) -> Recording:
        """The same as demonstrations of a task.

        task: whose states and actions they show; it knows what observations mean.
        number_of: the task's state for each recorded number; by default what the task says.
        """
        if number_of is None:
            known = as_demonstrations(self.read_by(task), task)
            bare = replace(self, foreign=False, environment=None)
            return replace(bare, demonstrations=known, task=task)
        renumbered = []
        for episode, demonstration in zip(self.episodes, self.demonstrations, strict=True):
            for step, (state, _) in enumerate(demonstration):
                if state not in number_of:
                    raise InvalidFile(
                        f"episode {episode}, step {step + 1}: {task.name} has no state {state} "
                        "that goes on and that its start can reach"
                    )
            renumbered.append(Demonstration([(number_of[s], a) for s, a in demonstration]))
        return replace(
            self,
            demonstrations=tuple(renumbered),
            task=task,
            lesson=None,
            foreign=False,
            environment=None,
        )

    def read_by(self, where: MDP | Task) -> tuple[Demonstration | ObservedDemonstration, ...]:
        """The demonstrations, numbers that others recorded as what they observed.

        where: the model that they are read for.
        """
        seen = where.observations if isinstance(where, Task) else None
        if not self.foreign or seen is None or not seen.are_renumbered:
            return self.demonstrations
        return tuple(
            d if isinstance(d, ObservedDemonstration) else ObservedDemonstration.of(d.pairs)
            for d in self.demonstrations
        )


def _is_of(lesson: Mapping[str, Any], demonstrations: Sequence[Demonstration]) -> bool:
    """Whether a lesson shows just these demonstrations, in whole numbers: 2.0 is none."""
    listed = [document_of(demonstration) for demonstration in demonstrations]
    if lesson.get("format") != LESSON_FORMAT or not isinstance(lesson.get("task"), str):
        return False
    return json.dumps(lesson.get("demonstrations"), default=str) == json.dumps(listed)


def document_of(demonstration: Demonstration | ObservedDemonstration) -> list[list[Any]]:
    """The pairs as a file holds them."""
    if isinstance(demonstration, ObservedDemonstration):
        return demonstration.document()
    return [list(pair) for pair in demonstration]


def _as_shown(given: Any) -> Demonstration | ObservedDemonstration:
    """A demonstration of states, or what was watched, where no task says what it means."""
    return given if isinstance(given, Demonstration | ObservedDemonstration) else read_pairs(given)


def read_pairs(given: Any, *, has_task: bool = False) -> Demonstration | ObservedDemonstration:
    """An episode in a file, of whole numbers or of what was observed.

    has_task: whether its task is known, whose states have numbers; else texts, numbers that are
        not whole and those that no state has are observations.
    """
    if not isinstance(given, list | tuple):
        return Demonstration(given)
    pairs = [pair for pair in given if isinstance(pair, list | tuple) and len(pair) == 2]
    told = any(
        isinstance(first, str | float | Decimal) or (is_whole(first) and first >= MAX_STATES)
        for first, _ in pairs
    )
    if (told and not has_task) or holds_observations(given, None):
        return ObservedDemonstration.of(given)
    return Demonstration(given)


def recorded(
    demonstrations: Iterable[Demonstration | ObservedDemonstration],
    episodes: Iterable[int],
    task: Any,
    lesson: Any,
    place: str,
    **more: Any,
) -> Recording:
    """A recording from what was read at a place; task and lesson as their documents, or None."""
    try:
        return Recording(
            tuple(demonstrations),
            tuple(episodes),
            None if task is None else task_from_document(task),
            None if lesson is None else lesson_in(lesson),
            **more,
        )
    except InvalidInput as error:
        raise InvalidFile(f"{place}: {error}") from None


def lesson_in(document: Any) -> dict[str, Any]:
    """The lesson beside demonstrations, its decimals as floats."""
    if not isinstance(document, dict):
        raise InvalidFile(f"its lesson must be an object; it is {shown(document)}")
    lesson: dict[str, Any] = plain_numbers(document)
    return lesson


def header(recording: Recording) -> dict[str, Any]:
    """Format and task, as JSON files and JSON lines begin; nothing before what others observed."""
    task = recording.task
    if task is None and recording.foreign:
        return {}
    return {
        "format": DEMONSTRATIONS_FORMAT,
        "task": None if task is None else task_document(task),
    }


def require_size(n_pairs: int, place: str) -> None:
    """Refuse recordings that are too large, before memory is taken for them."""
    if n_pairs > MAX_PAIRS:
        raise InvalidFile(f"{place}: must hold at most {MAX_PAIRS} pairs; it has more")


class Episode(NamedTuple):
    """An episode as datasets hold it: observations (T + 1, or T), actions, rewards and its end.

    seed, start: what its reset was given, a seed and a start state; None where that is not known.
    """

    seed: int | None
    observations: Any
    actions: Any
    rewards: Any = ()
    ended: bool = False
    start: Any = None


def steps_of(task: Task, demonstration: Demonstration) -> Episode:
    """A demonstration of this task as datasets want it: one state more than actions.

    The last state is where the last action leads; where that is left to chance, its likeliest
    outcome. Rewards are weights times features of each pair; the step that ends also gets what the
    terminal state pays, discounted, so that the discounted sum is the return.
    """
    mdp = task.mdp
    states, actions = np.array(demonstration.pairs, dtype=np.int64).T
    last = _likeliest(mdp, int(states[-1]), int(actions[-1]))
    pays = mdp.features.floats @ task.weights
    rewards = pays[states, actions] if mdp.has_action_features else pays[states]
    ends = bool(mdp.terminal[last])
    if ends:
        rewards = rewards.copy()
        rewards[-1] += mdp.discount * np.atleast_1d(pays[last])[0]
    return Episode(None, np.append(states, last), actions, rewards, ends, start=int(states[0]))


def _likeliest(mdp: MDP, state: int, action: int) -> int:
    moves, row = mdp.transitions, state * mdp.n_actions + action
    part = slice(int(moves.offsets[row]), int(moves.offsets[row + 1]))
    return int(moves.successors[part][np.argmax(moves.probabilities.floats[part])])


def pairs_of(
    observed: Any, actions: Any, place: str, *, numbers: bool = True
) -> Demonstration | ObservedDemonstration | None:
    """A demonstration from one observation more than actions; None where no action was taken.

    numbers: whether observations are whole numbers, and not lists, arrays or objects.
    """
    taken = _whole(actions, f"{place}: actions")
    states = _whole(observed, f"{place}: observations") if numbers else list(observed)
    if len(states) != len(taken) + 1:
        raise InvalidFile(
            f"{place}: must have one observation more than actions; it has {len(states)} and "
            f"{len(taken)}"
        )
    if not taken:
        return None
    pairs = list(zip(states[:-1], taken, strict=True))
    return Demonstration(pairs) if numbers and min(states) >= 0 else ObservedDemonstration.of(pairs)


def _whole(values: Any, place: str) -> list[int]:
    """Whole numbers from an array (T,) or (T, 1)."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidFile(
            f"{place} must be numbers of states or actions from 0; they have the shape "
            f"{array.shape} and the type {array.dtype}"
        )
    listed: list[int] = array.tolist()
    return listed
