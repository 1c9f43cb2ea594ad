"""What candidates cost: exact numbers, and whole numbers of one unit for a solver.

Integers and fractions are taken as they are, floats as the decimals they are written as.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import own_code, shown
from didact.mdp import Demonstration, Family
from didact.numerics.exact import read_number, whole_if_whole
from didact.teaching.covers.candidates import Candidates

Price = int | float | Fraction
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


def whole_costs(costs: Sequence[Price]) -> tuple[list[int], Fraction]:
    """Costs as whole multiples, without common divisor, of one exact unit."""
    exact: list[int | Fraction]
    if all(type(cost) is int for cost in costs):
        exact = [int(cost) for cost in costs]
    else:
        exact = [read_number(cost, f"costs[{i}]") for i, cost in enumerate(costs)]
    for i, cost in enumerate(exact):
        if cost <= 0:
            raise InvalidParameter(f"costs[{i}] must be positive; it is {shown(costs[i])}")
    common = math.lcm(*(cost.denominator for cost in exact))
    scaled = [cost.numerator * (common // cost.denominator) for cost in exact]
    divisor = max(1, math.gcd(*scaled))
    return [cost // divisor for cost in scaled], Fraction(divisor, common)


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
