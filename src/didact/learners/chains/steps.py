"""One step of a Metropolis chain on flat arrays: propose, weigh, accept or stay, record.

A proposal is symmetric with respect to the prior's own measure, so the acceptance ratio holds only
densities. Each kernel below says what it is symmetric to. All randomness comes in as arrays:
`noise` standard normal, `shuffles` uniform in [0, 1), `levels` logarithms of uniform numbers.

The loop is the same for every kind of model: `score` is a hole, filled by `sampler_of`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from didact.numerics.compiled import Kernel, kernel

GAUSSIAN, GEODESIC, FLIP, REJECT, REFLECT, PAIRS, LATTICE, WALK = range(8)

LIKELIHOOD, PRIOR, NEW_LIKELIHOOD, NEW_PRIOR, LOG_STEP, BEST = range(6)
STEP, TAKEN, ADAPTED, ACCEPTED, STORED, BURN_IN, THIN, ADAPTING = range(8)
N_NUMBERS, N_COUNTERS = 6, 8
"""What lies where among the numbers and the counters of a chain."""

TARGET = 0.25
"""The accepted share of proposals that an adapted step size aims at."""

SMALLEST_LOG_STEP, LARGEST_LOG_STEP = math.log(1e-9), math.log(2.0)

ALIGNED = 1e-9
"""Closer to a multiple of the step than this share of it is on the lattice."""

NEGLIGIBLE = -45.0
"""exp of it is lost beside 1 in double precision."""


class Proposal(NamedTuple):
    """A move, whether the prior is normal, and how many random numbers a step takes.

    For moves of pairs: pair p is (first[p], second[p]); `order` is shuffled at each step.
    """

    kind: int
    is_normal: int
    n_noise: int
    order: Any
    first: Any
    second: Any


class Randomness(NamedTuple):
    """The random numbers of some steps, read from 0 on."""

    noise: Any
    shuffles: Any
    levels: Any


class State(NamedTuple):
    """Where a chain is, what it proposes, the best weights seen (k,), and the draws it has kept."""

    weights: Any
    proposed: Any
    best: Any
    numbers: Any
    counters: Any
    samples: Any
    densities: Any


class Choices(NamedTuple):
    """Choice c is among the alternatives first[c] to first[c + 1], the best first.

    places: of an alternative among the values; -1 where it is worth its row of counts, (n * k,).
    worths, pulls: room for what the alternatives are worth, and for slopes.
    """

    first: Any
    places: Any
    counts: Any
    worths: Any
    pulls: Any


class Shown(NamedTuple):
    """The shown states, how often each of their actions was shown, and room for their values.

    needed[0]: a score that is surely lower need not be exact; -inf where all must be. choices: what
    other feedback says.
    """

    confidence: float
    states: Any
    counts: Any
    values: Any
    needed: Any
    choices: Choices


class Problem(NamedTuple):
    """What a score is computed from: a model, workspace that goes with it, and the evidence."""

    model: Any
    work: Any
    shown: Shown


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
def propose(
    step: float, proposal: Proposal, randomness: Randomness, at: int, weights: Any, proposed: Any
) -> int:
    """Fill `proposed` with the next weights to try; 0 if they lie outside of the prior's support.

    noise (and shuffles, for pairs) are read from place `at` on.
    """
    kind, noise = proposal.kind, randomness.noise
    if kind == GAUSSIAN:
        step_on_sphere(step, weights, noise, at, proposed)
    elif kind == GEODESIC:
        walk_great_circle(step, weights, noise, at, proposed)
    elif kind in (PAIRS, LATTICE):
        for j in range(len(weights)):
            proposed[j] = weights[j]
        turn_pairs(step, proposal, randomness, at, proposed)
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
def choice_likelihood(shown: Shown, weights: Any) -> float:
    """Sum over choices of log P(the best is chosen, then the best of the rest, and so on).

    It begins with the last alternative: beyond = log sum exp of those from there on.
    """
    confidence, values = shown.confidence, shown.values
    first, places, counts, worths, _ = shown.choices
    k = len(weights)
    total = 0.0
    for i in range(len(places)):
        if places[i] >= 0:
            worths[i] = confidence * values[places[i]]
        else:
            worth = 0.0
            for j in range(k):
                worth += counts[i * k + j] * weights[j]
            worths[i] = confidence * worth
    for c in range(len(first) - 1):
        beyond = worths[first[c + 1] - 1]
        for i in range(first[c + 1] - 2, first[c] - 1, -1):
            best = max(worths[i], beyond)
            beyond = best + math.log(math.exp(worths[i] - best) + math.exp(beyond - best))
            total += worths[i] - beyond
    return total


@kernel
def log_likelihood(n_actions: int, shown: Shown, weights: Any) -> float:
    """Sum over shown pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)), and choices.

    Values and counts have a row of actions for each shown state.
    """
    confidence, counts, values = shown.confidence, shown.counts, shown.values
    total = 0.0
    for i in range(len(shown.states)):
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
    if len(shown.choices.places) > 0:
        total += choice_likelihood(shown, weights)
    return total


@kernel
def begin_step(t: int, proposal: Proposal, randomness: Randomness, state: State) -> int:
    """Propose, and note the prior density of what was proposed; 0 if it lies outside."""
    proposed, numbers = state.proposed, state.numbers
    step = math.exp(numbers[LOG_STEP])
    at = t * proposal.n_noise
    inside: int = propose(step, proposal, randomness, at, state.weights, proposed)
    squares = 0.0
    if proposal.is_normal != 0:
        for j in range(len(proposed)):
            squares += proposed[j] * proposed[j]
    numbers[NEW_PRIOR] = -0.5 * squares
    return inside


@kernel
def end_step(inside: int, level: float, state: State) -> None:
    """Accept or stay, adapt the step size while that is on, and record where the chain is."""
    weights, proposed, best = state.weights, state.proposed, state.best
    numbers, counters = state.numbers, state.counters
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
        samples, densities = state.samples, state.densities
        counters[ACCEPTED] += accepted
        if past % counters[THIN] == 0 and counters[STORED] < len(densities):
            at = counters[STORED]
            densities[at] = numbers[LIKELIHOOD] + numbers[PRIOR]
            for j in range(k):
                samples[at * k + j] = weights[j]
            counters[STORED] = at + 1


@kernel
def score(model: Any, work: Any, shown: Shown, weights: Any) -> float:
    """log P(D | w) with the exact optimal values of w: a hole, for each kind of model another."""
    raise NotImplementedError


@kernel
def try_step(
    t: int, problem: Problem, proposal: Proposal, randomness: Randomness, state: State
) -> int:
    """Propose weights with random numbers t and score them; 0 if they lie outside of the prior."""
    inside: int = begin_step(t, proposal, randomness, state)
    if inside != 0:
        likelihood = score(problem.model, problem.work, problem.shown, state.proposed)
        state.numbers[NEW_LIKELIHOOD] = likelihood
    return inside


@kernel
def run_steps(
    n_steps: int, problem: Problem, proposal: Proposal, randomness: Randomness, state: State
) -> None:
    """So many steps of a chain."""
    for t in range(n_steps):
        inside = try_step(t, problem, proposal, randomness, state)
        end_step(inside, randomness.levels[t], state)


@dataclass(frozen=True, eq=False)
class Sampler:
    """The kernels of one kind of model: a score, a step without its end, and many whole steps."""

    score: Kernel
    trial: Kernel
    run: Kernel


def sampler_of(score: Kernel) -> Sampler:
    """Chains whose proposals are scored by a kernel."""
    trial = try_step.filled(score=score)
    return Sampler(score, trial, run_steps.filled(try_step=trial))
