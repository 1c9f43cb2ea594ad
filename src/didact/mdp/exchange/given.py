"""Demonstrations as callers have them: lists, lessons, selections, recordings, files, folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput, InvalidModel
from didact.files.reading import shown_path
from didact.inputs import counted
from didact.mdp.demonstrations import Demonstration, as_demonstrations, only_demonstrations
from didact.mdp.exchange.formats import format_of_file, load_recording
from didact.mdp.exchange.recordings import Recording
from didact.mdp.model import MDP
from didact.mdp.task import Task, as_mdp

PROOF_OF_A_TASK = "didact.proof/1"


def given_demonstrations(given: Any, where: MDP | Task) -> tuple[Demonstration, ...]:
    """The demonstrations of this model that are given.

    given: lists of (state, action) or (observation, action) pairs; a lesson, a selection or a
        recording; or the path of a file or folder that `load_recording` reads.
    where: an MDP, or a task, which knows what its environment's observations mean.
    """
    if isinstance(given, str | os.PathLike):
        return load_demonstrations(given, where)
    if isinstance(given, Recording):
        require_same_states(given.lesson, where)
        return as_demonstrations(given.read_by(where), where)
    if getattr(given, "known", given) is None:  # a lesson from a file, which has its proof at hand
        require_same_states({"proof": getattr(given, "proof", None)}, where)
    return as_demonstrations(only_demonstrations(given), where)


def given_episodes(given: Any, where: MDP | Task) -> tuple[tuple[Demonstration, ...], list[int]]:
    """The demonstrations of this model that are given, and the numbers that their file has."""
    recording = read_file(given) if isinstance(given, str | os.PathLike) else given
    if not isinstance(recording, Recording):
        shown_ones = given_demonstrations(given, where)
        return shown_ones, list(range(len(shown_ones)))
    if recording is given:
        return given_demonstrations(given, where), list(recording.episodes)
    return demonstrations_in(recording, where, given), list(recording.episodes)


def require_same_states(lesson: Any, where: MDP | Task) -> None:
    """Refuse a lesson of a task that had other states: its proof says how many there were.

    lesson: fields by name, or None. Tasks of environments once numbered their states anew, without
    those that cannot be reached; their lessons mean other states now.
    """
    proof = lesson.get("proof") if isinstance(lesson, Mapping) else None
    optimal = proof.get("optimal") if isinstance(proof, Mapping) else None
    if not isinstance(optimal, list | tuple) or len(optimal) == as_mdp(where).n_states:
        return
    if isinstance(proof, Mapping) and proof.get("format") != PROOF_OF_A_TASK:
        return
    n = as_mdp(where).n_states
    raise InvalidModel(
        f"it is a lesson for a task of {counted(len(optimal), 'state')}, and this one has {n}: its "
        "states were numbered otherwise when it was made. Make it again with `didact teach`, or "
        "give the task's file of that time"
    )


def load_demonstrations(
    path: str | os.PathLike[str], where: MDP | Task
) -> tuple[Demonstration, ...]:
    """The demonstrations of this model in a file or folder."""
    return demonstrations_in(read_file(path), where, path)


def read_file(path: str | os.PathLike[str]) -> Recording:
    """What a file or folder holds; a file whose name says no format is JSON."""
    is_plain = os.path.isfile(path) and format_of_file(Path(path)) is None
    return load_recording(path, format="json" if is_plain else None)


def demonstrations_in(
    recording: Recording, where: MDP | Task, path: str | os.PathLike[str]
) -> tuple[Demonstration, ...]:
    """What a recording that was read from a path, named in errors, shows of a model."""
    try:
        require_same_states(recording.lesson, where)
        return as_demonstrations(recording.read_by(where), where)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
