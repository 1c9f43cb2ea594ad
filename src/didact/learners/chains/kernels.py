"""Metropolis steps over reward weights, in compiled kernels: propose, score, accept or stay, keep.

A chain, or a particle, has a place u in R^k that stands for weights w(u) (see the kinds below). Its
density on R^k is reference(u) * likelihood(w(u))^temperature. All randomness comes in as arrays, so
a step holds no choice that depends on what the chain did before: given them the kernel is fixed,
and leaves the density as it is. Two families of proposals:

Walks, on weights themselves. A proposal is symmetric with respect to the uniform measure of the
prior's support, so the acceptance ratio holds only densities; each function below says what it is
symmetric to. The step size may be adapted during warmup, and is frozen afterwards.

Shifts and jumps of the mixture sampler. On spheres first redraw the radius from its exact
conditional, chi or gamma: the likelihood does not see it. Then propose a given shift, or a jump to
a point drawn from a frozen mixture q, and accept by the ratio of the densities, for jumps times
q(here) / q(there), here being the place after the radius was redrawn. The reference is standard
normal for l2-sphere, gaussian and flat, exp(-|u|_1) for l1-sphere, and uniform on the box. The
direction of a point drawn from the first two is uniform on its sphere, so that the direction of a
point drawn from the density is a draw from the posterior there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from didact.learners.chains.scores import ScoreInputs, score
from didact.numerics.compiled import kernel

PLAIN, L2, L1, BOX, DIRECT = range(5)
"""What a place stands for: the weights themselves, with a normal reference; their direction by
|u|_2 or |u|_1; weights of the box; the weights themselves, on whose support the proposal stays."""

SHIFT, GAUSSIAN, FLIP, PAIRS, LATTICE, WALK = range(6)
"""Proposals: SHIFT for shifts and jumps, the others for walks."""

TEMPERATURE, NEW_SCORE, NEW_REFERENCE, BEST, EARLY, LOG_STEP = range(6)
STEP, ACCEPTED, EVERY, BURN_IN, STORED, ADAPTING, ADAPTED = range(7)
N_NUMBERS, N_COUNTERS = 6, 7
"""What lies where among the numbers and the counters of places."""

TARGET = 0.25
"""The accepted share of proposals that an adapted step size aims at."""

SMALLEST_LOG_STEP, LARGEST_LOG_STEP = math.log(1e-9), math.log(2.0)
"""Where adaptation ends: a step of 2 crosses the unit sphere."""

ALIGNED = 1e-9
"""Closer to a multiple of the step than this share of it is on the lattice."""


class Mixture(NamedTuple):
    """Multivariate t distributions: q(u) = sum_c exp(heights[c] - (nu + k)/2 log(1 + d_c(u)/nu)).

    d_c(u) = |factors[c] (u - means[c])|^2, factors lower triangular, k*k numbers for each.
    """

    freedom: float
    heights: Any
    means: Any
    factors: Any


class Proposal(NamedTuple):
    """A kind of proposal, how many numbers of noise a step takes, and what it needs besides.

    For moves of pairs: pair p is (first[p], second[p]); `order` is shuffled at each step. mixture:
    what jumps are drawn from.
    """

    kind: int
    n_noise: int
    order: Any
    first: Any
    second: Any
    mixture: Mixture


class Randomness(NamedTuple):
    """The random numbers of n steps, read from 0 on.

    noise: standard normal for walks; shifts (n, k) to add, or where `jumping` the places to jump
    to. shuffles: uniform in [0, 1), for pairs. levels: logarithms of uniform numbers. log_jumps:
    log q of the places. radii: the new radius of each step, none where empty.
    """

    noise: Any
    shuffles: Any
    levels: Any
    jumping: Any
    log_jumps: Any
    radii: Any


class Points(NamedTuple):
    """Where chains or particles are (n, k), their scores (tempered part) and log references (n,).

    kind: PLAIN, L2, L1, BOX or DIRECT. proposed, weights, best: (k,); weights are those that the
    proposed place stands for. moved: whether each has moved. samples, densities: what is kept,
    every EVERY-th step after BURN_IN.
    """

    kind: int
    places: Any
    scores: Any
    references: Any
    moved: Any
    proposed: Any
    weights: Any
    best: Any
    numbers: Any
    counters: Any
    samples: Any
    densities: Any


@kernel
def length_of(kind: int, at: int, k: int, places: Any) -> float:
    """|u|_1 for L1, else |u|_2, of the place from `at` on."""
    total = 0.0
    if kind == L1:
        for j in range(at, at + k):
            total += abs(places[j])
        return total
    for j in range(at, at + k):
        total += places[j] * places[j]
    return math.sqrt(total)


@kernel
def stand_for(kind: int, proposed: Any, weights: Any) -> float:
    """Fill the weights that a place stands for; its log reference density, -inf if outside."""
    k = len(proposed)
    length: float = length_of(kind, 0, k, proposed)
    scale = 1.0
    if kind in (L1, L2):
        if length == 0.0:
            return -math.inf
        scale = 1.0 / length
    for j in range(k):
        weights[j] = scale * proposed[j]
        if kind == BOX and abs(weights[j]) > 1.0:
            return -math.inf
    if kind in (BOX, DIRECT):
        return 0.0
    return -length if kind == L1 else -0.5 * length * length


@kernel
def log_mixture(mixture: Mixture, at: int, k: int, places: Any) -> float:
    """log q of the place from `at` on."""
    heights, means, factors = mixture.heights, mixture.means, mixture.factors
    power = 0.5 * (mixture.freedom + k)
    highest = -math.inf
    total = 0.0
    for c in range(len(heights)):
        distance = 0.0
        for i in range(k):
            row = (c * k + i) * k
            entry = 0.0
            for j in range(i + 1):
                entry += factors[row + j] * (places[at + j] - means[c * k + j])
            distance += entry * entry
        term = heights[c] - power * math.log1p(distance / mixture.freedom)
        if term > highest:
            total = total * math.exp(highest - term) + 1.0
            highest = term
        else:
            total += math.exp(term - highest)
    return highest + math.log(total)


@kernel
def step_on_sphere(step: float, noise: Any, at: int, proposed: Any) -> None:
    """A Gaussian step, then back to unit length: its density depends on the angle alone."""
    squares = 0.0
    for j in range(len(proposed)):
        proposed[j] += step * noise[at + j]
        squares += proposed[j] * proposed[j]
    shrink = 1.0 / math.sqrt(squares)
    for j in range(len(proposed)):
        proposed[j] *= shrink


@kernel
def shuffle(order: Any, shuffles: Any, at: int) -> None:
    """A uniformly random order (Fisher and Yates), whatever the order was before."""
    for last in range(len(order) - 1, 0, -1):
        other = int(shuffles[at + last] * (last + 1))
        kept = order[last]
        order[last] = order[other]
        order[other] = kept


@kernel
def snapped(value: float, step: float) -> float:
    """The whole multiple of the step that a value stands for up to rounding; else the value.

    Corners of small diamonds double errors, so that without it a lattice is lost in a few hundred
    moves.
    """
    multiple = math.floor(value / step + 0.5) * step
    return multiple if abs(value - multiple) < ALIGNED * step else value


@kernel
def turn_pairs(
    step: float, proposal: Proposal, randomness: Randomness, at: int, proposed: Any
) -> None:
    """Move each pair (i, j) along its diamond |wi| + |wj| = const, in uniformly random order.

    By a Gaussian length, or by +-step on the lattice. Walked backwards, in the backward order and
    with opposite signs, the way is as likely: symmetric to the uniform measure of the L1 sphere.
    """
    order, first, second = proposal.order, proposal.first, proposal.second
    noise, is_fixed = randomness.noise, proposal.kind == LATTICE
    shuffle(order, randomness.shuffles, at)
    for p in range(len(order)):
        i = first[order[p]]
        j = second[order[p]]
        x = proposed[i]
        y = proposed[j]
        side = abs(x) + abs(y)
        if side > 0.0:
            if y >= 0.0:
                place = y if x > 0.0 else side - x
            else:
                place = 3.0 * side + x if x >= 0.0 else 2.0 * side - y
            length = noise[at + p]
            if is_fixed:
                length = 1.0 if length >= 0.0 else -1.0
            place += step * length
            place -= 4.0 * side * math.floor(place / (4.0 * side))
            if place < 2.0 * side:
                proposed[i] = side - place
            else:
                proposed[i] = place - 3.0 * side
            if place < side:
                proposed[j] = place
            elif place < 3.0 * side:
                proposed[j] = 2.0 * side - place
            else:
                proposed[j] = place - 4.0 * side
            if is_fixed:
                proposed[i] = snapped(proposed[i], step)
                proposed[j] = snapped(proposed[j], step)
    total = 0.0
    for j in range(len(proposed)):
        total += abs(proposed[j])
    for j in range(len(proposed)):
        proposed[j] /= total


@kernel
def propose_walk(
    step: float, proposal: Proposal, randomness: Randomness, at: int, proposed: Any
) -> None:
    """Move `proposed`, which is where the chain is, to the next weights to try.

    noise (and shuffles, for pairs) are read from place `at` on. WALK may leave the box, and is then
    rejected.
    """
    kind, noise = proposal.kind, randomness.noise
    if kind == GAUSSIAN:
        step_on_sphere(step, noise, at, proposed)
    elif kind in (PAIRS, LATTICE):
        turn_pairs(step, proposal, randomness, at, proposed)
    elif kind == FLIP:
        proposed[0] = -proposed[0] if noise[at] < 0.0 else proposed[0]
    else:
        for j in range(len(proposed)):
            proposed[j] += step * noise[at + j]


@kernel
def redraw_radius(p: int, radius: float, points: Points) -> None:
    """Put point p at another distance from 0, in the same direction."""
    places = points.places
    k = len(points.proposed)
    scale = radius / length_of(points.kind, p * k, k, places)
    for j in range(p * k, (p + 1) * k):
        places[j] *= scale
    points.references[p] = -radius if points.kind == L1 else -0.5 * radius * radius


@kernel
def begin_step(p: int, i: int, proposal: Proposal, randomness: Randomness, points: Points) -> int:
    """Propose a place for point p by random numbers i; 0 if that has no density."""
    places, proposed = points.places, points.proposed
    k = len(proposed)
    at = i * proposal.n_noise
    if len(randomness.radii) > 0:
        redraw_radius(p, randomness.radii[i], points)
    for j in range(k):
        proposed[j] = places[p * k + j]
    if proposal.kind == SHIFT:
        for j in range(k):
            here = 0.0 if randomness.jumping[i] != 0 else proposed[j]
            proposed[j] = here + randomness.noise[at + j]
    else:
        step = math.exp(points.numbers[LOG_STEP])
        propose_walk(step, proposal, randomness, at, proposed)
    reference = stand_for(points.kind, proposed, points.weights)
    points.numbers[NEW_REFERENCE] = reference
    return 0 if reference == -math.inf else 1


@kernel
def log_ratio(p: int, i: int, proposal: Proposal, randomness: Randomness, points: Points) -> float:
    """log of pi(there) / pi(here), for jumps times q(here) / q(there)."""
    numbers = points.numbers
    change: float = numbers[NEW_REFERENCE] - points.references[p]
    change += numbers[TEMPERATURE] * (numbers[NEW_SCORE] - points.scores[p])
    if proposal.kind == SHIFT and randomness.jumping[i] != 0:
        k = len(points.proposed)
        here = log_mixture(proposal.mixture, p * k, k, points.places)
        change += here - randomness.log_jumps[i]
    return change


@kernel
def density_of(kind: int, score: float, reference: float) -> float:
    """Log likelihood and log prior density of weights: the uniform priors are constant."""
    return score + reference if kind == PLAIN else score


@kernel
def accept(p: int, i: int, proposal: Proposal, randomness: Randomness, points: Points) -> float:
    """Go to the proposed place or stay; the log of the acceptance ratio."""
    numbers, proposed = points.numbers, points.proposed
    k = len(proposed)
    score, reference = numbers[NEW_SCORE], numbers[NEW_REFERENCE]
    density = density_of(points.kind, score, reference)
    if density > numbers[BEST]:
        numbers[BEST] = density
        for j in range(k):
            points.best[j] = points.weights[j]
    change: float = log_ratio(p, i, proposal, randomness, points)
    if randomness.levels[i] < change:
        points.counters[ACCEPTED] += 1
        points.moved[p] = 1
        points.scores[p] = score
        points.references[p] = reference
        for j in range(k):
            points.places[p * k + j] = proposed[j]
    return change


@kernel
def adapt_step(chance: float, points: Points) -> None:
    """Move the step size towards an acceptance rate of TARGET (Robbins and Monro)."""
    numbers, counters = points.numbers, points.counters
    counters[ADAPTED] += 1
    moved = numbers[LOG_STEP] + (chance - TARGET) * 2.0 / (counters[ADAPTED] + 3.0) ** 0.6
    numbers[LOG_STEP] = min(LARGEST_LOG_STEP, max(SMALLEST_LOG_STEP, moved))


@kernel
def keep_draw(p: int, points: Points) -> None:
    """Count the step, and keep the weights that point p stands for if it is one to keep."""
    counters, samples, densities = points.counters, points.samples, points.densities
    counters[STEP] += 1
    past = counters[STEP] - counters[BURN_IN]
    at = counters[STORED]
    if past <= 0 or past % counters[EVERY] != 0 or at >= len(densities):
        return
    k = len(points.proposed)
    scale = 1.0
    if points.kind in (L1, L2):
        scale = 1.0 / length_of(points.kind, p * k, k, points.places)
    for j in range(k):
        samples[at * k + j] = scale * points.places[p * k + j]
    densities[at] = density_of(points.kind, points.scores[p], points.references[p])
    counters[STORED] = at + 1


@kernel
def score_needed(
    p: int, i: int, proposal: Proposal, randomness: Randomness, points: Points
) -> float:
    """The score from which step i is accepted, or is the best one seen: the lower of the two."""
    numbers = points.numbers
    numbers[NEW_SCORE] = points.scores[p]
    missing: float = randomness.levels[i] - log_ratio(p, i, proposal, randomness, points)
    needed: float = points.scores[p] + missing / numbers[TEMPERATURE]
    best: float = numbers[BEST] - density_of(points.kind, 0.0, numbers[NEW_REFERENCE])
    return needed if needed < best else best


@kernel
def try_step(
    p: int, i: int, problem: ScoreInputs, proposal: Proposal, randomness: Randomness, points: Points
) -> int:
    """Propose and score; 0 if the place has no density.

    Where EARLY is set, a score that is surely too low to count need not be exact.
    """
    inside: int = begin_step(p, i, proposal, randomness, points)
    if inside != 0:
        if points.numbers[EARLY] != 0.0:
            needed = score_needed(p, i, proposal, randomness, points)
            problem.shown.needed[0] = needed
        found = score(problem.model, problem.work, problem.shown, points.weights)
        points.numbers[NEW_SCORE] = found
    return inside


@kernel
def end_step(
    p: int, i: int, inside: int, proposal: Proposal, randomness: Randomness, points: Points
) -> None:
    """Accept or stay, adapt the step size while that is on, and keep a draw where one is due."""
    chance = 0.0
    if inside != 0:
        change = accept(p, i, proposal, randomness, points)
        chance = math.exp(min(0.0, change))
    if points.counters[ADAPTING] != 0:
        adapt_step(chance, points)
    keep_draw(p, points)


@kernel
def run_steps(
    problem: ScoreInputs, proposal: Proposal, randomness: Randomness, points: Points
) -> None:
    """Let every point take its share of the steps, one point after the other."""
    n_points = len(points.scores)
    n_steps = len(randomness.levels) // n_points
    for p in range(n_points):
        for t in range(n_steps):
            i = p * n_steps + t
            inside = try_step(p, i, problem, proposal, randomness, points)
            end_step(p, i, inside, proposal, randomness, points)
