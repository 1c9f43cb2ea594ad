"""The cheapest cover, proved, when only an oracle knows what a cover is: an implicit hitting set.

Chosen candidates cover when no gap is left. A gap is a cut: candidates of which at least one must
be chosen (all that contradict a reward which fits the chosen ones and is wrong). The cheapest set
that hits all cuts known so far costs no more than any cover, so its cost is a lower bound; once it
leaves no gap it is a cover itself, and the bound is the proof (Moreno-Centeno and Karp 2013).

Reductions come first and are exact; what they leave goes to HiGHS as a MILP. With fixed costs of
groups candidates stand for others only inside a group, or where their own group costs nothing, and
the MILP has one more variable for each group: a candidate may be chosen only where its group is
paid.

Costs are exact: integers and fractions as they are, floats as the decimals they are written as.
They become whole numbers without common divisor, so that a bound of the solver can be rounded up.
HiGHS is trusted to a relative TOLERANCE: where it was needed, covers that cost 500,000 such units
and more are proved up to a relative 2 * TOLERANCE only.

The same input gives the same answer (without a time limit): among covers of the same cost it is the
one that reductions and HiGHS, which is deterministic, come to.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.teaching.covers.greedy import FixedCosts, greedy_cover
from didact.teaching.covers.reductions import (
    TOLERANCE,
    Cut,
    Price,
    Uncoverable,
    bits_of,
    cheapest_choice,
    hits_of,
    lowered,
    packing_bound,
    reduced,
    solve_cover,
    whole_costs,
)

FindGap = Callable[[tuple[int, ...]], Cut | None]


@dataclass(frozen=True)
class Minimum:
    """A cover, what it costs, and a bound below which no cover costs.

    chosen: ascending. cost, lower_bound: int when all costs are, else Fraction. proved: whether the
    bound meets the cost. n_cuts: gaps that the oracle found. n_solves: MILPs solved; 0 when the
    reductions sufficed.
    """

    chosen: tuple[int, ...]
    cost: int | Fraction
    lower_bound: int | Fraction
    proved: bool
    n_cuts: int
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
    fixed_costs: FixedCosts | None = None,
) -> Minimum:
    """The cheapest candidates that leave no gap, with the proof or a certified lower bound.

    find_gap(chosen): None when they cover, else the candidates of which one must be added (none of
    the chosen); an empty cut raises Uncoverable. stated: the rows of each candidate, which only
    break ties: more rows first. elements: cuts known beforehand. start: candidates to begin the
    first cover with, else a greedy cover of the elements; that cover is completed whatever the
    time limit, in seconds, after which the best one so far is returned. lower: a bound known
    beforehand. fixed_costs: what groups of candidates cost besides, once each.
    """
    if len(stated) != len(costs):
        raise InvalidParameter(
            "stated and costs must have one entry for each candidate; "
            f"they have {len(stated)} and {len(costs)}"
        )
    if time_limit is not None and not time_limit >= 0:
        raise InvalidParameter(f"time_limit must be None or seconds; it is {shown(time_limit)}")
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    search = _Search(stated, costs, find_gap, elements, lower, fixed_costs=fixed_costs)
    first = _in_range(start, len(costs), "start")
    search.complete(first or search.greedy())
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
        fixed_costs: FixedCosts | None,
    ):
        groups = {} if fixed_costs is None else {g: p for g, p in fixed_costs.prices.items() if p}
        given = [*costs, *groups.values()]
        whole, self._unit = whole_costs(given)
        self._costs, prices = whole[: len(costs)], whole[len(costs) :]
        self._fixed_costs = None
        if fixed_costs is not None and groups:
            self._fixed_costs = FixedCosts(
                fixed_costs.group_of, dict(zip(groups, prices, strict=True))
            )
        self._is_whole = all(isinstance(cost, int | np.integer) for cost in given)
        self._sizes = [len(rows) for rows in stated]
        self._find_gap = find_gap
        self._cuts = [_in_range(cut, len(costs), "elements") for cut in elements]
        if frozenset() in self._cuts:
            raise Uncoverable(self._cuts.index(frozenset()))
        self._n_elements = len(self._cuts)
        self._n_solves = 0
        self._lower = _units(lower, self._unit)
        self._best: tuple[int, ...] = ()
        self._upper: int | None = None

    def _rank(self, candidate: int) -> tuple[int, int, int]:
        """Cheap ones first, then those that state many rows, then low numbers."""
        return self._costs[candidate], -self._sizes[candidate], candidate

    def _total(self, chosen: Collection[int]) -> int:
        own = sum(self._costs[candidate] for candidate in chosen)
        return own if self._fixed_costs is None else own + int(self._fixed_costs.of(chosen))

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
            cut = _in_range(gap, len(self._costs), "a gap")
            if not cut:
                raise Uncoverable(len(self._cuts))
            if cut & picked:
                raise InvalidParameter(
                    "find_gap must name candidates that are not chosen; "
                    f"it named {min(cut & picked)}, which is"
                )
            self._cuts.append(cut)
            picked.add(min(cut, key=self._rank))
        if self._upper is None or self._total(picked) < self._upper:
            self._best, self._upper = tuple(sorted(picked)), self._total(picked)
        return len(self._cuts) - before

    def relax(self, deadline: float) -> tuple[int, ...] | None:
        """The cheapest candidates that hit all cuts, or None without an answer; raises the bound.

        After the deadline only what needs no solver.
        """
        if self._fixed_costs is not None:
            return self._relax_with_fixed_costs(self._fixed_costs, deadline)
        core = reduced(self._cuts, self._rank)
        chosen: int | None = None if core.cuts else 0
        bound = packing_bound(core.cuts, core.costs)
        seconds = deadline - time.monotonic()
        if core.cuts and seconds > 0:
            self._n_solves += 1
            chosen, proved = solve_cover(core.cuts, core.costs, seconds)
            bound = max(bound, proved)
        self._lower = max(self._lower, self._total(core.forced) + bound)
        if chosen is None:
            return None
        return (*core.forced, *(core.names[place] for place in bits_of(chosen)))

    def _relax_with_fixed_costs(
        self, fixed_costs: FixedCosts, deadline: float
    ) -> tuple[int, ...] | None:
        """The same where groups cost: reductions across groups do not hold."""
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return None
        self._n_solves += 1
        chosen, bound = solve_with_fixed_costs(self._cuts, self._rank, fixed_costs, seconds)
        self._lower = max(self._lower, bound)
        return chosen

    def result(self) -> Minimum:
        """The best cover in the caller's costs."""
        assert self._upper is not None
        cost, bound = (self._unit * units for units in (self._upper, min(self._lower, self._upper)))
        return Minimum(
            self._best,
            int(cost) if self._is_whole else cost,
            int(bound) if self._is_whole else bound,
            self.is_proved(),
            len(self._cuts) - self._n_elements,
            self._n_solves,
        )


def _units(lower: Price, unit: Fraction) -> int:
    """A bound in whole units, rounded up; one in floats is lowered by the tolerance before."""
    if isinstance(lower, float):
        return math.ceil(lowered(lower) / unit)
    return math.ceil(Fraction(lower) / unit)


def _in_range(candidates: Iterable[int], n_candidates: int, place: str) -> frozenset[int]:
    found = frozenset(int(candidate) for candidate in candidates)
    if found and not 0 <= min(found) <= max(found) < n_candidates:
        raise InvalidParameter(
            f"{place} must name candidates from 0 to {n_candidates - 1}; "
            f"it names {min(found) if min(found) < 0 else max(found)}"
        )
    return found


Rank = Callable[[int], tuple[int, int, int]]


def solve_with_fixed_costs(
    cuts: Sequence[Collection[int]], rank: Rank, fixed_costs: FixedCosts, seconds: float
) -> tuple[tuple[int, ...] | None, int]:
    """The cheapest hitting set with its groups by HiGHS, or the best in time; and a lower bound.

    rank: (cost, ...) of a candidate. All costs are whole numbers.
    """
    if not cuts:  # as for a class of ties alone, before any is found
        return (), 0
    kept = _undominated(cuts, rank, fixed_costs)
    costs = [rank(candidate)[0] for candidate in kept]
    paid = sorted({fixed_costs.group_of[c] for c in kept if fixed_costs.more(c, ())})
    prices = [int(fixed_costs.prices[group]) for group in paid]
    constraints = _constraints(cuts, kept, paid, fixed_costs)
    picked, certified = cheapest_choice([*costs, *prices], constraints, seconds)
    if picked is None:
        return None, certified
    chosen = [
        candidate
        for candidate, is_picked in zip(kept, picked[: len(kept)], strict=True)
        if is_picked
    ]
    return (tuple(chosen) if all(set(cut) & set(chosen) for cut in cuts) else None), certified


def _undominated(cuts: Sequence[Collection[int]], rank: Rank, fixed_costs: FixedCosts) -> list[int]:
    """Candidates that no other one can stand for, whatever else is chosen."""
    hits = hits_of(cuts)
    kept: list[int] = []
    for candidate in sorted(hits, key=lambda c: (rank(c)[0], -hits[c].bit_count(), rank(c))):
        group, hit = fixed_costs.group_of[candidate], hits[candidate]
        if not any(
            hit & ~hits[other] == 0
            and (fixed_costs.group_of[other] == group or not fixed_costs.more(other, ()))
            for other in kept
        ):
            kept.append(candidate)
    return kept


def _constraints(
    cuts: Sequence[Collection[int]],
    kept: Sequence[int],
    paid: Sequence[int],
    fixed_costs: FixedCosts,
) -> list[Any]:
    """Every cut is hit, and who is chosen comes from a group that is paid."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    place = {candidate: i for i, candidate in enumerate(kept)}
    width = len(kept) + len(paid)
    entries = [(i, place[c], 1.0) for i, cut in enumerate(cuts) for c in cut if c in place]
    column = {group: len(kept) + i for i, group in enumerate(paid)}
    charged = [c for c in kept if fixed_costs.group_of[c] in column]
    links = [(i, place[c], -1.0) for i, c in enumerate(charged)]
    links += [(i, column[fixed_costs.group_of[c]], 1.0) for i, c in enumerate(charged)]
    found = []
    for listed, height, least in ((entries, len(cuts), 1.0), (links, len(charged), 0.0)):
        if height:
            rows, columns, values = zip(*listed, strict=True)
            matrix = csr_array((values, (rows, columns)), shape=(height, width))
            found.append(LinearConstraint(matrix, lb=least))
    return found
