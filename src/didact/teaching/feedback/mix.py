"""The cheapest mix of demonstrations and other feedback, with a certificate of its bound.

Every candidate's rows lie in the class, so a complete lesson states a row of each facet and rows
that span the equalities, as lessons of demonstrations do: the same implicit hitting set finds it.
More kinds are more candidates, so adding one never makes a lesson cost more.

In a family every candidate is of one member, and members may cost something to visit.

Over-teaching also tries few preferences that say more than the class and so need fewer items, and
takes them where they cost less.

Theory (BEYOND 2). Half-spaces that hold at the true weights w and imply the class number at least
its rank, and one more where there are ties: nonnegative combinations of fewer span too little.
Items whose half-spaces are rows of the class need one for each facet. Preferences between two
trajectories that are worth nearly the same are no such rows: the boundaries of their half-spaces
pass close to w. As many of them as the rank, whose parts across w point apart like the corners of
a simplex, leave a thin cone around w: a facet follows as soon as the small margins weigh less than
its own. So they are harder to give: some margin is below the smallest facet's.

Search. All short trajectories of a start are sorted by their return; neighbours differ least. For
each corner of a random simplex the pair is taken that points there most nearly, among those below
a margin; the largest margin at which that works is taken. Floats only propose: what is found is
judged exactly, and where nothing is found, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from didact.bec.classes import EquivalenceClass, Member
from didact.bec.halfspaces import scope_states
from didact.bec.linear import Row, primitive
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, entries, flag, shown
from didact.mdp import MDP, Comparison, Demonstration, Preference
from didact.mdp.items import Item
from didact.numerics.exact import Floats, changed, read_number, whole_if_whole
from didact.numerics.geometry import null_space, row_space
from didact.numerics.texts import number_text
from didact.teaching.covers.candidates import Indices, stack_lines
from didact.teaching.covers.fewest import CoverCertificate, cheapest_lesson
from didact.teaching.covers.problem import Coverage, Problem, cover_elements
from didact.teaching.covers.set_cover import FixedCosts
from didact.teaching.covers.walks import Allowed, OfferedItem, probability_in
from didact.teaching.feedback.candidates import (
    KINDS,
    Offered,
    offered_items,
    statements_of,
    ways_that_meet,
)
from didact.teaching.feedback.halfspaces import (
    item_differences,
    item_words,
    judge_items,
    margin,
    mixed_proof,
)
from didact.teaching.lesson import Lesson
from didact.teaching.teachers import exact_minimum
from didact.teaching.trim import all_closed
from didact.teaching.witness import facet_records, missing_elements

MAX_WAYS, MAX_PAIRS, MAX_STEPS = 1_100, 100_000, 60
"""Trajectories from a start, pairs of neighbours in all, and steps of a trajectory: they bound time
and memory, and nothing is claimed where too few are seen."""

MAX_COMPARED = 20_000
"""Pairs, drawn at random, among which corners are sought: one product of matrices stays small."""

MAX_STARTS = 500
"""Of a family, starts that are drawn by chance where there are more."""

NEIGHBOURS = 4
"""Each trajectory is compared with so many that are worth little less."""

MIN_SIMPLICES, MAX_SIMPLICES, MAX_COSINES = 30, 400, 1_000_000
"""Random simplices that are tried for each size of margins; more where there are few pairs, so that
each size takes about as many cosines."""

TOWARDS = 0.75
"""Every other time the least margin is taken among pairs whose cosine to a corner is above it: the
best direction may have a large margin, and the smallest margin a bad direction."""

NEGLIGIBLE = 1e-9
"""Parts of a normal, against the largest count, that are rounding."""

SIZES = 10.0 ** -np.arange(1.0, 10.5, 0.5)
"""Largest margins that are tried, against the part across w; the largest that works is taken, since
larger differences are easier to see."""


def as_kinds(given: Any) -> tuple[str, ...]:
    """The kinds of feedback that may be used, each once."""
    named = [given] if isinstance(given, str) else entries(given, "feedback", "kinds")
    kinds = tuple(dict.fromkeys(choice(kind, "feedback", KINDS) for kind in named))
    if not kinds:
        raise InvalidParameter("feedback must name at least one kind; it names none")
    return kinds


def kind_costs(given: Any, kinds: Sequence[str]) -> dict[str, int | Fraction]:
    """What an item of each kind costs: 1, or what a table {kind: cost} says."""
    if isinstance(given, str) and given == "demonstrations":
        return dict.fromkeys(kinds, 1)
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            f"cost with feedback must be a table {{kind: cost}}; it is {shown(given)}"
        )
    for kind in given:
        choice(kind, "cost: kind", kinds)
    costs: dict[str, int | Fraction] = dict.fromkeys(kinds, 1)
    for kind, cost in given.items():
        exact = read_number(cost, f"cost of {kind}")
        if exact <= 0:
            raise InvalidParameter(f"cost of {kind} must be positive; it is {shown(cost)}")
        costs[kind] = whole_if_whole(exact)
    return costs


def item_costs(given: Any, items: Sequence[Item]) -> list[int | Fraction]:
    """What recorded items cost: 1 each, or what a table {kind: cost} says of their kinds."""
    costs = kind_costs(given, (*KINDS, "stops"))
    found = []
    for item in items:
        is_correction = isinstance(item, Preference) and item.correction
        kind = "corrections" if is_correction else f"{type(item).__name__.lower()}s"
        found.append(costs[kind])
    return found


def as_margin(over_teach: Any, margin: Any, kinds: Sequence[str] | None) -> Fraction | None:
    """The least difference that over-teaching may ask to be seen; None where it is not wanted."""
    if not flag(over_teach, "over_teach"):
        if margin is not None:
            raise InvalidParameter("margin is for over_teach=True; leave it out, or say that")
        return None
    if kinds is None or "preferences" not in kinds:
        raise InvalidParameter("over_teach needs 'preferences' among feedback; add it")
    least = Fraction(0) if margin is None else read_number(margin, "margin")
    if least < 0:
        raise InvalidParameter(f"margin must not be negative; it is {shown(margin)}")
    return least


def mixed_lesson(
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
    settings: Mapping[str, Any],
    allowed: Allowed,
    least: Fraction | None = None,
) -> Lesson:
    """The cheapest lesson of these kinds; problem: that of the demonstrations alone.

    allowed: which demonstrations count for the bound.
    least: try preferences that say more than the class, with at least this difference in return.
    """
    bec = problem.bec
    if bec.rows.exact is None:
        raise Unsupported(
            "other feedback than demonstrations needs exact arithmetic; use arithmetic='exact'"
        )
    offered = list(offered_items(bec, problem, kinds, costs))
    members = [offer.item.member or 0 for offer in offered]
    mixed = Problem(
        problem.elements,
        cast(Any, [offer.item for offer in offered]),
        [offer.cost for offer in offered],
        problem.budget,
        fixed_costs=FixedCosts(members, problem.fixed_costs.prices),
        given_masks={i: offer.mask for i, offer in enumerate(offered) if offer.mask},
    )
    picks = exact_minimum(mixed, np.random.default_rng(0), **problem.options)
    chosen = [offered[number] for number in picks.numbers]
    coverage = Coverage.of(mixed.elements, [offer.mask for offer in chosen])
    cost = mixed.cost_of(picks.numbers)
    items = tuple(offer.item for offer in chosen)
    offered_bits = mixed.covered_by(mixed.masks)
    lesson = _lesson_of_items(coverage, items, cost, settings, offered_bits)
    if least is not None:
        # Preferences that say more than the class are not among what a certificate allows.
        any_halfspaces = fewest_halfspaces(bec) * min(costs.values())
        bound = None if "demonstrations" in kinds else whole_if_whole(Fraction(any_halfspaces))
        usual = changed(lesson, lower_bound=bound)
        return _over_taught(problem, usual, costs["preferences"], least)
    certificate = _certificate(problem, kinds, costs, offered, allowed)
    if certificate is None:
        is_sampled = "demonstrations" in kinds and problem.candidates.sampled
        return changed(lesson, candidates=f"sampled, {len(offered)}") if is_sampled else lesson
    if not lesson.is_complete:
        return changed(lesson, lower_bound=certificate.bound)
    proof = partial(_proof_with_bound, bec, lesson.items, certificate)
    return changed(lesson, lower_bound=certificate.bound, proof=proof)


def _certificate(
    problem: Problem,
    kinds: Sequence[str],
    costs: Mapping[str, int | Fraction],
    offered: Sequence[Offered],
    allowed: Allowed,
) -> CoverCertificate | None:
    """The bound on every mix of allowed demonstrations, of all comparisons and of the rest."""
    bec = problem.bec
    others = [
        OfferedItem(
            each.item,
            tuple(primitive(difference) for difference in item_differences(bec, each.item)),
            Fraction(each.cost),
            each.item.member or 0,
        )
        for each in offered
        if not isinstance(each.item, Demonstration | Comparison)
    ]
    shows = "demonstrations" in kinds
    allowed = replace(
        allowed,
        offers=allowed.offers if shows else (),
        prices={kind: Fraction(costs[kind]) for kind in kinds},
        offered=others,
    )
    is_listed = shows and not problem.candidates.sampled
    found = cheapest_lesson(allowed, problem.candidates if is_listed else None)
    return None if found is None else found.certificate


def _proof_with_bound(
    bec: EquivalenceClass, items: Sequence[Item], certificate: CoverCertificate
) -> dict[str, Any]:
    return {**mixed_proof(bec, items, None), "fewest": certificate.document()}


def _over_taught(problem: Problem, usual: Lesson, price: int | Fraction, least: Fraction) -> Lesson:
    """Near-tie preferences, where they teach for less than the usual lesson, or at all."""
    bec = problem.bec
    items = near_ties(bec, least, np.random.default_rng(0))
    if items is None or (problem.budget is not None and len(items) > problem.budget):
        if usual.hardest is None or usual.hardest >= least:
            return usual
        raise Unsupported(
            "no lesson was found whose items all differ in return by at least the margin "
            f"{number_text(least)}; the usual one rests on a difference of "
            f"{float(usual.hardest):.3g}. Give a margin of at most that, or leave it out"
        )
    prices = problem.member_prices
    visits = sum(prices.get(member, 0) for member in {item.member or 0 for item in items})
    cost = whole_if_whole(Fraction(len(items) * price + visits))
    if usual.is_complete and cost >= usual.cost and (usual.hardest or least) >= least:
        return usual
    # No single item states a facet: one is covered by the first item after which it follows.
    elements = cover_elements(bec)
    element_of = {elements.row_of(e): e for e in range(elements.n_elements)}
    after = []
    for n in range(len(items) + 1):
        left = judge_items(bec, items[:n], []).open_rows
        after.append(elements.everything & ~sum(1 << element_of[row] for row in left))
    lesson = _lesson_of_items(Coverage(elements, tuple(after)), items, cost, usual.settings)
    return changed(lesson, lower_bound=usual.lower_bound)


def _lesson_of_items(
    coverage: Coverage,
    items: tuple[Item, ...],
    cost: int | Fraction,
    settings: Mapping[str, Any],
    offered: int = 0,
) -> Lesson:
    """What is known of the chosen items, judged again by all their half-spaces; no bound yet.

    offered: the elements that some item states, as bits; they are open for the budget's sake.
    """
    elements = coverage.elements
    bec = elements.bec
    shown = [item for item in items if isinstance(item, Demonstration)]
    found = judge_items(bec, items, shown)
    if found.wrong:
        raise AssertionError("candidates must be true of their task")
    left = {*found.open_rows}
    still = sum(1 << e for e in range(elements.n_elements) if elements.row_of(e) in left)
    is_closed = partial(all_closed, bec.members, shown) if len(shown) == len(items) else False
    return Lesson(
        task_name=bec.name,
        status="partial" if left else "complete",
        items=items,
        gains=coverage.gains,
        cost=cost,
        closed=cast(Any, is_closed),  # other items assume the teacher's policy afterwards
        n_facets=bec.cone.n_facets,
        n_equalities=len(bec.cone.equalities),
        uncovered=missing_elements(
            elements,
            elements.everything & ~still,
            lambda element: "budget" if offered >> element & 1 else "not offered",
        ),
        witness=found.witness,
        loss=found.loss,
        proof=cast(Any, partial(mixed_proof, bec, items, found.witness)),
        settings=settings,
        lower_bound=None,
        candidates="all",
        probabilities=tuple(probability_in(bec, way) for way in shown),
        guarantee=None,
        hardest=found.hardest,
        facets=facet_records(coverage),
        words=tuple(item_words(bec.source, item) for item in items),
        bec=bec,
    )


class Trajectories(NamedTuple):
    """Pairs s*A + a (n, steps), filled up with -1, and what they count (n, k).

    members: whose they are (n,). groups: those of one number begin in the same state, and have all
    ended or are equally long (n,).
    """

    lines: Indices
    counts: Floats
    members: Indices
    groups: Indices


class Pairs(NamedTuple):
    """Two trajectories each by number, the better first: rows (n, k), margins (n,)."""

    rows: Floats
    margins: Floats
    better: Indices
    other: Indices


def fewest_halfspaces(bec: EquivalenceClass) -> int:
    """No fewer half-spaces that hold at the true weights imply the class."""
    return bec.cone.rank + (1 if bec.cone.equalities else 0)


def near_ties(
    bec: EquivalenceClass, least: Fraction, rng: np.random.Generator
) -> tuple[Preference, ...] | None:
    """Preferences with margins of at least `least` that imply the class; None where none are found.

    As many as the rank; with ties one of the usual kind for each tie besides.
    """
    ties = _ties(bec)
    if ties is None:
        return None
    # Orthonormal bases of what rows span less the ties (d, k), and of that across w (d - 1, d).
    normals = bec.rows.normals
    free = _complement(normals[list(bec.cone.equalities)], np.eye(normals.shape[1]))
    span = row_space(normals @ free.T, NEGLIGIBLE) @ free
    toward = span @ bec.members[0].task.weights
    across = _complement(toward[None] / np.linalg.norm(toward), np.eye(len(span)))
    ways = _trajectories(bec, rng)
    pairs = _pairs(ways, bec.members[0].task.weights, float(least))
    wanted = bec.rows.normals[bec.cone.facet_rows()] @ span.T
    for chosen in _simplices(pairs, span, across, wanted, rng):
        items = (*(_preference(bec, ways, pairs, i) for i in chosen), *ties)
        worths = [margin(bec, item_differences(bec, item)[0]) for item in items]
        # Exactly: items are true, their strict margins large enough, and all rows follow.
        is_wide = all(not worth or worth >= least for worth in worths)
        if is_wide and not judge_items(bec, items, []).open_rows:
            return items
    return None


def _starts(bec: EquivalenceClass, rng: np.random.Generator) -> list[tuple[Member, int]]:
    """Where trajectories may begin, by the common numbering; of a large family some by chance."""
    found = [
        (member, member.first + state)
        for member in bec.members
        for mdp in (member.task.mdp,)
        for state in np.flatnonzero(scope_states(mdp, bec.scope) & ~mdp.terminal).tolist()
    ]
    if len(bec.members) == 1 or len(found) <= MAX_STARTS:
        return found
    return [found[i] for i in sorted(rng.choice(len(found), MAX_STARTS, replace=False).tolist())]


def _ties(bec: EquivalenceClass) -> tuple[Preference, ...] | None:
    """Preferences that state every tie; None where one cannot be shown by trajectories."""
    found: dict[Row, Preference] = {}
    stated: set[int] = set()
    for row, state, *actions in statements_of(bec, bec.cone.equalities):
        pair = ways_that_meet(bec, state, actions)
        if pair is not None:
            stated.add(row)
            better, other = pair.ways
            item = Preference(better, other, member=pair.member.number)
            found.setdefault(primitive(list(pair.differences[0])), item)
    return tuple(found.values()) if stated == {*bec.cone.equalities} else None


def _complement(rows: Floats, space: Floats) -> Floats:
    """An orthonormal basis of what is in a space and orthogonal to the rows."""
    return np.asarray(null_space(rows @ space.T, NEGLIGIBLE) @ space)


def _trajectories(bec: EquivalenceClass, rng: np.random.Generator) -> Trajectories:
    """All short trajectories of the starts."""
    lines, counts = [], [np.zeros((0, bec.rows.normals.shape[1]))]
    members, groups, nothing = [], [], np.zeros(0, np.int64)
    for number, (member, start) in enumerate(_starts(bec, rng)):
        for block, has_ended in _lines_from(member.task.mdp, start - member.first):
            lines.append(block)
            counts.append(_counts(member.task.mdp, block, has_ended=has_ended))
            members.append(np.full(len(block), member.number or 0))
            groups.append(np.full(len(block), 2 * number + has_ended))
    numbers = (np.concatenate([nothing, *parts]) for parts in (members, groups))
    return Trajectories(stack_lines(lines), np.concatenate(counts), *numbers)


def _lines_from(mdp: MDP, start: int) -> list[tuple[Indices, bool]]:
    """Trajectories in blocks of equal length, and whether they have ended.

    Of as many steps as there is room for; those that surely end are shorter.
    """
    moves, n_actions = mdp.transitions, mdp.n_actions
    goes_on = ~mdp.terminal[moves.successors]
    entries_before = np.append(0, np.cumsum(goes_on))[moves.offsets]
    targets, n_targets = moves.successors[goes_on].astype(np.int64), np.diff(entries_before)
    lines, at, ended = np.zeros((1, 0), np.int64), np.array([start]), list[tuple[Indices, bool]]()
    for _ in range(MAX_STEPS):
        rows = (at[:, None] * n_actions + np.arange(n_actions)).ravel()
        n_longer = n_targets[rows]
        n_ways = sum(len(block) for block, _ in ended) + int(np.maximum(n_longer, 1).sum())
        if not len(at) or n_ways > MAX_WAYS:
            break
        lines = np.column_stack([np.repeat(lines, n_actions, axis=0), rows])
        ended.append((lines[n_longer == 0], True))
        lines = np.repeat(lines, n_longer, axis=0)
        places = np.arange(len(lines)) - np.repeat(np.cumsum(n_longer) - n_longer, n_longer)
        at = targets[np.repeat(entries_before[rows], n_longer) + places]
    return [*ended, (lines, False)] if lines.shape[1] else []


def _counts(mdp: MDP, lines: Indices, *, has_ended: bool) -> Floats:
    """What trajectories (n, steps) count, (n, k), with the states where they have ended."""
    features, k = mdp.features.floats, mdp.n_features
    by_pair = features if features.ndim == 3 else np.repeat(features[:, None], mdp.n_actions, 1)
    weights = mdp.discount ** np.arange(lines.shape[1] + 1)
    counts = np.einsum("t,ntk->nk", weights[:-1], by_pair.reshape(-1, k)[lines])
    if has_ended:
        counts += weights[-1] * (mdp.transitions.matrix() @ by_pair[:, 0])[lines[:, -1]]
    return np.asarray(counts)


def _pairs(ways: Trajectories, weights: Floats, least: float) -> Pairs:
    """Neighbours in the order of worth, of each group; of too many those that differ least."""
    worths, groups = ways.counts @ weights, ways.groups
    order = np.lexsort((worths, groups))
    sides = [(order[step:], order[:-step]) for step in range(1, NEIGHBOURS + 1)]
    better, other = (np.concatenate(side) for side in zip(*sides, strict=True))
    margins = worths[better] - worths[other]
    useful = (margins >= least) & (margins > NEGLIGIBLE**1.5) & (groups[better] == groups[other])
    kept = np.flatnonzero(useful)
    kept = kept[np.argsort(margins[kept], kind="stable")[:MAX_PAIRS]]
    better, other = better[kept], other[kept]
    return Pairs(ways.counts[better] - ways.counts[other], margins[kept], better, other)


def _simplices(
    pairs: Pairs, span: Floats, across: Floats, wanted: Floats, rng: np.random.Generator
) -> Iterator[list[int]]:
    """Pairs as many as the rank, that imply all facets by floats; the largest margins first."""
    inside = pairs.rows @ span.T
    sideways = inside @ across.T
    lengths = np.linalg.norm(sideways, axis=1)
    outside = np.linalg.norm(pairs.rows - inside @ span, axis=1)
    useful = (lengths > NEGLIGIBLE) & (outside <= NEGLIGIBLE * np.maximum(lengths, 1.0))
    numbers = np.flatnonzero(useful)
    directions = sideways[numbers] / lengths[numbers, None]
    slopes = pairs.margins[numbers] / lengths[numbers]
    d = len(span)
    for size in SIZES.tolist() if numbers.size else ():
        small = np.flatnonzero(slopes <= size)
        if small.size < d:
            return
        if small.size > MAX_COMPARED:
            small = rng.choice(small, MAX_COMPARED, replace=False)
        tries = min(max(MIN_SIMPLICES, MAX_COSINES // small.size), MAX_SIMPLICES)
        for attempt in range(tries):
            cosines = directions[small] @ _corners(d, rng).T
            if attempt % 2:
                cosines = np.where(cosines > TOWARDS, 2.0 - slopes[small, None] / size, cosines)
            best = cosines.argmax(axis=0)
            if len(set(best.tolist())) == d and _implies(inside[numbers[small[best]]], wanted):
                yield numbers[small[best]].tolist()


def _corners(d: int, rng: np.random.Generator) -> Floats:
    """The corners (d, d - 1) of a regular simplex around 0, turned at random."""
    if d == 1:
        return np.zeros((1, 0))
    centred = np.eye(d) - 1.0 / d
    _, _, basis = np.linalg.svd(centred)
    flat = centred @ basis[: d - 1].T
    turned, _ = np.linalg.qr(rng.standard_normal((d - 1, d - 1)))
    return np.asarray(flat @ turned / np.linalg.norm(flat[0]))


def _implies(rows: Floats, wanted: Floats) -> bool:
    """Whether d rows (d, d) combine to every wanted one with no negative multiplier, by floats."""
    scaled = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    try:
        return bool((np.linalg.solve(scaled.T, wanted.T) >= 0.0).all())
    except np.linalg.LinAlgError:
        return False


def _preference(bec: EquivalenceClass, ways: Trajectories, pairs: Pairs, number: int) -> Preference:
    place = int(ways.members[pairs.better[number]])
    n_actions = bec.members[place].task.mdp.n_actions
    lines = (ways.lines[side[number]].tolist() for side in (pairs.better, pairs.other))
    better, other = (
        Demonstration([divmod(pair, n_actions) for pair in line if pair >= 0]) for line in lines
    )
    return Preference(better, other, member=bec.members[place].number)
