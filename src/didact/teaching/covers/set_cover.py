"""Set covers: the greedy one, and the cheapest, proved.

The greedy cover picks the most new elements per cost first, until nothing is gained. It costs at
most H(d) times the cheapest cover, d the most elements that one candidate covers (Chvatal 1979),
and where fewer picks are allowed than a cover needs it covers at least 1 - 1/e of the most that so
many can. With fixed costs of groups neither bound holds. Ratios are compared exactly. Ties go to
the higher gain, then to the lower rank, which by default is the number (equal ratio and gain mean
equal cost). It is lazy (Minoux 1978): most candidates are not looked at again after each pick.

The cheapest cover is proved, also when only an oracle knows what a cover is, by an implicit hitting
set. Chosen candidates cover when no gap is left. A gap is a cut: candidates of which at least one
must be chosen (all that contradict a reward which fits the chosen ones and is wrong). The cheapest
set that hits all cuts known so far costs no more than any cover, so its cost is a lower bound; once
it leaves no gap it is a cover itself, and the bound is the proof (Moreno-Centeno and Karp 2013).

Reductions come first and are exact: a cut that holds another cut says nothing new, a candidate that
hits no more than another and costs no less is not needed, and the only candidate of a cut is taken;
again and again until nothing changes, which ends because every round drops a cut or a candidate.
They keep the cheapest cost and the value of the linear relaxation, and settle nearly every instance
of teaching without a solver. What they leave goes to HiGHS as a MILP. With fixed costs of groups
candidates stand for others only inside a group, or where their own group costs nothing, and the
MILP has one more variable for each group: a candidate may be chosen only where its group is paid.

Costs are exact: integers and fractions as they are, floats as the decimals they are written as.
They become whole numbers without common divisor, so that a bound of the solver can be rounded up.
HiGHS is trusted to a relative TOLERANCE: where it was needed, covers that cost 500,000 such units
and more are proved up to a relative 2 * TOLERANCE only. The value of the linear relaxation
(`lp_bound`) is not trusted at all: the solver's dual prices are rounded to fractions, clipped at
zero and scaled down until no candidate is overpaid, and weak duality does the rest.

The same input gives the same answer (without a time limit): among covers of the same cost it is the
one that reductions and HiGHS, which is deterministic, come to.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np

from didact.errors import Unsupported
from didact.numerics.exact import read_number, whole_if_whole

Cut = Collection[int]
Price = int | float | Fraction
Rank = Callable[[int], tuple[int, int, int]]
FindGap = Callable[[tuple[int, ...]], Cut | None]
Closure = Callable[[int], int]
Costs = Sequence[int | Fraction] | Mapping[int, int] | Mapping[int, Fraction]


class FixedCosts(NamedTuple):
    """Set-up fees of groups: the group of each candidate, and what a group costs once.

    A group is a member of a family: walking over to it is paid once for all that is shown there.
    Groups that are left out of `prices` cost nothing; without prices no candidate needs a group.
    """

    group_of: Sequence[int]
    prices: Mapping[int, int] | Mapping[int, Fraction]

    def of(self, chosen: Iterable[int]) -> int | Fraction:
        """What the groups of the chosen candidates cost together."""
        groups = {self.group_of[c] for c in chosen} if self.prices else ()
        return sum((self.prices.get(group, 0) for group in groups), 0)

    def more(self, candidate: int, opened: Collection[int]) -> int | Fraction:
        """What a candidate costs besides its own cost, after these groups were opened."""
        if not self.prices or self.group_of[candidate] in opened:
            return 0
        return self.prices.get(self.group_of[candidate], 0)


NO_FIXED_COSTS = FixedCosts((), {})


class Greedy(NamedTuple):
    """Candidates in the order picked, and how many elements each newly covers."""

    picks: tuple[int, ...]
    gains: tuple[int, ...]


def greedy_cover(
    masks: Mapping[int, int],
    costs: Costs,
    n_elements: int,
    *,
    rank: Callable[[int], Any] | None = None,
    closure: Closure | None = None,
    most: int | None = None,
    fixed_costs: FixedCosts = NO_FIXED_COSTS,
    covered: int = 0,
) -> Greedy:
    """The greedy cover of n_elements by candidates, at most so many.

    masks: the elements of each candidate, as the bits of an integer. rank: breaks the last ties,
    lower first; no two candidates have the same. closure: covered elements with those that follow
    from them; what follows counts as covered, and as gained by the pick after which it follows.
    fixed_costs: of groups; they count until a candidate of the group is picked. covered: elements
    that are covered beforehand.
    """
    everything = (1 << n_elements) - 1
    opened: set[int] = set()
    picks: list[int] = []
    gains: list[int] = []

    def order(number: int) -> Any:
        return number if rank is None else rank(number)

    def entry(gain: int, number: int) -> tuple[Any, ...]:
        cost = costs[number] + fixed_costs.more(number, opened)
        # Gains per cost 1 stay whole numbers: fractions are slow.
        return -gain if cost == 1 else Fraction(-gain) / cost, -gain, order(number), number

    heap = [entry(mask.bit_count(), number) for number, mask in masks.items() if mask]
    heapq.heapify(heap)
    while heap and covered != everything and len(picks) != most:
        _, last_known, _, pick = heap[0]
        gain = (masks[pick] & ~covered).bit_count()
        if gain < -last_known:
            # What is covered only grows, so a gain known from before bounds the gain from above.
            heapq.heapreplace(heap, entry(gain, pick)) if gain else heapq.heappop(heap)
            continue
        heapq.heappop(heap)
        after = covered | masks[pick]
        after = after if closure is None else closure(after)
        picks.append(pick)
        gains.append((after & ~covered).bit_count())
        covered = after
        if fixed_costs.more(pick, opened):
            # The group is paid: the ratios of its other candidates rise.
            opened.add(fixed_costs.group_of[pick])
            heap = [entry(-known, number) for _, known, _, number in heap]
            heapq.heapify(heap)
    return Greedy(tuple(picks), tuple(gains))


def hits_of(cuts: Sequence[Collection[int]]) -> Mapping[int, int]:
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


def harmonic(d: int) -> Fraction:
    """1 + 1/2 + ... + 1/d: greedy covers cost at most this many times the cheapest (Chvatal 1979).

    d: the most elements that one candidate covers.
    """
    return sum((Fraction(1, i) for i in range(1, d + 1)), Fraction(0))


@dataclass(frozen=True)
class Minimum:
    """A cover, what it costs, and a bound below which no cover costs.

    chosen: ascending. proved: whether the bound meets the cost. n_solves: MILPs solved; 0 when the
    reductions sufficed.
    """

    chosen: tuple[int, ...]
    cost: int | Fraction
    lower_bound: int | Fraction
    proved: bool
    n_solves: int


def cheapest_cover(
    stated: Sequence[Collection[int]],
    costs: Sequence[Price],
    find_gap: FindGap,
    *,
    elements: Sequence[Cut] = (),
    time_limit: float | None = None,
    start: Iterable[int] = (),
    lower: Price = 0,
    fixed_costs: FixedCosts = NO_FIXED_COSTS,
) -> Minimum:
    """The cheapest candidates that leave no gap, with the proof or a certified lower bound.

    find_gap(chosen): None when they cover, else the candidates of which one must be added (none of
    the chosen); an empty cut raises Uncoverable. stated: the rows of each candidate, which only
    break ties: more rows first. elements: cuts known beforehand. start: candidates to begin the
    first cover with, else a greedy cover of the elements; that cover is completed whatever the
    time limit, in seconds, after which the best one so far is returned. lower: a bound known
    beforehand. fixed_costs: what groups of candidates cost besides, once each.
    """
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    search = _Search(stated, costs, find_gap, elements, lower, fixed_costs=fixed_costs)
    search.complete(frozenset(start) or search.greedy())
    while not search.is_proved():
        chosen = search.relax(deadline)
        if chosen is None or search.is_proved():
            break
        if search.complete(chosen) == 0 or time.monotonic() >= deadline:
            break
    return search.result()


class _Search:
    """The cuts known so far, the best cover and the best bound; costs in whole units."""

    def __init__(
        self,
        stated: Sequence[Collection[int]],
        costs: Sequence[Price],
        find_gap: FindGap,
        elements: Sequence[Cut],
        lower: Price,
        *,
        fixed_costs: FixedCosts,
    ):
        groups = {group: price for group, price in fixed_costs.prices.items() if price}
        given = [*costs, *groups.values()]
        whole, self._unit = whole_costs(given)
        self._costs, prices = whole[: len(costs)], whole[len(costs) :]
        prices_of = dict(zip(groups, prices, strict=True))
        self._fixed_costs = FixedCosts(fixed_costs.group_of, prices_of)
        self._sizes = [len(rows) for rows in stated]
        self._find_gap = find_gap
        self._cuts = [frozenset(cut) for cut in elements]
        if frozenset() in self._cuts:
            raise Uncoverable(self._cuts.index(frozenset()))
        self._n_solves = 0
        self._lower = math.ceil(Fraction(lower) / self._unit)
        self._best: tuple[int, ...] = ()
        self._upper: int | None = None

    def _rank(self, candidate: int) -> tuple[int, int, int]:
        """Cheap ones first, then those that state many rows, then low numbers."""
        return self._costs[candidate], -self._sizes[candidate], candidate

    def _total(self, chosen: Collection[int]) -> int:
        own = sum(self._costs[candidate] for candidate in chosen)
        return own + int(self._fixed_costs.of(chosen))

    def is_proved(self) -> bool:
        """Whether the bound meets the best cover; see the module's words on TOLERANCE."""
        assert self._upper is not None
        return self._upper - self._lower <= math.floor(2 * TOLERANCE * self._upper)

    def greedy(self) -> frozenset[int]:
        """A greedy cover of the elements, to begin with."""
        found = greedy_cover(hits_of(self._cuts), self._costs, len(self._cuts), rank=self._rank)
        return frozenset(found.picks)

    def complete(self, chosen: Iterable[int]) -> int:
        """Add the first-ranked candidate of every gap until none is left; how many there were.

        The cover reached becomes the best one if it is cheaper, and every gap becomes a cut.
        """
        picked = set(chosen)
        before = len(self._cuts)
        while (gap := self._find_gap(tuple(sorted(picked)))) is not None:
            if not gap:
                raise Uncoverable(len(self._cuts))
            self._cuts.append(frozenset(gap))
            picked.add(min(gap, key=self._rank))
        if self._upper is None or self._total(picked) < self._upper:
            self._best, self._upper = tuple(sorted(picked)), self._total(picked)
        return len(self._cuts) - before

    def relax(self, deadline: float) -> tuple[int, ...] | None:
        """The cheapest candidates that hit all cuts, or None without an answer; raises the bound.

        After the deadline only what needs no solver.
        """
        seconds = deadline - time.monotonic()
        if self._fixed_costs.prices:  # reductions across groups do not hold
            if seconds <= 0:
                return None
            self._n_solves += 1
            chosen, bound = solve_with_fixed_costs(
                self._cuts, self._rank, self._fixed_costs, seconds
            )
            self._lower = max(self._lower, bound)
            return chosen
        core = reduced(self._cuts, self._rank)
        chosen = None if core.cuts else ()
        bound = int(sum(dual_ascent(core.cuts, core.costs)))
        if core.cuts and seconds > 0:
            self._n_solves += 1
            chosen, proved = solve_cover(
                core.cuts, dict(enumerate(core.costs)), NO_FIXED_COSTS, seconds
            )
            bound = max(bound, proved)
        self._lower = max(self._lower, self._total(core.forced) + bound)
        return None if chosen is None else (*core.forced, *(core.names[c] for c in chosen))

    def result(self) -> Minimum:
        """The best cover in the caller's costs."""
        assert self._upper is not None
        cost, bound = (
            whole_if_whole(self._unit * units)
            for units in (self._upper, min(self._lower, self._upper))
        )
        return Minimum(self._best, cost, bound, self.is_proved(), self._n_solves)


def solve_with_fixed_costs(
    cuts: Sequence[Cut], rank: Rank, fixed_costs: FixedCosts, seconds: float
) -> tuple[tuple[int, ...] | None, int]:
    """The cheapest hitting set with its groups by HiGHS, or the best in time; and a lower bound.

    rank: (cost, ...) of a candidate. Candidates that another one can stand for, whatever else is
    chosen, are left out.
    """
    if not cuts:  # as for a class of ties alone, before any is found
        return (), 0
    hits = hits_of(cuts)
    kept: dict[int, int] = {}
    for candidate in sorted(hits, key=lambda c: (rank(c)[0], -hits[c].bit_count(), rank(c))):
        group, hit = fixed_costs.group_of[candidate], hits[candidate]
        if not any(
            hit & ~hits[other] == 0
            and (fixed_costs.group_of[other] == group or not fixed_costs.more(other, ()))
            for other in kept
        ):
            kept[candidate] = rank(candidate)[0]
    return solve_cover(cuts, kept, fixed_costs, seconds)


class Uncoverable(Unsupported):
    """Some cut has no candidate, so no choice covers; `cut` is its number, elements first."""

    def __init__(self, cut: int):
        super().__init__(f"no candidate closes gap {cut}: all of them together do not cover")
        self.cut = cut


@dataclass(frozen=True)
class Core:
    """What reductions leave: candidates to take, and cuts over renamed candidates.

    names: the candidate at each place, cheap ones first. costs: of the places. cuts: the places
    that each needs one of, ascending.
    """

    forced: tuple[int, ...]
    names: tuple[int, ...]
    costs: tuple[int, ...]
    cuts: tuple[list[int], ...]


def reduced(cuts: Sequence[Cut], rank: Rank) -> Core:
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
    taken = tuple(names[place] for place in bits_of(forced))
    return Core(taken, names, costs, tuple([*bits_of(cut)] for cut in left))


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


TOLERANCE = 1e-6
"""Relative error of a bound of HiGHS that is allowed for."""
_LARGEST_OBJECTIVE = 1e6
DENOMINATORS = (12, 60, 10**4, 10**8)
"""Float duals are rounded to fractions with such denominators: small ones keep proofs short."""


def solve_cover(
    cuts: Sequence[Cut],
    costs: Mapping[int, int],
    fixed_costs: FixedCosts,
    seconds: float,
) -> tuple[tuple[int, ...] | None, int]:
    """The cheapest hitting set by HiGHS, or the best one found in time, and a lower bound.

    costs: of the candidates that may be chosen. fixed_costs: of their groups, whole numbers too.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    place = {candidate: i for i, candidate in enumerate(costs)}
    paying = (candidate for candidate in costs if fixed_costs.more(candidate, ()))
    group_of = {candidate: fixed_costs.group_of[candidate] for candidate in paying}
    column = {group: len(place) + i for i, group in enumerate(sorted({*group_of.values()}))}
    prices = [int(fixed_costs.prices[group]) for group in column]
    objective, scale = scaled_objective([*costs.values(), *prices])
    hit = incidence([[place[c] for c in cut if c in place] for cut in cuts], len(objective))
    constraints = [LinearConstraint(hit, lb=1.0)]
    if group_of:  # who is chosen comes from a group that is paid
        chosen_ones = incidence([[place[c]] for c in group_of], len(objective))
        paid = incidence([[column[group]] for group in group_of.values()], len(objective))
        constraints.append(LinearConstraint(paid - chosen_ones, lb=0.0))
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
    if answer.x is None:
        return None, certified
    chosen = tuple(c for c, i in place.items() if answer.x[i] > 0.5)
    return (chosen if all({*cut} & {*chosen} for cut in cuts) else None), certified


def scaled_objective(costs: Sequence[int]) -> tuple[list[float], Fraction]:
    """The costs as floats of a size that solvers like, and what one of their units is worth."""
    scale = max(Fraction(1), Fraction(max(costs)) / int(_LARGEST_OBJECTIVE))
    return [float(cost / scale) for cost in costs], scale


def lowered(bound: float) -> Fraction:
    """A bound in floats less what it is trusted to."""
    return Fraction(bound) - Fraction(TOLERANCE) * max(Fraction(1), Fraction(abs(bound)))


def incidence(cuts: Sequence[Sequence[int]], n_places: int) -> Any:
    """The (cuts, places) matrix of who hits what, sparse."""
    from scipy.sparse import csr_array

    offsets = np.cumsum([0, *(len(places) for places in cuts)])
    indices = np.concatenate(cuts)
    return csr_array((np.ones(len(indices)), indices, offsets), shape=(len(cuts), n_places))


def dual_ascent(cuts: Sequence[Sequence[int]], costs: Sequence[Any]) -> list[Any]:
    """Prices of cuts that overpay no candidate: each in turn, small ones first, what it still can.

    By weak duality their sum is a lower bound on the cost.
    """
    left, prices = list(costs), [Fraction(0)] * len(cuts)
    for number in sorted(range(len(cuts)), key=lambda number: len(cuts[number])):
        prices[number] = min((left[place] for place in cuts[number]), default=Fraction(0))
        for place in cuts[number]:
            left[place] -= prices[number]
    return prices


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


def exact_duals(answer: Any, denominator: int) -> list[Fraction]:
    """Prices of the constraints A x <= b that HiGHS found, as fractions that are not negative."""
    marginals = answer.ineqlin.marginals.tolist()
    return [Fraction(max(0.0, -price)).limit_denominator(denominator) for price in marginals]


def _dual_value(cuts: Sequence[Sequence[int]], costs: Sequence[int]) -> Fraction:
    """The best exact dual value that the float prices of HiGHS lead to."""
    from scipy.optimize import linprog

    objective, scale = scaled_objective(costs)
    answer = linprog(
        objective,
        A_ub=-incidence(cuts, len(costs)),
        b_ub=[-1.0] * len(cuts),
    )
    values = [sum(dual_ascent(cuts, costs), Fraction(0))]
    if answer.status == 0:
        for denominator in DENOMINATORS:
            prices = [price * scale for price in exact_duals(answer, denominator)]
            loads = [Fraction(0)] * len(costs)
            for cut, price in zip(cuts, prices, strict=True):
                for place in cut:
                    loads[place] += price
            # Rounded prices may pay for a place above its cost: all of them are scaled down.
            paid = zip(costs, loads, strict=True)
            share = min((cost / load for cost, load in paid if load > cost), default=Fraction(1))
            values.append(share * sum(prices, Fraction(0)))
    return max(values)


def whole_costs(costs: Sequence[Price]) -> tuple[list[int], Fraction]:
    """Costs as whole multiples, without common divisor, of one exact unit."""
    exact: list[int | Fraction]
    if all(type(cost) is int for cost in costs):
        exact = [int(cost) for cost in costs]
    else:
        exact = [read_number(cost, f"costs[{i}]") for i, cost in enumerate(costs)]
    common = math.lcm(*(cost.denominator for cost in exact))
    scaled = [cost.numerator * (common // cost.denominator) for cost in exact]
    divisor = max(1, math.gcd(*scaled))
    return [cost // divisor for cost in scaled], Fraction(divisor, common)
