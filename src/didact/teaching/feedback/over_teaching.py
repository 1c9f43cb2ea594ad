"""Over-teaching: few preferences that say more than the behaviour and so need fewer items.

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

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, Member
from didact.bec.halfspaces import scope_states
from didact.bec.linear import Row
from didact.mdp import MDP, Demonstration, Preference
from didact.numerics.exact import Floats
from didact.numerics.geometry import null_space, row_space
from didact.teaching.covers.candidates import Indices, stack_lines
from didact.teaching.feedback.candidates import statements_of, ways_that_meet
from didact.teaching.feedback.halfspaces import direction, item_differences, judge_items, margin

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
    span, across = _space(bec)
    ways = _trajectories(bec, rng)
    pairs = _pairs(ways, bec.members[0].task.weights, float(least))
    wanted = bec.rows.normals[bec.cone.facet_rows()] @ span.T
    for chosen in _simplices(pairs, span, across, wanted, rng):
        items = (*(_preference(bec, ways, pairs, i) for i in chosen), *ties)
        if _holds(bec, items, least):
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
            item = Preference(pair.better, pair.other, member=pair.member.number)
            found.setdefault(direction(list(pair.difference)), item)
    return tuple(found.values()) if stated == {*bec.cone.equalities} else None


def _space(bec: EquivalenceClass) -> tuple[Floats, Floats]:
    """Orthonormal bases of what rows span less the ties (d, k), and of that across w (d - 1, d)."""
    normals = bec.rows.normals
    ties = normals[list(bec.cone.equalities)]
    free = _complement(ties, np.eye(normals.shape[1]))
    span = row_space(normals @ free.T, NEGLIGIBLE) @ free
    toward = span @ bec.members[0].task.weights
    return span, _complement(toward[None] / np.linalg.norm(toward), np.eye(len(span)))


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


def _holds(bec: EquivalenceClass, items: Sequence[Preference], least: Fraction) -> bool:
    """Whether items are true, their strict margins large enough, and all rows follow; exactly."""
    for item in items:
        worth = margin(bec, item_differences(bec, item)[0])
        if worth < 0 or 0 < worth < least:
            return False
    return not judge_items(bec, items, []).open_rows
