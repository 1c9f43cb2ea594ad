"""Searches for local maxima of a posterior, its modes among them, and chains spread over them.

Two maxima are two modes when the log density somewhere on the way from one to the other is DEEP
nats below the lower of them. Chains that all start in one mode of several
can agree with each other, and R-hat cannot see what none of them has seen; so the searches of all
chains are put together, and the chains start in different modes. What no search found stays unseen.

The searches: many draws from the prior ascend a little at a fraction of the confidence, where modes
are wide, and the more promising ones go on at the full confidence. They need not be exact, and need
not know the prior: any start is right, and each plan of a search counts as a step of burn-in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter, NotConverged
from didact.learners.ascent import ascend_on_sphere
from didact.learners.chains.options import Prior
from didact.learners.evidence import Evidence, Likelihood, ShownFeatures
from didact.numerics.exact import Floats
from didact.planning.solve import DENSE_STATES

SOFTER = 0.1
"""The share of the confidence at which searches begin."""

FIRST_PLANS, MORE_PLANS = 20, 50
"""Plans that a search may take at that, and then at the full confidence."""

GOING_ON = 0.4
"""The share of searches that go on."""

PLANS_EACH = FIRST_PLANS + 1 + math.ceil(GOING_ON * MORE_PLANS)
"""What one start costs on the average."""

COSTLY, VERY_COSTLY = 5, 20
"""So many steps take as long as a plan with its gradient on small and large stochastic models."""

MAX_DRAWS = 1000
"""Draws from the prior until one has a density above 0."""

Densities = Callable[[Floats], Floats]
"""Log densities (n,) of weights (n, k)."""

NEAR = 3.0
"""Maxima so many nats below the best one still count, and chains may start there."""

DEEP = 3.0
"""Two maxima are two modes where the log density between them is so many nats below the lower."""

ALIKE = 0.99
"""Cosine above which two maxima are one without a look at what lies between."""

MAX_MODES, MAX_MAXIMA = 8, 32
"""Modes that are told apart, and maxima, the highest, that are looked at."""

DIRECTIONS, HALVINGS_OF_ANGLES, SECTIONS = 720, 40, 40
"""Directions of two weights that are tried for policy cells, halvings to where cells change, and
golden sections to a maximum."""

SEEN, WIDEST = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875), -0.5
"""Shares of a way between draws at which one looks; and the cosine of the widest angle that ways
lead across."""

MAX_POINTS, NEIGHBOURS, CLOSEST, HALVINGS = 160, 6, 5, 10
"""Draws whose basins are told apart, neighbours of each that ways lead to, pairs of draws of two
basins between which further ways are tried, and halvings of a way to where cells change."""


@dataclass(frozen=True, eq=False)
class LocalMaximum:
    """Weights (k,), their log density, and the number of the chain whose search found them."""

    weights: Floats
    density: float
    chain: int = 0


class StartSearch:
    """Ascents from draws of the prior, the local maxima that they led to, and where to start.

    density_of: the log density of weights (k,) with all that counts. number: of the chain that is
    to start there. start: one of the highest maxima, else a draw from the prior.
    """

    start: Floats

    def __init__(
        self,
        evidence: Evidence,
        confidence: float,
        prior: Prior,
        density_of: Callable[[Floats], float],
        rng: np.random.Generator,
        *,
        number: int = 0,
        features: ShownFeatures | None = None,
    ):
        mdp = evidence.mdp
        self.prior, self.density_of, self.rng, self.number = prior, density_of, rng, number
        self.features = ShownFeatures(evidence) if features is None else features
        self.softer = Likelihood(evidence, SOFTER * confidence, self.features)
        self.function = Likelihood(evidence, confidence, self.features)
        self.has_gradients = confidence > 0.0 and not evidence.is_empty
        self.cost = 1
        if not mdp.is_deterministic():
            self.cost = COSTLY if mdp.n_states <= DENSE_STATES else VERY_COSTLY
        self.maxima: list[LocalMaximum] = []
        self._counted = self.features.n_solves

    def run(self, n_steps: int) -> Iterator[int]:
        """Search for about `n_steps` steps' worth of plans; yields them.

        Without enough of them for one ascent, or without evidence, the start is a draw.
        """
        n_plans, before = n_steps // self.cost, self.features.n_solves
        n_starts = n_plans // PLANS_EACH
        if n_starts < 1 or not self.has_gradients:
            self.start = self._draw()
            return
        begun = []
        for _ in range(n_starts):
            begun.append(self._begin())
            yield self._spent()
        begun.sort(key=lambda found: -found[1])
        for weights, _ in begun[: max(1, round(GOING_ON * n_starts))]:
            left = n_plans - self.features.n_solves + before
            if left < 1 and self.maxima:
                break
            self.maxima.append(self._end(weights, min(MORE_PLANS, max(1, left))))
            yield self._spent()
        best = max(found.density for found in self.maxima)
        near = [found for found in self.maxima if found.density >= best - NEAR]
        is_possible = best > -math.inf
        self.start = near[self.rng.integers(len(near))].weights if is_possible else self._draw()

    def _spent(self) -> int:
        """Plans since the last time, as steps."""
        steps = self.cost * (self.features.n_solves - self._counted)
        self._counted = self.features.n_solves
        return steps

    def _draw(self) -> Floats:
        """A draw from the prior whose density is above 0."""
        for _ in range(MAX_DRAWS):
            weights: Floats = self.prior.draw(self.rng, 1, self.features.mdp.n_features)[0]
            if self.density_of(weights) > -math.inf:
                return weights
        raise without_density(self.prior)

    def _begin(self) -> tuple[Floats, float]:
        """A first ascent from a draw, and how likely it makes the demonstrations."""
        weights = self._draw()
        try:
            weights, _ = ascend_on_sphere(self.softer, weights, FIRST_PLANS)
            return weights, self.function(weights)[0]
        except NotConverged:
            return weights, -math.inf

    def _end(self, weights: Floats, n_plans: int) -> LocalMaximum:
        """The ascent's end on the prior's support, and its log density with all that counts."""
        with suppress(NotConverged):
            weights, _ = ascend_on_sphere(self.function, weights, n_plans)
        weights = self.prior.nearest(weights)
        return LocalMaximum(weights, self.density_of(weights), self.number)


def without_density(prior: Prior) -> InvalidParameter:
    """The refusal of a log_prior that no draw from the prior finds."""
    return InvalidParameter(
        f"the density is 0 at all of {MAX_DRAWS} draws from prior {prior.name!r}; "
        "give start, weights at which log_prior is finite"
    )


@dataclass(frozen=True, eq=False)
class Modes:
    """Local maxima by mode, the highest of each first, and so the modes."""

    prior: Prior
    densities_of: Densities
    members: tuple[list[LocalMaximum], ...]

    @classmethod
    def among(
        cls,
        maxima: Sequence[LocalMaximum],
        prior: Prior,
        densities_of: Densities,
        *,
        near: float = NEAR,
    ) -> Modes:
        """The modes of the maxima that are at most `near` nats below the highest."""
        found = cls(prior, densities_of, ())
        ordered = sorted(maxima, key=lambda maximum: -maximum.density)[:MAX_MAXIMA]
        members: list[list[LocalMaximum]] = []
        for maximum in ordered:
            if maximum.density >= ordered[0].density - near:
                own = next((m for m in members if not found.is_parted(m[0], maximum)), None)
                if own is not None:
                    own.append(maximum)
                elif len(members) < MAX_MODES:
                    members.append([maximum])
        return cls(prior, densities_of, tuple(members))

    def is_parted(self, one: LocalMaximum, other: LocalMaximum) -> bool:
        """Whether two maxima are two modes: the density between them is low."""
        if _cosines(one.weights[None], other.weights[None])[0, 0] > ALIKE:
            return False
        least = min(one.density, other.density) - DEEP
        return bool((self.densities_of(self._between(one, other)) < least).any())

    def _between(self, one: LocalMaximum, other: LocalMaximum) -> Floats:
        """Weights (3, k) half of the way, and at its quarters; around, where it leads through 0."""
        half = one.weights + other.weights
        if np.linalg.norm(half) < 1e-6 * np.linalg.norm(one.weights):
            half = np.zeros(half.size)
            half[int(np.argmin(np.abs(one.weights)))] = float(np.linalg.norm(one.weights))
        ways = (half / 2, (one.weights + half / 2) / 2, (other.weights + half / 2) / 2)
        return self.prior.nearest(np.array(ways))

    def start_of(self, chain: int) -> Floats | None:
        """Where a chain starts: in one mode after the other, at a maximum of its own if it has one.

        None with one mode only: then any start will do.
        """
        if len(self.members) < 2:
            return None
        mode = self.members[chain % len(self.members)]
        own = [maximum for maximum in mode if maximum.chain == chain]
        return (own or mode)[0].weights

    def n_missed(self, visited: Floats) -> int:
        """In how many modes none of the weights (n, k) is: each belongs to the nearest maximum."""
        if len(self.members) < 2:
            return 0
        tops = np.array([mode[0].weights for mode in self.members])
        nearest = _cosines(visited, tops).argmax(axis=1)
        return len(tops) - np.unique(nearest).size


def maxima_of_plane(
    prior: Prior, densities_of: Densities, cells_of: Callable[[Floats], Floats]
) -> list[LocalMaximum]:
    """The maximum of every policy cell of two weights: all directions are looked at.

    Inside a cell log likelihoods are concave, so each has one maximum, however narrow. Cells that
    are narrower than the directions that are tried first are found where they part two others.
    """
    ends = np.linspace(0.0, 2.0 * np.pi, DIRECTIONS + 1)
    cells = cells_of(_directions(ends))
    changes = (cells[1:] != cells[:-1]).any(axis=1)
    left, right, own = ends[:-1][changes], ends[1:][changes], cells[:-1][changes]
    for _ in range(HALVINGS_OF_ANGLES if changes.any() else 0):
        half = (left + right) / 2
        is_later = (cells_of(_directions(half)) == own).all(axis=1)
        left, right = np.where(is_later, half, left), np.where(is_later, right, half)
    borders = np.sort(np.concatenate([left, right, ends[1:][changes]]))
    if not borders.size:
        return []
    ends = np.append(borders[1:], borders[0] + 2.0 * np.pi)
    low, high = borders[ends > borders], ends[ends > borders]

    def at(angles: Floats) -> tuple[Floats, Floats]:
        places = prior.nearest(_directions(angles))
        return densities_of(places), places

    share = (5**0.5 - 1) / 2
    for _ in range(SECTIONS):  # golden sections of all arcs at once
        inner, outer = high - share * (high - low), low + share * (high - low)
        is_early = at(inner)[0] > at(outer)[0]
        low, high = np.where(is_early, low, inner), np.where(is_early, outer, high)
    tried = [at(angles) for angles in (low, (low + high) / 2, high)]
    highest = np.argmax([densities for densities, _ in tried], axis=0).tolist()
    return [
        LocalMaximum(tried[best][1][arc], float(tried[best][0][arc]))
        for arc, best in enumerate(highest)
    ]


def _directions(angles: Floats) -> Floats:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def modes_of_draws(
    draws: Floats,
    densities: Floats,
    prior: Prior,
    densities_of: Densities,
    cells_of: Callable[[Floats], Floats],
) -> NDArray[np.int64]:
    """The mode of each draw (n, k), from 0 on; two are apart when no way was found between them.

    Basins of the density on a graph of neighbouring draws, as in persistence-based clustering: the
    graph is flooded from the top, and two basins that meet are one when the lower of them rises
    less than DEEP nats above the place where they meet. So a bent ridge is one mode, and there may
    be as many modes as draws can tell apart.

    cells_of: what tells policy cells apart, (n, d) for weights (n, k). Inside a cell log
    likelihoods are concave, so valleys, however narrow, lie where a way crosses into another cell:
    that place is found by bisection.
    """
    n_points = min(len(draws), MAX_POINTS)
    points = np.unique(np.linspace(0, len(draws) - 1, n_points).astype(np.int64))
    places, heights = draws[points], densities[points]
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    units = places / np.where(lengths > 0.0, lengths, 1.0)
    gaps = 2.0 - 2.0 * units @ units.T
    near = np.argsort(gaps, axis=1, kind="stable")[:, 1 : NEIGHBOURS + 1]
    basins, cosines = _Basins(heights), _cosines(places, places)

    def least_on(edges: Sequence[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The least log density that was seen on each edge: on the way, and where cells change."""
        if not edges:
            return {}
        first, second = np.transpose(edges)
        left, right = places[first], places[second]
        seen = [left + share * (right - left) for share in SEEN]
        own, other = cells_of(left), cells_of(right)
        for _ in range(HALVINGS if (own != other).any() else 0):
            half = (left + right) / 2
            is_later = (cells_of(half) == own).all(axis=1)[:, None]
            left, right = np.where(is_later, half, left), np.where(is_later, right, half)
        seen += [left, right]
        least = np.min([densities_of(prior.nearest(at)) for at in seen], axis=0)
        # Between opposite places straight ways lead past everything at once.
        least[cosines[first, second] < WIDEST] = -np.inf
        return dict(zip(edges, least.tolist(), strict=True))

    edges = {(min(i, int(j)), max(i, int(j))) for i, row in enumerate(near) for j in row}
    basins.flood(least_on(sorted(edges)))
    # Where neighbours are sparse a basin falls apart: the nearest draws of any two are tried too.
    roots = basins.roots()
    edges = set()
    for a, b in combinations(np.unique(roots).tolist(), 2):
        left, right = np.flatnonzero(roots == a), np.flatnonzero(roots == b)
        order = np.argsort(gaps[np.ix_(left, right)], axis=None, kind="stable")[:CLOSEST]
        edges |= {(int(left[i // right.size]), int(right[i % right.size])) for i in order}
    basins.flood(least_on(sorted(edges)))
    numbers = np.unique(basins.roots(), return_inverse=True)[1].ravel()
    found = np.empty(len(draws), dtype=np.int64)
    for first in range(0, len(draws), 1000):  # few at a time, for the memory
        found[first : first + 1000] = _cosines(draws[first : first + 1000], places).argmax(axis=1)
    return np.asarray(numbers[found])


class _Basins:
    """Points that belong to one basin, by the highest of them: a union-find forest."""

    def __init__(self, heights: Floats):
        self.heights = heights
        self.parent = list(range(len(heights)))

    def root(self, place: int) -> int:
        """The highest place of the basin."""
        while self.parent[place] != place:
            self.parent[place] = self.parent[self.parent[place]]
            place = self.parent[place]
        return place

    def roots(self) -> NDArray[np.int64]:
        """Those of all places."""
        return np.array([self.root(place) for place in range(len(self.parent))])

    def flood(self, levels: Mapping[tuple[int, int], float]) -> None:
        """Join basins along edges, the highest first; levels: the least density on each edge."""
        heights = self.heights
        for (i, j), level in sorted(levels.items(), key=lambda edge: -edge[1]):
            low, high = sorted((self.root(i), self.root(j)), key=lambda root: float(heights[root]))
            if low != high and heights[low] - level < DEEP:
                self.parent[low] = high


def missed_notes(n_missed: int) -> tuple[str, ...]:
    """What a reader must know of modes in which no chain has been."""
    if not n_missed:
        return ()
    places = "a mode" if n_missed == 1 else f"{n_missed} modes"
    return (
        f"a search found {places} nearly as high as the best where no chain has been: a part of "
        "the posterior may be missing from the draws; run more chains, or start them elsewhere",
    )


def _cosines(left: Floats, right: Floats) -> Floats:
    """Of the angles between rows, (n, m); 0 with the zero vector."""
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None, :]
    return np.asarray((left @ right.T) / np.where(lengths > 0.0, lengths, 1.0))
