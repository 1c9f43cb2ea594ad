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

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, Member, member_with
from didact.bec.halfspaces import scope_states
from didact.bec.linear import Row
from didact.mdp import MDP, Demonstration, Preference
from didact.numerics.exact import Floats
from didact.numerics.geometry import null_space, row_space
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


class Pairs(NamedTuple):
    """Two trajectories each, the better first: rows (n, k), margins (n,), and who they are."""

    rows: Floats
    margins: Floats
    starts: NDArray[np.int64]
    better: NDArray[np.int64]
    other: NDArray[np.int64]


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
    steps = {member.first: cache(partial(_steps, member.task.mdp)) for member in bec.members}
    ways = {
        start: _ways(member.task.mdp, steps[member.first], start - member.first)
        for member, start in _starts(bec, rng)
    }
    pairs = _pairs(bec, ways, float(least))
    wanted = bec.rows.normals[bec.cone.facet_rows()] @ span.T
    for chosen in _simplices(pairs, span, across, wanted, rng):
        items = (*(_preference(bec, pairs, ways, i) for i in chosen), *ties)
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
    told: set[int] = set()
    for row, state, *actions in statements_of(bec, bec.cone.equalities):
        pair = ways_that_meet(bec, state, actions)
        if pair is not None:
            told.add(row)
            item = Preference(pair.better, pair.other, member=pair.member.number)
            found.setdefault(direction(list(pair.difference)), item)
    return tuple(found.values()) if told == {*bec.cone.equalities} else None


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


class _Way(NamedTuple):
    """A trajectory that is being walked: its pairs, where it is, what it counts; -1: ended."""

    pairs: tuple[tuple[int, int], ...]
    at: int
    counts: Floats
    weight: float


class _Step(NamedTuple):
    """What an action is paid, where it may go on, and what is counted where it surely ends."""

    paid: Floats
    onward: list[int]
    last: Floats | None


def _ways(mdp: MDP, steps: Callable[[int], list[_Step]], start: int) -> list[_Way]:
    """All trajectories of as many steps as there is room for; those that end are shorter."""
    growing = [_Way((), start, np.zeros(mdp.n_features), 1.0)]
    ended: list[_Way] = []
    for _ in range(MAX_STEPS):
        n_grown = sum(len(step.onward) or 1 for way in growing for step in steps(way.at))
        if not growing or len(ended) + n_grown > MAX_WAYS:
            break
        grown = [longer for way in growing for longer in _longer(mdp, steps(way.at), way)]
        ended += [way for way in grown if way.at < 0]
        growing = [way for way in grown if way.at >= 0]
    return [way for way in (*ended, *growing) if way.pairs]


def _longer(mdp: MDP, steps: list[_Step], way: _Way) -> Iterator[_Way]:
    for action, step in enumerate(steps):
        counts, weight = way.counts + way.weight * step.paid, way.weight * mdp.discount
        pairs = (*way.pairs, (way.at, action))
        if step.last is not None:
            yield _Way(pairs, -1, counts + weight * step.last, 0.0)
        for target in step.onward:
            yield _Way(pairs, target, counts, weight)


def _steps(mdp: MDP, state: int) -> list[_Step]:
    """What every action of a state does."""
    features, moves, terminal = mdp.features.floats, mdp.transitions, mdp.terminal
    found = []
    for action in range(mdp.n_actions):
        row = state * mdp.n_actions + action
        targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]]
        onward = targets[~terminal[targets]].tolist()
        shares = moves.probabilities.floats[moves.offsets[row] : moves.offsets[row + 1]]
        last = features[targets, 0] if features.ndim == 3 else features[targets]
        paid = features[state, action] if features.ndim == 3 else features[state]
        found.append(_Step(paid, onward, None if onward else shares @ last))
    return found


def _pairs(bec: EquivalenceClass, ways: dict[int, list[_Way]], least: float) -> Pairs:
    """Neighbours in the order of worth, of each start those that end and those that do not."""
    w = bec.members[0].task.weights
    found: list[tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64], int]] = []
    for start, walked in ways.items():
        for has_ended in (False, True):
            numbers = np.array(
                [i for i, way in enumerate(walked) if (way.at < 0) == has_ended], dtype=np.int64
            )
            if numbers.size < 2:
                continue
            counts = np.array([walked[i].counts for i in numbers.tolist()])
            worths = counts @ w
            order = np.argsort(worths, kind="stable")
            for step in range(1, NEIGHBOURS + 1):
                low, high = order[:-step], order[step:]
                margins = worths[high] - worths[low]
                rows = counts[high] - counts[low]
                kept = (margins >= least) & (margins > NEGLIGIBLE**1.5)
                if kept.any():
                    found.append(
                        (rows[kept], margins[kept], numbers[high[kept]], numbers[low[kept]], start)
                    )
    if not found:
        nothing = np.zeros(0, np.int64)
        return Pairs(np.zeros((0, w.size)), np.zeros(0), nothing, nothing, nothing)
    rows, margins, better, other = (np.concatenate([part[i] for part in found]) for i in range(4))
    starts = np.concatenate([np.full(len(part[1]), part[4]) for part in found])
    few = np.argsort(margins, kind="stable")[:MAX_PAIRS]
    return Pairs(rows[few], margins[few], starts[few], better[few], other[few])


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


def _preference(
    bec: EquivalenceClass, pairs: Pairs, ways: dict[int, list[_Way]], number: int
) -> Preference:
    start = int(pairs.starts[number])
    better, other = (ways[start][int(side[number])] for side in (pairs.better, pairs.other))
    member = member_with(bec.members, start).number
    return Preference(Demonstration(better.pairs), Demonstration(other.pairs), member=member)


def _holds(bec: EquivalenceClass, items: Sequence[Preference], least: Fraction) -> bool:
    """Whether items are true, their strict margins large enough, and all rows follow; exactly."""
    for item in items:
        worth = margin(bec, item_differences(bec, item)[0])
        if worth < 0 or 0 < worth < least:
            return False
    return not judge_items(bec, items, []).open_rows
