"""The cover problem of teaching: what a teacher gets, what it returns, and what candidates cost.

Costs are exact: integers and fractions are taken as they are, floats as the decimals they are
written as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass
from didact.errors import InvalidParameter
from didact.inputs import own_code, shown
from didact.mdp import Demonstration, Family
from didact.numerics.exact import read_number, whole_if_whole
from didact.teaching.covers.candidates import Candidates
from didact.teaching.covers.elements import Elements, Indices
from didact.teaching.covers.greedy import FixedCosts


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
    fixed_costs: FixedCosts | None = None
    given_masks: Mapping[int, int] | None = None

    @cached_property
    def masks(self) -> Mapping[int, int]:
        """For each candidate that covers anything, its elements as the bits of an integer."""
        if self.given_masks is not None:
            return self.given_masks
        return self.elements.masks_of(self.candidates.pairs)

    @cached_property
    def stated(self) -> tuple[Indices, Indices]:
        """All rows that each candidate states: offsets (n + 1,) and row numbers."""
        rows = self.known.rows
        n_actions = self.candidates.n_actions
        of_pair: dict[int, list[int]] = {}
        numbers = (rows.statements[:, 0] * n_actions + rows.statements[:, 1]).tolist()
        for pair, row in zip(numbers, rows.number.tolist(), strict=True):
            if row >= 0:
                of_pair.setdefault(pair, []).append(row)
        lists = [
            sorted({r for pair in line.tolist() if pair >= 0 for r in of_pair.get(pair, ())})
            for line in self.candidates.pairs
        ]
        offsets = np.concatenate(([0], np.cumsum([len(found) for found in lists])))
        members = np.array([r for found in lists for r in found], dtype=np.int64)
        return offsets.astype(np.int64), members

    def covered_by(self, chosen: Iterable[int]) -> int:
        """What candidates cover together, as the bits of an integer."""
        return self.elements.closure(self.stated_by(chosen))

    def stated_by(self, chosen: Iterable[int]) -> int:
        """What candidates state themselves, without what follows from it."""
        stated = 0
        for number in chosen:
            stated |= self.masks.get(number, 0)
        return stated

    def cost_of(self, chosen: Iterable[int]) -> int | Fraction:
        """What candidates cost together, each member that they are of once."""
        numbers = list(chosen)
        own = sum((self.costs[number] for number in numbers), 0)
        return own if self.fixed_costs is None else own + self.fixed_costs.of(numbers)

    @property
    def member_prices(self) -> dict[int, Fraction]:
        """What members of a family cost, once, however much is shown there; none for a task."""
        prices = {} if self.fixed_costs is None else self.fixed_costs.prices
        return {member: Fraction(price) for member, price in prices.items()}

    @property
    def known(self) -> EquivalenceClass:
        """The class to teach."""
        return self.elements.known


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


def members_of(candidates: Candidates) -> list[int]:
    """The number of the member that each candidate of a family is of."""
    assert candidates.firsts is not None
    states = candidates.pairs[:, 0] // candidates.n_actions
    found: list[int] = (np.searchsorted(candidates.firsts, states, side="right") - 1).tolist()
    return found


def member_costs(family: Family, given: Any) -> dict[int, Fraction]:
    """What it costs to show anything of a member, once, where that is not nothing.

    given: a table {member: cost}, or one cost for every member.
    """
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
