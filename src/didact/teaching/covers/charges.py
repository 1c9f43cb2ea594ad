"""Covers where opening a group costs: walking over to another world, paid once for all shown there.

The cheapest set costs its candidates and, once each, the groups they come from. Candidates stand
for others only inside a group, or where their own group costs nothing; what is left goes to HiGHS
with one more variable for each group: a candidate may be chosen only where its group is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from didact.teaching.covers.greedy import Closure, Costs
from didact.teaching.covers.reductions import hits_of
from didact.teaching.covers.relaxation import cheapest_choice

Rank = Callable[[int], tuple[int, int, int]]


class Charges(NamedTuple):
    """The group of each candidate, and what groups cost; those that are left out cost nothing."""

    group_of: Sequence[int]
    prices: Mapping[int, int] | Mapping[int, Fraction]

    def of(self, chosen: Iterable[int]) -> int | Fraction:
        """What the groups of the chosen candidates cost together."""
        return sum((self.prices.get(g, 0) for g in {self.group_of[c] for c in chosen}), 0)

    def more(self, candidate: int, opened: Collection[int]) -> int | Fraction:
        """What a candidate costs besides its own cost, after these groups were opened."""
        group = self.group_of[candidate]
        return 0 if group in opened else self.prices.get(group, 0)


def charged_greedy(
    masks: Mapping[int, int],
    costs: Costs,
    charges: Charges,
    *,
    closure: Closure,
    most: int | None = None,
) -> tuple[int, ...]:
    """The most new elements per cost first, a group's charge counted until it is opened.

    Ties go to the higher gain, then to the lower number.
    """
    picks: list[int] = []
    opened: set[int] = set()
    covered = 0
    left = {number: mask for number, mask in masks.items() if mask}
    while left and len(picks) != most:
        entries = (
            (
                *_ratio((mask & ~covered).bit_count(), costs[number], charges.more(number, opened)),
                number,
            )
            for number, mask in left.items()
        )
        pick = min(entries)[-1]
        picks.append(pick)
        opened.add(charges.group_of[pick])
        covered = closure(covered | left[pick])
        left = {number: mask for number, mask in left.items() if mask & ~covered}
    return tuple(picks)


def _ratio(gain: int, cost: int | Fraction, charge: int | Fraction) -> tuple[Fraction, int]:
    """What sorts candidates: the most gained per cost first, then the higher gain."""
    return -gain / Fraction(cost + charge), -gain


def solve_charged_cover(
    cuts: Sequence[Collection[int]], rank: Rank, charges: Charges, seconds: float
) -> tuple[tuple[int, ...] | None, int]:
    """The cheapest hitting set with its groups by HiGHS, or the best in time; and a lower bound.

    rank: (cost, ...) of a candidate. All costs are whole numbers.
    """
    if not cuts:  # as for a class of ties alone, before any is found
        return (), 0
    kept = _undominated(cuts, rank, charges)
    costs = [rank(candidate)[0] for candidate in kept]
    paid = sorted({charges.group_of[c] for c in kept if charges.more(c, ())})
    prices = [int(charges.prices[group]) for group in paid]
    constraints = _constraints(cuts, kept, paid, charges)
    picked, certified = cheapest_choice([*costs, *prices], constraints, seconds)
    if picked is None:
        return None, certified
    chosen = [
        candidate
        for candidate, is_picked in zip(kept, picked[: len(kept)], strict=True)
        if is_picked
    ]
    return (tuple(chosen) if all(set(cut) & set(chosen) for cut in cuts) else None), certified


def _undominated(cuts: Sequence[Collection[int]], rank: Rank, charges: Charges) -> list[int]:
    """Candidates that no other one can stand for, whatever else is chosen."""
    hits = hits_of(cuts)
    kept: list[int] = []
    for candidate in sorted(hits, key=lambda c: (rank(c)[0], -hits[c].bit_count(), rank(c))):
        group, hit = charges.group_of[candidate], hits[candidate]
        if not any(
            hit & ~hits[other] == 0
            and (charges.group_of[other] == group or not charges.more(other, ()))
            for other in kept
        ):
            kept.append(candidate)
    return kept


def _constraints(
    cuts: Sequence[Collection[int]], kept: Sequence[int], paid: Sequence[int], charges: Charges
) -> list[Any]:
    """Every cut is hit, and who is chosen comes from a group that is paid."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    place = {candidate: i for i, candidate in enumerate(kept)}
    width = len(kept) + len(paid)
    entries = [(i, place[c], 1.0) for i, cut in enumerate(cuts) for c in cut if c in place]
    column = {group: len(kept) + i for i, group in enumerate(paid)}
    charged = [c for c in kept if charges.group_of[c] in column]
    links = [(i, place[c], -1.0) for i, c in enumerate(charged)]
    links += [(i, column[charges.group_of[c]], 1.0) for i, c in enumerate(charged)]
    found = []
    for listed, height, least in ((entries, len(cuts), 1.0), (links, len(charged), 0.0)):
        if height:
            rows, columns, values = zip(*listed, strict=True)
            matrix = csr_array((values, (rows, columns)), shape=(height, width))
            found.append(LinearConstraint(matrix, lb=least))
    return found
