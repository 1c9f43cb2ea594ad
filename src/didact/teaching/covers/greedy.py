"""The greedy cover: the most new elements per cost first, until nothing is gained.

It costs at most H(d) times the cheapest cover, d the most elements that one candidate covers
(Chvatal 1979), and where fewer picks are allowed than a cover needs it covers at least 1 - 1/e of
the most that so many can. With fixed costs of groups neither bound holds. Ratios are compared
exactly. Ties go to the higher gain, then to the lower rank, which by default is the number (equal
ratio and gain mean equal cost).

Lazy: a candidate's last known gain bounds its gain from above, since what is covered only grows, so
most candidates are not looked at again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    queue = _Queue(masks, costs, rank, fixed_costs)
    picks: list[int] = []
    gains: list[int] = []
    while covered != everything and len(picks) != most:
        pick = queue.next(covered)
        if pick is None:
            break
        after = covered | masks[pick]
        after = after if closure is None else closure(after)
        picks.append(pick)
        gains.append((after & ~covered).bit_count())
        covered = after
    return Greedy(tuple(picks), tuple(gains))


class _Queue:
    """Candidates by their last known gain; of those that cover the same, only the first."""

    def __init__(
        self,
        masks: Mapping[int, int],
        costs: Costs,
        rank: Rank | None,
        fixed_costs: FixedCosts | None,
    ):
        self._masks, self._costs, self._rank, self._fixed = masks, costs, rank, fixed_costs
        self._opened: set[int] = set()
        first = self._first_of_each()
        # Where all cost the same, gains are compared as whole numbers: fractions are slow.
        self._uniform = fixed_costs is None and len({costs[number] for number in first}) <= 1
        self._heap = [self._entry(masks[number].bit_count(), number) for number in first]
        heapq.heapify(self._heap)

    def _first_of_each(self) -> list[int]:
        """For each set of elements the candidate that goes before all others with just it.

        Where groups cost, for each group: a dearer candidate of an open group may be the better.
        """
        first: dict[tuple[int, int], int] = {}
        for number, mask in self._masks.items():
            if mask:
                key = mask, 0 if self._fixed is None else self._fixed.group_of[number]
                best = first.setdefault(key, number)
                if best != number and self._order(number) < self._order(best):
                    first[key] = number
        return list(first.values())

    def _order(self, number: int) -> tuple[Any, ...]:
        return self._costs[number], number if self._rank is None else self._rank(number)

    def _entry(self, gain: int, number: int) -> tuple[Any, ...]:
        ratio: int | Fraction = gain
        if not self._uniform:
            more = 0 if self._fixed is None else self._fixed.more(number, self._opened)
            ratio = Fraction(gain) / (self._costs[number] + more)
        return -ratio, -gain, number if self._rank is None else self._rank(number), number

    def next(self, covered: int) -> int | None:
        """The candidate that gains most per cost beyond what is covered; None where none gains."""
        while self._heap:
            known, number = -self._heap[0][1], self._heap[0][-1]
            gain = (self._masks[number] & ~covered).bit_count()
            if not gain:
                heapq.heappop(self._heap)
            elif gain < known:
                heapq.heapreplace(self._heap, self._entry(gain, number))
            else:
                heapq.heappop(self._heap)
                self._open(number)
                return int(number)
        return None

    def _open(self, number: int) -> None:
        """Count the fixed cost of a candidate's group no longer: the ratios of its others rise."""
        if self._fixed is None or self._fixed.group_of[number] in self._opened:
            return
        self._opened.add(self._fixed.group_of[number])
        self._heap = [self._entry(-gain, other) for _, gain, _, other in self._heap]
        heapq.heapify(self._heap)


def harmonic(d: int) -> Fraction:
    """1 + 1/2 + ... + 1/d: greedy covers cost at most this many times the cheapest (Chvatal 1979).

    d: the most elements that one candidate covers.
    """
    if d < 0:
        raise InvalidParameter(f"d must be at least 0; it is {shown(d)}")
    common = math.lcm(*range(1, d + 1))
    return Fraction(sum(common // i for i in range(1, d + 1)), common)
