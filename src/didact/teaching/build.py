"""A lesson from what a teacher picked: closed, trimmed, put in order, and what is known of it.

`TeachSettings` is what one call of `teach`, `teach_within` or `teach_mixed` was asked for. It is
checked where it is made; what follows relies on it. Its `document` is how a lesson's file names the
settings, so that the lesson can be made again.

`LessonEvidence` finds what costs a search when it is first asked for. Lower bounds hold over all
allowed demonstrations where a certificate says so (see `covers.fewest`); the linear relaxation
bounds only covers of the facets by the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any, cast

from didact.bec.classes import EquivalenceClass
from didact.bec.halfspaces import Scope
from didact.bec.proofs import Proof
from didact.errors import InvalidParameter
from didact.inputs import choice, flag, is_whole, plain, whole_number
from didact.mdp import Demonstration
from didact.numerics.exact import whole_if_whole, write_number
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.teaching.covers.candidates import GivenStarts, Starts, as_candidates, lines_of
from didact.teaching.covers.fewest import CoverCertificate, cheapest_lesson
from didact.teaching.covers.problem import (
    Cost,
    Coverage,
    Picks,
    Problem,
    candidate_costs,
    cover_elements,
    coverage_from,
)
from didact.teaching.covers.set_cover import harmonic, lp_bound
from didact.teaching.covers.walks import Allowed, as_probability, probability_in
from didact.teaching.lesson import Lesson, Missing
from didact.teaching.loss.search import order_by_loss
from didact.teaching.teachers import COVERING
from didact.teaching.trim import all_closed, close, needs_of, trimmed
from didact.teaching.witness import facet_records, hardest_step, judge, missing_elements

LIKELY = Fraction(1, 1000)
"""Walks that a teacher who repeats a start sees within about 1,000 attempts."""


@dataclass(frozen=True, kw_only=True)
class TeachSettings:
    """Settings of one call, checked; fields are named and documented as in `teach`.

    min_probability: an exact number. learners: whose loss is bounded, by `teach_within`. taken:
    (S, A), the optimal actions that demonstrations of a task may take, as those of a given policy;
    no bound on the cost is certified then. options: the teacher's own.
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
    deterministic: bool = False
    min_probability: Fraction | None = None
    learners: tuple[str, ...] = ()
    taken: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        flag(self.closed, "closed")
        flag(self.trim, "trim")
        if flag(self.deterministic, "deterministic") and (self.teacher == "exact" or self.closed):
            raise InvalidParameter(
                "deterministic is for greedy and random teachers of one optimal action in each "
                "state; leave it out for teacher 'exact' and for closed lessons"
            )
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
        if common.get("min_probability") is not None:
            common["min_probability"] = as_probability(common["min_probability"])
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

    def allowed(self, problem: Problem, starts: Sequence[Starts]) -> Allowed:
        """The demonstrations over which a lower bound on the cost holds."""
        least = self.min_probability or Fraction(0)
        return Allowed(problem.bec, starts, self.cost, least, problem.member_prices)

    def document(self, problem: Problem, starts: Sequence[Starts]) -> dict[str, Any]:
        """The settings as a lesson's file names them."""
        bec, least = problem.bec, self.min_probability
        is_family = bec.is_family
        listed: Any = None
        if self.starts is not None:
            listed = [[own.member.number, own.starts.tolist()] for own in starts]
            listed = listed if is_family else listed[0][1]
        document = {
            "teacher": self.teacher,
            "horizon": self.horizon,
            "cost": self.cost if isinstance(self.cost, str) else "given",
            "scope": bec.scope,
            "arithmetic": bec.arithmetic,
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
            charged = [
                [member, write_number(cost)] for member, cost in problem.member_prices.items()
            ]
            names = list(bec.family.names)
            document |= {"members": names, "member_cost": charged or None}
        document |= {} if self.order is None else {"order": self.order}
        return document | ({"deterministic": True} if self.deterministic else {})


MAX_STATES = 20_000
"""Above it the bound of a teacher who does not need one is not searched for: seconds and more."""


@dataclass(frozen=True, eq=False)
class LessonEvidence:
    """The problem that a lesson answers, what its demonstrations are, and what they cover.

    starts: where demonstrations may begin. picks: with the teacher's own bound and certificate.
    is_greedy: whether the lesson is a greedy cover.
    """

    settings: TeachSettings
    problem: Problem
    starts: Sequence[Starts]
    picks: Picks
    shown: tuple[Demonstration, ...]
    coverage: Coverage
    is_greedy: bool

    @cached_property
    def certificate(self) -> CoverCertificate | None:
        """Wrong rewards with weights that bound the cost of every lesson; None where none is."""
        found, settings = self.picks.certificate, self.settings
        # A certificate is over all optimal walks, not over those of one policy.
        by_rule = settings.taken is None and not callable(settings.cost)
        is_bounded = by_rule and not settings.learners
        if found is not None or not is_bounded or not self.coverage.is_complete:
            return cast(CoverCertificate | None, found)
        n_states = sum(member.task.mdp.n_states for member in self.bec.members)
        if self.bec.rows.exact is None or n_states > MAX_STATES:
            return None
        candidates = self.problem.candidates
        allowed = settings.allowed(self.problem, self.starts)
        cheapest = cheapest_lesson(allowed, None if candidates.sampled else candidates)
        return None if cheapest is None else cheapest.certificate

    @property
    def bec(self) -> EquivalenceClass:
        """The class of the task or family."""
        return self.problem.bec

    @cached_property
    def lower_bound(self) -> int | Fraction | None:
        """The certified bound over all allowed demonstrations, or the teacher's own; else, where
        the candidates are all there are, that of the linear relaxation over the facets."""
        # A bound over sampled candidates holds for no other ones: only a certificate does.
        is_sampled = self.problem.candidates.sampled and self.picks.certificate is None
        if self.picks.lower_bound is not None and (self.settings.learners or not is_sampled):
            return self.picks.lower_bound
        if self.certificate is not None:
            return self.certificate.bound
        if self.problem.candidates.sampled:
            return None
        masks = self.problem.masks
        elements = [
            [number for number, mask in masks.items() if mask >> facet & 1]
            for facet in range(self.bec.cone.n_facets)
        ]
        if not all(elements):
            return None
        return whole_if_whole(lp_bound(elements, self.problem.costs))

    def fields(self) -> dict[str, Any]:
        """The fields of a lesson that are found when they are asked for, as functions."""
        names = ("lower_bound", "candidates", "probabilities", "guarantee", "hardest", "facets")
        return {name: partial(getattr, self, name) for name in names}

    @property
    def candidates(self) -> str:
        """'all' where the bound is over all allowed demonstrations, else how many were sampled."""
        own = self.problem.candidates
        if self.picks.certificate is not None or not own.sampled:
            return "all"
        return f"sampled, {len(own)}"

    @cached_property
    def probabilities(self) -> tuple[Fraction, ...]:
        """Of each demonstration's moves, given its start and its actions."""
        return tuple(probability_in(self.bec, demonstration) for demonstration in self.shown)

    @cached_property
    def guarantee(self) -> Fraction | None:
        """H(d), d the most facets that one candidate covers; for greedy covers of facets only."""
        masks = self.problem.masks
        if (
            not self.is_greedy
            or self.problem.member_prices
            or self.bec.cone.equalities
            or not masks
        ):
            return None
        return harmonic(max(mask.bit_count() for mask in masks.values()))

    @cached_property
    def hardest(self) -> Fraction | float | None:
        """The smallest difference in return that a step shown rests on."""
        return hardest_step(self.bec.members, self.shown)

    @cached_property
    def facets(self) -> tuple[Mapping[str, Any], ...]:
        """Every facet and equality, with the first demonstration that covers it."""
        return facet_records(self.coverage)


def gaps_of_lesson(problem: Problem, covered: int, offers: Sequence[Starts]) -> tuple[Missing, ...]:
    """What stays open, and why: left out, not sampled, or not reachable."""
    elements = problem.elements
    offered = problem.covered_by(problem.masks)
    within = (coverage_from(elements, offer, offer.starts.tolist()) for offer in offers)
    reachable = reduce(or_, within, 0)

    def reason_of(element: int) -> str:
        if offered >> element & 1:
            return "left out" if problem.budget is None else "budget"
        return "not sampled" if reachable >> element & 1 else "not reachable"

    return missing_elements(elements, covered, reason_of)


Keeps = Callable[[Sequence[Demonstration]], bool]
"""Whether learners that plan keep to their bound after demonstrations, as far as that is known."""


def lesson_of_picks(
    settings: TeachSettings,
    problem: Problem,
    picks: Picks,
    starts: Sequence[Starts],
    document: Mapping[str, Any],
    *,
    keeps: Keeps | None = None,
) -> Lesson:
    """What is known of the picked candidates, and of what closure adds to them.

    document: the settings as the lesson's file names them. keeps: where a loss is bounded.
    """
    bec = problem.bec
    extra = _closing(problem, picks, starts) if settings.closed else []
    demonstrations = _shown(settings, problem, picks, extra, starts, keeps)
    if settings.is_by_loss:
        rng = as_generator(settings.seed if is_whole(settings.seed) else 0, "order")
        numbers = order_by_loss(bec, demonstrations, rng)
        demonstrations = tuple(demonstrations[number] for number in numbers)
    cost = _total_cost(settings, problem, picks, extra)
    if settings.teacher == "scot-redundant":  # what follows is about facets and equalities
        problem = replace(problem, elements=cover_elements(bec), given_masks=None)
    needs = needs_of(problem.elements)
    lines = lines_of(bec, demonstrations)
    coverage = Coverage.of(problem.elements, map(needs.coverage_of, lines))
    found = judge(problem.elements, demonstrations, coverage.covered)
    n_close_calls = bec.n_close_calls + found.n_close
    is_greedy = settings.teacher == "scot" and not extra and not settings.learners
    evidence = LessonEvidence(settings, problem, starts, picks, demonstrations, coverage, is_greedy)
    return Lesson(
        task_name=bec.name,
        # Close calls are decisions that floats could not make.
        status="undecided" if n_close_calls else "complete" if found.pins_down else "partial",
        items=demonstrations,
        gains=coverage.gains,
        cost=cost,
        closed=partial(all_closed, bec.members, demonstrations),  # type: ignore[arg-type]
        n_facets=bec.cone.n_facets,
        n_equalities=len(bec.cone.equalities),
        uncovered=() if found.pins_down else gaps_of_lesson(problem, coverage.covered, starts),
        witness=found.witness,
        loss=found.loss,
        loss_error=found.loss_error,
        proof=None if found.proof is None else partial(_proof_with_bound, found.proof, evidence),  # type: ignore[arg-type]
        settings=document,
        volumes=picks.volumes,
        n_close_calls=n_close_calls,
        bec=bec,
        **evidence.fields(),
    )


def _proof_with_bound(proof: Proof, evidence: LessonEvidence) -> dict[str, Any]:
    """The proof that demonstrations teach or not, and the certificate of the bound on the cost."""
    certificate = evidence.certificate if proof.teaches else None
    part = {} if certificate is None else {"fewest": certificate.document()}
    return {**proof.document, **part}


def _closing(problem: Problem, picks: Picks, offers: Sequence[Starts]) -> list[Demonstration]:
    """Demonstrations that extend the picks to closure, within the budget."""
    picked = [problem.candidates[number] for number in picks.numbers]
    added = [
        Demonstration(demonstration, offer.member.number)
        for offer in offers
        for demonstration in close(
            offer.member.task.mdp,
            offer.plan,
            offer.member.own(picked),
            starts=offer.starts,
            horizon=offer.horizon,
        )
    ]
    return added if problem.budget is None else added[: problem.budget - len(picked)]


def _total_cost(
    settings: TeachSettings, problem: Problem, picks: Picks, extra: Sequence[Demonstration]
) -> int | Fraction:
    """What picks and what closure adds cost together, each member that they visit once."""
    total = sum((problem.costs[number] for number in picks.numbers), 0)
    if extra:
        candidates = as_candidates(problem.bec, extra)
        chance = partial(probability_in, problem.bec)
        total += sum(candidate_costs(candidates, settings.cost, chance), 0)
    prices = problem.member_prices
    shown = [*(problem.candidates[number] for number in picks.numbers), *extra] if prices else ()
    visited = {demonstration.member or 0 for demonstration in shown}
    return whole_if_whole(Fraction(total + sum(prices.get(member, 0) for member in visited)))


def _shown(
    settings: TeachSettings,
    problem: Problem,
    picks: Picks,
    extra: Sequence[Demonstration],
    offers: Sequence[Starts],
    keeps: Keeps | None,
) -> tuple[Demonstration, ...]:
    """The picked candidates, and what closure added to them: trimmed, or as they are."""
    if not settings.cuts:
        return (*(problem.candidates[number] for number in picks.numbers), *extra)

    def cut(*, planners_lose: bool) -> tuple[Demonstration, ...]:
        return trimmed(
            *(problem, picks.numbers, extra, offers),
            cuts_beginnings=isinstance(settings.cost, str),
            planners_lose=planners_lose,
        )

    short = cut(planners_lose=False)
    if "planner" in settings.learners and keeps is not None and not keeps(short):
        return cut(planners_lose=True)
    return short
