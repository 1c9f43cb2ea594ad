"""A lesson of several kinds as a page: what to show and say, in pictures and words, and why."""

from __future__ import annotations

from dataclasses import dataclass

from didact import __version__
from didact.inputs import shown_name
from didact.mdp import Comparison, Demonstration, Family, Task
from didact.mdp.items import Item, ways_of
from didact.mdp.naming import action_words
from didact.report.page.grounds import Grounds
from didact.report.page.player import Drawing, frames
from didact.report.page.templates import render
from didact.report.verdicts import hardest_words, mixed_lesson_lines
from didact.teaching import Lesson

MOST_ITEMS = 200


@dataclass(frozen=True)
class SaidItem:
    """An item on the page: its words, why it is there, and a picture of each side with a name.

    world: the name of the ground of its pictures.
    """

    number: int
    words: str
    why: str
    drawings: tuple[tuple[Drawing, str], ...]
    world: str


def mixed_lesson_page(task: Task | Family, lesson: Lesson) -> str:
    """The page of a lesson of several kinds; in a family each item in its own world."""
    items, grounds = lesson.items[:MOST_ITEMS], Grounds(task)
    said = [
        SaidItem(i + 1, lesson.words[i], lesson.why(i), _drawings(grounds, item, i + 1), world)
        for i, item in enumerate(items)
        for world in (grounds.name(item.member),)
    ]
    title, *_ = mixed_lesson_lines(lesson)
    return render(
        "mixed.html.jinja",
        title=f"{shown_name(lesson.task_name, 80)}: lesson",
        lesson=lesson,
        line=title,
        hardest=None if lesson.hardest is None else hardest_words(lesson.hardest),
        grounds=tuple(grounds.drawn()),
        said=said,
        n_more=len(lesson.items) - len(items),
        version=__version__,
    )


def _drawings(grounds: Grounds, item: Item, number: int) -> tuple[tuple[Drawing, str], ...]:
    """A picture of each side of an item, with its name."""
    home, scene = grounds.home(item.member), grounds.scene(item.member)
    found = [
        (grounds.drawing(item.member, frames(home, way, scene), 10 * number + side), name)
        for side, (way, name) in enumerate(_walks(home, item))
    ]
    return tuple((drawn, name) for drawn, name in found if drawn is not None)


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
