"""A lower bound on the cost of every lesson, with its certificate, over all allowed demonstrations.

A reward w is wrong if it violates a half-space of an optimal pair in scope. X(w) is the set of
optimal pairs (s, a) that exclude it: w.(mu(s, a) - mu(s, b)) < 0 for some b. A lesson teaches
half-space learners if and only if it shows a pair of X(w) for every wrong w.

Theorem. Let w_1..w_n be wrong rewards (witnesses) with weights y_i >= 0. If for every allowed
demonstration D the weights of the witnesses that D excludes sum to at most cost(D), then every
lesson that teaches costs at least sum y_i: sum over its D of cost(D) >= sum over D and i of
y_i [D excludes w_i] >= sum y_i. Where costs are multiples of a unit, the bound is rounded up.
Fixed costs F_m of members: the excess of a member's demonstrations over their cost, summed over
those that no other demonstration of the member dominates, may be at most F_m.

Witnesses: w* + step * v on both sides of nothing but one facet, v from the facet's certificate;
for equalities v excludes what the shown equality rows leave open. Weights: the dual of the covering
LP. All walks of a stochastic world, or of a world with ties, are covered by column generation: the
pricing step searches (state, set of witnesses excluded so far) breadth first, keeps the likeliest
walk of each, and adds walks that exclude more weight than they cost. It stops when there is none:
then the bound holds for all walks, sampled or not. `didact.proofcheck` repeats that last search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from didact.bec.classes import EquivalenceClass, member_with, most_actions
from didact.bec.linear import Inside, Row, decide, dot, primitive
from didact.numerics.exact import whole_if_whole, write_number
from didact.numerics.texts import number_text
from didact.teaching.covers.candidates import Candidates, listed
from didact.teaching.covers.set_cover import (
    DENOMINATORS,
    FixedCosts,
    Minimum,
    Uncoverable,
    bits_of,
    cheapest_cover,
    dual_ascent,
    exact_duals,
)
from didact.teaching.covers.walks import (
    Allowed,
    OfferedItem,
    PricedWalk,
    TooLarge,
    Walks,
    total_weight,
    walk_probability,
)

MAX_ROUNDS = 60
"""Rounds of column generation; 10 were enough in all worlds tried."""
BEAM = 300
"""Walks of one length above their cost that are followed further while columns are collected."""
NEW_COLUMNS = 60
"""Columns that one round adds at most: more make the LP slower than the rounds they save."""


class CoverCertificate(NamedTuple):
    """Wrong rewards with weights, and the bound they prove over the allowed demonstrations."""

    allowed: Allowed
    witnesses: tuple[Row, ...]
    weights: tuple[Fraction, ...]
    bound: int | Fraction

    def document(self) -> dict[str, Any]:
        """The part `fewest` of a proof; witnesses of weight 0 prove nothing and are left out."""
        kept = [(w, y) for w, y in zip(self.witnesses, self.weights, strict=True) if y]
        return {
            **self.allowed.document(),
            "witnesses": [[number_text(x) for x in w] for w, _ in kept],
            "weights": [number_text(y) for _, y in kept],
            "bound": write_number(Fraction(self.bound)),
        }


class Witnesses:
    """Wrong rewards, as they are found, and which pairs exclude each: bits by pair number.

    others: half-space normals that are none of the class, as those of trajectories may be. A
    witness lies inside them where that can be.
    """

    def __init__(self, bec: EquivalenceClass, others: Iterable[Row] = ()):
        assert bec.rows.exact is not None
        self.bec, self._rows = bec, bec.rows.exact
        self._true = primitive(bec.cone.true_weights.fractions())
        self._slack = [dot(row, self._true) for row in self._rows]
        self._others = [row for row in dict.fromkeys(others) if dot(row, self._true) > 0]
        width, rows = most_actions(bec.members), bec.rows
        self._pairs_of_row: list[list[int]] = [[] for _ in self._rows]
        pairs = (rows.statements[:, 0] * width + rows.statements[:, 1]).tolist()
        for pair, row in zip(pairs, rows.number.tolist(), strict=True):
            if row >= 0:
                self._pairs_of_row[row].append(pair)
        self.rewards: list[Row] = []
        self.excludes: dict[int, int] = {}
        facets = zip(bec.cone.facets, bec.cone.witnesses, strict=True)
        for members, direction in facets:
            self.add(direction, self._slack[members[0]], -dot(self._rows[members[0]], direction))

    def add(self, direction: Row, slack: int = 0, slope: int = 1) -> None:
        """The reward w* + step * direction, step just above slack / slope.

        Where rows fall along the direction, each is violated from its own slack / slope on; the
        step lies before the next of these, so that no further row is violated.
        """
        slopes = [dot(row, direction) for row in self._rows]
        along = [*zip(self._slack, slopes, strict=True)]
        along += [(dot(row, self._true), dot(row, direction)) for row in self._others]
        later = [Fraction(s, -d) for s, d in along if d < 0 and s * slope > slack * -d]
        first = Fraction(slack, slope)
        step = _simplest_between(first, min(later)) if later else first + 1
        reward = [
            step.denominator * w + step.numerator * v
            for w, v in zip(self._true, direction, strict=True)
        ]
        bit = 1 << len(self.rewards)
        self.rewards.append(primitive(reward))
        for row, (s, d) in enumerate(zip(self._slack, slopes, strict=True)):
            if step.denominator * s + step.numerator * d < 0:
                for pair in self._pairs_of_row[row]:
                    self.excludes[pair] = self.excludes.get(pair, 0) | bit

    def excluded_by_item(self, item: OfferedItem) -> int:
        """The witnesses that an item of a mix excludes, as bits."""
        return sum(
            1 << number
            for number, reward in enumerate(self.rewards)
            if any(dot(row, reward) < 0 for row in item.halfspaces)
        )

    def useful_pairs(self) -> set[int]:
        """Pairs that exclude a witness, or may exclude one that an open equality adds."""
        equalities = self.bec.cone.equalities
        return {*self.excludes, *(p for row in equalities for p in self._pairs_of_row[row])}

    def excluded_by(self, line: Iterable[int]) -> int:
        """The witnesses that a demonstration excludes, as bits."""
        return reduce(or_, (self.excludes.get(pair, 0) for pair in line), 0)

    def add_open_equality(
        self, lines: Iterable[Iterable[int]], items: Iterable[OfferedItem] = ()
    ) -> bool:
        """Add a witness that breaks an equality which all that is shown leaves open; else False."""
        equalities = self.bec.cone.equalities
        pairs = {pair for line in lines for pair in line}
        given = [self._rows[r] for r in equalities if not pairs.isdisjoint(self._pairs_of_row[r])]
        stated = (row for item in items for row in item.halfspaces)
        given += [row for row in stated if any(row) and not dot(row, self._true)]
        for row in equalities:
            verdict = decide(given, self._rows[row])
            if not isinstance(verdict, Inside):
                self.add(verdict.witness)
                return True
        return False


def _simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator strictly between two (0 <= low < high).

    Witnesses are written into proofs and multiplied by every row: short numbers keep both quick.
    """
    whole = math.floor(low) + 1
    if whole < high:
        return Fraction(whole)
    below = whole - 1
    if low == below:
        return below + Fraction(1, math.floor(1 / (high - below)) + 1)
    return below + 1 / _simplest_between(1 / (high - below), 1 / (low - below))


class Columns:
    """Walks found so far: what each excludes and costs. The LP over them, and its exact duals."""

    def __init__(self, allowed: Allowed, witnesses: Witnesses, lines: Iterable[Sequence[int]]):
        self.allowed, self.witnesses = allowed, witnesses
        self._walks = [Walks(allowed, offer) for offer in allowed.offers]
        self.items = [*_comparisons(allowed), *allowed.offered]
        # Items come first, as empty walks, so that their numbers stay as walks are added.
        self.lines: list[tuple[int, ...]] = [() for _ in self.items]
        self.costs = [item.cost for item in self.items]
        self.members = [item.member for item in self.items]
        self._known: set[tuple[int, ...]] = set()
        for line in lines:
            self._add(tuple(line))

    def _add(self, line: tuple[int, ...], cost: Fraction | None = None) -> None:
        if line in self._known:
            return
        self._known.add(line)
        width = most_actions(self.allowed.bec.members)
        member = member_with(self.allowed.bec.members, line[0] // width)
        if cost is None:
            steps = [divmod(pair - member.first * width, width) for pair in line]
            mdp = member.task.mdp
            needs_chance = self.allowed.cost == "attempts"
            chance = walk_probability(mdp, steps) if needs_chance else Fraction(1)
            cost = self.allowed.cost_of(steps[0][0], len(line), chance)
        self.lines.append(line)
        self.costs.append(cost)
        self.members.append(member.number or 0)

    def excluded(self) -> list[int]:
        """The witnesses that each column excludes, as bits."""
        walks = self.lines[len(self.items) :]
        return [
            *map(self.witnesses.excluded_by_item, self.items),
            *map(self.witnesses.excluded_by, walks),
        ]

    def complete(self) -> bool:
        """Whether every witness is excluded by a walk; adds shortest walks until that is so."""
        everything = (1 << len(self.witnesses.rewards)) - 1
        for walks in self._walks:
            for line in walks.shortest(self.witnesses.useful_pairs()):
                self._add(line)
        return reduce(or_, self.excluded(), 0) == everything

    def generate(self) -> None:
        """Add walks that exclude more weight than they cost until no allowed walk does."""
        for _ in range(MAX_ROUNDS):
            prices = self.duals(10**6)
            # A little less than the LP's own duals: else its rounding errors would be columns.
            trial = [y * Fraction(10**6 - 10, 10**6) for y in prices]
            found = [
                column
                for walks in self._walks
                for column in walks.search(self.witnesses.excludes, trial, beam=BEAM)
            ]
            if self.allowed.fixed:
                # A fixed cost may pay for what outweighs its own: no walk is added twice.
                found = [f for f in found if f.line not in self._known]
            if not found:
                return
            found.sort(key=lambda f: -total_weight(f.excluded, trial) / f.cost)
            before = len(self.lines)
            for column in _undominated(found)[:NEW_COLUMNS]:
                self._add(column.line, column.cost)
            if len(self.lines) == before:
                return

    def duals(self, denominator: int) -> list[Fraction]:
        """Weights of the witnesses: the duals of the covering LP over the columns, rounded."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        excluded, n = self.excluded(), len(self.witnesses.rewards)
        distinct: dict[tuple[int, int], Fraction] = {}
        for bits, cost, member in zip(excluded, self.costs, self.members, strict=True):
            key = (bits, member if self.allowed.fixed else 0)
            distinct[key] = min(cost, distinct.get(key, cost))
        keys = list(distinct)
        paid = sorted({m for _, m in keys if self.allowed.fixed.get(m)})
        entries = [(i, j, -1.0) for j, (bits, _) in enumerate(keys) for i in bits_of(bits)]
        place = {m: len(keys) + i for i, m in enumerate(paid)}
        height = n
        for j, (_, member) in enumerate(keys):
            if member in place:
                entries += [(height, j, 1.0), (height, place[member], -1.0)]
                height += 1
        rows, columns, values = zip(*entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(height, len(keys) + len(paid)))
        scale = max(distinct.values())
        objective = [float(distinct[key] / scale) for key in keys]
        objective += [float(self.allowed.fixed[m] / scale) for m in paid]
        answer = linprog(objective, A_ub=matrix, b_ub=[-1.0] * n + [0.0] * (height - n))
        if answer.status != 0:
            return [Fraction(0)] * n
        return [y * scale for y in exact_duals(answer, denominator)[:n]]

    def certificate(self, cost: Fraction | int | None) -> CoverCertificate:
        """The best bound that exact weights prove; it stops early where it meets the cost."""
        best = CoverCertificate(self.allowed, (), (), 0)
        if self.lines:
            excluded, n = self.excluded(), len(self.witnesses.rewards)
            who = [[j for j, bits in enumerate(excluded) if bits >> i & 1] for i in range(n)]
            # Ascent needs no solver and mostly meets the cost; else duals, rounded ever finer.
            for denominator in (0, *DENOMINATORS):
                weights = self.duals(denominator) if denominator else dual_ascent(who, self.costs)
                share = self._feasible_share(weights)
                weights = [y * share for y in weights]
                total = self.allowed.demand * sum(weights, Fraction(0))
                unit = self.allowed.unit
                bound = whole_if_whole(total if unit is None else math.ceil(total / unit) * unit)
                if bound > best.bound:
                    rewards = tuple(self.witnesses.rewards)
                    best = CoverCertificate(self.allowed, rewards, tuple(weights), bound)
                if cost is not None and best.bound >= cost:
                    break
        return best

    def _feasible_share(self, weights: Sequence[Fraction]) -> Fraction:
        """By what the weights are to be multiplied so that no allowed walk outweighs its cost."""
        share = Fraction(1)
        by_member = {walks.starts.member.number or 0: walks for walks in self._walks}
        for member in range(len(self.allowed.bec.members)):
            fixed, walks = self.allowed.fixed.get(member, Fraction(0)), by_member.get(member)
            while True:
                scaled = [y * share for y in weights]
                above = walks.search(self.witnesses.excludes, scaled) if walks else []
                for item in self.items:
                    bits = self.witnesses.excluded_by_item(item)
                    if item.member == member and total_weight(bits, scaled) > item.cost:
                        above.append(PricedWalk((), bits, item.cost))
                worths = [(total_weight(f.excluded, scaled), f.cost) for f in _undominated(above)]
                excess = sum((worth - cost for worth, cost in worths), Fraction(0))
                if excess <= fixed:
                    break
                if not fixed:
                    share *= min(cost / worth for worth, cost in worths)
                    break
                share *= Fraction(99, 100) if share > Fraction(1, 2) else Fraction(1, 2)
                if share < Fraction(1, 1000):
                    return Fraction(0)
        return share


def _comparisons(allowed: Allowed) -> Iterable[OfferedItem]:
    """Of a mix every half-space of the class as a comparison, once for each member."""
    if allowed.prices is None or "comparisons" not in allowed.prices:
        return
    bec, price = allowed.bec, allowed.prices["comparisons"]
    rows, member_of = bec.rows, dict[tuple[int, int], None]()
    states = rows.statements[:, 0].tolist()
    for state, number in zip(states, rows.number.tolist(), strict=True):
        if number >= 0:
            member_of[number, member_with(bec.members, state).number or 0] = None
    assert rows.exact is not None
    for number, member in member_of:
        yield OfferedItem(None, (rows.exact[number],), price, member)


def _undominated(found: Sequence[PricedWalk]) -> list[PricedWalk]:
    """Those of which none excludes as much at no higher cost."""
    kept: list[PricedWalk] = []
    for one in sorted(found, key=lambda f: (f.cost, -f.excluded.bit_count())):
        if all(one.excluded & ~other.excluded for other in kept):
            kept.append(one)
    return kept


class Cheapest(NamedTuple):
    """The cheapest lesson over listed or generated walks: the walks, those chosen, and its bound.

    chosen, certificate: None where no allowed lesson teaches.
    """

    candidates: Candidates
    costs: list[int | Fraction]
    chosen: tuple[int, ...] | None
    certificate: CoverCertificate | None

    def extended(self, allowed: Allowed) -> Cheapest:
        """The same with walks that go on to the horizon or the episode's end, while allowed."""
        own = self.candidates
        by_first = {offer.member.first: Walks(allowed, offer) for offer in allowed.offers}
        lines = []
        for row in own.pairs.tolist():
            line = [pair for pair in row if pair >= 0]
            member = member_with(allowed.bec.members, line[0] // own.n_actions)
            lines.append(by_first[member.first].extended(line))
        return self._replace(
            candidates=Candidates.of(lines, own.n_actions, own.horizon, own.firsts)
        )


def cheapest_lesson(
    allowed: Allowed, candidates: Candidates | None, time_limit: float | None = None
) -> Cheapest | None:
    """The cheapest lesson over all allowed walks, with the certificate of its bound.

    candidates: all walks there are, where they are listed; else walks are generated. None where a
    search would be too large.
    """
    bec = allowed.bec
    columns = columns_of(allowed, candidates)
    try:
        found = _minimum(columns, generate=candidates is None, time_limit=time_limit)
        certificate = None if found is None else columns.certificate(found.cost)
    except TooLarge:
        return None
    if candidates is None:
        horizon = max((offer.horizon for offer in allowed.offers), default=1)
        candidates = listed(bec, columns.lines, horizon)
    costs = [whole_if_whole(cost) for cost in columns.costs]
    return Cheapest(candidates, costs, None if found is None else found.chosen, certificate)


def columns_of(allowed: Allowed, candidates: Candidates | None) -> Columns:
    """The listed candidates as columns, and a witness for each facet."""
    listed = [] if candidates is None else candidates.pairs.tolist()
    others = (row for each in allowed.offered for row in each.halfspaces)
    witnesses = Witnesses(allowed.bec, others)
    return Columns(allowed, witnesses, ([p for p in x if p >= 0] for x in listed))


def _minimum(columns: Columns, *, generate: bool, time_limit: float | None) -> Minimum | None:
    """The cheapest columns that exclude every wrong reward; None where all together do not.

    generate: add walks to the columns until no allowed walk excludes more weight than it costs.
    """
    witnesses, fixed = columns.witnesses, columns.allowed.fixed

    def find_gap(chosen: tuple[int, ...]) -> set[int] | None:
        bits = columns.excluded()
        excluded = reduce(or_, (bits[number] for number in chosen), 0)
        left = ((1 << len(witnesses.rewards)) - 1) & ~excluded
        if not left:
            items = [columns.items[n] for n in chosen if n < len(columns.items)]
            if not witnesses.add_open_equality((columns.lines[n] for n in chosen), items):
                return None
            left, bits = 1 << (len(witnesses.rewards) - 1), columns.excluded()
        bit = left & -left
        return {n for n, own in enumerate(bits) if own & bit}

    while True:
        if generate and not columns.complete():
            return None
        n_witnesses = len(witnesses.rewards)
        if generate and n_witnesses:
            columns.generate()
        excluded = columns.excluded()
        try:
            found = cheapest_cover(
                [range(bits.bit_count()) for bits in excluded],
                [whole_if_whole(cost) for cost in columns.costs],
                find_gap,
                elements=[
                    {n for n, bits in enumerate(excluded) if bits >> i & 1}
                    for i in range(n_witnesses)
                ],
                time_limit=time_limit,
                fixed_costs=FixedCosts(columns.members, fixed),
            )
        except Uncoverable:
            return None
        # Each equality that was still open has become a witness: price walks for it too.
        if not generate or len(witnesses.rewards) == n_witnesses:
            return found
