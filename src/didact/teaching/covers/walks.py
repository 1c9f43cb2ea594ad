"""The allowed demonstrations as walks over optimal pairs, and the search over all of them.

A walk is allowed when it begins at an allowed start, has at most so many steps, takes optimal
actions, and its moves have at least a probability. The search for walks that exclude more weight
than they cost goes breadth first over (state, set of witnesses excluded so far) and keeps the
likeliest walk of each: whatever follows a node depends on nothing else. It stops at the horizon, or
where no node is new or likelier. Above MAX_NODES nodes it gives up.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from didact.bec.classes import EquivalenceClass, most_actions
from didact.bec.linear import Row
from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.mdp import Demonstration
from didact.numerics.exact import read_number, write_number
from didact.numerics.texts import number_text
from didact.teaching.covers.candidates import Starts
from didact.teaching.covers.problem import Cost
from didact.teaching.covers.set_cover import bits_of

MAX_NODES = 400_000
"""(state, set) nodes of one search; a search that needs more gives no bound."""


class OfferedItem(NamedTuple):
    """An item of a mix that is no demonstration: its half-space normals, cost and member."""

    item: Any
    halfspaces: tuple[Row, ...]
    cost: Fraction
    member: int


@dataclass(frozen=True, eq=False)
class Allowed:
    """The demonstrations that count: starts and horizon of each member, cost, least probability.

    min_probability: of a walk given its start and actions; 0 allows every possible one.
    fixed: what members cost, once, however much is shown there.
    prices: of a mix, what each kind of item costs; None where only demonstrations are shown.
    offered: of a mix, the items that are neither demonstrations nor comparisons.
    demand: how many demonstrations must exclude each wrong reward.
    """

    bec: EquivalenceClass
    offers: Sequence[Starts]
    cost: Cost
    min_probability: Fraction
    fixed: Mapping[int, Fraction]
    prices: Mapping[str, Fraction] | None = None
    offered: Sequence[OfferedItem] = ()
    demand: int = 1

    def cost_of(self, start: int, length: int, probability: Fraction) -> Fraction:
        """What a walk costs that begins there, has so many steps, and moves so with that chance."""
        if self.prices is not None:
            return self.prices["demonstrations"]
        if isinstance(self.cost, Mapping):
            return read_number(self.cost[start], f"cost of start {start}")
        if self.cost == "pairs":
            return Fraction(length)
        return 1 / probability if self.cost == "attempts" else Fraction(1)

    @cached_property
    def unit(self) -> Fraction | None:
        """Every cost is a multiple of it; None for attempts."""
        if isinstance(self.cost, str) and self.cost == "attempts":
            return None
        table: Iterable[Any] = self.cost.values() if isinstance(self.cost, Mapping) else ()
        table = table if self.prices is None else self.prices.values()
        costs = [*(read_number(c, "cost") for c in table), *self.fixed.values()]
        return Fraction(1, math.lcm(*(c.denominator for c in costs)))

    def document(self) -> dict[str, Any]:
        """The rule as a proof names it."""
        is_family = self.bec.is_family
        starts = [[o.member.number, o.starts.tolist()] for o in self.offers]
        horizons = [o.horizon for o in self.offers]
        cost: Any = {self.cost: 1} if isinstance(self.cost, str) else {}
        if isinstance(self.cost, Mapping):
            wanted = sorted({s for o in self.offers for s in o.starts.tolist()})
            cost = {str(s): number_text(read_number(self.cost[s], "cost")) for s in wanted}
        mix: dict[str, Any] = {}
        if self.prices is not None:
            cost = {kind: write_number(price) for kind, price in self.prices.items()}
            mix = {"offered": [each.item.document() for each in self.offered]}
        return {
            "starts": starts if is_family else [s for _, own in starts for s in own],
            "horizon": horizons if is_family else max(horizons, default=0),
            "cost": cost,
            "min_probability": write_number(self.min_probability),
            "member_cost": [[m, write_number(c)] for m, c in self.fixed.items()],
            **mix,
            **({} if self.demand == 1 else {"demand": self.demand}),
        }


def as_probability(given: Any) -> Fraction:
    """The least probability of an allowed walk."""
    exact = read_number(given, "min_probability")
    if not 0 <= exact <= 1:
        raise InvalidParameter(f"min_probability must be from 0 to 1; it is {shown(given)}")
    return exact


def probability_in(bec: EquivalenceClass, demonstration: Demonstration) -> Fraction:
    """The probability of a demonstration's moves in its member, given its start and actions."""
    return walk_probability(bec.members[demonstration.member or 0].task.mdp, demonstration)


def walk_probability(mdp: Any, walk: Iterable[tuple[int, int]]) -> Fraction:
    """The probability of the moves of a walk, given its start and its actions."""
    chance = Fraction(1)
    if mdp.is_deterministic():
        return chance
    palette, codes = mdp.transitions.exact()
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    for (s, a), (after, _) in pairwise(walk):
        row = s * mdp.n_actions + a
        places = range(int(offsets[row]), int(offsets[row + 1]))
        chance *= sum(
            (palette[codes[i]] for i in places if int(successors[i]) == after), Fraction(0)
        )
    return chance


class PricedWalk(NamedTuple):
    """A walk of a search: its pairs, the witnesses it excludes, and what it costs."""

    line: tuple[int, ...]
    excluded: int
    cost: Fraction


class TooLarge(Exception):
    """A search would visit more than MAX_NODES nodes."""


class Walks:
    """Searches the allowed walks of one member; pairs in the common numbering.

    starts: where its walks begin, and their most steps.
    """

    def __init__(self, allowed: Allowed, offer: Starts):
        self._allowed, self.starts = allowed, offer
        member, mdp = offer.member, offer.member.task.mdp
        self._first, self._width = member.first, most_actions(allowed.bec.members)
        self._counts_chance = not mdp.is_deterministic() and (
            allowed.min_probability > 0 or allowed.cost == "attempts"
        )
        self._graph = self._optimal_graph(mdp)
        groups: dict[Any, list[int]] = {}
        for start in offer.starts.tolist():
            groups.setdefault(allowed.cost_of(start, 1, Fraction(1)), []).append(start)
        self._groups = list(groups.values())

    def _optimal_graph(self, mdp: Any) -> list[list[tuple[int, list[tuple[int, Fraction]]]]]:
        """For each state its optimal pairs, and the states that may follow, with probabilities."""
        offsets, successors = mdp.transitions.offsets.tolist(), mdp.transitions.successors.tolist()
        palette, codes = mdp.transitions.exact() if self._counts_chance else ([], [])
        one, ended = Fraction(1), mdp.terminal.tolist()
        graph = []
        for s in range(mdp.n_states):
            moves = []
            for a in self.starts.plan.optimal_actions(s) if not ended[s] else ():
                row = s * mdp.n_actions + a
                chances: dict[int, Fraction] = {}
                for i in range(offsets[row], offsets[row + 1]):
                    if not ended[successors[i]]:
                        p = palette[codes[i]] if self._counts_chance else one
                        t = successors[i]
                        chances[t] = chances.get(t, Fraction(0)) + p if self._counts_chance else one
                pair = (self._first + s) * self._width + a
                moves.append((pair, [(t, p) for t, p in chances.items() if p]))
            graph.append(moves)
        return graph

    def search(
        self, excludes: Mapping[int, int], weights: Sequence[Fraction], *, beam: int | None = None
    ) -> list[PricedWalk]:
        """Every set of witnesses above the cost of the cheapest walk that excludes it.

        beam: of the walks above their cost, only so many of each length are followed further.
        """
        support = sum(1 << i for i, y in enumerate(weights) if y)
        masks = {pair: bits & support for pair, bits in excludes.items() if bits & support}
        worth: dict[int, Fraction] = {0: Fraction(0)}
        best: dict[int, PricedWalk] = {}
        for starts in self._groups:
            for found in self._search(starts, masks, worth, weights, beam):
                old = best.get(found.excluded)
                if old is None or found.cost < old.cost:
                    best[found.excluded] = found
        return list(best.values())

    def _search(
        self,
        starts: Sequence[int],
        masks: Mapping[int, int],
        worth: dict[int, Fraction],
        weights: Sequence[Fraction],
        beam: int | None,
    ) -> Iterable[PricedWalk]:
        cost, least, one = self._allowed.cost_of, self._allowed.min_probability, Fraction(1)
        # A node is a state and what was excluded before it; its entry holds the probability and
        # the way there. A later node is dropped unless it is likelier than every earlier one.
        best: dict[tuple[int, int], Fraction] = {(s, 0): one for s in starts}
        front: dict[tuple[int, int], tuple[Fraction, Any]] = {(s, 0): (one, None) for s in starts}
        for length in range(1, self.starts.horizon + 1):
            after: dict[tuple[int, int], tuple[Fraction, Any]] = {}
            above: dict[int, Fraction] = {}
            for (state, met), (chance, way) in front.items():
                for pair, moves in self._graph[state]:
                    now = met | masks.get(pair, 0)
                    here = (way, pair)
                    if now not in worth:
                        worth[now] = total_weight(now, weights)
                    if now != met and worth[now] > (price := cost(starts[0], length, chance)):
                        yield PricedWalk(_line(here), now, price)
                        above[now] = worth[now]
                    for target, p in moves:
                        likely = chance * p if self._counts_chance else one
                        key = (target, now)
                        if likely >= least and likely > best.get(key, 0):
                            best[key] = likely
                            after[key] = (likely, here)
            if len(best) > MAX_NODES:
                raise TooLarge
            if beam is not None:
                dropped = {*sorted(above, key=lambda bits: -above[bits])[beam:]}
                after = {key: entry for key, entry in after.items() if key[1] not in dropped}
            if not after:
                break
            front = after

    def shortest(self, wanted: Container[int]) -> list[tuple[int, ...]]:
        """For every wanted pair that an allowed walk shows, a shortest walk that ends there."""
        least, one, found = self._allowed.min_probability, Fraction(1), []
        best = {s: one for s in self.starts.starts.tolist()}
        front: dict[int, tuple[Fraction, Any]] = {s: (one, None) for s in best}
        shown_pairs: set[int] = set()
        for _ in range(self.starts.horizon):
            after: dict[int, tuple[Fraction, Any]] = {}
            for state, (chance, way) in front.items():
                for pair, moves in self._graph[state]:
                    if pair in wanted and pair not in shown_pairs:
                        shown_pairs.add(pair)
                        found.append(_line((way, pair)))
                    for target, p in moves:
                        likely = chance * p if self._counts_chance else one
                        if likely >= least and likely > best.get(target, 0):
                            best[target] = likely
                            after[target] = (likely, (way, pair))
            if not after:
                break
            front = after
        return found

    def extended(self, line: Sequence[int]) -> list[int]:
        """The walk, gone on with by first optimal actions and likeliest moves while allowed."""
        found, mdp = list(line), self.starts.member.task.mdp
        steps = [divmod(pair - self._first * self._width, self._width) for pair in found]
        chance = walk_probability(mdp, steps) if self._counts_chance else Fraction(1)
        while len(found) < self.starts.horizon:
            state = found[-1] // self._width - self._first
            moves = next(after for pair, after in self._graph[state] if pair == found[-1])
            if not moves:
                break
            target, p = max(moves, key=lambda move: move[1])
            chance *= p
            if chance < self._allowed.min_probability:
                break
            found.append(self._graph[target][0][0])
        return found


def _line(way: Any) -> tuple[int, ...]:
    pairs = []
    while way is not None:
        way, pair = way
        pairs.append(pair)
    return tuple(reversed(pairs))


def total_weight(bits: int, weights: Sequence[Fraction]) -> Fraction:
    """The weight of the witnesses in a set."""
    return sum((weights[place] for place in bits_of(bits)), Fraction(0))
