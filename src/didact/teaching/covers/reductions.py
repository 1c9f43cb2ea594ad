"""Reductions of a hitting set problem, and lower bounds of what they leave by HiGHS.

A cut that holds another cut says nothing new, a candidate that hits no more than another and costs
no less is not needed, and the only candidate of a cut is taken; again and again until nothing
changes, which ends because every round drops a cut or a candidate. They keep the cheapest cost and
the value of the linear relaxation, and settle nearly every instance of teaching without a solver.

The MILP's bound is trusted to a relative TOLERANCE. The value of the linear relaxation is not
trusted at all: the solver's dual prices are rounded to fractions, clipped at zero and scaled down
until no candidate is overpaid, and weak duality does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np

from didact.errors import InvalidParameter, Unsupported
from didact.inputs import shown
from didact.numerics.exact import read_number

Cut = Collection[int]
Price = int | float | Fraction


class Uncoverable(Unsupported):
    """Some cut has no candidate, so no choice covers; `cut` is its number, elements first."""

    def __init__(self, cut: int):
        super().__init__(f"no candidate closes gap {cut}: all of them together do not cover")
        self.cut = cut


@dataclass(frozen=True)
class Core:
    """What reductions leave: candidates to take, and cuts over renamed candidates.

    names: the candidate at each place, cheap ones first. costs: of the places. cuts: sets of places
    as the bits of integers.
    """

    forced: tuple[int, ...]
    names: tuple[int, ...]
    costs: tuple[int, ...]
    cuts: tuple[int, ...]


def reduced(cuts: Sequence[Cut], rank: Callable[[int], tuple[int, int, int]]) -> Core:
    """The cuts after reductions that keep the cheapest cost and the value of the relaxation.

    rank: (cost, ...) of a candidate, a total order; among candidates that hit the same cuts the
    first one stands for all.
    """
    best: dict[int, tuple[int, int, int]] = {}
    for candidate, hit in hits_of(cuts).items():
        ranked = rank(candidate)
        if hit not in best or ranked < best[hit]:
            best[hit] = ranked
    places = sorted((ranked, hit) for hit, ranked in best.items())
    masks = [0] * len(cuts)
    for place, (_, hit) in enumerate(places):
        for cut in bits_of(hit):
            masks[cut] |= 1 << place
    costs = tuple(ranked[0] for ranked, _ in places)
    names = tuple(ranked[2] for ranked, _ in places)
    forced, left = _shrink(masks, costs)
    return Core(tuple(names[place] for place in bits_of(forced)), names, costs, tuple(left))


def _shrink(cuts: list[int], costs: Sequence[int]) -> tuple[int, list[int]]:
    """Take what is forced and drop what is dominated until nothing changes."""
    forced = 0
    while True:
        smallest = _without_supersets(cuts)
        single = reduce(or_, (cut for cut in smallest if cut & (cut - 1) == 0), 0)
        forced |= single
        open_cuts = [cut for cut in smallest if not cut & single]
        useful = _undominated(open_cuts, costs)
        narrowed = [cut & useful for cut in open_cuts]
        if narrowed == cuts:
            return forced, cuts
        cuts = narrowed


def _without_supersets(cuts: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for cut in sorted(set(cuts), key=lambda cut: (cut.bit_count(), cut)):
        if not any(smaller & cut == smaller for smaller in kept):
            kept.append(cut)
    return kept


def _undominated(cuts: Sequence[int], costs: Sequence[int]) -> int:
    """The places, costs ascending, that no other place of at most their cost can stand for."""
    hits = hits_of([list(bits_of(cut)) for cut in cuts])
    useful = 0
    for place, hit in hits.items():
        rivals = reduce(and_, (cuts[cut] for cut in bits_of(hit)))
        above = rivals >> (place + 1) << (place + 1)
        if rivals & ((1 << place) - 1):
            continue
        if any(costs[rival] == costs[place] and hits[rival] != hit for rival in bits_of(above)):
            continue
        useful |= 1 << place
    return useful


def hits_of(cuts: Sequence[Cut]) -> Mapping[int, int]:
    """For each candidate the cuts that it hits, as the bits of an integer."""
    hits: dict[int, int] = {}
    for number, cut in enumerate(cuts):
        for candidate in cut:
            hits[candidate] = hits.get(candidate, 0) | 1 << number
    return hits


def bits_of(mask: int) -> Iterator[int]:
    """The places of the bits that are set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


TOLERANCE = 1e-6
"""Relative error of a bound of HiGHS that is allowed for."""
_LARGEST_OBJECTIVE = 1e6
_DENOMINATORS = (60, 10**4, 10**9)


def solve_cover(
    cuts: Sequence[int], costs: Sequence[int], seconds: float
) -> tuple[int | None, int]:
    """The cheapest hitting set by HiGHS, or the best one found in time, and a lower bound."""
    from scipy.optimize import LinearConstraint

    hit = LinearConstraint(incidence(cuts, len(costs)), lb=1.0)
    picked, certified = cheapest_choice(costs, hit, seconds)
    if picked is None:
        return None, certified
    chosen = sum(1 << place for place, is_picked in enumerate(picked) if is_picked)
    return (chosen if all(cut & chosen for cut in cuts) else None), certified


def cheapest_choice(
    costs: Sequence[int], constraints: Any, seconds: float
) -> tuple[list[bool] | None, int]:
    """Which places to pick, at the least cost that HiGHS finds in time, and a lower bound."""
    from scipy.optimize import Bounds, milp

    objective, scale = scaled_objective(costs)
    options = {"mip_rel_gap": 0.0} | ({} if math.isinf(seconds) else {"time_limit": seconds})
    answer = milp(
        objective,
        integrality=np.ones(len(objective)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options=options,
    )
    bound = answer.mip_dual_bound
    usable = bound is not None and math.isfinite(bound)
    certified = math.ceil(lowered(bound) * scale) if usable else 0
    picked = None if answer.x is None else [value > 0.5 for value in answer.x.tolist()]
    return picked, certified


def scaled_objective(costs: Sequence[int]) -> tuple[list[float], Fraction]:
    """The costs as floats of a size that solvers like, and what one of their units is worth."""
    scale = max(Fraction(1), Fraction(max(costs)) / int(_LARGEST_OBJECTIVE))
    return [float(cost / scale) for cost in costs], scale


def lowered(bound: float) -> Fraction:
    """A bound in floats less what it is trusted to."""
    return Fraction(bound) - Fraction(TOLERANCE) * max(Fraction(1), Fraction(abs(bound)))


def incidence(cuts: Sequence[int], n_places: int) -> Any:
    """The (cuts, places) matrix of who hits what, sparse."""
    from scipy.sparse import csr_array

    places = [list(bits_of(cut)) for cut in cuts]
    offsets = np.cumsum([0, *(len(members) for members in places)])
    indices = np.concatenate(places)
    return csr_array((np.ones(len(indices)), indices, offsets), shape=(len(cuts), n_places))


def packing_bound(cuts: Sequence[int], costs: Sequence[int]) -> int:
    """A lower bound by dual ascent: each cut in turn, small ones first, pays what it still can."""
    left = list(costs)
    paid = 0
    for cut in sorted(cuts, key=int.bit_count):
        members = list(bits_of(cut))
        price = min(left[place] for place in members)
        paid += price
        for place in members:
            left[place] -= price
    return paid


def lp_bound(elements: Sequence[Cut], costs: Sequence[Price]) -> Fraction:
    """The value of the linear relaxation, as a lower bound that is proved in exact arithmetic.

    elements: for each the candidates that cover it; one without candidates raises Uncoverable.
    """
    used = sorted({candidate for cut in elements for candidate in cut})
    whole, unit = whole_costs([costs[candidate] for candidate in used])
    cost_of = dict(zip(used, whole, strict=True))
    for number, cut in enumerate(elements):
        if not len(cut):
            raise Uncoverable(number)
    core = reduced(elements, lambda candidate: (cost_of[candidate], 0, candidate))
    forced = sum(cost_of[candidate] for candidate in core.forced)
    return unit * (forced + (_dual_value(core.cuts, core.costs) if core.cuts else 0))


def _dual_value(cuts: Sequence[int], costs: Sequence[int]) -> Fraction:
    """The best exact dual value that the float prices of HiGHS lead to."""
    from scipy.optimize import linprog

    objective, scale = scaled_objective(costs)
    answer = linprog(objective, A_ub=-incidence(cuts, len(costs)), b_ub=[-1.0] * len(cuts))
    values = [Fraction(packing_bound(cuts, costs))]
    if answer.status == 0:
        prices = [Fraction(max(0.0, -price)) for price in answer.ineqlin.marginals.tolist()]
        for largest in _DENOMINATORS:
            neat = [price.limit_denominator(largest) * scale for price in prices]
            values.append(_feasible_value(neat, cuts, costs))
    return max(values)


def _feasible_value(
    prices: Sequence[Fraction], cuts: Sequence[int], costs: Sequence[int]
) -> Fraction:
    """The sum of the prices after scaling them down so that no place is paid above its cost."""
    loads = [Fraction(0)] * len(costs)
    for cut, price in zip(cuts, prices, strict=True):
        for place in bits_of(cut):
            loads[place] += price
    share = Fraction(1)
    for cost, load in zip(costs, loads, strict=True):
        if share * load > cost:
            share = cost / load
    return share * sum(prices, Fraction(0))


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
