"""The greedy cover: the most new elements per cost first, until nothing is gained.

It costs at most H(d) times the cheapest cover, d the most elements that one candidate covers
(Chvatal 1979), and where fewer picks are allowed than a cover needs it covers at least 1 - 1/e of
the most that so many can. With fixed costs of groups neither bound holds. Ratios are compared
exactly. Ties go to the higher gain, then to the lower rank, which by default is the number (equal
ratio and gain mean equal cost).

Lazy (Minoux 1978): most candidates are not looked at again after each pick.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from didact.errors import InvalidParameter
from didact.inputs import shown

Rank = Callable[[int], Any]
Closure = Callable[[int], int]
Costs = Sequence[int | Fraction] | Mapping[int, int] | Mapping[int, Fraction]


class FixedCosts(NamedTuple):
    """Set-up fees of groups: the group of each candidate, and what a group costs once.

    A group is a member of a family: walking over to it is paid once for all that is shown there.
    Groups that are left out of `prices` cost nothing.
    """

    group_of: Sequence[int]
    prices: Mapping[int, int] | Mapping[int, Fraction]

    def of(self, chosen: Iterable[int]) -> int | Fraction:
        """What the groups of the chosen candidates cost together."""
        return sum((self.prices.get(g, 0) for g in {self.group_of[c] for c in chosen}), 0)

    def more(self, candidate: int, opened: Collection[int]) -> int | Fraction:
        """What a candidate costs besides its own cost, after these groups were opened."""
        group = self.group_of[candidate]
        return 0 if group in opened else self.prices.get(group, 0)


class Greedy(NamedTuple):
    """Candidates in the order picked, and how many elements each newly covers."""

    picks: tuple[int, ...]
    gains: tuple[int, ...]


def greedy_cover(
    masks: Mapping[int, int],
    costs: Costs,
    n_elements: int,
    *,
    rank: Rank | None = None,
    closure: Closure | None = None,
    most: int | None = None,
    fixed_costs: FixedCosts | None = None,
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
    if max(masks.values(), default=0) > everything:
        raise InvalidParameter(f"elements must be numbers below {n_elements}")
    opened: set[int] = set()
    picks: list[int] = []
    gains: list[int] = []

    def order(number: int) -> Any:
        return number if rank is None else rank(number)

    def entry(gain: int, number: int) -> tuple[Any, ...]:
        cost = costs[number]
        if fixed_costs is not None:
            cost += fixed_costs.more(number, opened)
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
        if fixed_costs is not None and fixed_costs.more(pick, opened):
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
    if d < 0:
        raise InvalidParameter(f"d must be at least 0; it is {shown(d)}")
    common = math.lcm(*range(1, d + 1))
    return Fraction(sum(common // i for i in range(1, d + 1)), common)
