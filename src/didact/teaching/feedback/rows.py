"""The half-spaces that feedback states: each item as differences of discounted feature counts.

A comparison's row has the task's best policy after both actions. A trajectory counts phi(s_t) with
discount^t from t = 0 on, and the terminal state once where it surely ends.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from didact.bec.families import Known
from didact.bec.linear import Row, primitive
from didact.errors import Unsupported
from didact.inputs import shown_name
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.items import Comparison, Feedback, Stop, has_ended, ways_of
from didact.mdp.naming import action_words, state_words

if TYPE_CHECKING:
    from didact.planning.rationals import ExactModel

Difference = list[Any]
"""A row (k,) of rationals as it is, not scaled."""


def item_differences(known: Known, item: Feedback) -> list[Difference]:
    """What the better side counts more than the other, once for each comparison in an item."""
    part = known.parts[item.member or 0]
    if part.counts is None:
        raise Unsupported(
            "other feedback than demonstrations needs exact arithmetic, and this class was "
            "computed in floats; use arithmetic='exact'"
        )
    if isinstance(item, Comparison):
        pairs = part.counts.pairs[item.state]
        return [list(pairs[item.better] - pairs[item.other])]
    counts = [trajectory_counts(part.task, way) for way in ways_of(item)]
    if isinstance(item, Stop):
        return [[-x for x in trajectory_counts(part.task, item.way, item.after)]]
    return [[x - y for x, y in zip(*pair, strict=True)] for pair in pairwise(counts)]


def trajectory_counts(task: Task, way: Demonstration, first: int = 0) -> Difference:
    """Discounted feature counts (k,) of a trajectory, from a step on."""
    from didact.planning.rationals import exact_model

    model = exact_model(task.mdp)
    total = [0 * x for x in model.payment(*way[0])]
    for step in range(first, len(way)):
        total = _added(total, model, model.discount**step, *way[step])
    if has_ended(way, task):
        last = len(way) - 1
        state, action = way[last]
        for target, share in model.rows[state * model.n_actions + action]:  # discounted once
            total = _added(total, model, model.discount**last * share, target, 0)
    return total


def _added(
    total: Difference, model: ExactModel, weight: Any, state: int, action: int
) -> Difference:
    paid = model.payment(state, action)
    return [t + weight * x if x else t for t, x in zip(total, paid, strict=True)]


def margin(known: Known, difference: Difference) -> Fraction:
    """What the better side is worth more under the true weights; negative where it is not."""
    from didact.planning.rationals import as_rationals, dot

    found = dot(difference, as_rationals(known.parts[0].task.true_weights))
    return Fraction(int(found.p), int(found.q))


def direction(difference: Difference) -> Row:
    """The same half-space as a primitive row of integers; zeros where it says nothing."""
    return primitive(difference)


def item_words(task: MDP | Task | Family, item: Feedback) -> str:
    """An item as it would be said; in a family its member first."""
    if isinstance(task, Family):
        member = item.member or 0
        return f"{shown_name(task.names[member])}: {item_words(task[member], item)}"
    if isinstance(item, Comparison):
        better, other = (action_words(task, a) for a in (item.better, item.other))
        return f"in {state_words(task, item.state)}: {better} rather than {other}"
    ways = ways_of(item)
    where = state_words(task, ways[0][0][0])
    told = [", ".join(action_words(task, a) for _, a in way) for way in ways]
    if isinstance(item, Stop):
        return f"from {where}: stop {told[0]} after {item.after} steps, off being worth 0"
    return f"from {where}: {' rather than '.join(told)}"
