"""Pages of items: a lesson of several kinds, an exam as a sheet to print or to send, and its key.

Each item is drawn in its own world, the ground of each world once. The sheet of an exam holds
nothing of the key, not even where nobody looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from didact import __version__
from didact.auditing import Exam
from didact.auditing.questions import ExamQuestion
from didact.bec.classes import equivalence_class
from didact.inputs import shown_name
from didact.mdp import Comparison, Demonstration, Family, Task
from didact.mdp.items import Item, ways_of
from didact.mdp.naming import action_words
from didact.report.page.player import Frame, box_of, frames, player
from didact.report.page.scene import Box, Scene, scene_of, state_in_words
from didact.report.page.templates import render
from didact.report.page.world import Legend, neutral_legend
from didact.report.words.lessons import hardest_words, invisible_sentences, mixed_line
from didact.report.words.verdicts import exam_line, key_words
from didact.teaching import Lesson


class Grounds:
    """The worlds of a page; what is drawn of each is remembered, for a ground that holds it all.

    neutral: nothing that is drawn depends on the reward.
    """

    def __init__(self, task: Task | Family, *, neutral: bool = False) -> None:
        self.task, self._neutral = task, neutral
        self._scenes: dict[int, Scene | None] = {}
        self._boxes: dict[int, list[Box]] = {}

    def home(self, member: int | None) -> Task:
        """The task, or the member of the family."""
        return self.task[member or 0] if isinstance(self.task, Family) else self.task

    def scene(self, member: int | None) -> Scene | None:
        """Where things stand in it; None where there is nothing to draw it by."""
        number = member or 0
        if number not in self._scenes:
            self._scenes[number] = scene_of(self.home(member), neutral=self._neutral)
        return self._scenes[number]

    def drawing(self, member: int | None, moments: Sequence[Frame], number: int) -> Any:
        """The picture of moments of a world, if there is one; number: its own on the page."""
        scene = self.scene(member)
        if scene is None:
            return None
        self._boxes.setdefault(member or 0, []).append(box_of(moments, scene))
        return player(moments, scene, number=number, n_steps=len(moments), telling={})["drawing"]

    def name(self, member: int | None) -> str:
        """What the ground of a world is called on the page."""
        return f"world-{member or 0}" if isinstance(self.task, Family) else "world"

    def drawn(self) -> Iterator[tuple[str, Scene, Any]]:
        """Name, scene and ground of every world of which something was drawn."""
        for member, boxes in sorted(self._boxes.items()):
            scene = self.scene(member)
            assert scene is not None
            yield self.name(member), scene, scene.ground(boxes)


MAX_ITEMS = 200


def mixed_lesson_page(task: Task | Family, lesson: Lesson) -> str:
    """The page of a lesson of several kinds; in a family each item in its own world."""
    items, grounds = lesson.items[:MAX_ITEMS], Grounds(task)
    said = [
        {
            "number": i + 1,
            "words": lesson.words[i],
            "why": lesson.why(i),
            "drawings": _drawings(grounds, item, i + 1),
            "world": grounds.name(item.member),
        }
        for i, item in enumerate(items)
    ]
    return render(
        "mixed.html.jinja",
        title=f"{shown_name(lesson.task_name, 80)}: lesson",
        lesson=lesson,
        line=mixed_line(lesson),
        hardest=None if lesson.hardest is None else hardest_words(lesson.hardest),
        grounds=tuple(grounds.drawn()),
        said=said,
        n_more=len(lesson.items) - len(items),
        # Items of `teach` state rows of the BEC, whatever their kind.
        invisible=() if lesson.bec is None else list(invisible_sentences(lesson.bec)),
        version=__version__,
    )


def _drawings(grounds: Grounds, item: Item, number: int) -> list[tuple[Any, str]]:
    """A picture of each side of an item, with its name."""
    home, scene = grounds.home(item.member), grounds.scene(item.member)
    found = [
        (grounds.drawing(item.member, frames(home, way, scene), 10 * number + side), name)
        for side, (way, name) in enumerate(_walks(home, item))
    ]
    return [(drawn, name) for drawn, name in found if drawn is not None]


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


MAX_QUESTIONS = 200


def exam_page(task: Task | Family, exam: Exam, *, key: bool = False) -> str:
    """The sheet of an exam as HTML; with `key` the page of right answers."""
    questions, grounds = exam.questions[:MAX_QUESTIONS], Grounds(task, neutral=True)
    asked = [_asked(i, question, grounds, key) for i, question in enumerate(questions, start=1)]
    return render(
        "exam.html.jinja",
        title=f"{shown_name(exam.task_name, 80)}: {'key' if key else 'exam'}",
        exam=exam,
        key=key,
        line=exam_line(exam),
        grounds=tuple(grounds.drawn()),
        legend=_legend(grounds),
        questions=asked,
        n_more=len(exam.questions) - len(questions),
        # Only on the key: nobody who is examined needs to know it.
        invisible=list(invisible_sentences(exam.bec or equivalence_class(task))) if key else (),
        version=__version__,
    )


def _moments(task: Task, question: ExamQuestion, scene: Scene | None) -> list[list[Frame]]:
    """What is drawn of a question: both sides, or where it is asked."""
    if question.kind == "action":
        where = state_in_words(task.mdp, question.state, scene)
        return [[Frame(question.state, None, None, where, "asked here")]]
    walks = (
        option if isinstance(option, Demonstration) else Demonstration([(question.state, option)])
        for option in question.options
    )
    return [frames(task, walk, scene) for walk in walks]


def _asked(number: int, question: ExamQuestion, grounds: Grounds, key: bool) -> dict[str, Any]:
    """A question on the sheet, without the key; where there is something to draw, its pictures."""
    member = question.member
    sides = _moments(grounds.home(member), question, grounds.scene(member))
    drawn = [grounds.drawing(member, each, 10 * number + i) for i, each in enumerate(sides)]
    return {
        "number": number,
        "words": question.words,
        "labels": question.labels,
        "drawings": [each for each in drawn if each is not None],
        "is_of_sides": question.kind != "action",
        "right": key_words(question) if key else "",
        "world": grounds.name(member),
    }


def _legend(grounds: Grounds) -> Legend | None:
    """The letters of features, without their weights, which are the answer to everything."""
    if grounds.scene(0) is None:
        return None
    named = neutral_legend(grounds.home(0), grounds.scene(0))
    return named if named.entries else None
