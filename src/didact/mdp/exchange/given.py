"""Demonstrations as callers have them: lists, lessons, selections, recordings, files, folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidInput
from didact.files.reading import shown_path
from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.exchange.formats import format_of_file, load_recording
from didact.mdp.exchange.recordings import Recording
from didact.mdp.model import MDP
from didact.mdp.task import Task


def given_demonstrations(given: Any, where: MDP | Task) -> tuple[Demonstration, ...]:
    """The demonstrations of this model that are given.

    given: lists of (state, action) or (observation, action) pairs; a lesson, a selection or a
        recording; or the path of a file or folder that `load_recording` reads.
    where: an MDP, or a task, which knows what its environment's observations mean.
    """
    if isinstance(given, str | os.PathLike):
        return load_demonstrations(given, where)
    if isinstance(given, Recording):
        return as_demonstrations(given.read_by(where), where)
    return as_demonstrations(getattr(given, "demonstrations", given), where)


def given_episodes(given: Any, where: MDP | Task) -> tuple[tuple[Demonstration, ...], list[int]]:
    """The demonstrations of this model that are given, and the numbers that their file has."""
    recording = read_file(given) if isinstance(given, str | os.PathLike) else given
    if not isinstance(recording, Recording):
        shown_ones = given_demonstrations(given, where)
        return shown_ones, list(range(len(shown_ones)))
    if recording is given:
        return given_demonstrations(given, where), list(recording.episodes)
    return demonstrations_in(recording, where, given), list(recording.episodes)


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
        return as_demonstrations(recording.read_by(where), where)
    except InvalidInput as error:
        raise InvalidFile(f"{shown_path(path)}: {error}") from None
