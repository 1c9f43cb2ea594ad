"""A lesson in a simulator as a page: its clips as frames, or as lines of the state."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact import __version__
from didact.bec.observed.result import Observed
from didact.errors import DidactError
from didact.inputs import shown_name
from didact.report.page.scene import amount, number
from didact.report.page.templates import render
from didact.report.words.observed import (
    done_words,
    measured_lines,
    numbers_words,
    open_words,
    seen_lines,
    truth_words,
    weights_words,
)
from didact.teaching.clips.lesson import Clip, ClipLesson
from didact.worlds.simulators.batches import as_rows
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
"""Of a drawing of lines over time."""
SWEEP = f"M8 0L{WIDTH - 8:g} 0"
"""The way of the bar over the steps of lines."""
SIDE = 260.0
"""Of a drawing of the way through a plane."""


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
        contradiction=truth_words(lesson),
        measured=[*seen_lines(seen), *measured_lines(seen)],
        version=__version__,
    )


def _shown(lesson: ClipLesson, place: int, clip: Clip) -> dict[str, Any]:
    """A clip on the page: frames with their words, or lines in a picture.

    key: what the lines are. path: along which a dot moves through a plane, or a bar over the steps;
    empty where there are frames. seconds: how long it takes. marks: what stands in the plane.
    ghosts: where the closest other action of each step leads, as a path. others: these in words.
    """
    steps = np.unique(np.linspace(0, len(clip) - 1, min(MAX_FRAMES, len(clip))).astype(int))
    images = pictures_of(lesson.seen.setting.simulator, [clip.states[i] for i in steps])
    frames = tuple(
        (
            f"data:image/png;base64,{b64encode(png(small(image))).decode('ascii')}",
            f"step {clip.first + int(i) + 1}",
        )
        for i, image in zip(steps, images, strict=True)
        if image is not None
    )
    lines = [] if frames else _lines(as_rows(clip.observations), lesson)
    is_plane = len(lines) == 1 and lines[0]["name"] == WAY
    closest = _closest_others(lesson.seen, clip)
    done = [done_words(lesson.seen, action) for action in clip.actions[:MAX_ACTIONS]]
    others = [done_words(lesson.seen, other) for _, other in closest[:MAX_ACTIONS]]
    more = ", ..." if len(clip.actions) > MAX_ACTIONS else ""
    way = "L".join(f"{number(x)} {number(y)}" for x, y in lines[0]["points"]) if is_plane else ""
    return {
        "number": place,
        "words": clip.words,
        "frames": frames,
        "description": f"states of {clip.words}",
        "lines": lines,
        "key": _key(lesson) if lines else "",
        "path": f"M{way}" if is_plane else SWEEP if lines else "",
        "seconds": STEP_SECONDS * len(clip),
        "first": numbers_words(clip.observations[0]),
        "actions": ", ".join(done) + more,
        "others": ", ".join(others) + more if others else "",
        "marks": _marks(lesson.seen) if is_plane else [],
        "ghosts": _ghosts(lesson.seen, closest) if is_plane else "",
        "axes": _number_names(lesson.seen, 2) if is_plane else ("", ""),
        "is_plane": is_plane,
        "size": (SIDE, SIDE) if is_plane else (WIDTH, HEIGHT),
    }


MAX_ACTIONS = 12
"""Actions of a clip that are named."""


def _closest_others(seen: Observed, clip: Clip) -> list[tuple[int, Any]]:
    """For each step the observed state and the alternative that the policy's action beats least.

    None for clips of other rollouts than the observed ones.
    """
    index = {id(state): i for i, state in enumerate(seen.states)}
    places = [index.get(id(state)) for state in clip.states]
    found = []
    for i in places:
        if i is None:
            return []
        worse = np.where(seen.margins[i] > 0, seen.margins[i], np.inf)
        if np.isfinite(worse).any():
            found.append((i, np.asarray(seen.others[i])[int(worse.argmin())]))
    return found


def _ghosts(seen: Observed, closest: Sequence[tuple[int, Any]]) -> str:
    """Where each of these actions would have led within a step, as lines from where it stood."""
    simulator = seen.setting.simulator
    if not closest or simulator.is_random:
        return ""
    places = [i for i, _ in closest]
    try:
        batch = simulator.resume([seen.states[i] for i in places], range(len(places)))
        after = batch.step(np.array([other for _, other in closest])).observations
    except (DidactError, AttributeError):  # what was read from a file has no simulator
        return ""
    here = _in_plane(seen, as_rows(seen.observations)[places])
    there = _in_plane(seen, as_rows(after))
    return "".join(
        f"M{number(x)} {number(y)}L{number(u)} {number(v)}"
        for (x, y), (u, v) in zip(here.tolist(), there.tolist(), strict=True)
    )


def _marks(seen: Observed) -> list[dict[str, Any]]:
    """What the simulator says that stands in its plane (`marks`): name, place, radius.

    The radius of a point is 0. kind: of what is called alike, the number. anchor: of its name,
    which stays inside the drawing.
    """
    low, high = _range(seen)
    found, kinds = [], dict[str, int]()
    for name, x, y, radius in _of_simulator(seen, "marks"):
        ((across, down),) = _in_plane(seen, np.array([[x, y]])).tolist()
        wide = (SIDE - 2 * EDGE) * radius / max(float(high[0] - low[0]), 1e-12)
        side = "start" if across < SIDE / 5 else "end" if across > 4 * SIDE / 5 else "middle"
        mark = {"name": shown_name(str(name)), "x": across, "y": down, "radius": wide}
        found.append({**mark, "kind": kinds.setdefault(name, len(kinds)), "anchor": side})
    return found


EDGE = 22.0
"""Around a plane, for the names of its axes."""


def _range(seen: Observed) -> tuple[Any, Any]:
    """The least and the largest of each number of all observed states, and of what stands there."""
    states = as_rows(seen.observations)[:, :MAX_LINES]
    if states.shape[1] == 2:
        standing = [[x, y] for _, x, y, _ in _of_simulator(seen, "marks")]
        states = np.concatenate([states, *([np.array(standing)] if standing else [])])
    return states.min(axis=0), states.max(axis=0)


def _of_simulator(seen: Observed, name: str) -> Sequence[Any]:
    """What an environment says of itself for pictures; nothing where it does not."""
    told: Sequence[Any] = getattr(getattr(seen.setting.simulator, "env", None), name, ())
    return told


def _shares(seen: Observed, states: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = _range(seen)
    return np.asarray((states - low) / np.where(high > low, high - low, 1.0))


def _in_plane(seen: Observed, states: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places (n, 2) of the drawing for states of two numbers."""
    shares = _shares(seen, states.reshape(len(states), -1))
    return EDGE + (SIDE - 2 * EDGE) * np.stack([shares[:, 0], 1 - shares[:, 1]], axis=1)


def _lines(states: NDArray[np.float64], lesson: ClipLesson) -> list[dict[str, Any]]:
    """Each number of the state over time, or for two numbers their way through the plane."""
    states = states.reshape(len(states), -1)[:, :MAX_LINES]
    if states.shape[1] == 2:
        way = _points(*_in_plane(lesson.seen, states).T)
        return [{"name": WAY, "points": way, "colour": 0}]
    heights = 8 + (HEIGHT - 16) * (1 - _shares(lesson.seen, states))
    times = np.linspace(8, WIDTH - 8, max(len(states), 2))[: len(states)]
    return [
        {"name": name, "points": _points(times, heights[:, j]), "colour": j}
        for j, name in enumerate(_number_names(lesson.seen, states.shape[1]))
    ]


def _key(lesson: ClipLesson) -> str:
    """What is drawn: the numbers of the state with their ranges."""
    ranges = [
        f"from {amount(low)} to {amount(high)}"
        for low, high in zip(*_range(lesson.seen), strict=True)
    ]
    if len(ranges) == 2:
        across, up = _number_names(lesson.seen, 2)
        return (
            f"Left to right: {across}, {ranges[0]}; bottom to top: {up}, {ranges[1]}. The dot "
            "moves as the policy does; dashed: where the closest other action leads."
        )
    names = _number_names(lesson.seen, len(ranges))
    named = "; ".join(f"{name}, {words}" for name, words in zip(names, ranges, strict=True))
    return f"Left to right: steps. A line for each number of the state: {named}."


def _number_names(seen: Observed, n: int) -> list[str]:
    """The names of the first numbers of the state, as far as the simulator gives them."""
    named = [shown_name(str(name)) for name in _of_simulator(seen, "axis_names")]
    return [*named[:n], *(f"number {i + 1} of the state" for i in range(len(named), n))]


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


def png(image: NDArray[np.uint8]) -> bytes:
    """The image (height, width, 3) as a PNG file."""
    height, width = image.shape[:2]
    lines = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
