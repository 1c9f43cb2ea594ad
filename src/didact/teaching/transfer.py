"""What a lesson says about worlds that it was not made for, which share its reward.

An unseen world is determined completely when every row of its class follows from what the lesson
shows: whoever fits the lesson then acts optimally there too. Where it is not, some reward fits the
lesson and is wrong there; it is given with what it may lose.

The curve answers how many worlds must be shown before unseen ones follow: for growing numbers of
members, the first ones of the lesson's family, the share of unseen worlds that a complete lesson
for these determines. More members never determine fewer. Where unseen worlds are independent draws,
as new seeds are, each share has its Clopper-Pearson interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, demonstration_rows, equivalence_class
from didact.bec.halfspaces import Rows, Scope, as_row
from didact.bec.linear import unit_floats
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import counted, entries, explains_names, flag, instance, shown, shown_name
from didact.mdp import Family, Task, as_task
from didact.mdp.showing import draw, in_notebook
from didact.numerics.intervals import binomial_interval
from didact.numerics.texts import number_texts, read_text
from didact.planning.solve import Arithmetic
from didact.teaching.lesson import Lesson
from didact.teaching.witness import (
    Halfspaces,
    Weights,
    fits_rows,
    stated_halfspaces,
    worst_loss,
)

TRANSFER_FORMAT = "didact.transfer/1"
LEVEL = 0.95
"""The probability with which an interval holds the share among all worlds."""


@dataclass(frozen=True, eq=False)
class UnseenWorld:
    """An unseen world: determined, or with a reward that fits the lesson and is wrong there.

    name: of the world.
    determined: whether all of its behaviour follows from the lesson.
    witness: else weights that fit the lesson and are wrong there, the largest of them 1 or -1.
    loss: the worst loss of a learner that takes the witness.
    missing: a statement (state, action, other action) of the world that the witness breaks.
    words: the same in words.
    """

    name: str
    determined: bool
    witness: Weights | None = None
    loss: float | None = None
    missing: tuple[int, ...] | None = None
    words: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; fractions as texts."""
        missing = None if self.missing is None else list(self.missing)
        return {**vars(self), "witness": number_texts(self.witness), "missing": missing}

    def __repr__(self) -> str:
        how = "determined" if self.determined else f"open, a learner may lose {self.loss:.3g}"
        return f"UnseenWorld({shown_name(self.name)!r}, {how})"


class CurvePoint(NamedTuple):
    """After so many members: how many unseen worlds are determined, their share, its interval."""

    n_members: int
    n_determined: int
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Transfer:
    """What a lesson determines in worlds that it was not made for.

    lesson_name: of the task or family that the lesson is for.
    worlds: the unseen ones, in order.
    curve: for growing numbers of members what complete lessons for them determine; empty where the
        members are not at hand.
    interval: Clopper-Pearson's of the share, where the worlds are independent draws; else None.
    arithmetic: 'exact', proved, or 'float'.
    """

    lesson_name: str
    worlds: tuple[UnseenWorld, ...]
    curve: tuple[CurvePoint, ...]
    interval: tuple[float, float] | None
    arithmetic: str

    _repr_html_ = in_notebook

    @property
    def n_determined(self) -> int:
        """How many unseen worlds are determined completely."""
        return sum(world.determined for world in self.worlds)

    @property
    def share(self) -> float:
        """The share of unseen worlds that are determined completely."""
        return self.n_determined / len(self.worlds)

    @property
    def worst_loss(self) -> float:
        """The largest loss of a witness in any of the worlds; 0 where all are determined."""
        return max((world.loss or 0.0 for world in self.worlds), default=0.0)

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each world: name, determined, loss, words, witness, missing."""
        return [world.to_dict() for world in self.worlds]

    def to_dict(self) -> dict[str, Any]:
        """The `didact.transfer/1` object."""
        return {
            "format": TRANSFER_FORMAT,
            "lesson": self.lesson_name,
            "arithmetic": self.arithmetic,
            "n_unseen": len(self.worlds),
            "n_determined": self.n_determined,
            "share": self.share,
            "interval": None if self.interval is None else list(self.interval),
            "worlds": self.to_records(),
            "curve": [point._asdict() for point in self.curve],
        }

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the share of unseen worlds that are determined over the number of members.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.transfer`.
        """
        return draw(self, ax, **style)

    def __repr__(self) -> str:
        of = f"{self.n_determined} of {counted(len(self.worlds), 'unseen world')} determined"
        loss = "" if self.share == 1 else f", a learner may lose {self.worst_loss:.3g}"
        return f"Transfer({shown_name(self.lesson_name)!r}, {of}{loss}, {self.arithmetic})"


@explains_names
def transfer(
    lesson: Lesson,
    unseen: Any,
    *,
    of: Task | Family | None = None,
    arithmetic: Arithmetic = "auto",
    drawn: bool = True,
) -> Transfer:
    """What the lesson determines in worlds that it was not made for.

    lesson: of `teach`, of a task or of a family, or from a file.
    unseen: a family, a task, or a list of tasks that have the lesson's reward.
    of: what the lesson was made for; needed only for a lesson from a file: for the curve, and where
        the lesson is not complete.
    arithmetic: 'exact', proved; 'float'; or 'auto', exact while that is affordable.
    drawn: whether the unseen worlds are independent draws, so that shares have intervals.
    """
    instance(lesson, Lesson, "lesson", "the result of teach, or of load_lesson")
    flag(drawn, "drawn")
    if len(lesson.demonstrations) != len(lesson.items):
        raise Unsupported(
            "what is determined elsewhere is found of demonstrations only; this lesson has items "
            "of other kinds"
        )
    family = unseen
    if not isinstance(unseen, Family):
        tasks = [unseen] if isinstance(unseen, Task) else entries(unseen, "unseen", "tasks")
        family = Family([as_task(task, f"unseen[{i}]") for i, task in enumerate(tasks)])
    bec = _class_of(lesson, of, arithmetic)
    rows = _shown_rows(lesson, bec, family)
    scope = _scope_of(lesson)
    classes = [equivalence_class(task, scope=scope, arithmetic=arithmetic) for task in family]
    exact = rows.exact is not None and all(one.rows.exact is not None for one in classes)
    if not fits_rows(rows, tuple(family.true_weights.fractions())):
        raise InvalidParameter(
            "unseen worlds must have the reward that the lesson teaches; their weights "
            f"{shown([float(w) for w in family.weights])} contradict it"
        )
    stated = stated_halfspaces(rows, family.weights, exact=exact)
    worlds = tuple(
        _world(name, one, stated) for name, one in zip(family.names, classes, strict=True)
    )
    n_determined = sum(world.determined for world in worlds)
    return Transfer(
        lesson_name=lesson.task_name,
        worlds=worlds,
        curve=() if bec is None else tuple(_curve(bec, classes, exact, drawn)),
        interval=binomial_interval(n_determined, len(worlds), LEVEL) if drawn else None,
        arithmetic="exact" if exact else "float",
    )


def n_determined(rows: Rows, classes: Sequence[EquivalenceClass]) -> int:
    """How many worlds of the same reward follow from rows that are shown."""
    if not classes:
        return 0
    exact = rows.exact is not None and all(one.rows.exact is not None for one in classes)
    stated = stated_halfspaces(rows, classes[0].cone.true_weights.floats, exact=exact)
    return sum(_open_row(one, stated) is None for one in classes)


def _class_of(lesson: Lesson, of: Any, arithmetic: Arithmetic) -> EquivalenceClass | None:
    """The class that the lesson teaches, where it is at hand."""
    bec: EquivalenceClass | None = lesson.bec
    if of is None:
        return bec
    if not isinstance(of, Family):
        as_task(of, "of")
    if isinstance(of, Family) != lesson.is_of_family:
        kinds = ("a family", "a task")
        right, given = kinds if lesson.is_of_family else kinds[::-1]
        raise InvalidParameter(f"of must be {right}, as the lesson is of one; it is {given}")
    return equivalence_class(of, scope=_scope_of(lesson), arithmetic=arithmetic)


def _scope_of(lesson: Lesson) -> Scope:
    return "all" if lesson.settings.get("scope") == "all" else "reachable"


def _shown_rows(lesson: Lesson, bec: EquivalenceClass | None, family: Family) -> Rows:
    """The rows that the lesson states; of a complete lesson from a file, those that say as much."""
    if bec is not None:
        rows = demonstration_rows(bec, bec.as_demonstrations(lesson.demonstrations))
    elif lesson.is_complete:
        rows = _rows_in_file(lesson.facets, family.n_features)
    else:
        raise InvalidParameter(
            f"a lesson from a file that is {lesson.status} does not hold all it says; give of=, "
            "the task or family that it was made for"
        )
    if rows.normals.shape[1] != family.n_features:
        raise InvalidParameter(
            f"unseen worlds must have {rows.normals.shape[1]} features, as the lesson's have; "
            f"they have {family.n_features}"
        )
    return rows


def _rows_in_file(facets: Sequence[Mapping[str, Any]], n_features: int) -> Rows:
    """The facets and equalities that a lesson's file lists."""
    listed = [facet["normal"] for facet in facets]
    nothing = (np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.int64))
    if not listed:
        return Rows(np.zeros((0, n_features)), (), *nothing)
    if not all(isinstance(entry, str) for normal in listed for entry in normal):
        return Rows(np.array(listed, dtype=np.float64), None, *nothing)
    exact = tuple(as_row(read_text(entry, "normal") for entry in normal) for normal in listed)
    return Rows(unit_floats(exact), exact, *nothing)


def _world(name: str, bec: EquivalenceClass, stated: Halfspaces) -> UnseenWorld:
    """Whether a world is determined; else a witness, and what it may lose."""
    found = _open_row(bec, stated)
    if found is None:
        return UnseenWorld(name, True)
    row, witness = found
    loss, statement = worst_loss(bec, witness), bec.statement_of(row)
    return UnseenWorld(name, False, witness, loss, statement, bec.words_of(row))


def _open_row(bec: EquivalenceClass, stated: Halfspaces) -> tuple[int, Weights] | None:
    """The first equality or facet that does not follow, and weights that break it."""
    defining = [*bec.cone.equalities, *bec.cone.facet_rows()]
    found = ((row, stated.witness_against(bec.rows, row)) for row in defining)
    return next(((row, witness) for row, witness in found if witness is not None), None)


def curve_sizes(n: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... below n, and n."""
    steps = (digit * 10**power for power in range(len(str(n))) for digit in (1, 2, 5))
    return [*(size for size in steps if size < n), n]


def _curve(
    bec: EquivalenceClass, classes: Sequence[EquivalenceClass], exact: bool, drawn: bool
) -> Iterator[CurvePoint]:
    """What the classes of the first members determine.

    A world that is determined stays so; one that is not keeps its witness while that fits.
    """
    left: dict[int, Weights | None] = dict.fromkeys(range(len(classes)))
    for size in curve_sizes(len(bec.members)):
        rows = bec.rows
        if size < len(bec.members):
            of_first = bec.optimal.copy()
            of_first[bec.members[size].first :] = False
            rows = rows.shown_part(of_first)
        stated = stated_halfspaces(rows, bec.cone.true_weights.floats, exact=exact)
        for number, witness in list(left.items()):
            if witness is not None and stated.fits(witness):
                continue
            found = _open_row(classes[number], stated)
            if found is None:
                del left[number]
            else:
                left[number] = found[1]
        n = len(classes) - len(left)
        low, high = binomial_interval(n, len(classes), LEVEL) if drawn else (None, None)
        yield CurvePoint(size, n, n / len(classes), low, high)
