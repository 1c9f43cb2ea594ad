"""The cheapest lesson in which several demonstrations exclude every wrong reward: a multicover.

With demand r every wrong reward must be excluded by at least r of the demonstrations. Near w* a
wrong reward breaks one facet and nothing else, or some equality rows: so the demand holds for all
wrong rewards if it holds for one witness of each facet, and for every direction that breaks an
equality row. Directions are separated exactly: look for demonstrations, fewer than r, without which
the equality rows shown no longer span all (see `thin_direction`). What is found is a wrong reward
that too few exclude; it joins the witnesses, and the MILP is solved again.

The bound is that of `fewest`: weights of witnesses of which no allowed demonstration excludes more
than it costs; each of them is excluded r times, so that a lesson costs at least r times their sum.
Demonstrations may be repeated, or, where asked, not: then the same bound holds, but may be lower
than the cheapest lesson.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, most_actions
from didact.bec.linear import Inside, Row, decide
from didact.errors import Unsupported
from didact.mdp import Demonstration
from didact.numerics.exact import whole_if_whole
from didact.stages import stage
from didact.teaching.covers.candidates import Candidates, lines_of
from didact.teaching.covers.fewest import Cheapest, Columns, columns_of
from didact.teaching.covers.set_cover import bits_of, incidence, scaled_objective, whole_costs
from didact.teaching.covers.walks import Allowed, TooLarge


def cheapest_multicover(
    allowed: Allowed, candidates: Candidates | None, *, repeats: bool, time_limit: float | None
) -> Cheapest:
    """The cheapest demonstrations, with repeats in `chosen`, and the certificate of the bound.

    candidates: all walks there are, where they are listed; else walks are generated.
    """
    columns, demand = columns_of(allowed, candidates), allowed.demand
    refused = f"no lesson of allowed demonstrations excludes every wrong reward {demand} times: "
    deadline = math.inf if time_limit is None else time.monotonic() + time_limit
    try:
        while True:
            n_witnesses = len(columns.witnesses.rewards)
            if candidates is None:
                if not columns.complete():
                    raise Unsupported(refused + "what may be shown cannot teach it")
                columns.generate()
            stage(f"multicover: {n_witnesses:,} wrong rewards, each {demand} times")
            counts = _cheapest_counts(columns, demand, repeats, deadline)
            if counts is None:
                raise Unsupported(refused + "demonstrations do not suffice; allow repeats")
            chosen = [j for j, n in enumerate(counts) for _ in range(n)]
            direction = thin_direction(allowed.bec, [columns.lines[j] for j in chosen], demand - 1)
            if direction is None:
                break
            columns.witnesses.add(direction[0])
        cost = sum((columns.costs[j] for j in chosen), Fraction(0))
        certificate = columns.certificate(whole_if_whole(cost))
    except TooLarge:
        raise Unsupported(refused + "it has too many trajectories to search") from None
    if candidates is None:
        members = allowed.bec.members
        firsts = tuple(member.first for member in members) if allowed.bec.is_family else None
        horizon = max(offer.horizon for offer in allowed.offers)
        candidates = Candidates.of(columns.lines, most_actions(members), horizon, firsts)
    costs = [whole_if_whole(cost) for cost in columns.costs]
    # Every chosen column once, then what is repeated.
    rounds = [j for k in range(max(counts, default=0)) for j, n in enumerate(counts) if n > k]
    return Cheapest(candidates, costs, tuple(rounds), certificate)


def _cheapest_counts(
    columns: Columns, demand: int, repeats: bool, deadline: float
) -> list[int] | None:
    """How often each column is taken, by HiGHS; None where even all together are too few."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    masks, n = columns.excluded(), len(columns.witnesses.rewards)
    counts, most = [0] * len(masks), demand if repeats else 1
    used = [j for j, bits in enumerate(masks) if bits]
    if repeats:  # of those that exclude the same witnesses the cheapest
        descending = sorted(used, key=lambda j: (columns.costs[j], j), reverse=True)
        used = sorted({masks[j]: j for j in descending}.values())
    who: list[list[int]] = [[] for _ in range(n)]
    for place, j in enumerate(used):
        for bit in bits_of(masks[j]):
            who[bit].append(place)
    if not n or any(len(each) * most < demand for each in who):
        return None if n else counts
    whole, _ = whole_costs([whole_if_whole(columns.costs[j]) for j in used])
    limit = deadline - time.monotonic()
    answer = milp(
        scaled_objective(whole)[0],
        integrality=np.ones(len(used)),
        bounds=Bounds(0.0, float(most)),
        constraints=[LinearConstraint(incidence(who, len(used)), lb=float(demand))],
        options={"mip_rel_gap": 0.0} | ({} if math.isinf(limit) else {"time_limit": max(limit, 0)}),
    )
    # Out of time: as many as there may be of everything.
    found = [most] * len(used) if answer.x is None else np.rint(answer.x).astype(int).tolist()
    # The solver is not trusted: whatever it says, each witness is counted again.
    for each in who:
        for place in each:
            short = demand - sum(found[other] for other in each)
            found[place] = min(most, found[place] + max(0, short))
    for place, j in enumerate(used):
        counts[j] = found[place]
    return counts


Found = tuple[Row, frozenset[int]]


def thin_direction(bec: EquivalenceClass, lines: Sequence[Any], most: int) -> Found | None:
    """A direction that breaks an equality row and that at most so many of the lines exclude.

    lines: pairs in the common numbering. Beside it the lines that may exclude it. None where there
    is none: proved by certificates. Where all equality rows follow from what is left, each way to
    open one of them drops a line of its certificate: these are tried one after the other.
    """
    exact, equalities = bec.rows.exact, bec.cone.equalities
    if not equalities:
        return None
    assert exact is not None
    who = who_states(bec, lines)
    seen: set[frozenset[int]] = set()

    def search(dropped: frozenset[int]) -> Found | None:
        if dropped in seen:
            return None
        seen.add(dropped)
        given = [row for row in equalities if who[row] - dropped]
        branches: set[int] = set()
        for row in equalities:
            verdict = decide([exact[g] for g in given], exact[row])
            if not isinstance(verdict, Inside):
                return verdict.witness, dropped
            if len(dropped) < most:
                support = {given[i] for i in verdict.multipliers.indices}
                support = {row} if row in given else support
                # A row that too many state is broken by no direction in search.
                few = most - len(dropped)
                open_to = (who[g] - dropped for g in support)
                branches |= {i for left in open_to if len(left) <= few for i in left}
        for line in sorted(branches):
            found = search(dropped | {line})
            if found is not None:
                return found
        return None

    return search(frozenset())


def excludes_all(
    bec: EquivalenceClass, demonstrations: Sequence[Demonstration], demand: int
) -> bool:
    """Whether every wrong reward is excluded by so many of the demonstrations."""
    require_exact(bec)
    lines = lines_of(bec, demonstrations)
    enough = all(len(each) >= demand for each in who_state_facet(bec, lines))
    return enough and thin_direction(bec, lines, demand - 1) is None


def require_exact(bec: EquivalenceClass) -> None:
    """Refuse a class of floats."""
    if bec.rows.exact is None:
        raise Unsupported(
            "forged demonstrations are counted exactly; give the class of arithmetic='exact'"
        )


def who_states(bec: EquivalenceClass, lines: Sequence[Sequence[int]]) -> dict[int, frozenset[int]]:
    """For each row the demonstrations that state it."""
    width, rows = most_actions(bec.members), bec.rows
    by_pair: dict[int, set[int]] = {}
    for number, line in enumerate(lines):
        for pair in line:
            by_pair.setdefault(pair, set()).add(number)
    found: dict[int, set[int]] = {row: set() for row in range(rows.n_rows)}
    pairs = (rows.statements[:, 0] * width + rows.statements[:, 1]).tolist()
    for pair, row in zip(pairs, rows.number.tolist(), strict=True):
        if row >= 0:
            found[row] |= by_pair.get(pair, set())
    return {row: frozenset(each) for row, each in found.items()}


def who_state_facet(bec: EquivalenceClass, lines: Sequence[Sequence[int]]) -> list[frozenset[int]]:
    """For each facet the demonstrations that state one of its rows."""
    who = who_states(bec, lines)
    return [frozenset[int]().union(*(who[row] for row in each)) for each in bec.cone.facets]
