"""Reductions of a hitting set problem that keep its cheapest cost, and its linear relaxation's.

A cut that holds another cut says nothing new, a candidate that hits no more than another and costs
no less is not needed, and the only candidate of a cut is taken; again and again until nothing
changes, which ends because every round drops a cut or a candidate. They settle nearly every
instance of teaching, without a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from didact.errors import Unsupported

Cut = Collection[int]


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
