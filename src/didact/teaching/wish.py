"""What `teach` was asked for besides the task, checked, and how a lesson's file says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from didact.bec.families import FamilyClass, Known
from didact.errors import InvalidParameter
from didact.inputs import choice, is_whole, plain, whole_number
from didact.mdp import Demonstration, Family, Task
from didact.mdp.files import write_number
from didact.random import Seed
from didact.teaching.covers.costs import Cost
from didact.teaching.covers.offers import Offer
from didact.teaching.covers.problem import Problem

LIKELY = Fraction(1, 1000)
"""Walks that a teacher who repeats a start sees within about 1,000 attempts."""
COVERING = ("scot", "scot-redundant", "exact")
"""Teachers whose demonstrations are trimmed."""


class Showing(NamedTuple):
    """How demonstrations are shown.

    trim: whether they are to be trimmed. learners: whose losses are bounded. by_loss: whether they
    come in the order of what is lost without them. keeps: whether learners that plan still keep to
    their bound after these demonstrations, as far as that can be seen.
    """

    trim: bool
    learners: tuple[str, ...]
    by_loss: bool
    keeps: Callable[[Sequence[Demonstration]], bool] | None = None


@dataclass(frozen=True)
class Wish:
    """What `teach` was asked for besides the task; numbers are checked."""

    teacher: str
    horizon: int | None
    cost: Cost
    rollouts: int | None
    budget: int | None
    closed: bool
    showing: Showing
    seed: Seed
    options: Mapping[str, Any]
    min_probability: Fraction | None = None

    def __post_init__(self) -> None:
        if self.budget is not None:
            whole_number(self.budget, "budget", 1)
        if self.horizon is not None:
            whole_number(self.horizon, "horizon", 1)

    @property
    def counts_steps(self) -> bool:
        """Whether demonstrations may cost less once they are cut."""
        named = isinstance(self.cost, str) and self.cost in ("pairs", "attempts")
        return callable(self.cost) or named

    @property
    def takes_beginnings(self) -> bool:
        """Whether the beginnings of demonstrations are candidates too."""
        return self._trims and self.counts_steps and not self.closed

    @property
    def cuts(self) -> bool:
        """Whether what was picked is cut."""
        return self._trims and not self.counts_steps

    @property
    def _trims(self) -> bool:
        return self.showing.trim and self.teacher in COVERING


def is_by_loss(order: Any, teacher: str, *, usual: bool) -> bool:
    """Whether demonstrations come in the order of what is lost without them."""
    if order is None:
        return usual
    if choice(order, "order", ("teacher", "loss")) == "teacher":
        return False
    if teacher == "uvm":
        raise InvalidParameter("what uvm thinks is left goes with its own order; leave order out")
    return True


def settings_of(wish: Wish, problem: Problem, offers: Sequence[Offer] | None) -> dict[str, Any]:
    """What a lesson was asked for, as its file says it. offers: where starts were given."""
    known = problem.known
    return {
        "teacher": wish.teacher,
        "horizon": wish.horizon,
        "cost": wish.cost if isinstance(wish.cost, str) else "given",
        "scope": known.scope,
        "arithmetic": known.arithmetic,
        "rollouts": wish.rollouts,
        "starts": None if offers is None else _listed_starts(known, offers),
        "budget": problem.budget,
        "closed": wish.closed,
        "trim": wish.showing.trim,
        "min_probability": None
        if wish.min_probability is None
        else write_number(wish.min_probability),
        "seed": int(wish.seed) if is_whole(wish.seed) else None,
        **{name: plain(value) for name, value in problem.options.items()},
    }


def _listed_starts(known: Known, offers: Sequence[Offer]) -> Any:
    """Starts as a file holds them: states, or for each member that shows anything its states."""
    if isinstance(known, FamilyClass):
        return [[offer.part.member, offer.starts.tolist()] for offer in offers]
    return offers[0].starts.tolist()


def family_settings(task: Task | Family, visits: Mapping[int, Fraction]) -> dict[str, Any]:
    """What the settings of a family's lesson say besides."""
    if not isinstance(task, Family):
        return {}
    charged = [[member, write_number(cost)] for member, cost in visits.items()]
    return {"members": list(task.names), "member_cost": charged or None}
