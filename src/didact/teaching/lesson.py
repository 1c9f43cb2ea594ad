"""A lesson: what to show and say, in order, and what is known about it.

A lesson holds items: demonstrations, and where a mix was asked for also comparisons, preferences,
corrections and rankings. It is complete where every half-space of the BEC follows from those that
its items state (Corollary 1): then a learner that fits all items has exactly the optimal policies.

A lesson is closed where it shows every optimal action of each state that it shows, and of every
state that these may lead to. The half-spaces of a pair (s, a) use successor features of the optimal
policy after s; a learner that plans for itself assumes the same only if these continuations are
shown too. Lessons that are not closed assume that the learner follows the teacher's policy.

What is expensive (the proof, bounds, words of facets) is found when it is first asked for, and
kept: see `Later`. What is said about the fewest items is never taken from the code that found them,
but from `didact.proofcheck`, which shares no code with it.

`Within` is what a lesson promises of losses: a bound, for which learners, and what that rests on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from didact.bec.classes import EquivalenceClass
from didact.errors import InvalidParameter, ProofFailed
from didact.files.json import write_json
from didact.inputs import counted, is_whole, shown, shown_name
from didact.mdp import Demonstration, Family, Task, as_family
from didact.mdp.files import family_document, task_document
from didact.mdp.items import Item
from didact.mdp.showing import draw, in_notebook, write_page
from didact.numerics.exact import Later, write_number
from didact.planning.loss import VAGUE
from didact.proofcheck import ProofError, check_proof
from didact.stages import stage

ENUMERATED, TESTED, EXCEEDED = "enumerated", "tested", "exceeded"
"""Every class of policies that fits was visited; a search found nothing worse; something is."""

SURELY = 1e-9
"""Losses above a bound by less than this share of the spread are not called larger."""

FROM_BAD_TO_GOOD = (EXCEEDED, TESTED, ENUMERATED)


class Witness(NamedTuple):
    """A reward that loses more than the bound: every lesson within it must exclude these weights.

    weights: (k,), exact. loss: of the best policy that is optimal for them. learner: whose lesson
    must exclude them. excluded_by: the candidates that do, by number; no other does.
    """

    weights: tuple[Fraction, ...]
    loss: float
    learner: str
    excluded_by: frozenset[int]


@dataclass(frozen=True)
class Within:
    """The most that a learner may lose after a lesson.

    bound: what was asked for, in units of return. spread: V* less V of the uniformly random policy,
    which shares are of. worst: the most that was found to be lost, by half-space learners where
    they are guarded. statuses: for each kind of learner 'enumerated', 'tested' or 'exceeded'.
    lower_bound: no lesson within the bound costs less. witnesses: the rewards that say so, each
    checked in exact numbers. n_cells: how many classes of policies were visited.
    """

    bound: float
    spread: float
    worst: float | None
    statuses: Mapping[str, str]
    lower_bound: int | Fraction
    witnesses: tuple[Witness, ...]
    n_cells: int

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.bound + SURELY * max(self.spread, self.bound)

    @property
    def status(self) -> str:
        """The weakest of the statuses."""
        return min(self.statuses.values(), key=FROM_BAD_TO_GOOD.index)

    @property
    def share(self) -> float:
        """The bound as a share of the spread."""
        return self.bound / self.spread if self.spread > 0.0 else 0.0

    def __repr__(self) -> str:
        of = ", ".join(f"{learner} {status}" for learner, status in self.statuses.items())
        found = counted(len(self.witnesses), "witness reward")
        return f"Within({100 * self.share:.3g}%: {of}; {found})"

    def document(self) -> dict[str, Any]:
        """The same as a file holds it."""
        return {
            "bound": self.bound,
            "spread": self.spread,
            "worst": self.worst,
            "status": self.status,
            "statuses": dict(self.statuses),
            "lower_bound": write_number(Fraction(self.lower_bound)),
            "witnesses": [
                {
                    "weights": [write_number(weight) for weight in witness.weights],
                    "loss": witness.loss,
                    "learner": witness.learner,
                    "excluded_by": sorted(witness.excluded_by),
                }
                for witness in self.witnesses
            ],
            "n_cells": self.n_cells,
        }


LESSON_FORMAT = "didact.lesson/1"
"""Of tasks and families, of demonstrations alone and of several kinds of items."""

FEWEST = "proved fewest"
"""How the checker begins what it says of the fewest demonstrations."""


@dataclass(frozen=True)
class Missing:
    """A facet or equality that no item covers: who would state it, and why it is open.

    reason: 'budget' or 'left out' (a candidate shows it that the budget or the teacher left out),
    'not sampled' (some demonstration could show it), 'not reachable' (none can from these starts
    within the horizon), or of a mix 'not offered' (no item of the kinds asked for states it).
    member: whose state it is, in a family.
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


@dataclass(frozen=True, eq=False)
class Lesson:
    """Demonstrations, and in a mix other items, that teach a task, or as much as they can.

    task_name: of the task or family that is taught.
    status: 'complete' where they determine the BEC, 'partial' where they do not, 'undecided' where
        that depends on close calls; `uncovered` then says what seems to be open.
    items: in the order to show them; those of a family name their member.
    gains: how many facets (and equality rows) each newly covers.
    cost: of all of them, in the cost that was asked for.
    closed: whether claims about learners that plan for themselves hold too.
    n_facets: of the task's class.
    n_equalities: of the task's class.
    uncovered: for a partial lesson what is open, and why.
    witness: for a partial lesson weights that fit every item and are wrong.
    loss: the worst loss of a learner that takes the witness; 0 where nothing is open, None where
        floats cannot decide that.
    proof: the `didact.proof/1` object; None in float arithmetic:
        numerical, not proved.
    settings: what `teach` was given.
    lower_bound: no complete lesson of allowed items costs less, by the part `fewest` of the proof
        where there is one; with a bound on the loss, no lesson that keeps to it. None where none
        is known.
    candidates: 'all', or how many demonstrations the teacher sampled: 'sampled, 400'.
    probabilities: of each demonstration's moves, given its start and its actions.
    guarantee: greedy costs at most so many times the cheapest: H(d), d the most facets that one
        candidate covers; None where it does not apply.
    hardest: the smallest Q-value gap that the lesson relies on: what the least bad other action
        costs at any step shown, or the other side of an item. A fraction where the class is exact;
        None where every other side is worth the same.
    facets: every facet and equality: normal, statement, words, and the number of the first item
        that covers it.
    words: of a mix, each item as it would be said; empty for demonstrations alone.
    volumes: what the teacher 'uvm' thought was left after each pick; None for others.
    n_close_calls: decisions that floats could not make; 0 in exact arithmetic.
    within: what was promised of losses, where a bound on the loss was given.
    loss_error: how far `loss` can be from the true one.
    bec: the BEC, of a task or of a family, that it was made from; None for one from a file.
    """

    task_name: str
    status: str
    items: tuple[Item, ...]
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
    lower_bound: int | Fraction | None
    candidates: str
    probabilities: tuple[Fraction, ...]
    guarantee: Fraction | None
    hardest: Fraction | float | None
    facets: tuple[Mapping[str, Any], ...]
    words: tuple[str, ...] = ()
    volumes: tuple[float, ...] | None = None
    n_close_calls: int = 0
    within: Within | None = None
    loss_error: float = 0.0
    bec: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        total = counted(self.n_facets + self.n_equalities, "constraint")
        left = f", {len(self.uncovered)} of {total} open" if self.uncovered else ""
        what = counted(len(self.items), "item")
        if not self.is_mixed:
            what = f"{counted(len(self.items), 'demonstration')}, {counted(self.n_pairs, 'step')}"
        proof = "with a proof" if self.has_proof else "numerical"
        return f"Lesson({shown_name(self.task_name)!r}, {self.status}: {what}{left}, {proof})"

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """The demonstrations among the items: all of them, unless it is a mix."""
        return tuple(item for item in self.items if isinstance(item, Demonstration))

    @property
    def is_complete(self) -> bool:
        """Whether the lesson determines the BEC."""
        return self.status == "complete"

    @property
    def is_mixed(self) -> bool:
        """Whether other items than demonstrations were asked for."""
        return self.settings.get("feedback") is not None

    @property
    def is_of_family(self) -> bool:
        """Whether it teaches a family, so that items have members."""
        return self.settings.get("members") is not None

    @property
    def is_loss_vague(self) -> bool:
        """Whether less than four digits of `loss` are certain: `loss_error` then says how many."""
        return self.loss is not None and self.loss_error > VAGUE * self.loss

    @property
    def has_proof(self) -> bool:
        """Whether there is a proof; it is written when it is first asked for."""
        return PROOF.is_given(self)

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
        """Whether it does what was asked: determines the BEC, or surely keeps to the loss."""
        return self.is_complete if self.within is None else self.loss_status == "enumerated"

    @property
    def n_pairs(self) -> int:
        """How many (state, action) pairs are demonstrated, repeats counted."""
        return sum(len(demonstration) for demonstration in self.demonstrations)

    @cached_property
    def is_fewest(self) -> bool:
        """Whether no lesson of allowed items costs less, by a certificate that the independent
        checker accepted in this process; False for a lesson from a file."""
        if self.bec is None or not self.is_complete or self.within is not None:
            return False
        # The checker is slow on large lessons: it is not asked where the bound says no already.
        if self.lower_bound != self.cost or "fewest" not in (self.proof or {}):
            return False
        return FEWEST in checked_line(self.bec, self.document())

    def why(self, number: int) -> str:
        """In words: what item `number` rules out that those before it did not.

        number: of the item, from 0.
        """
        if not is_whole(number) or not 0 <= number < len(self.items):
            what = "items" if self.is_mixed else "demonstrations"
            there_are = f"0 to {len(self.items) - 1}" if self.items else "none"
            raise InvalidParameter(
                f"the {what} of this lesson are {there_are}; there is no {shown(number)}"
            )
        sentences = [f["words"] for f in self.facets if f["covered_by"] == number]
        if sentences:
            verb = "says" if self.is_mixed else "shows"
            return f"It {verb} that " + "; that ".join(sentences) + "."
        if self.is_mixed:
            return "It narrows what the others leave open."
        if self.closed and self.settings.get("closed"):
            return "Nothing new: it completes the lesson for learners that plan for themselves."
        return "It shows none of the constraints that define the behaviour for the first time."

    def document(self) -> dict[str, Any]:
        """The `didact.lesson/1` object: with `items` if it is a mix, else `demonstrations`."""
        items = [item.document() for item in self.items]
        return {
            "format": LESSON_FORMAT,
            "task": self.task_name,
            "status": self.status,
            **({"items": items, "words": list(self.words)} if self.is_mixed else {}),
            **({} if self.is_mixed else {"demonstrations": items}),
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
            "loss": None if self.witness is None else self.loss,
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

        In a family the member comes after the demonstration. Other items of a mix have no rows.

        The names are left out for a lesson from a file, which does not hold its task.
        """
        records = []
        for number, demonstration in enumerate(self.demonstrations):
            member = demonstration.member
            of = {} if member is None else {"member": member}
            mdp = None if self.bec is None else self.bec.members[member or 0].task.mdp
            for step, (s, a) in enumerate(demonstration):
                row = {"demonstration": number, **of, "step": step, "state": s, "action": a}
                if mdp is not None:
                    row |= {"state_name": mdp.state_name(s), "action_name": mdp.action_name(a)}
                records.append(row)
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
        command: how to make the page again, to be shown on it; not on that of a mix.
        audience: 'experts', or 'people' who watch it: plain words, the mathematics folded away.
        """
        kind = "family" if self.is_of_family else "task"
        if task is None and self.bec is None:
            of = "give it as task=" if self.is_of_family else "give its task"
            raise InvalidParameter(f"a lesson from a file does not hold its {kind}; {of}")
        if task is None:
            task = self.bec.source
        elif self.is_of_family:
            task = as_family(task, "task")
        write_page(self, path, task=task, command=command, audience=audience)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the demonstrations on their world; a lesson from a file needs `task=`.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.lesson`, or of `didact.plots.family`.
        """
        return draw(self, ax, **style)

    _repr_html_ = in_notebook

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.lesson/1` file; with the task's file it is all the checker needs.

        Items of a family have members, items of a mix have kinds.

        path: of the file.
        """
        write_json(self.document(), path)


# Fields that may be given as functions: proofs of families are long, bounds take a search, and most
# callers ask for neither. `dataclasses.replace` would ask for all of them: use `changed`.
PROOF = Later("proof")
Lesson.proof = PROOF  # type: ignore[assignment]
for _name in (
    *("closed", "lower_bound", "candidates", "probabilities"),
    *("guarantee", "hardest", "facets"),
):
    setattr(Lesson, _name, Later(_name))


def check_document(whole: Task | Family, document: Mapping[str, Any]) -> str:
    """The line of the independent checker on a proof, a lesson or an exam; raises ProofError."""
    task = family_document(whole) if isinstance(whole, Family) else task_document(whole)
    return check_proof(as_read(task), as_read(document))


def verify(whole: Task | Family, document: Mapping[str, Any]) -> str:
    """The line of the independent checker as a stage of the work; raises ProofFailed."""
    stage("checking the proof")
    try:
        return check_document(whole, document)
    except ProofError as error:
        raise ProofFailed(f"the proof failed: {error}") from None


def verified_lesson(whole: Task | Family, lesson: Lesson) -> str | None:
    """What the independent checker says of the lesson's proof; None where it has none."""
    return None if lesson.proof is None else verify(whole, lesson.document())


def checked_line(bec: EquivalenceClass, document: Mapping[str, Any]) -> str:
    """What the independent checker says of a lesson or an exam; empty where it refuses it."""
    try:
        return check_document(bec.source, document)
    except ProofError:
        return ""


def checked_bound(lesson: Lesson) -> int | Fraction | None:
    """The bound on every allowed lesson, where the independent checker accepts its certificate."""
    proof = lesson.proof
    if lesson.bec is None or proof is None or "fewest" not in proof:
        return None
    return lesson.lower_bound if checked_line(lesson.bec, lesson.document()) else None


def as_read(document: Mapping[str, Any]) -> Any:
    """The object as it comes out of a file, decimals as text."""
    return json.loads(json.dumps(dict(document), default=str), parse_float=str)


def _number(value: int | float | Fraction | None) -> int | float | str | None:
    if value is None:
        return None
    # A float is written as the shortest decimal that reads back as it.
    return write_number(Fraction(repr(value) if isinstance(value, float) else value))
