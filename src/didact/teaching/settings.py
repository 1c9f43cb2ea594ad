"""`TeachSettings`: what one call of `teach`, `teach_within` or `teach_mixed` was asked for.

It is checked where it is made; what follows relies on it. `document` is how a lesson's file names
the settings, so that the lesson can be made again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from didact.bec.halfspaces import Scope
from didact.errors import InvalidParameter
from didact.inputs import choice, flag, is_whole, plain, whole_number
from didact.mdp.files import write_number
from didact.planning.solve import Arithmetic
from didact.random import Seed
from didact.teaching.covers.candidates import GivenStarts, Starts
from didact.teaching.covers.problem import Cost, Problem
from didact.teaching.covers.walks import as_probability

LIKELY = Fraction(1, 1000)
"""Walks that a teacher who repeats a start sees within about 1,000 attempts."""
COVERING = ("scot", "scot-redundant", "exact")
"""Teachers whose demonstrations are trimmed."""


@dataclass(frozen=True, kw_only=True)
class TeachSettings:
    """Settings of one call, checked; fields are named and documented as in `teach`.

    min_probability: an exact number. learners: whose loss is bounded, by `teach_within`. options:
    the teacher's own.
    """

    teacher: str = "scot"
    horizon: int | None = None
    starts: GivenStarts = None
    cost: Cost = "demonstrations"
    member_cost: Any = None
    scope: Scope = "reachable"
    arithmetic: Arithmetic = "auto"
    budget: int | None = None
    closed: bool = False
    trim: bool = True
    order: str | None = None
    seed: Seed = 0
    rollouts: int | None = None
    min_probability: Fraction | None = None
    learners: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        flag(self.closed, "closed")
        flag(self.trim, "trim")
        for name in ("budget", "horizon"):
            if getattr(self, name) is not None:
                whole_number(getattr(self, name), name, 1)
        if self.order is not None:
            choice(self.order, "order", ("teacher", "loss"))
        if self.order == "loss" and self.teacher == "uvm":
            raise InvalidParameter(
                "what uvm thinks is left goes with its own order; leave order out"
            )

    @classmethod
    def of(cls, options: Mapping[str, Any], **named: Any) -> TeachSettings:
        """The settings of a call: those it names, and the options it was given besides.

        Options that are no setting are the teacher's own.
        """
        settings = {each.name for each in fields(cls)} - {"learners", "options"}
        common = {name: value for name, value in options.items() if name in settings}
        own = {name: value for name, value in options.items() if name not in settings}
        common["min_probability"] = as_probability(common.get("min_probability"))
        return cls(**common, **named, options=own)

    @property
    def is_by_loss(self) -> bool:
        """Whether demonstrations come in the order of what is lost without them."""
        return bool(self.learners) if self.order is None else self.order == "loss"

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
        return self.trim and self.teacher in COVERING

    def document(
        self,
        problem: Problem,
        starts: Sequence[Starts],
        fixed_costs: Mapping[int, Fraction],
    ) -> dict[str, Any]:
        """The settings as a lesson's file names them."""
        known, least = problem.known, self.min_probability
        is_family = known.is_family
        listed: Any = None
        if self.starts is not None:
            listed = [[own.part.member, own.starts.tolist()] for own in starts]
            listed = listed if is_family else listed[0][1]
        document = {
            "teacher": self.teacher,
            "horizon": self.horizon,
            "cost": self.cost if isinstance(self.cost, str) else "given",
            "scope": known.scope,
            "arithmetic": known.arithmetic,
            "rollouts": self.rollouts,
            "starts": listed,
            "budget": problem.budget,
            "closed": self.closed,
            "trim": self.trim,
            "min_probability": None if least is None else write_number(least),
            "seed": int(self.seed) if is_whole(self.seed) else None,
            **{name: plain(value) for name, value in self.options.items()},
        }
        if is_family:
            charged = [[member, write_number(cost)] for member, cost in fixed_costs.items()]
            names = list(known.family.names)
            document |= {"members": names, "member_cost": charged or None}
        return document | ({} if self.order is None else {"order": self.order})
