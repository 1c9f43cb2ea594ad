"""A lesson in a simulator as a page: its clips as frames, or as lines of the state."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact import __version__
from didact.report.page.scene import amount, number
from didact.report.page.templates import render
from didact.report.words.observed import (
    clip_words,
    measured_lines,
    numbers_words,
    open_words,
    weights_words,
)
from didact.teaching.clips.lesson import Clip, ClipLesson
from didact.worlds.simulators.restoring import pictures_of

MAX_CLIPS = 40
MAX_FRAMES = 6
"""Of a clip; they are spread over it."""
WIDEST = 160
"""Pixels of a frame."""
WAY = "the way"
STEP_SECONDS = 0.25
"""Of a step, where a dot moves along a clip."""
MAX_LINES = 8
"""Numbers of a state that are drawn."""
WIDTH, HEIGHT = 320.0, 120.0
"""Of a drawing."""


@dataclass(frozen=True)
class Line:
    """One number of the state over a clip, or the way through a plane."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: int


@dataclass(frozen=True)
class ShownClip:
    """A clip on the page: frames with their words, or lines in a picture.

    key: what the lines are. path: the way through a plane as a path, along which a dot moves;
    empty where there is none. seconds: how long it takes.
    """

    number: int
    words: str
    frames: tuple[tuple[str, str], ...]
    description: str
    lines: tuple[Line, ...]
    key: str
    path: str
    seconds: float
    first: str
    actions: str


def simulator_page(lesson: ClipLesson) -> str:
    """The lesson as one HTML file."""
    seen, clips = lesson.seen, lesson.clips[:MAX_CLIPS]
    return render(
        "simulators.html.jinja",
        title=f"{seen.setting.simulator.name}: what to show of this policy",
        simulator=seen.setting.simulator.name,
        lesson=lesson,
        statement=lesson.statement(),
        clips=[_shown(lesson, i, clip) for i, clip in enumerate(clips, start=1)],
        n_more=len(lesson.clips) - len(clips),
        learnt=weights_words(seen, lesson.weights),
        truth=weights_words(seen, seen.setting.weights / np.linalg.norm(seen.setting.weights)),
        left_open=[open_words(seen, left) for left in lesson.left_open],
        measured=list(measured_lines(seen)),
        size=(WIDTH, HEIGHT),
        version=__version__,
    )


def _shown(lesson: ClipLesson, place: int, clip: Clip) -> ShownClip:
    steps = np.unique(np.linspace(0, len(clip) - 1, min(MAX_FRAMES, len(clip))).astype(int))
    images = pictures_of(lesson.seen.setting.simulator, [clip.states[i] for i in steps])
    frames = tuple(
        (data_url(small(image)), f"step {clip.first + int(i) + 1}")
        for i, image in zip(steps, images, strict=True)
        if image is not None
    )
    lines = () if frames else _lines(np.asarray(clip.observations, dtype=np.float64), lesson)
    done = [numbers_words(action) for action in clip.actions[:12]]
    return ShownClip(
        place,
        clip_words(clip),
        frames,
        f"states of {clip_words(clip)}",
        lines,
        _key(lesson) if lines else "",
        _path(lines[0]) if len(lines) == 1 and lines[0].name == WAY else "",
        STEP_SECONDS * len(clip),
        numbers_words(clip.observations[0]),
        ", ".join(done) + (", ..." if len(clip.actions) > 12 else ""),
    )


def _lines(states: NDArray[np.float64], lesson: ClipLesson) -> tuple[Line, ...]:
    """Each number of the state over time, or for two numbers their way through the plane."""
    states = states.reshape(len(states), -1)[:, :MAX_LINES]
    everything = np.asarray(lesson.seen.observations, dtype=np.float64)
    everything = everything.reshape(len(everything), -1)[:, :MAX_LINES]
    low, high = everything.min(axis=0), everything.max(axis=0)
    shares = (states - low) / np.where(high > low, high - low, 1.0)
    heights = 8 + (HEIGHT - 16) * (1 - shares)
    if states.shape[1] == 2:
        across = 8 + (HEIGHT - 16) * shares[:, 0] + (WIDTH - HEIGHT) / 2
        return (Line(WAY, _points(across, heights[:, 1]), 0),)
    times = np.linspace(8, WIDTH - 8, max(len(states), 2))[: len(states)]
    return tuple(
        Line(f"state {j}", _points(times, heights[:, j]), j) for j in range(states.shape[1])
    )


def _key(lesson: ClipLesson) -> str:
    """What is drawn: the numbers of the state with their ranges."""
    states = np.asarray(lesson.seen.observations, dtype=np.float64)
    states = states.reshape(len(states), -1)[:, :MAX_LINES]
    ranges = [
        f"from {amount(low)} to {amount(high)}"
        for low, high in zip(states.min(axis=0), states.max(axis=0), strict=True)
    ]
    if len(ranges) == 2:
        return (
            f"Left to right: number 1 of the state, {ranges[0]}; bottom to top: number 2, "
            f"{ranges[1]}. The dot moves as the policy does."
        )
    named = "; ".join(f"number {i}, {words}" for i, words in enumerate(ranges, start=1))
    return f"Left to right: steps. A line for each number of the state: {named}."


def _path(line: Line) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in line.points)


def _points(across: Any, down: Any) -> tuple[tuple[float, float], ...]:
    pairs = list(zip(np.asarray(across).tolist(), np.asarray(down).tolist(), strict=True))
    return tuple(pairs * 2 if len(pairs) == 1 else pairs)


def small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """An image of at most WIDEST pixels on its longer side, each the mean of a square."""
    factor = -(-max(image.shape[:2]) // WIDEST)
    height, width = (image.shape[0] // factor, image.shape[1] // factor)
    if factor == 1 or not height or not width:
        return image
    cut = image[: height * factor, : width * factor].astype(np.float64)
    blocks = cut.reshape(height, factor, width, factor, 3)
    return np.asarray(blocks.mean(axis=(1, 3)).round(), dtype=np.uint8)


def data_url(image: NDArray[np.uint8]) -> str:
    """The image as a PNG inside a page."""
    return "data:image/png;base64," + base64.b64encode(png(image)).decode("ascii")


def png(image: NDArray[np.uint8]) -> bytes:
    """The image (height, width, 3) as a PNG file."""
    height, width = image.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, parts))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, content = part
    sum_of = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + sum_of
