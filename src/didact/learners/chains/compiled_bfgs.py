"""Climbs of the likelihood in compiled kernels: its slope in the weights, and BFGS on a sphere.

The slope of log P(D | w) is confidence times the sum over shown pairs of (shown - expected) times
their successor features. Planning leaves all that is needed: on graphs the order of the states, on
small stochastic models the counts themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from didact.learners.chains.dense import score_by_resolvent
from didact.learners.chains.deterministic import evaluate_in_order, score_on_graph
from didact.numerics.compiled import Kernel, kernel
from didact.numerics.exact import Floats

VALUE, RADIUS, CAUTION, IS_BENT, REACH, RISE, LENGTH, SHRINK = range(8)
"""Numbers of a climb."""


@kernel
def find_surplus(
    n_shown: int, n_actions: int, confidence: float, values: Any, counts: Any, surplus: Any
) -> None:
    """surplus[s, a] = counts(s, a) - n(s) p(a|s), p the softmax of the values."""
    for i in range(n_shown):
        first = i * n_actions
        best = values[first]
        for a in range(first, first + n_actions):
            best = max(best, values[a])
        total = 0.0
        shown = 0.0
        for a in range(first, first + n_actions):
            surplus[a] = math.exp(confidence * (values[a] - best))
            total += surplus[a]
            shown += counts[a]
        for a in range(first, first + n_actions):
            surplus[a] = counts[a] - shown * surplus[a] / total


@kernel
def slope_on_graph(
    model: Any, work: Any, columns: Any, evidence: Any, weights: Any, room: Any, slope: Any
) -> float:
    """log P(D | w) on a deterministic model; its slope goes into `slope`."""
    n_states, n_actions, discount, by_action, successor, gaps = model
    rewards, _, _, chosen, following, order, heads, lengths, _, _, cycles = work
    confidence, shown, counts, shown_values = evidence
    surplus, paid, summed = room
    likelihood: float = score_on_graph(model, work, columns, evidence, weights)
    find_surplus(len(shown), n_actions, confidence, shown_values, counts, surplus)
    n_rows = len(rewards)
    for j in range(len(weights)):
        base = j * n_rows
        for state in range(n_states):
            paid[state] = columns[base + (chosen[state] if by_action != 0 else state)]
        evaluate_in_order(
            n_states, cycles[0], discount, gaps, paid, following, order, heads, lengths, summed
        )
        total = 0.0
        for i in range(len(shown)):
            for a in range(n_actions):
                row = shown[i] * n_actions + a
                count = discount * summed[successor[row]]
                if by_action != 0:
                    count += columns[base + row]
                total += surplus[i * n_actions + a] * count
        slope[j] = confidence * total
    return likelihood


@kernel
def slope_by_resolvent(
    model: Any, work: Any, columns: Any, evidence: Any, weights: Any, room: Any, slope: Any
) -> float:
    """log P(D | w) on a small stochastic model; its slope goes into `slope`."""
    n_states, n_actions, discount, moves = model
    offsets, successors, probabilities = moves
    rewards, summed = work[0], work[5]
    confidence, shown, counts, shown_values = evidence
    surplus = room[0]
    likelihood: float = score_by_resolvent(model, work, columns, evidence, weights)
    find_surplus(len(shown), n_actions, confidence, shown_values, counts, surplus)
    n_rows = len(rewards)
    for j in range(len(weights)):
        total = 0.0
        for i in range(len(shown)):
            for a in range(n_actions):
                row = shown[i] * n_actions + a
                count = 0.0
                for e in range(offsets[row], offsets[row + 1]):
                    count += probabilities[e] * summed[j * n_states + successors[e]]
                count *= discount
                if n_rows > n_states:
                    count += columns[j * n_rows + row]
                total += surplus[i * n_actions + a] * count
        slope[j] = confidence * total
    return likelihood


@kernel
def level(point: Any, raw: Any, shrink: float, radius: float, slope: Any) -> None:
    """The slope of w -> f(radius * w / |w|) at point / shrink, from the slope of f at the point."""
    outward = 0.0
    for j in range(len(point)):
        outward += raw[j] * point[j]
    outward /= radius * radius
    for j in range(len(point)):
        slope[j] = shrink * (raw[j] - outward * point[j])


@kernel
def aim(climb: Any) -> int:
    """Set the next point to try; 0 when the slope says that this is a summit."""
    numbers, here, there, point, slope, ahead, _, _, inverse = climb
    k = len(here)
    for i in range(k):
        ahead[i] = slope[i]
        if numbers[IS_BENT] != 0.0:
            ahead[i] = 0.0
            for j in range(k):
                ahead[i] += inverse[i * k + j] * slope[j]
    square = 0.0
    rise = 0.0
    for i in range(k):
        square += ahead[i] * ahead[i]
        rise += ahead[i] * slope[i]
    if not rise > 1e-9:
        return 0
    radius = numbers[RADIUS]
    length = math.sqrt(square)
    widest = (0.5 if numbers[IS_BENT] != 0.0 else 0.1) * radius / length
    reach = numbers[CAUTION] * min(1.0, widest)
    square = 0.0
    for i in range(k):
        there[i] = here[i] + reach * ahead[i]
        square += there[i] * there[i]
    shrink = radius / math.sqrt(square)
    for i in range(k):
        point[i] = shrink * there[i]
    numbers[REACH] = reach
    numbers[RISE] = rise
    numbers[LENGTH] = length
    numbers[SHRINK] = shrink
    return 1


@kernel
def judge(after: float, climb: Any) -> int:
    """Take the point if it is higher, else be more careful; 0 when the climb has ended."""
    numbers, here, there, point, slope, ahead, raw, bend, inverse = climb
    k = len(here)
    value, radius, shrink = numbers[VALUE], numbers[RADIUS], numbers[SHRINK]
    if after > value + 1e-4 * numbers[REACH] * numbers[RISE]:
        level(point, raw, shrink, radius, ahead)
        for i in range(k):
            bend[i] = slope[i] - ahead[i]
            there[i] -= here[i]
        bend_inverse(there, bend, raw, numbers, inverse)
        for i in range(k):
            here[i] = point[i]
            slope[i] = ahead[i] / shrink
        numbers[VALUE] = after
        numbers[CAUTION] = 1.0
        return 0 if after - value < 1e-6 else 1
    if numbers[REACH] * numbers[LENGTH] > 1e-7 * radius:
        numbers[CAUTION] *= 0.3
        return 1
    if numbers[IS_BENT] != 0.0:
        numbers[IS_BENT] = 0.0
        numbers[CAUTION] = 1.0
        return 1
    return 0


@kernel
def bend_inverse(step: Any, bend: Any, moved: Any, numbers: Any, inverse: Any) -> None:
    """The BFGS update of an inverse Hessian; unchanged where the slope did not fall."""
    k = len(step)
    product = 0.0
    square = 0.0
    for i in range(k):
        product += step[i] * bend[i]
        square += bend[i] * bend[i]
    if not product > 1e-12:
        return
    if numbers[IS_BENT] == 0.0:
        for i in range(k * k):
            inverse[i] = 0.0
        for i in range(k):
            inverse[i * k + i] = product / square
        numbers[IS_BENT] = 1.0
    stretch = product
    for i in range(k):
        moved[i] = 0.0
        for j in range(k):
            moved[i] += inverse[i * k + j] * bend[j]
        stretch += bend[i] * moved[i]
    stretch /= product
    for i in range(k):
        for j in range(k):
            change = stretch * step[i] * step[j] - moved[i] * step[j] - step[i] * moved[j]
            inverse[i * k + j] += change / product


@kernel
def climb_on_graph(
    n_plans: int, model: Any, work: Any, columns: Any, evidence: Any, room: Any, climb: Any
) -> int:
    """Climb from `here` on a deterministic model; the plans it took."""
    numbers, here, _, point, slope, _, raw, _, _ = climb
    numbers[VALUE] = slope_on_graph(model, work, columns, evidence, here, room, raw)
    level(here, raw, 1.0, numbers[RADIUS], slope)
    for plan in range(1, n_plans):
        if aim(climb) == 0:
            return plan
        after = slope_on_graph(model, work, columns, evidence, point, room, raw)
        if judge(after, climb) == 0:
            return plan + 1
    return n_plans


@kernel
def climb_by_resolvent(
    n_plans: int, model: Any, work: Any, columns: Any, evidence: Any, room: Any, climb: Any
) -> int:
    """Climb from `here` on a small stochastic model; the plans it took."""
    numbers, here, _, point, slope, _, raw, _, _ = climb
    numbers[VALUE] = slope_by_resolvent(model, work, columns, evidence, here, room, raw)
    level(here, raw, 1.0, numbers[RADIUS], slope)
    for plan in range(1, n_plans):
        if aim(climb) == 0:
            return plan
        after = slope_by_resolvent(model, work, columns, evidence, point, room, raw)
        if judge(after, climb) == 0:
            return plan + 1
    return n_plans


def climb_from(start: Floats) -> tuple[Floats, ...]:
    """What a climb from weights (k,) works on: its numbers first, then where it is."""
    k = start.size
    numbers = np.zeros(8)
    numbers[RADIUS] = math.sqrt(float(start @ start))
    numbers[CAUTION] = 1.0
    vectors = (np.zeros(k) for _ in range(6))
    here, (there, point, slope, ahead, raw, bend) = start.copy(), vectors
    return numbers, here, there, point, slope, ahead, raw, bend, np.zeros(k * k)


def climbing_room(n_states: int, n_shown_values: int) -> tuple[Floats, ...]:
    """Workspace of the slopes: surplus of the shown pairs, and features by state."""
    return np.zeros(n_shown_values), np.zeros(n_states), np.zeros(n_states + 1)


def climber_of(run: Kernel) -> Kernel | None:
    """The climb that goes with a chain's kernel; None on models too large for it."""
    from didact.learners.chains.dense import run_by_resolvent
    from didact.learners.chains.deterministic import run_on_graph

    return {run_on_graph: climb_on_graph, run_by_resolvent: climb_by_resolvent}.get(run)
