"""Recordings: demonstrations with the task they belong to, as files and datasets hold them.

Five formats: JSON (`.json`), JSON lines (`.jsonl`), tables (`.csv`), Minari datasets, and the
folder that imitation reads. What didact writes carries its task, and the lesson where it is one, so
that it reads back equal; only a table holds neither. What others wrote holds observations of their
environment, and a task says which states they are.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.files.folders import require_free
from didact.files.json import plain_numbers, read_json, write_json
from didact.files.reading import shown_path
from didact.inputs import shown
from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.files import task_document, task_from_document
from didact.mdp.model import MDP
from didact.mdp.observations import Watched, is_watched
from didact.mdp.task import Task
from didact.numerics.exact import Floats
from didact.numerics.texts import short_repr

DEMONSTRATIONS_FORMAT = "didact.demonstrations/1"
LESSON_FORMAT = "didact.lesson/1"
MOST_PAIRS = 50_000_000
"""A recording holds at most so many pairs."""
ALWAYS_ALLOWED, PAIRS_PER_BYTE = 100_000, 50
"""So many whatever its size, and so many more for each byte of a compressed one."""
VERSIONED = re.compile(r".*-v[0-9]+")
"""How the name of a Minari dataset ends."""


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
        shown_ones = tuple(self.demonstrations)
        if self.task is not None:
            shown_ones = as_demonstrations(self.read_by(self.task), self.task)
        object.__setattr__(self, "demonstrations", shown_ones)
        numbers = tuple(self.episodes) or tuple(range(len(shown_ones)))
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
                        f"episode {episode}, step {step}: {task.name} has no state {state} that "
                        "goes on and that its start can reach"
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

    def read_by(self, where: MDP | Task) -> tuple[Demonstration | Watched, ...]:
        """The demonstrations, numbers that others recorded as what they observed.

        where: the model that they are read for.
        """
        seen = where.observations if isinstance(where, Task) else None
        if not self.foreign or seen is None or not seen.are_renumbered:
            return self.demonstrations
        return tuple(
            d if isinstance(d, Watched) else Watched.of(d.pairs) for d in self.demonstrations
        )


def _is_of(lesson: Mapping[str, Any], demonstrations: Sequence[Demonstration]) -> bool:
    """Whether a lesson shows just these demonstrations, in whole numbers: 2.0 is none."""
    listed = [document_of(demonstration) for demonstration in demonstrations]
    if lesson.get("format") != LESSON_FORMAT or not isinstance(lesson.get("task"), str):
        return False
    return json.dumps(lesson.get("demonstrations"), default=str) == json.dumps(listed)


def document_of(demonstration: Demonstration | Watched) -> list[list[Any]]:
    """The pairs as a file holds them."""
    if isinstance(demonstration, Watched):
        return demonstration.document()
    return [list(pair) for pair in demonstration]


def read_pairs(given: Any) -> Demonstration | Watched:
    """An episode in a file, of whole numbers or of what was observed."""
    if isinstance(given, list) and is_watched(given, None):
        return Watched.of(given)
    return Demonstration(given)


@dataclass(frozen=True)
class Format:
    """How one format is known, read and written."""

    name: str
    is_such: Callable[[Path], bool]
    read: Callable[[Path], Recording]
    write: Callable[..., None]


def formats() -> dict[str, Format]:
    """Every format by name, in the order in which a path is tried."""
    from didact.mdp.exchange import csv as csv_files
    from didact.mdp.exchange import imitation as imitation_files
    from didact.mdp.exchange import jsonlines as jsonlines_files
    from didact.mdp.exchange import minari as minari_files

    return {
        "jsonl": Format(
            "jsonl",
            _ends(".jsonl"),
            jsonlines_files.read_jsonlines,
            jsonlines_files.write_jsonlines,
        ),
        "json": Format("json", _ends(".json"), read_json_recording, write_json_recording),
        "csv": Format("csv", _ends(".csv"), csv_files.read_csv, csv_files.write_csv),
        "minari": Format(
            "minari", minari_files.is_minari, minari_files.read_minari, minari_files.write_minari
        ),
        "imitation": Format(
            "imitation",
            imitation_files.is_imitation,
            imitation_files.read_imitation,
            imitation_files.write_imitation,
        ),
    }


def _ends(suffix: str) -> Callable[[Path], bool]:
    return lambda path: path.suffix == suffix and not os.path.isdir(path)


def load_recording(source: str | os.PathLike[str], *, format: str | None = None) -> Recording:
    """The demonstrations in a file, a folder, or the Minari dataset of that name on this machine.

    source: a path or a name. Nothing is ever fetched from elsewhere.
    format: 'json', 'jsonl', 'csv', 'minari' or 'imitation'; by default what the source looks like.
    """
    from didact.mdp.exchange.minari import local_folder

    place = shown_path(source)
    known, path = formats(), Path(os.path.expanduser(source))
    if format is not None:
        chosen = _format(format)
        is_id = format == "minari" and not os.path.exists(path)
        return chosen.read(local_folder(str(source)) if is_id else path)
    exists = os.path.exists(path)
    if not exists and VERSIONED.fullmatch(place) and not place.startswith((".", "/", "~")):
        return known["minari"].read(local_folder(place))
    if not exists:
        raise InvalidFile(f"{place}: cannot be read: No such file or directory")
    name = format_of_file(path)
    if name is not None:
        return known[name].read(path)
    raise InvalidFile(
        f"{place}: is neither JSON (.json), JSON lines (.jsonl), a table (.csv), a Minari dataset "
        "nor a folder that imitation reads; say which with the format"
    )


def format_of_file(path: Path) -> str | None:
    """The format that a file or folder looks like; None where it looks like no format."""
    return next((name for name, known in formats().items() if known.is_such(path)), None)


def save_recording(
    recording: Recording,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    replace: bool = False,
) -> Path:
    """Write demonstrations, whole or not at all; the path they have then.

    recording: what to write.
    target: a path or a name. A Minari dataset goes where Minari keeps its datasets, unless the
        target begins with '.', '/' or '~'.
    format: by default JSON for names in .json, JSON lines for .jsonl, a table for .csv, a Minari
        dataset for names such as lesson-v0, else a folder for imitation.
    replace: give up what is there.
    """
    from didact.mdp.exchange.minari import target_folder

    place = shown_path(target)
    chosen = _format(format or format_of_name(place))
    path = target_folder(place) if chosen.name == "minari" else Path(os.path.expanduser(place))
    chosen.write(recording, path, replace=replace)
    return path


def format_of_name(name: str) -> str:
    """The format that a target's name asks for."""
    suffix = Path(name).suffix
    if suffix in (".json", ".jsonl", ".csv"):
        return suffix[1:]
    return "minari" if VERSIONED.fullmatch(name) else "imitation"


def _format(name: str) -> Format:
    known = formats()
    if name not in known:
        raise InvalidParameter(
            f"format must be one of {', '.join(sorted(known))}; it is {shown(name)}"
        )
    return known[name]


def read_json_recording(path: Path) -> Recording:
    """A lesson, or a list of demonstrations, in a JSON file."""
    document = read_json(path)
    given = document if isinstance(document, dict) else {"demonstrations": document}
    try:
        task = given.get("task")
        return Recording(
            tuple(_read_demonstrations(given.get("demonstrations"))),
            tuple(_read_episodes(given.get("episodes"))),
            task_from_document(task) if isinstance(task, dict) else None,
            plain_numbers(given) if given.get("format") == LESSON_FORMAT else None,
            foreign="format" not in given,
        )
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None


def _read_demonstrations(given: Any) -> list[Demonstration | Watched]:
    if not isinstance(given, list):
        raise InvalidFile(
            "must hold a list of demonstrations, each a list of [state, action] pairs, or an "
            "object with such a list named 'demonstrations'"
        )
    found = []
    for i, entry in enumerate(given):
        try:
            found.append(read_pairs(entry))
        except InvalidInput as error:
            raise InvalidFile(f"demonstrations[{i}]: {error}") from None
    return found


def _read_episodes(given: Any) -> list[int]:
    if given is None:
        return []
    if not isinstance(given, list) or not all(type(n) is int and n >= 0 for n in given):
        raise InvalidFile(f"episodes must be a list of whole numbers; it is {shown(given)}")
    return given


def recorded(
    demonstrations: Iterable[Demonstration | Watched],
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


def write_json_recording(recording: Recording, path: Path, *, replace: bool = False) -> None:
    """The lesson itself where the recording is one; else demonstrations with their task."""
    require_free(path, replace=replace, is_such=Path.is_file)
    if recording.lesson is not None:
        write_json(dict(recording.lesson), path)
        return
    document = {**header(recording), "episodes": list(recording.episodes)}
    document["demonstrations"] = [document_of(shown_one) for shown_one in recording.demonstrations]
    write_json(document, path)


def header(recording: Recording) -> dict[str, Any]:
    """Format and task, as JSON files and JSON lines begin; nothing before what others observed."""
    task = recording.task
    if task is None and recording.foreign:
        return {}
    return {
        "format": DEMONSTRATIONS_FORMAT,
        "task": None if task is None else task_document(task),
    }


def require_size(n_pairs: int, place: str, most: int | None = None) -> None:
    """Refuse recordings that are too large, before memory is taken for them."""
    limit = MOST_PAIRS if most is None else most
    if n_pairs > limit:
        raise InvalidFile(f"{place}: must hold at most {limit} pairs; it has more")


def most_pairs(files: Iterable[Path]) -> int:
    """How many pairs such files may hold: where more are packed so tightly, it is a trap."""
    return min(MOST_PAIRS, ALWAYS_ALLOWED + PAIRS_PER_BYTE * sum(map(os.path.getsize, files)))


@dataclass(frozen=True, eq=False)
class Steps:
    """A demonstration as datasets want it: one state more than actions, rewards, the end.

    The last state is where the last action leads; where that is left to chance, its likeliest
    outcome. rewards: weights times features of each pair; the step that ends also gets what the
    terminal state pays, discounted, so that the discounted sum is the return.
    """

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    rewards: Floats
    ends: bool


def steps_of(task: Task, demonstration: Demonstration) -> Steps:
    """The steps of a demonstration of this task."""
    mdp = task.mdp
    states, actions = np.array(demonstration.pairs, dtype=np.int64).T
    last = _likeliest(mdp, int(states[-1]), int(actions[-1]))
    pays = mdp.features.floats @ task.weights
    rewards = pays[states, actions] if mdp.has_action_features else pays[states]
    ends = bool(mdp.terminal[last])
    if ends:
        rewards = rewards.copy()
        rewards[-1] += mdp.discount * np.atleast_1d(pays[last])[0]
    return Steps(np.append(states, last), actions, np.asarray(rewards, dtype=float), ends)


def _likeliest(mdp: MDP, state: int, action: int) -> int:
    moves, row = mdp.transitions, state * mdp.n_actions + action
    part = slice(int(moves.offsets[row]), int(moves.offsets[row + 1]))
    return int(moves.successors[part][np.argmax(moves.probabilities.floats[part])])


def pairs_of(
    observed: Any, actions: Any, place: str, *, numbers: bool = True
) -> Demonstration | Watched | None:
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
    return Demonstration(pairs) if numbers and min(states) >= 0 else Watched.of(pairs)


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
