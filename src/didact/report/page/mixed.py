"""A lesson of several kinds as a page: what to show and say, in pictures and words, and why."""

from __future__ import annotations

from dataclasses import dataclass

from didact import __version__
from didact.inputs import shown_name
from didact.mdp import Comparison, Demonstration, Task
from didact.mdp.items import Item, ways_of
from didact.mdp.naming import action_words
from didact.report.page.player import Drawing, box_of, frames, player
from didact.report.page.scene import scene_of
from didact.report.page.templates import render
from didact.report.verdicts import hardest_words, mixed_lesson_lines
from didact.teaching import MixedLesson

MOST_ITEMS = 200


@dataclass(frozen=True)
class Said:
    """An item on the page: its words, why it is there, and a picture of each side with a name."""

    number: int
    words: str
    why: str
    drawings: tuple[tuple[Drawing, str], ...]


def mixed_lesson_page(task: Task, lesson: MixedLesson) -> str:
    """The page of a lesson of several kinds."""
    scene = scene_of(task)
    items = lesson.items[:MOST_ITEMS]
    walked = [_walks(task, item) for item in items]
    shown = [[frames(task, way, scene) for way, _ in ways] for ways in walked] if scene else []
    boxes = [box_of(each, scene) for sides in shown for each in sides] if scene else []
    said = []
    for number, (words, ways) in enumerate(zip(lesson.words, walked, strict=False), start=1):
        drawn = []
        for side, (_, name) in enumerate(ways if scene else ()):
            moments = shown[number - 1][side]
            made = player(
                moments, scene, number=10 * number + side, n_steps=len(moments), telling={}
            ).drawing
            drawn += [] if made is None else [(made, name)]
        said.append(Said(number, words, lesson.reason(number - 1), tuple(drawn)))
    title, *_ = mixed_lesson_lines(lesson)
    return render(
        "mixed.html.jinja",
        title=f"{shown_name(lesson.task_name, 80)}: lesson",
        lesson=lesson,
        line=title,
        hardest=None if lesson.hardest is None else hardest_words(lesson.hardest),
        scene=scene if boxes else None,
        ground=scene.ground(boxes) if scene is not None and boxes else None,
        said=said,
        n_more=len(lesson.items) - len(items),
        version=__version__,
    )


def _walks(task: Task, item: Item) -> list[tuple[Demonstration, str]]:
    """What is drawn of an item, with a name for each side."""
    if isinstance(item, Demonstration):
        return [(item, "shown")]
    if isinstance(item, Comparison):
        return [
            (Demonstration([(item.state, action)]), f"{side}: {action_words(task, action)}")
            for action, side in ((item.better, "better"), (item.other, "other"))
        ]
    ways = ways_of(item)
    names = ["better", "other"] if len(ways) == 2 else [f"place {i + 1}" for i in range(len(ways))]
    return list(zip(ways, names if len(ways) > 1 else ["stopped"], strict=True))
