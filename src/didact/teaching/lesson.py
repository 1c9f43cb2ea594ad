"""A lesson: demonstrations in the order to show them, and what is known about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from didact.errors import InvalidParameter
from didact.files.json import write_json
from didact.inputs import counted, is_whole, shown, shown_name
from didact.mdp import MDP, Demonstration, Family, as_family
from didact.mdp.files import write_number
from didact.mdp.showing import show
from didact.numerics.later import Later
from didact.planning.loss import VAGUE
from didact.teaching.within import Within

LESSON_FORMAT = "didact.lesson/1"
FAMILY_LESSON_FORMAT = "didact.lesson/2"


@dataclass(frozen=True)
class Missing:
    """A facet or equality that no demonstration covers: who would state it, and why it is open.

    reason: 'budget' or 'left out' (a candidate shows it that the budget or the teacher left out),
    'not sampled' (some demonstration could show it), or 'not reachable' (none can from these starts
    within the horizon). member: whose state it is, in a family.
    """

    state: int
    action: int
    other: int
    reason: str
    words: str
    member: int | None = None

    def document(self) -> dict[str, Any]:
        """The same as a file holds it; the member only where there is one."""
        return {k: v for k, v in vars(self).items() if k != "member" or v is not None}


class Evidence(Protocol):
    """What a lesson can be asked beyond what it holds; found when asked, or read from a file."""

    @property
    def known(self) -> Any:
        """The task's class; None where it is not at hand."""

    @property
    def lower_bound(self) -> int | Fraction | None:
        """No complete lesson from the same candidates costs less."""

    def is_fewest(self, lesson: Any) -> bool:
        """Whether no lesson of allowed demonstrations costs less, checked."""

    @property
    def candidates(self) -> str:
        """'all', or how many demonstrations were sampled."""

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """Of each demonstration's moves."""

    @property
    def guarantee(self) -> Fraction | None:
        """Greedy costs at most so many times the cheapest."""

    @property
    def hardest(self) -> Fraction | float | None:
        """The smallest difference in return that a step shown rests on."""

    @property
    def facets(self) -> tuple[Mapping[str, Any], ...]:
        """Every facet and equality, and who covers it first."""


@dataclass(frozen=True)
class Recorded:
    """The evidence of a lesson from a file."""

    lower_bound: int | Fraction | None = None
    guarantee: Fraction | None = None
    facets: tuple[Mapping[str, Any], ...] = ()
    hardest: Fraction | None = None
    candidates: str = "all"
    probabilities: tuple[Fraction, ...] = ()
    known: None = None

    def is_fewest(self, lesson: Any) -> bool:
        """False: a file's claim counts only once its proof is checked with its task."""
        return False


@dataclass(frozen=True, eq=False)
class Lesson:
    """Demonstrations that teach a task, or as much of it as they can.

    task_name: of the task that is taught.
    status: 'complete' when they pin the class down, 'partial' when they do not, 'undecided' where
    that depends on close calls; `uncovered` then says what seems to be open.
    demonstrations: in the order to show them.
    gains: how many facets (and equality rows) each newly covers.
    cost: of all of them, in the cost that was asked for.
    closed: whether claims about learners that plan for themselves hold too.
    n_facets: of the task's class.
    n_equalities: of the task's class.
    uncovered: for a partial lesson what is open, and why.
    witness: for a partial lesson weights that fit every demonstration and are wrong.
    loss: the worst loss of a learner that takes the witness; None where there is none.
    proof: the `didact.proof/1` object, of a family `didact.proof/2`; None in float arithmetic:
    numerical, not proved.
    settings: what `teach` was given.
    volumes: what the teacher 'uvm' thought was left after each pick; None for others.
    n_close_calls: decisions that floats could not make; 0 in exact arithmetic.
    within: what was promised of losses, where `teach` was given a loss.
    loss_error: how far `loss` can be from the true one.
    """

    task_name: str
    status: str
    demonstrations: tuple[Demonstration, ...]
    gains: tuple[int, ...]
    cost: int | Fraction
    closed: bool
    n_facets: int
    n_equalities: int
    uncovered: tuple[Missing, ...]
    witness: tuple[Fraction, ...] | None
    loss: float | None
    proof: Mapping[str, Any] | None
    settings: Mapping[str, Any]
    volumes: tuple[float, ...] | None = None
    n_close_calls: int = 0
    within: Within | None = None
    loss_error: float = 0.0
    _evidence: Evidence = field(default=Recorded(), repr=False)

    def __repr__(self) -> str:
        total = counted(self.n_facets + self.n_equalities, "constraint")
        left = f", {len(self.uncovered)} of {total} open" if self.uncovered else ""
        n_shown = counted(len(self.demonstrations), "demonstration")
        proof = "with a proof" if self.has_proof else "numerical"
        return (
            f"Lesson({shown_name(self.task_name)!r}, {self.status}: {n_shown}, "
            f"{counted(self.n_pairs, 'step')}{left}, {proof})"
        )

    @property
    def is_complete(self) -> bool:
        """Whether the lesson pins the class down."""
        return self.status == "complete"

    @property
    def is_loss_vague(self) -> bool:
        """Whether less than four digits of `loss` are certain: `loss_error` then says how many."""
        return self.loss is not None and self.loss_error > VAGUE * self.loss

    @property
    def has_proof(self) -> bool:
        """Whether there is a proof; it is written when it is first asked for."""
        return self.__dict__[PROOF.place] is not None

    @property
    def loss_bound(self) -> float | None:
        """No learner that is guarded loses more, as `loss_status` says; None without a bound."""
        return None if self.within is None else self.within.bound

    @property
    def loss_status(self) -> str | None:
        """'enumerated': every class of policies that fits was visited; 'tested': a search found
        nothing worse; 'exceeded': something worse is known."""
        return None if self.within is None else self.within.status

    @property
    def reaches_its_goal(self) -> bool:
        """Whether it does what was asked: pins the class down, or surely keeps to the loss."""
        return self.is_complete if self.within is None else self.loss_status == "enumerated"

    @property
    def is_of_family(self) -> bool:
        """Whether it teaches a family, so that demonstrations have members."""
        return self.settings.get("members") is not None

    @property
    def n_pairs(self) -> int:
        """How many (state, action) pairs are shown, repeats counted."""
        return sum(len(demonstration) for demonstration in self.demonstrations)

    @property
    def lower_bound(self) -> int | Fraction | None:
        """No complete lesson of allowed demonstrations costs less; None where none is known.

        Over all allowed demonstrations, by the part `fewest` of the proof, where there is one.

        With a bound on the loss: no lesson that keeps to it.
        """
        return self._evidence.lower_bound

    @property
    def is_fewest(self) -> bool:
        """Whether no lesson of allowed demonstrations costs less, by a certificate that the
        independent checker accepted in this process; False for a lesson from a file."""
        return self.is_complete and self.within is None and self._evidence.is_fewest(self)

    @property
    def candidates(self) -> str:
        """'all', or how many demonstrations the teacher sampled: 'sampled, 400'."""
        return self._evidence.candidates

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """Of each demonstration's moves, given its start and its actions."""
        return self._evidence.probabilities

    @property
    def guarantee(self) -> Fraction | None:
        """Greedy costs at most so many times the cheapest: H(d); None where it does not apply."""
        return self._evidence.guarantee

    @property
    def hardest(self) -> Fraction | float | None:
        """The hardest question: what the least bad other action costs at any step shown.

        A fraction where the class is exact; None where every other action is as good.
        """
        return self._evidence.hardest

    @property
    def facets(self) -> tuple[Mapping[str, Any], ...]:
        """Every facet and equality: normal, statement, words, and who covers it first."""
        return self._evidence.facets

    @property
    def known(self) -> Any:
        """The class, of a task or of a family, that it was made from; None for one from a file."""
        return self._evidence.known

    def why(self, number: int) -> str:
        """In words: what demonstration `number` rules out that those before it did not.

        number: of the demonstration, from 0.
        """
        if not is_whole(number) or not 0 <= number < len(self.demonstrations):
            there_are = f"0 to {len(self.demonstrations) - 1}" if self.demonstrations else "none"
            raise InvalidParameter(
                f"the demonstrations of this lesson are {there_are}; there is no {shown(number)}"
            )
        sentences = [f["words"] for f in self.facets if f["covered_by"] == number]
        if not sentences and self.closed and self.settings.get("closed"):
            return "Nothing new: it completes the lesson for learners that plan for themselves."
        if not sentences:
            return "It shows none of the constraints that define the behaviour for the first time."
        return "It shows that " + "; that ".join(sentences) + "."

    def document(self) -> dict[str, Any]:
        """The `didact.lesson/1` object; of a family `didact.lesson/2`."""
        return {
            "format": FAMILY_LESSON_FORMAT if self.is_of_family else LESSON_FORMAT,
            "task": self.task_name,
            "status": self.status,
            "demonstrations": [d.document() for d in self.demonstrations],
            "n_demonstrations": len(self.demonstrations),
            "n_pairs": self.n_pairs,
            "gains": list(self.gains),
            "cost": _number(self.cost),
            "lower_bound": _number(self.lower_bound),
            "candidates": self.candidates,
            "probabilities": [_number(chance) for chance in self.probabilities],
            "guarantee": _number(self.guarantee),
            "hardest": _number(self.hardest),
            "closed": self.closed,
            "n_facets": self.n_facets,
            "n_equalities": self.n_equalities,
            "facets": [dict(facet) for facet in self.facets],
            "uncovered": [missing.document() for missing in self.uncovered],
            "witness": None if self.witness is None else [_number(w) for w in self.witness],
            "loss": self.loss,
            "volumes": None if self.volumes is None else list(self.volumes),
            "settings": dict(self.settings),
            "proof": None if self.proof is None else dict(self.proof),
            **({"n_close_calls": self.n_close_calls} if self.n_close_calls else {}),
            **({"loss_error": self.loss_error} if self.is_loss_vague else {}),
            **({} if self.within is None else {"within": self.within.document()}),
        }

    to_dict = document

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each step: demonstration and step from 0, state, action, and their names.

        In a family the member comes after the demonstration.

        The names are left out for a lesson from a file, which does not hold its task.
        """
        records = []
        for number, demonstration in enumerate(self.demonstrations):
            member = demonstration.member
            of = {} if member is None else {"member": member}
            mdp = None if self.known is None else self.known.parts[member or 0].task.mdp
            for step, (s, a) in enumerate(demonstration):
                row = {"demonstration": number, **of, "step": step, "state": s, "action": a}
                names = {} if mdp is None else _names(mdp, s, a)
                records.append({**row, **names})
        return records

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        task: Any = None,
        command: str | None = None,
        audience: str = "experts",
    ) -> None:
        """Write the lesson as a page to look at: one file that opens offline.

        path: of the page, such as 'lesson.html'.
        task: needed only for a lesson from a file; of a family, the family.
        command: how to make the page again, to be shown on it.
        audience: 'experts', or 'people' who watch it: plain words, the mathematics folded away.
        """
        known = self.known
        if self.is_of_family:
            family = _family_of(task, known)
            show("report of a family", self, path, family=family, known=known, command=command)
            return
        if task is None:
            if known is None:
                raise InvalidParameter("a lesson from a file does not hold its task; give its task")
            task = known.task
        elif known is not None and known.task is not task:
            known = None
        given = {"command": command, "audience": audience}
        show("report", self, path, task=task, known=known, **given)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the demonstrations on their world; a lesson from a file needs `task=`.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.lesson`, or of `didact.plots.family`.
        """
        what = "plot of a family's lesson" if self.is_of_family else "plot of a lesson"
        return show(what, self, ax, **style)

    def _repr_html_(self) -> str:
        """The page in a frame, for a notebook; the steps alone for a lesson from a file."""
        known = self.known
        html: str = (
            show("lesson from a file", self)
            if known is None or self.is_of_family
            else show("lesson", self, task=known.task, known=known)
        )
        return html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.lesson/1` file; with the task's file it is all the checker needs.

        The lesson of a family is a `didact.lesson/2` file, whose demonstrations have members.

        path: of the file.
        """
        write_json(self.document(), path)


PROOF = Later("proof")
Lesson.proof = PROOF  # type: ignore[assignment]
Lesson.closed = Later("closed")  # type: ignore[assignment]


def _family_of(given: Any, known: Any) -> Family:
    """The family that a page shows: the one given, or the one that the lesson was made from."""
    if given is not None:
        return as_family(given, "task")
    if known is None:
        raise InvalidParameter("a lesson from a file does not hold its family; give it as task=")
    family: Family = known.family
    return family


def _names(mdp: MDP, state: int, action: int) -> dict[str, str]:
    return {"state_name": mdp.state_name(state), "action_name": mdp.action_name(action)}


def _number(value: int | float | Fraction | None) -> int | float | str | None:
    return (
        None
        if value is None
        else write_number(Fraction(repr(value) if isinstance(value, float) else value))
    )
