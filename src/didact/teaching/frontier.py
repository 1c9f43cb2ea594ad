"""The frontier of a task: how many demonstrations keep learners within how much of the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, class_of, shown_pairs
from didact.errors import InvalidParameter
from didact.inputs import entries, seconds, shown, shown_name
from didact.mdp import Family, Task
from didact.mdp.showing import Showable
from didact.numerics.exact import changed
from didact.random import stream
from didact.teaching.build import TeachSettings
from didact.teaching.lesson import ENUMERATED, EXCEEDED, FROM_BAD_TO_GOOD, TESTED, Lesson
from didact.teaching.loss.cells import affordable_cells
from didact.teaching.loss.good_enough import SharedFindings, as_goal
from didact.teaching.loss.region import mean_loss, region_of
from didact.teaching.loss.search import boundary_rounds, largest
from didact.teaching.loss.space import weight_space
from didact.teaching.teach import lesson_within, teach
from didact.worlds.opening import named_world

NOTHING = 1e-9
"""Smaller losses, as a share of the spread, are rounding."""
FIRST_CELLS = 1000
"""Classes of policies that are visited for each lesson, before any gets more."""
ENUMERATING = 0.5
"""The share of the time that enumerating all policy cells may take."""
LOSSES = ("10%", "5%", "2%", "1%", "0.1%")
"""Bounds that a frontier is made for, besides the exact lesson."""


@dataclass(frozen=True, eq=False)
class Point:
    """One lesson on a frontier.

    loss: the bound as it was given; None for the complete lesson. lesson: the cheapest found. mean:
    what is lost on average by rewards drawn evenly among the directions that fit; an estimate.
    spread: V* less V of the uniformly random policy. worst: the most that a search found to be lost
    by a reward that fits, and weights, those of that reward; None where nothing is lost. In a
    family losses are shares of the members' own spreads, and the spread is 1.
    """

    loss: Any
    lesson: Lesson
    mean: float
    spread: float
    worst: float
    weights: tuple[float, ...] | None

    @property
    def status(self) -> str:
        """'exact' for the complete lesson, else how the bound on the loss is known."""
        return self.lesson.loss_status or ("exact" if self.lesson.is_complete else "partial")

    @property
    def share(self) -> float:
        """The bound as a share of V* less V of the uniformly random policy."""
        return 0.0 if self.lesson.within is None else self.lesson.within.share

    def to_dict(self) -> dict[str, Any]:
        """The same for machines, without the demonstrations."""
        bound = self.lesson.lower_bound
        worst = None if self.lesson.within is None else self.lesson.within.worst
        return {
            "loss": self.loss,
            "share": self.share,
            "bound": self.lesson.loss_bound or 0.0,
            "n_demonstrations": len(self.lesson.demonstrations),
            "n_pairs": self.lesson.n_pairs,
            "cost": float(self.lesson.cost),
            "lower_bound": None if bound is None else float(bound),
            "worst": worst,
            "mean": self.mean,
            "status": self.status,
        }


@dataclass(frozen=True, eq=False)
class Frontier(Showable):
    """Lessons from the loosest bound on the loss to the exact one.

    `plot` draws their numbers of demonstrations over the loss that is left; the page of `report`
    has a slider over the lessons, and the mistakes that each leaves.

    task_name: of the task.
    learner_model: whose loss is bounded.
    points: each with its bound, its lesson and how that is known.
    """

    task_name: str
    learner_model: str
    points: tuple[Point, ...]

    @property
    def is_certain(self) -> bool:
        """Whether no point is only tested."""
        return all(point.lesson.reaches_its_goal for point in self.points)

    def __repr__(self) -> str:
        sizes = ", ".join(
            f"{point.loss or 'exact'}: {len(point.lesson.demonstrations)}" for point in self.points
        )
        return f"Frontier({shown_name(self.task_name)!r}, {sizes})"

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each point: loss, share, bound, sizes, cost, bounds, worst, mean, status."""
        return [point.to_dict() for point in self.points]

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "task": self.task_name,
            "learner_model": self.learner_model,
            "points": self.to_records(),
        }


def frontier(
    task: Task | Family,
    *,
    losses: Sequence[Any] = LOSSES,
    learner_model: str = "both",
    teacher: str = "exact",
    time_limit: float = 20.0,
    bec: EquivalenceClass | None = None,
    progress: Callable[[str], None] | None = None,
    **settings: Any,
) -> Frontier:
    """How many demonstrations keep learners within how much of the best, with lower bounds.

    task: what is to be taught; in a family a percentage is of each member's own V* less V.
    losses: bounds, as `teach` takes them; where no demonstrations keep to one, its lesson covers
        what can be covered, and is 'exceeded'.
    learner_model: whose loss: 'half-spaces', 'planner' or 'both'.
    teacher: 'exact', or 'scot' for greedy lessons.
    time_limit: seconds for all points together; what is not finished is only tested.
    bec: the task's class, when it is at hand.
    progress: is told each bound before its lesson is looked for.
    settings: of `teach`, as horizon, cost and starts.
    """
    task = named_world(task)
    losses = [] if isinstance(losses, str) else entries(losses, "losses", "bounds")
    if not losses:
        raise InvalidParameter("losses must be a list of bounds, as ['10%', '1%']")
    if progress is not None and not callable(progress):
        raise InvalidParameter(f"progress must be a function of a text; it is {shown(progress)}")
    goals = [as_goal(loss, learner_model, teacher) for loss in losses]
    if isinstance(task, Family) and len({goal.is_share for goal in goals}) > 1:
        raise InvalidParameter("losses in a family must be all percentages or all amounts")
    deadline = time.monotonic() + seconds(time_limit, "time_limit")
    how = {k: settings[k] for k in ("scope", "arithmetic") if k in settings}
    bec = class_of(task, bec, **how)
    shared = SharedFindings(most_cells=FIRST_CELLS, refuses=False)
    given = TeachSettings.of(settings, teacher=teacher)

    def lesson_of(loss: Any, share: float) -> Lesson:
        """The lesson of a bound, for which a share of the time that is left is taken."""
        if progress is not None:
            progress(str(loss))
        left = share * max(deadline - time.monotonic(), 0.1)
        goal = as_goal(loss, learner_model, teacher, shared)
        lesson = lesson_within(task, goal, replace(given, learners=goal.learners), bec, left)
        shared.witnesses += () if lesson.within is None else lesson.within.witnesses
        return lesson

    if learner_model != "half-spaces":
        shared.cells = affordable_cells(weight_space(bec))
    if shared.cells is not None:  # where all classes of policies can be enumerated, that is first
        now = time.monotonic()
        shared.cells.finish(now + ENUMERATING * (deadline - now))
    lessons = _lessons(losses, lesson_of, shared, deadline)
    exact = teach(task, teacher=teacher, **{**settings, "bec": bec})
    points = [
        _point(loss, _cheapest(lesson, lessons), bec)
        for loss, lesson in zip(losses, lessons, strict=True)
    ]
    return Frontier(task.name, learner_model, (*points, _point(None, exact, bec)))


def _lessons(
    losses: Sequence[Any],
    lesson_of: Callable[[Any, float], Lesson],
    shared: SharedFindings,
    deadline: float,
) -> list[Lesson]:
    """A lesson for each bound; visits that are long are made last, the tightest bounds first."""
    lessons = [lesson_of(loss, 1.0 / (len(losses) - n)) for n, loss in enumerate(losses)]
    shared.most_cells = math.inf
    for number in sorted(range(len(losses)), key=lambda n: lessons[n].loss_bound or 0.0):
        within = lessons[number].within
        statuses = {} if within is None else within.statuses
        unsure = [who for who, status in statuses.items() if status != ENUMERATED]
        # Only cells of C(D) may still be visited; planners stay tested anyway.
        if unsure == ["half-spaces"] and time.monotonic() < deadline:
            lessons[number] = lesson_of(losses[number], 0.5)
    return lessons


def _cheapest(lesson: Lesson, lessons: Sequence[Lesson]) -> Lesson:
    """The lesson, or a cheaper one as sure that keeps to a tighter bound, and so to this one.

    One that costs more too, where the lesson itself does not keep to its bound.
    """
    own = lesson.within
    assert own is not None
    least = max(_sureness(lesson), FROM_BAD_TO_GOOD.index(TESTED))
    exceeds = lesson.loss_status == EXCEEDED
    fits = [
        other
        for other in lessons
        if other.within is not None and other.within.bound <= own.bound
        if (exceeds or other.cost < lesson.cost) and _sureness(other) >= least
    ]
    best = min(fits, key=lambda other: other.cost, default=lesson)
    if best is lesson or best.within is None:
        return lesson
    tighter = best.within
    within = replace(own, statuses=tighter.statuses, worst=tighter.worst, n_cells=tighter.n_cells)
    return changed(
        best,
        within=within,
        settings={**best.settings, "loss": lesson.settings["loss"]},
        lower_bound=own.lower_bound,
    )


def _sureness(lesson: Lesson) -> int:
    return FROM_BAD_TO_GOOD.index(lesson.loss_status or EXCEEDED)


def _point(loss: Any, lesson: Lesson, bec: EquivalenceClass) -> Point:
    """A lesson with what it leaves to lose on average."""
    space = weight_space(bec)
    shown = shown_pairs(bec.members, lesson.demonstrations)
    region = region_of(space, bec.rows.normals[bec.rows.stated_by(shown)])
    worst, weights = largest(boundary_rounds(region, stream(0, "frontier", "worst")))
    if weights is None or worst <= NOTHING * space.spread:
        worst, weights = 0.0, np.zeros(0)
    fits = tuple(float(weight) for weight in weights) or None
    mean = mean_loss(region, stream(0, "frontier", "mean"))
    return Point(loss, lesson, mean, space.spread, worst, fits)
