"""Climbs of the likelihood in compiled kernels: its slope in the weights, and BFGS on a sphere.

The slope of log P(D | w) is confidence times the sum over shown pairs of (shown - expected) times
their successor features. Planning leaves all that is needed: on graphs the order of the states, on
small stochastic models the counts themselves.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from didact.learners.chains.dense import DenseModel, DenseWork, score_by_resolvent
from didact.learners.chains.deterministic import (
    GraphModel,
    GraphWork,
    evaluate_in_order,
    score_on_graph,
)
from didact.learners.chains.steps import Problem, Shown
from didact.numerics.compiled import inlined, kernel
from didact.numerics.exact import Floats
from didact.planning.kernels import expected_value

VALUE, RADIUS, CAUTION, IS_BENT, REACH, RISE, LENGTH, SHRINK = range(8)
"""Numbers of a climb."""


class Climb(NamedTuple):
    """Where a climb is and what it tries next, with the slopes and the inverse Hessian (k * k,).

    there: the next point before it is put back on the sphere. raw: the slope of the likelihood.
    """

    numbers: Any
    here: Any
    there: Any
    point: Any
    slope: Any
    ahead: Any
    raw: Any
    bend: Any
    inverse: Any


class Room(NamedTuple):
    """Workspace of the slopes: surplus of the shown pairs, and one feature by state."""

    surplus: Any
    paid: Any
    summed: Any


@inlined
def find_surplus(n_actions: int, shown: Shown, surplus: Any) -> None:
    """surplus[s, a] = counts(s, a) - n(s) p(a|s), p the softmax of the values."""
    counts, values = shown.counts, shown.values
    for i in range(len(shown.states)):
        first = i * n_actions
        best = values[first]
        for a in range(first, first + n_actions):
            best = max(best, values[a])
        total = 0.0
        pairs = 0.0
        for a in range(first, first + n_actions):
            surplus[a] = math.exp(shown.confidence * (values[a] - best))
            total += surplus[a]
            pairs += counts[a]
        for a in range(first, first + n_actions):
            surplus[a] = counts[a] - pairs * surplus[a] / total


@inlined
def pull_choices(shown: Shown, surplus: Any) -> None:
    """pulls[i] = the slope of the choices in what alternative i is worth; values get their part."""
    first, places, _, worths, pulls = shown.choices
    for i in range(len(places)):
        pulls[i] = 0.0
    for c in range(len(first) - 1):
        end = first[c + 1]
        for chosen in range(first[c], end - 1):
            best = worths[chosen]
            for i in range(chosen + 1, end):
                best = max(best, worths[i])
            total = 0.0
            for i in range(chosen, end):
                total += math.exp(worths[i] - best)
            pulls[chosen] += 1.0
            for i in range(chosen, end):
                pulls[i] -= math.exp(worths[i] - best) / total
    for i in range(len(places)):
        if places[i] >= 0:
            surplus[places[i]] += pulls[i]


@inlined
def counted_pull(j: int, k: int, shown: Shown) -> float:
    """What the choices among trajectories add to the slope in weight j, before the confidence."""
    counts, pulls = shown.choices.counts, shown.choices.pulls
    total = 0.0
    for i in range(len(pulls)):
        total += pulls[i] * counts[i * k + j]
    return total


@kernel
def find_slope(model: Any, work: Any, shown: Shown, room: Room, weights: Any, slope: Any) -> float:
    """log P(D | w), its slope in `slope`: a hole, for each kind of model another."""
    raise NotImplementedError


@kernel
def slope_on_graph(
    model: GraphModel, work: GraphWork, shown: Shown, room: Room, weights: Any, slope: Any
) -> float:
    """log P(D | w) on a deterministic model; its slope goes into `slope`."""
    n_actions, successor, columns = model.n_actions, model.successor, model.columns
    surplus, paid, summed = room.surplus, room.paid, room.summed
    likelihood: float = score_on_graph(model, work, shown, weights)
    find_surplus(n_actions, shown, surplus)
    pull_choices(shown, surplus)
    for j in range(len(weights)):
        base = j * len(work.rewards)
        for state in range(model.n_states):
            paid[state] = columns[base + (work.chosen[state] if model.by_action != 0 else state)]
        evaluate_in_order(model, paid, work.tour, summed)
        total = counted_pull(j, len(weights), shown)
        for i in range(len(shown.states)):
            for a in range(n_actions):
                row = shown.states[i] * n_actions + a
                count = model.discount * summed[successor[row]]
                if model.by_action != 0:
                    count += columns[base + row]
                total += surplus[i * n_actions + a] * count
        slope[j] = shown.confidence * total
    return likelihood


@kernel
def slope_by_resolvent(
    model: DenseModel, work: DenseWork, shown: Shown, room: Room, weights: Any, slope: Any
) -> float:
    """log P(D | w) on a small stochastic model; its slope goes into `slope`."""
    n_states, n_actions, columns = model.n_states, model.n_actions, model.columns
    summed, surplus, n_rows = room.summed, room.surplus, len(work.rewards)
    likelihood: float = score_by_resolvent(model, work, shown, weights)
    find_surplus(n_actions, shown, surplus)
    pull_choices(shown, surplus)
    for j in range(len(weights)):
        for state in range(n_states):
            summed[state] = work.counts[j * n_states + state]
        total = counted_pull(j, len(weights), shown)
        for i in range(len(shown.states)):
            for a in range(n_actions):
                row = shown.states[i] * n_actions + a
                count = model.discount * expected_value(model.moves, row, summed)
                if n_rows > n_states:
                    count += columns[j * n_rows + row]
                total += surplus[i * n_actions + a] * count
        slope[j] = shown.confidence * total
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


@inlined
def aim(climb: Climb) -> int:
    """Set the next point to try; 0 when the slope says that this is a summit."""
    numbers, here, there, point = climb.numbers, climb.here, climb.there, climb.point
    slope, ahead, inverse = climb.slope, climb.ahead, climb.inverse
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


@inlined
def judge(after: float, climb: Climb) -> int:
    """Take the point if it is higher, else be more careful; 0 when the climb has ended."""
    numbers, here, there, point = climb.numbers, climb.here, climb.there, climb.point
    slope, ahead = climb.slope, climb.ahead
    k = len(here)
    value, radius, shrink = numbers[VALUE], numbers[RADIUS], numbers[SHRINK]
    if after > value + 1e-4 * numbers[REACH] * numbers[RISE]:
        level(point, climb.raw, shrink, radius, ahead)
        for i in range(k):
            climb.bend[i] = slope[i] - ahead[i]
            there[i] -= here[i]
        bend_inverse(climb)
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


@inlined
def bend_inverse(climb: Climb) -> None:
    """The BFGS update of the inverse Hessian; unchanged where the slope did not fall.

    The step stands in `there`, the fall of the slope in `bend`.
    """
    step, bend, moved = climb.there, climb.bend, climb.raw
    numbers, inverse = climb.numbers, climb.inverse
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
def climb_up(n_plans: int, problem: Problem, room: Room, climb: Climb) -> int:
    """Climb from `here` until it ends, or as long as there are plans left; the plans it took."""
    model, work, shown = problem.model, problem.work, problem.shown
    numbers, raw = climb.numbers, climb.raw
    numbers[VALUE] = find_slope(model, work, shown, room, climb.here, raw)
    level(climb.here, raw, 1.0, numbers[RADIUS], climb.slope)
    for plan in range(1, n_plans):
        if aim(climb) == 0:
            return plan
        after = find_slope(model, work, shown, room, climb.point, raw)
        if judge(after, climb) == 0:
            return plan + 1
    return n_plans


climb_on_graph = climb_up.filled(find_slope=slope_on_graph)
climb_by_resolvent = climb_up.filled(find_slope=slope_by_resolvent)


def climb_from(start: Floats) -> Climb:
    """A climb that begins at weights (k,)."""
    k = start.size
    numbers = np.zeros(8)
    numbers[RADIUS] = math.sqrt(float(start @ start))
    numbers[CAUTION] = 1.0
    there, point, slope, ahead, raw, bend = np.zeros((6, k))
    here, inverse = start.copy(), np.zeros(k * k)
    return Climb(numbers, here, there, point, slope, ahead, raw, bend, inverse)


def climbing_room(n_states: int, n_shown_values: int) -> Room:
    """Room for the slopes of a model."""
    return Room(np.zeros(n_shown_values), np.zeros(n_states), np.zeros(n_states + 1))
