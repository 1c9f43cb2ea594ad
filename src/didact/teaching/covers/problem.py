"""The cover problem of teaching: the elements to cover, candidates, what they cover and cost.

The elements are the facets of the class and, where there are equalities, rows that span them.
Demonstrations cover a facet when they state a row of the facet's class; an equality row is covered
when it is stated or follows from stated ones. What covers all elements pins the class down
(cone(D) = C exactly when D's equality rows positively span L and D hits every facet class). Sets of
elements are the bits of integers.

Costs are exact: integers and fractions are taken as they are, floats as the decimals they are
written as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate, pairwise
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, most_actions, shown_pairs
from didact.bec.directions import TOLERANCE
from didact.bec.linear import Inside, decide
from didact.bec.nnls import nearest_in_cone
from didact.errors import InvalidParameter
from didact.inputs import own_code, shown
from didact.mdp import Demonstration, Family, Task
from didact.numerics.exact import read_number, whole_if_whole
from didact.planning import reachable_pairs
from didact.random import Seed
from didact.teaching.covers.candidates import Candidates, Starts, candidate_demonstrations, gathered
from didact.teaching.covers.set_cover import NO_FIXED_COSTS, FixedCosts, bits_of

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements to cover, and what rows, pairs and demonstrations say of them.

    element_of_row: (m,) the element that a row covers, -1 for none.
    """

    bec: EquivalenceClass
    element_of_row: Indices
    n_elements: int

    @property
    def everything(self) -> int:
        """All elements."""
        return (1 << self.n_elements) - 1

    @cached_property
    def stating_pairs(self) -> tuple[Indices, Indices]:
        """Pairs s*A + a that state an element, and the elements, one entry for each statement."""
        rows = self.bec.rows
        element = np.append(self.element_of_row, -1)[rows.number]
        hit = (element >= 0).nonzero()[0]
        states, actions = rows.statements[hit, 0], rows.statements[hit, 1]
        return states * most_actions(self.bec.members) + actions, element[hit]

    @cached_property
    def coverage_of_pair(self) -> Mapping[int, int]:
        """For each pair s*A + a that states any element, which: the bits of an integer."""
        coverage: dict[int, int] = {}
        for pair, bit in zip(*(part.tolist() for part in self.stating_pairs), strict=True):
            coverage[pair] = coverage.get(pair, 0) | 1 << bit
        return coverage

    def masks_of(self, pairs: Indices) -> dict[int, int]:
        """What each line of pairs s*A + a states, by its number; lines end with -1 where short.

        Lines that state nothing are left out.
        """
        coverage, masks = self.coverage_of_pair, {}
        for number, line in enumerate(pairs.tolist()):
            stated = 0
            for pair in line:
                if pair in coverage:
                    stated |= coverage[pair]
            if stated:
                masks[number] = stated
        return masks

    def pairs_for(self, elements: int) -> list[int]:
        """All pairs that state one of the elements, as s*A + a, ascending."""
        stating, element = self.stating_pairs
        pairs: list[int] = np.unique(stating[np.isin(element, list(bits_of(elements)))]).tolist()
        return pairs

    def row_of(self, element: int) -> int:
        """The first row that covers an element."""
        return int(np.argmax(self.element_of_row == element))

    def open_row(self, covered: int) -> int:
        """The first row whose element is not covered."""
        element = self.element_of_row.tolist()
        return next(row for row, e in enumerate(element) if e >= 0 and not covered >> e & 1)

    def stated_elements(self, demonstrations: Sequence[Demonstration]) -> int:
        """The elements that demonstrations state, without what follows from them."""
        pairs = shown_pairs(self.bec.members, demonstrations)
        stated = self.element_of_row[self.bec.rows.stated_by(pairs)].tolist()
        return reduce(or_, (1 << element for element in stated if element >= 0), 0)

    def closure(self, covered: int) -> int:
        """Covered elements, and the equality rows that follow from covered ones."""
        if covered & self._equality_bits in (0, self._equality_bits):
            return covered
        given = tuple(row for row, bit in self._bit_of_equality.items() if covered & bit)
        if given not in self._implied:
            self._implied[given] = sum(
                bit
                for row, bit in self._bit_of_equality.items()
                if row not in given and self.follows(list(given), row)
            )
        return covered | self._implied[given]

    @cached_property
    def _bit_of_equality(self) -> dict[int, int]:
        return {row: 1 << int(self.element_of_row[row]) for row in self.bec.cone.equalities}

    @cached_property
    def _equality_bits(self) -> int:
        return sum(self._bit_of_equality.values())

    @cached_property
    def _implied(self) -> dict[tuple[int, ...], int]:
        """For equality rows already asked about, the others that follow from them."""
        return {}

    def follows(self, given: list[int], row: int) -> bool:
        """Whether a row is a consequence of given ones."""
        rows = self.bec.rows
        if rows.exact is not None:
            return isinstance(decide([rows.exact[g] for g in given], rows.exact[row]), Inside)
        nearest = nearest_in_cone(rows.balanced[given], rows.balanced[row])
        return bool(nearest.converged and nearest.distance <= TOLERANCE)


def coverage_from(elements: Elements, offer: Starts, begin: Sequence[int]) -> int:
    """The elements that demonstrations of a member may state which begin in these states, as bits.

    Steps are at most those of the offer.
    """
    mdp, width = offer.member.task.mdp, most_actions(elements.bec.members)
    starts = np.zeros(mdp.n_states, dtype=np.bool_)
    starts[list(begin)] = True
    reached = reachable_pairs(mdp, offer.plan.optimal, horizon=offer.horizon, starts=starts)
    states, actions = reached.nonzero()
    pairs = ((offer.member.first + states) * width + actions).tolist()
    coverage = elements.coverage_of_pair
    return reduce(or_, (coverage[pair] for pair in pairs if pair in coverage), 0)


def cover_elements(bec: EquivalenceClass, *, redundant: bool = False) -> Elements:
    """The elements of a class: facets first, then equalities.

    redundant: every distinct row is an element, as without redundancy removal.
    """
    cone, n_rows = bec.cone, bec.rows.n_rows
    if redundant:
        return Elements(bec, np.arange(n_rows), n_rows)
    element = np.full(n_rows, -1, dtype=np.int64)
    numbers = [number for number, members in enumerate(cone.facets) for _ in members]
    element[[row for members in cone.facets for row in members]] = numbers
    element[list(cone.equalities)] = cone.n_facets + np.arange(len(cone.equalities))
    return Elements(bec, element, cone.n_facets + len(cone.equalities))


@dataclass(frozen=True, eq=False)
class Coverage:
    """Elements, and those that the first 0, 1, 2, ... demonstrations cover, as bits."""

    elements: Elements
    after: tuple[int, ...]

    @classmethod
    def of(cls, elements: Elements, stated: Iterable[int]) -> Coverage:
        """The coverage by demonstrations that state these elements, in that order."""
        walk = accumulate(stated, lambda covered, new: elements.closure(covered | new), initial=0)
        return cls(elements, tuple(walk))

    @property
    def covered(self) -> int:
        """What all demonstrations cover."""
        return self.after[-1]

    @property
    def is_complete(self) -> bool:
        """Whether everything is covered."""
        return self.covered == self.elements.everything

    @property
    def gains(self) -> tuple[int, ...]:
        """How many elements each demonstration newly covers."""
        return tuple((now & ~before).bit_count() for before, now in pairwise(self.after))

    def first_to_cover(self, element: int) -> int | None:
        """The first demonstration after which an element is covered; None where none is."""
        return next((n - 1 for n, bits in enumerate(self.after) if bits >> element & 1), None)


@dataclass(frozen=True, eq=False)
class Problem:
    """What a teacher gets: elements to cover, candidates, what they cover and what they cost.

    costs: one for each candidate. budget: the most that may be picked. options: the teacher's own.
    fixed_costs: what the members of a family cost besides, once each.
    given_masks: what each candidate covers, where that is known, or they are not demonstrations.
    """

    elements: Elements
    candidates: Candidates
    costs: Sequence[int | Fraction]
    budget: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    fixed_costs: FixedCosts = NO_FIXED_COSTS
    given_masks: Mapping[int, int] | None = None

    @cached_property
    def masks(self) -> Mapping[int, int]:
        """For each candidate that covers anything, its elements as the bits of an integer."""
        if self.given_masks is not None:
            return self.given_masks
        return self.elements.masks_of(self.candidates.pairs)

    @cached_property
    def stated(self) -> list[list[int]]:
        """The numbers of all rows that each candidate states, ascending."""
        rows, n_actions = self.bec.rows, self.candidates.n_actions
        of_pair: dict[int, list[int]] = {}
        numbers = (rows.statements[:, 0] * n_actions + rows.statements[:, 1]).tolist()
        for pair, row in zip(numbers, rows.number.tolist(), strict=True):
            if row >= 0:
                of_pair.setdefault(pair, []).append(row)
        return [
            sorted({row for pair in line for row in of_pair.get(pair, ())})
            for line in self.candidates.pairs.tolist()
        ]

    def covered_by(self, chosen: Iterable[int]) -> int:
        """What candidates cover together, as the bits of an integer."""
        return self.elements.closure(self.stated_by(chosen))

    def stated_by(self, chosen: Iterable[int]) -> int:
        """What candidates state themselves, without what follows from it."""
        return reduce(or_, (self.masks.get(number, 0) for number in chosen), 0)

    def cost_of(self, chosen: Iterable[int]) -> int | Fraction:
        """What candidates cost together, each member that they are of once."""
        numbers = list(chosen)
        return sum((self.costs[number] for number in numbers), 0) + self.fixed_costs.of(numbers)

    @property
    def member_prices(self) -> dict[int, Fraction]:
        """What members of a family cost, once, however much is shown there; none for a task."""
        return {member: Fraction(price) for member, price in self.fixed_costs.prices.items()}

    @property
    def bec(self) -> EquivalenceClass:
        """The class to teach."""
        return self.elements.bec


@dataclass(frozen=True)
class Picks:
    """What a teacher returns: candidate numbers in the order to show them.

    gains: not needed; `teach` counts what each pick newly covers, whatever the teacher says.
    lower_bound: no complete lesson costs less, where the teacher knows. volumes: UVM's estimates,
    before the first pick and after each. certificate: of the bound, over all allowed walks.
    """

    numbers: tuple[int, ...]
    gains: tuple[int, ...] = ()
    lower_bound: int | Fraction | None = None
    volumes: tuple[float, ...] | None = None
    certificate: Any = None


Cost = str | Callable[[Demonstration], Any] | Mapping[int, Any]


def candidate_costs(
    candidates: Candidates,
    cost: Cost,
    probability: Callable[[Demonstration], Fraction] | None = None,
) -> list[int | Fraction]:
    """What each candidate costs: 'demonstrations' (1 each), 'pairs', a function or a table.

    A function takes a Demonstration; a table maps its first state to the cost of starting there.
    'attempts' is 1 / probability of a demonstration, the expected number of rollouts to see it.
    """
    if isinstance(cost, str) and cost == "attempts" and probability is not None:
        each = (probability(candidates[i]) for i in range(len(candidates)))
        return [whole_if_whole(1 / chance) for chance in each]
    if isinstance(cost, str) and cost == "demonstrations":
        return [1] * len(candidates)
    if isinstance(cost, str) and cost == "pairs":
        return [int(length) for length in candidates.lengths()]
    if callable(cost):
        with own_code("the cost function"):
            given = [cost(candidates[i]) for i in range(len(candidates))]
    elif isinstance(cost, Mapping) and candidates.firsts is None:
        firsts = (candidates.pairs[:, 0] // candidates.n_actions).tolist()
        missing = sorted(set(firsts) - set(cost))
        if missing:
            raise InvalidParameter(f"the cost table must have every start; {missing[0]} is missing")
        given = [cost[first] for first in firsts]
    else:
        raise InvalidParameter(
            "cost must be 'demonstrations', 'pairs', 'attempts', a function of a demonstration or "
            f"a table {{start: cost}}; it is {shown(cost)}"
        )
    costs: list[int | Fraction] = []
    for i, value in enumerate(given):
        exact = read_number(value, f"cost of candidate {i}")
        if exact <= 0:
            raise InvalidParameter(f"costs must be positive; candidate {i} costs {shown(value)}")
        costs.append(whole_if_whole(exact))
    return costs


def fixed_costs_of(candidates: Candidates, prices: Mapping[int, Fraction]) -> FixedCosts:
    """The prices of members, with the member that each candidate of a family is of."""
    if not prices:
        return NO_FIXED_COSTS
    assert candidates.firsts is not None
    states = candidates.pairs[:, 0] // candidates.n_actions
    members = np.searchsorted(candidates.firsts, states, side="right") - 1
    return FixedCosts(members.tolist(), prices)


def member_costs(family: Task | Family, given: Any) -> dict[int, Fraction]:
    """What it costs to show anything of a member, once, where that is not nothing.

    given: a table {member: cost}, or one cost for every member; None for no cost.
    """
    if given is None:
        return {}
    if not isinstance(family, Family):
        raise InvalidParameter("member_cost is for families; leave it out for a task")
    if isinstance(given, Mapping):
        listed = {family.number(m, "member_cost: member"): cost for m, cost in given.items()}
    elif isinstance(given, int | float | str | Fraction) and not isinstance(given, bool):
        listed = dict.fromkeys(range(len(family)), given)
    else:
        raise InvalidParameter(
            "member_cost must be a table {member: cost}, or one cost for every member; "
            f"it is {shown(given)}"
        )
    costs = {m: read_number(cost, f"member_cost of member {m}") for m, cost in listed.items()}
    for number, cost in costs.items():
        if cost < 0:
            raise InvalidParameter(
                f"member_cost must not be negative; member {number} costs {shown(cost)}"
            )
    return {number: cost for number, cost in costs.items() if cost}


def offered_candidates(
    elements: Elements, offers: Sequence[Starts], *, rollouts: int | None, seed: Seed
) -> tuple[Candidates, Mapping[int, int] | None]:
    """All candidates of all offers, and those aimed at what could be shown and no sample shows.

    Beside them what each covers, where that had to be found out.
    """
    found = [
        candidate_demonstrations(
            offer.member.task.mdp,
            offer.plan,
            starts=offer.starts,
            horizon=offer.horizon,
            rollouts=rollouts,
            seed=seed,
        )
        for offer in offers
    ]
    candidates = gathered(elements.bec, list(zip(offers, found, strict=True)))
    sampled = [o for o, own in zip(offers, found, strict=True) if own.sampled]
    if rollouts or not sampled:
        return candidates, None
    masks = elements.masks_of(candidates.pairs)
    missing = elements.everything & ~reduce(or_, set(masks.values()), 0)
    if not missing:
        return candidates, masks
    targets = elements.pairs_for(missing)
    aimed = [(offer, offer.aimed_at(targets, candidates.n_actions)) for offer in sampled]
    more = [(offer, own) for offer, own in aimed if len(own)]
    if not more:
        return candidates, masks
    return candidates.joined(gathered(elements.bec, more)), None
