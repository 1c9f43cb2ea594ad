"""Clips as a Minari dataset, for whoever learns from recordings."""

from __future__ import annotations

from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.mdp.exchange.minari_episodes import Episode, write_episodes
from didact.teaching.clips.cutting import Clip
from didact.teaching.clips.lesson import ClipLesson


def save_clips(lesson: ClipLesson, target: str, *, replace: bool = False) -> None:
    """Write the clips of a lesson as episodes of a Minari dataset, with rewards.

    target: its name among Minari's datasets, or a path; it ends in a version, as lesson-v0.
    """
    from gymnasium import spaces

    setting = lesson.seen.setting
    if setting.simulator.action_space is None:
        raise InvalidParameter(
            "clips that were read from a file have no simulator to step them; "
            "load_observed(path, env=...) brings it back"
        )
    episodes = [_episode(lesson, clip) for clip in lesson.clips]
    shape = np.shape(lesson.seen.observations)[1:]
    kind = np.asarray(lesson.seen.observations).dtype
    observed = spaces.Box(-np.inf, np.inf, shape, kind.type)
    about = {
        "simulator": setting.simulator.name,
        "statement": lesson.statement(),
        "clips": [repr(clip) for clip in lesson.clips],
    }
    write_episodes(
        episodes, (observed, setting.simulator.action_space), target, about, replace=replace
    )


def _episode(lesson: ClipLesson, clip: Clip) -> Episode:
    """The clip with what the last step led to, and what every step paid."""
    simulator = lesson.seen.setting.simulator
    batch = simulator.resume(clip.situations)
    stepped = batch.step(clip.actions)
    batch.keep(np.zeros(len(clip), dtype=np.bool_))
    observations: Any = [*clip.observations, np.asarray(stepped.observations)[-1]]
    return Episode(0, observations, clip.actions, stepped.rewards, bool(stepped.ended[-1]))
