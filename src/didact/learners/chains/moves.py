"""Points of R^k that walk and jump under a tempered density: the moves of pilots and of rounds.

A point stands for weights: for itself (box, gaussian, flat), or for its direction (spheres). On R^k
the density is reference(u) * likelihood(w(u))^temperature, where the reference is standard normal
for l2-sphere, gaussian and flat, exp(-|u|_1) for l1-sphere, and uniform on the box. The direction
of a point drawn from the first two is uniform on its sphere, so that the direction of a point drawn
from the density is a draw from the posterior there.

One step: on spheres redraw the radius from its exact conditional, chi or gamma (the likelihood does
not see it); then propose a shift, or a jump to a point drawn from a frozen mixture q, and accept
by the ratio of the densities, for jumps times q(here) / q(there), here being the place after the
radius was redrawn. Shifts, jumps, radii and levels come in as arrays, so a step holds no choice
that depends on what the chain did before: given them the kernel is fixed, and leaves the density
as it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from didact.learners.chains.steps import Problem
from didact.numerics.compiled import Kernel, inlined, kernel

PLAIN, L2, L1, BOX = range(4)
"""What a point says: the weights themselves, their direction by |u|_2 or |u|_1, or only inside."""

TEMPERATURE, NEW_SCORE, NEW_REFERENCE, BEST, EARLY = range(5)
STEP, ACCEPTED, EVERY, FIRST, STORED = range(5)
N_NUMBERS, N_COUNTERS = 5, 5
"""What lies where among the numbers and the counters of points."""


class Mixture(NamedTuple):
    """Multivariate t distributions: q(u) = sum_c exp(heights[c] - (nu + k)/2 log(1 + d_c(u)/nu)).

    d_c(u) = |factors[c] (u - means[c])|^2, factors lower triangular, k*k numbers for each.
    """

    freedom: float
    heights: Any
    means: Any
    factors: Any


class Moves(NamedTuple):
    """What n steps are to do: shifts (n, k) to add, or where `jumping` the places to jump to.

    log_jumps: log q of those places. radii: the new radius of each step, none where empty. levels:
    logarithms of uniform numbers.
    """

    jumping: Any
    shifts: Any
    log_jumps: Any
    radii: Any
    levels: Any


class Points(NamedTuple):
    """Where points are (n, k), and their scores (tempered part) and log reference densities.

    kind: PLAIN, L2, L1 or BOX. proposed, weights, best: (k,). moved: whether each has moved.
    samples, densities: what is kept, every EVERY-th step from step FIRST on.
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


@inlined
def length_of(kind: int, at: int, k: int, places: Any) -> float:
    """|u|_1 for L1, else |u|_2, of the point from place `at` on."""
    total = 0.0
    if kind == L1:
        for j in range(at, at + k):
            total += abs(places[j])
        return total
    for j in range(at, at + k):
        total += places[j] * places[j]
    return math.sqrt(total)


@inlined
def stand_for(kind: int, proposed: Any, weights: Any) -> float:
    """Fill the weights that a point stands for; its log reference density, -inf if outside."""
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
    if kind == BOX:
        return 0.0
    return -length if kind == L1 else -0.5 * length * length


@kernel
def log_mixture(mixture: Mixture, at: int, k: int, places: Any) -> float:
    """log q of the point from place `at` on."""
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


@inlined
def begin_move(p: int, i: int, moves: Moves, points: Points) -> int:
    """Redraw the radius of point p and propose step i's place; 0 if that has no density."""
    places, proposed = points.places, points.proposed
    k = len(proposed)
    at = p * k
    if len(moves.radii) > 0:
        radius = moves.radii[i]
        scale = radius / length_of(points.kind, at, k, places)
        for j in range(k):
            places[at + j] *= scale
        points.references[p] = -radius if points.kind == L1 else -0.5 * radius * radius
    for j in range(k):
        here = 0.0 if moves.jumping[i] != 0 else places[at + j]
        proposed[j] = here + moves.shifts[i * k + j]
    reference = stand_for(points.kind, proposed, points.weights)
    points.numbers[NEW_REFERENCE] = reference
    return 0 if reference == -math.inf else 1


@inlined
def log_ratio(p: int, i: int, mixture: Mixture, moves: Moves, points: Points) -> float:
    """log of pi(there) / pi(here), for jumps times q(here) / q(there)."""
    numbers = points.numbers
    change: float = numbers[NEW_REFERENCE] - points.references[p]
    change += numbers[TEMPERATURE] * (numbers[NEW_SCORE] - points.scores[p])
    if moves.jumping[i] != 0:
        k = len(points.proposed)
        change += log_mixture(mixture, p * k, k, points.places) - moves.log_jumps[i]
    return change


@kernel
def density_of(kind: int, score: float, reference: float) -> float:
    """Log likelihood and log prior density of weights: the uniform priors are constant."""
    return score + reference if kind == PLAIN else score


@inlined
def accept_move(
    p: int, i: int, inside: int, mixture: Mixture, moves: Moves, points: Points
) -> None:
    """Go to the proposed place or stay."""
    if inside == 0:
        return
    numbers, proposed = points.numbers, points.proposed
    k = len(proposed)
    score, reference = numbers[NEW_SCORE], numbers[NEW_REFERENCE]
    density = density_of(points.kind, score, reference)
    if density > numbers[BEST]:
        numbers[BEST] = density
        for j in range(k):
            points.best[j] = points.weights[j]
    if moves.levels[i] < log_ratio(p, i, mixture, moves, points):
        points.counters[ACCEPTED] += 1
        points.moved[p] = 1
        points.scores[p] = score
        points.references[p] = reference
        for j in range(k):
            points.places[p * k + j] = proposed[j]


@inlined
def keep_draw(p: int, points: Points) -> None:
    """Count the step, and keep the weights that point p stands for if it is one to keep."""
    counters, samples, densities = points.counters, points.samples, points.densities
    past = counters[STEP] - counters[FIRST]
    counters[STEP] += 1
    at = counters[STORED]
    if past < 0 or past % counters[EVERY] != 0 or at >= len(densities):
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
def score(model: Any, work: Any, shown: Any, weights: Any) -> float:
    """log P(D | w): a hole, for each kind of model another."""
    raise NotImplementedError


@inlined
def score_needed(p: int, i: int, mixture: Mixture, moves: Moves, points: Points) -> float:
    """The score from which step i is accepted, or is the best one seen: the lower of the two."""
    numbers = points.numbers
    numbers[NEW_SCORE] = points.scores[p]
    missing: float = moves.levels[i] - log_ratio(p, i, mixture, moves, points)
    needed: float = points.scores[p] + missing / numbers[TEMPERATURE]
    best: float = numbers[BEST] - density_of(points.kind, 0.0, numbers[NEW_REFERENCE])
    return needed if needed < best else best


@inlined
def try_move(
    p: int, i: int, problem: Problem, mixture: Mixture, moves: Moves, points: Points
) -> int:
    """Propose and score; 0 if the place has no density.

    Where EARLY is set, a score that is surely too low to count need not be exact.
    """
    inside: int = begin_move(p, i, moves, points)
    if inside != 0:
        if points.numbers[EARLY] != 0.0:
            problem.shown.needed[0] = score_needed(p, i, mixture, moves, points)
        found = score(problem.model, problem.work, problem.shown, points.weights)
        points.numbers[NEW_SCORE] = found
    return inside


@inlined
def end_move(p: int, i: int, inside: int, mixture: Mixture, moves: Moves, points: Points) -> None:
    """Accept or stay, and keep a draw where one is to be kept."""
    accept_move(p, i, inside, mixture, moves, points)
    keep_draw(p, points)


@kernel
def move_points(problem: Problem, mixture: Mixture, moves: Moves, points: Points) -> None:
    """Let every point take its share of the steps, one point after the other."""
    n_points = len(points.scores)
    n_steps = len(moves.levels) // n_points
    for p in range(n_points):
        for t in range(n_steps):
            i = p * n_steps + t
            inside = try_move(p, i, problem, mixture, moves, points)
            end_move(p, i, inside, mixture, moves, points)


@dataclass(frozen=True, eq=False)
class Mover:
    """The kernels of one kind of model: a step without its end, and all steps of all points."""

    trial: Kernel
    run: Kernel


@cache
def mover_of(score: Kernel) -> Mover:
    """Moves whose places are scored by a kernel; the same ones each time, loaded once."""
    trial = try_move.filled(score=score)
    return Mover(trial, move_points.filled(try_move=trial))
