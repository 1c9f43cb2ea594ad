"""One step of a Metropolis chain on flat arrays: propose, weigh, accept or stay, record.

A proposal is symmetric with respect to the prior's own measure, so the acceptance ratio holds only
densities. Each kernel below says what it is symmetric to. All randomness comes in as arrays:
`noise` standard normal, `shuffles` uniform in [0, 1), `levels` logarithms of uniform numbers.

A chain is a tuple of arrays: weights (k,), proposed (k,), best (k,), numbers and counters. The
constants below say what lies where in the last two.
"""

from __future__ import annotations

import math
from typing import Any

from didact.numerics.compiled import kernel

GAUSSIAN, GEODESIC, FLIP, REJECT, REFLECT, PAIRS, LATTICE, WALK = range(8)

LIKELIHOOD, PRIOR, NEW_LIKELIHOOD, NEW_PRIOR, LOG_STEP, BEST = range(6)
STEP, TAKEN, ADAPTED, ACCEPTED, STORED, BURN_IN, THIN, ADAPTING = range(8)
N_NUMBERS, N_COUNTERS = 6, 8

TARGET = 0.25
"""The accepted share of proposals that an adapted step size aims at."""

SMALLEST_LOG_STEP, LARGEST_LOG_STEP = math.log(1e-9), math.log(2.0)

ALIGNED = 1e-9
"""Closer to a multiple of the step than this share of it is on the lattice."""

NEGLIGIBLE = -45.0
"""exp of it is lost beside 1 in double precision."""


@kernel
def step_on_sphere(step: float, weights: Any, noise: Any, at: int, proposed: Any) -> None:
    """A Gaussian step, then back to unit length: its density depends on the angle alone."""
    squares = 0.0
    for j in range(len(weights)):
        proposed[j] = weights[j] + step * noise[at + j]
        squares += proposed[j] * proposed[j]
    shrink = 1.0 / math.sqrt(squares)
    for j in range(len(weights)):
        proposed[j] *= shrink


@kernel
def walk_great_circle(step: float, weights: Any, noise: Any, at: int, proposed: Any) -> None:
    """Along the great circle of a Gaussian tangent vector, as far as that vector is long."""
    along = 0.0
    for j in range(len(weights)):
        along += weights[j] * noise[at + j]
    squares = 0.0
    for j in range(len(weights)):
        proposed[j] = noise[at + j] - along * weights[j]
        squares += proposed[j] * proposed[j]
    length = math.sqrt(squares)
    angle = step * length
    sideways = math.sin(angle) / length if length > 0.0 else 0.0
    ahead = math.cos(angle)
    squares = 0.0
    for j in range(len(weights)):
        proposed[j] = ahead * weights[j] + sideways * proposed[j]
        squares += proposed[j] * proposed[j]
    shrink = 1.0 / math.sqrt(squares)
    for j in range(len(weights)):
        proposed[j] *= shrink


@kernel
def reflected(value: float) -> float:
    """The point of [-1, 1] that a walk along the line reaches when it turns at both ends."""
    folded = value + 1.0 - 4.0 * math.floor((value + 1.0) / 4.0)
    if folded > 2.0:
        folded = 4.0 - folded
    folded -= 1.0
    return min(1.0, max(-1.0, folded))


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
    step: float,
    fixed: int,
    noise: Any,
    shuffles: Any,
    at: int,
    order: Any,
    first: Any,
    second: Any,
    proposed: Any,
) -> None:
    """Move each pair (i, j) along its diamond |wi| + |wj| = const, in uniformly random order.

    By a Gaussian length, or by +-step where `fixed`. Walked backwards, in the backward order and
    with opposite signs, the way is as likely: symmetric to the uniform measure of the L1 sphere.
    """
    shuffle(order, shuffles, at)
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
            if fixed != 0:
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
            if fixed != 0:
                proposed[i] = snapped(proposed[i], step)
                proposed[j] = snapped(proposed[j], step)
    total = 0.0
    for j in range(len(proposed)):
        total += abs(proposed[j])
    for j in range(len(proposed)):
        proposed[j] /= total


@kernel
def propose(
    kind: int,
    step: float,
    weights: Any,
    noise: Any,
    shuffles: Any,
    at: int,
    order: Any,
    first: Any,
    second: Any,
    proposed: Any,
) -> int:
    """Fill `proposed` with the next weights to try; 0 if they lie outside of the prior's support.

    noise (and shuffles, for pairs) are read from place `at` on; pair p is (first[p], second[p]).
    """
    if kind == GAUSSIAN:
        step_on_sphere(step, weights, noise, at, proposed)
    elif kind == GEODESIC:
        walk_great_circle(step, weights, noise, at, proposed)
    elif kind in (PAIRS, LATTICE):
        for j in range(len(weights)):
            proposed[j] = weights[j]
        fixed = 1 if kind == LATTICE else 0
        turn_pairs(step, fixed, noise, shuffles, at, order, first, second, proposed)
    elif kind == FLIP:
        proposed[0] = -weights[0] if noise[at] < 0.0 else weights[0]
    else:
        for j in range(len(weights)):
            proposed[j] = weights[j] + step * noise[at + j]
            if kind == REFLECT:
                proposed[j] = reflected(proposed[j])
            elif kind == REJECT and abs(proposed[j]) > 1.0:
                return 0
    return 1


@kernel
def log_likelihood(
    n_shown: int, n_actions: int, confidence: float, values: Any, counts: Any
) -> float:
    """Sum over shown pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)).

    values, counts: a row of actions for each shown state.
    """
    total = 0.0
    for i in range(n_shown):
        row = i * n_actions
        best = values[row]
        for a in range(row + 1, row + n_actions):
            if values[a] > best:
                best = values[a]
        weight = 0.0
        pairs = 0.0
        for a in range(row, row + n_actions):
            scaled = confidence * (values[a] - best)
            if counts[a] != 0.0:
                pairs += counts[a]
                total += counts[a] * scaled
            if scaled == 0.0:
                weight += 1.0
            elif scaled > NEGLIGIBLE:
                weight += math.exp(scaled)
        if weight != 1.0:
            total -= pairs * math.log(weight)
    return total


@kernel
def begin_step(proposal: Any, noise: Any, shuffles: Any, at: int, chain: Any) -> int:
    """Propose, and note the prior density of what was proposed; 0 if it lies outside."""
    kind, is_normal, n_noise, order, first, second = proposal
    weights, proposed, numbers = chain[0], chain[1], chain[3]
    inside: int = propose(
        kind,
        math.exp(numbers[LOG_STEP]),
        weights,
        noise,
        shuffles,
        at * n_noise,
        order,
        first,
        second,
        proposed,
    )
    squares = 0.0
    if is_normal != 0:
        for j in range(len(proposed)):
            squares += proposed[j] * proposed[j]
    numbers[NEW_PRIOR] = -0.5 * squares
    return inside


@kernel
def end_step(inside: int, level: float, chain: Any, samples: Any, densities: Any) -> None:
    """Accept or stay, adapt the step size while that is on, and record the chain's state."""
    weights, proposed, best, numbers, counters = chain
    k = len(weights)
    accepted = 0
    chance = 0.0
    if inside != 0:
        likelihood = numbers[NEW_LIKELIHOOD]
        prior = numbers[NEW_PRIOR]
        change = (likelihood - numbers[LIKELIHOOD]) + (prior - numbers[PRIOR])
        chance = math.exp(min(0.0, change))
        if likelihood + prior > numbers[BEST]:
            numbers[BEST] = likelihood + prior
            for j in range(k):
                best[j] = proposed[j]
        if level < change:
            accepted = 1
            numbers[LIKELIHOOD] = likelihood
            numbers[PRIOR] = prior
            for j in range(k):
                weights[j] = proposed[j]
    if counters[ADAPTING] != 0:
        counters[ADAPTED] += 1
        moved = numbers[LOG_STEP] + (chance - TARGET) * 2.0 / (counters[ADAPTED] + 3.0) ** 0.6
        numbers[LOG_STEP] = min(LARGEST_LOG_STEP, max(SMALLEST_LOG_STEP, moved))
    counters[STEP] += 1
    counters[TAKEN] += accepted
    past = counters[STEP] - counters[BURN_IN]
    if past > 0:
        counters[ACCEPTED] += accepted
        if past % counters[THIN] == 0 and counters[STORED] < len(densities):
            at = counters[STORED]
            densities[at] = numbers[LIKELIHOOD] + numbers[PRIOR]
            for j in range(k):
                samples[at * k + j] = weights[j]
            counters[STORED] = at + 1
