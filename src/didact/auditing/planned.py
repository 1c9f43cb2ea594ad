"""Agents whose weights are known, planned and compared exactly: no exam is needed.

With ties, never acting wrongly is less than holding the same actions best: an agent that takes one
of two best actions loses nothing, and the weights of such agents are no convex set. So this is
decided by planning, in every state that counts.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.auditing.questions import cost_of, place_words
from didact.auditing.result import Audit, Situation
from didact.bec.families import Known
from didact.bec.parts import Mask, Part
from didact.bec.rows import scope_states
from didact.mdp.naming import action_words
from didact.planning import Plan, evaluate, solve

RIGHT = {
    "reachable": "the agent never takes an action that is not best, in any state that the start "
    "can lead to, however it breaks ties",
    "all": "the agent never takes an action that is not best, in any state, however it breaks ties",
}


class Wrong(NamedTuple):
    """An action that is not best where it is taken, and what it costs."""

    part: Part
    state: int
    action: int
    cost: Fraction | float


def audit_weights(known: Known, weights: Any) -> Audit:
    """Whether an agent with these weights ever acts wrongly, and what it loses."""
    plans = [_planned(part, weights) for part in known.parts]
    taken = [
        plan.optimal & scope_states(part.task.mdp, known.scope)[:, None]
        for part, plan in zip(known.parts, plans, strict=True)
    ]
    same = all(
        (mask == part.plan.optimal)[scope_states(part.task.mdp, known.scope)].all()
        for part, mask in zip(known.parts, taken, strict=True)
    )
    worst = costliest(known, taken)
    loss = max(
        evaluate(part.task, plan, plan=part.plan).worst_policy_loss
        for part, plan in zip(known.parts, plans, strict=True)
    )
    statement = RIGHT[known.scope]
    found: dict[str, Any] = {"loss": loss, "same": same}
    if not all(plan.is_proved for plan in (*plans, *(part.plan for part in known.parts))):
        told = "close calls could not be decided in floats; use arithmetic='exact'"
        return Audit("undecided", statement, told, "weights", loss=loss)
    if worst is None:
        told = (
            "its best actions are the task's" if same else "its best actions are among the task's"
        )
        return Audit("pass", statement, told, "weights", **found)
    situation = situation_of_pair(known, worst)
    return Audit("fail", statement, situation.words, "weights", situation=situation, **found)


def _planned(part: Part, weights: Any) -> Plan:
    """What the agent holds best: proved by bounds, else in exact arithmetic as far as possible."""
    plan = solve(part.task.mdp, weights)
    exact = part.counts is not None and not plan.is_proved
    return solve(part.task.mdp, weights, arithmetic="exact") if exact else plan


def costliest(known: Known, taken: list[Mask]) -> Wrong | None:
    """The taken pair that is not best and costs most, the first of them; None where all are."""
    found: Wrong | None = None
    for part, mask in zip(known.parts, taken, strict=True):
        for state, action in np.argwhere(mask & ~part.plan.optimal).tolist():
            best = part.plan.optimal_actions(state)[0]
            cost = cost_of(part, state, action, best)
            if found is None or cost > found.cost:
                found = Wrong(part, state, action, cost)
    return found


def situation_of_pair(known: Known, wrong: Wrong) -> Situation:
    """A wrong action with what it costs, in words."""
    part, state, action, cost = wrong
    better = part.plan.optimal_actions(state)[0]
    told = (
        f"in {place_words(known, part, state)} it takes {action_words(part.task, action)}; "
        f"{action_words(part.task, better)} is better by {float(cost):.4g}"
    )
    exact = cost if isinstance(cost, Fraction) else None
    return Situation(state, action, better, float(cost), exact, told, part.member)
