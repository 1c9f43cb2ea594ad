"""An exam as a sheet to print or to send, and its key as a page apart.

The sheet holds nothing of the key, not even where nobody looks.
"""

from __future__ import annotations

from dataclasses import dataclass

from didact import __version__
from didact.auditing import Exam
from didact.auditing.questions import ExamQuestion
from didact.inputs import shown_name
from didact.mdp import Demonstration, Family, Task
from didact.report.exams import exam_line, key_words
from didact.report.page.grounds import Grounds
from didact.report.page.player import Drawing, Frame, frames
from didact.report.page.scene import Scene, state_in_words
from didact.report.page.templates import render
from didact.report.page.world import Legend, legend

MOST_QUESTIONS = 200


@dataclass(frozen=True)
class AskedQuestion:
    """A question on the sheet.

    drawings: a picture of each side, or of the place; none where there is nothing to draw.
    right: the key in words; empty on the sheet. world: the name of the ground of its pictures.
    """

    number: int
    words: str
    labels: tuple[str, ...]
    drawings: tuple[Drawing, ...]
    is_of_sides: bool
    right: str
    world: str


def exam_page(task: Task | Family, exam: Exam, *, key: bool = False) -> str:
    """The sheet of an exam as HTML; with `key` the page of right answers."""
    questions, grounds = exam.questions[:MOST_QUESTIONS], Grounds(task)
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
        version=__version__,
    )


def _moments(task: Task, question: ExamQuestion, scene: Scene | None) -> list[list[Frame]]:
    """What is drawn of a question: both sides, or where it is asked."""
    if question.kind == "action":
        where = state_in_words(task.mdp, question.state, scene)
        return [[Frame(question.state, None, None, where, "asked here")]]
    return [frames(task, _side(question, option), scene) for option in question.options]


def _side(question: ExamQuestion, option: int | Demonstration) -> Demonstration:
    if isinstance(option, Demonstration):
        return option
    return Demonstration([(question.state, option)])


def _asked(number: int, question: ExamQuestion, grounds: Grounds, key: bool) -> AskedQuestion:
    member = question.member
    sides = _moments(grounds.home(member), question, grounds.scene(member))
    drawn = [grounds.drawing(member, each, 10 * number + i) for i, each in enumerate(sides)]
    return AskedQuestion(
        number=number,
        words=question.words,
        labels=question.labels,
        drawings=tuple(each for each in drawn if each is not None),
        is_of_sides=question.kind != "action",
        right=key_words(question) if key else "",
        world=grounds.name(member),
    )


def _legend(grounds: Grounds) -> Legend | None:
    """The letters of features, without their weights, which are the answer to everything."""
    if grounds.scene(0) is None:
        return None
    named = legend(grounds.home(0), grounds.scene(0))
    return named if any(letter for letter, *_ in named.entries) else None
