"""Answers to an exam, some open and some wrong: what agents that answer so may lose.

Comparisons and preferences leave a cone of weights, whose every class of policies is visited. All
lose at most the bound: pass. None does: fail. Else it is open, and a reward is named that answers
the same and loses too much. A wrong "equal" is left out, which only lets more rewards fit.

Best actions are optimal under the agent's own values: where right answers are closed, it goes on as
the task does, and the rows of its states hold. Else all classes of policies are visited in small
worlds; in large ones rewards are searched, and a search passes nobody. A wrong action costs what it
costs, as often as the start is in its state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.auditing.grading import as_answers, graded, is_right
from didact.auditing.losing import Allowed, allowed_loss
from didact.auditing.questions import Question
from didact.auditing.result import Audit
from didact.bec.classes import EquivalenceClass
from didact.bec.families import Known
from didact.bec.parts import shown_pairs
from didact.inputs import counted, seconds
from didact.mdp import Demonstration
from didact.mdp.exchange.given import given_demonstrations
from didact.numerics.exact import Floats
from didact.planning.loss import action_gaps
from didact.random import stream
from didact.teaching.closure import is_closed
from didact.teaching.loss.chart import Lost, chart_in_sight
from didact.teaching.loss.fitting import least_cell, region_that_fits
from didact.teaching.loss.region import Region, region_of, worst_cell
from didact.teaching.loss.search import largest, planner_rounds

if TYPE_CHECKING:
    from didact.auditing.exam import Exam

TIME_LIMIT = 20.0
"""Seconds for visiting classes of policies, where none are given."""

Answered = Sequence[tuple[Question, Any]]


def graded_by_loss(
    exam: Exam, given: Any, known: Known, loss: Any, loss_time: float | None = None
) -> Audit:
    """Whether every agent that answers so loses at most the bound, or none does."""
    allowed = allowed_loss(known, loss)
    limit = TIME_LIMIT if loss_time is None else seconds(loss_time, "loss_time")
    found = replace(graded(exam, given), statement=allowed.statement)
    if found.passed:
        return replace(found, reason=f"{found.reason}, so that it loses nothing", loss_bound=0.0)
    answers = zip(exam.questions, as_answers(exam, given), strict=True)
    answered = [(question, answer) for question, answer in answers if answer is not None]
    if exam.n_close_calls:
        told = f"{counted(exam.n_close_calls, 'close call')} could not be decided in floats"
        return replace(found, verdict="undecided", reason=told)
    deadline = time.monotonic() + limit
    judge = _judged_by_actions if exam.ask == "actions" else _judged_by_sides
    return judge(replace(found, verdict="undecided"), answered, allowed, deadline)


def audit_seen(
    known: EquivalenceClass, seen: Any, allowed: Allowed, loss_time: float | None
) -> Audit:
    """Whether every agent that was seen to act so, planning for itself, loses at most the bound."""
    taken = given_demonstrations(seen, known.task)
    n_steps = len({pair for demonstration in taken for pair in demonstration})
    found = Audit("undecided", allowed.statement, "", "demonstrations", n_steps)
    if known.n_close_calls:
        told = f"{counted(known.n_close_calls, 'close call')} could not be decided in floats"
        return replace(found, reason=told)
    limit = TIME_LIMIT if loss_time is None else seconds(loss_time, "loss_time")
    return _judged_by_pairs(found, taken, allowed, time.monotonic() + limit)


def _judged_by_sides(found: Audit, answered: Answered, allowed: Allowed, deadline: float) -> Audit:
    """By the cone of weights that prefer the sides that were preferred."""
    region = region_that_fits(allowed.fan, *_rows(answered, allowed.fan.basis.shape[1]))
    if region is None:
        told = "no weights of these features answer so"
        return replace(found, reason=f"{told}: the agent is not one that the exam is for")
    found = _judged_by_region(found, region, allowed, deadline)
    if found.passed or all(is_right(question, answer) for question, answer in answered):
        return found
    least = least_cell(region, allowed.limit, deadline=deadline)
    if least.is_proved and least.worst is not None and least.worst.loss > allowed.limit:
        told = f"whoever answers so loses at least {allowed.words(least.worst.loss)}"
        return replace(found, verdict="fail", reason=told, witness=None)
    return found


def _rows(answered: Answered, n_features: int) -> tuple[Floats, Floats]:
    """Unit rows that are positive for who answers so, and rows that are zero; (n, k) each."""
    strict, ties = [], []
    for question, answer in answered:
        normal = np.array([float(entry) for entry in question.normal or ()])
        normal /= np.linalg.norm(normal)
        if answer != "equal":
            strict.append(normal if answer == "first" else -normal)
        elif is_right(question, answer):
            ties.append(normal)
    return np.array(strict).reshape(-1, n_features), np.array(ties).reshape(-1, n_features)


def _judged_by_region(found: Audit, region: Region, allowed: Allowed, deadline: float) -> Audit:
    """By the most that a reward in a cone loses, every class of policies visited."""
    most = worst_cell(region, allowed.limit, deadline=deadline)
    if most.worst is not None and most.worst.loss > allowed.limit:
        return _open(found, most.worst.loss, most.worst.weights, allowed)
    if not most.is_proved:
        told = f"{most.n_cells} classes of policies that answer so lose no more"
        return replace(found, reason=f"{told}; others were not visited, or not told apart")
    loss = 0.0 if most.worst is None else most.worst.loss
    told = f"nobody who answers so loses more than {allowed.words(loss)}"
    reason = f"{told}; classes of policies visited: {most.n_cells}"
    return replace(found, verdict="pass", reason=reason, loss_bound=loss)


def _judged_by_actions(
    found: Audit, answered: Answered, allowed: Allowed, deadline: float
) -> Audit:
    """By the actions that were named best."""
    named = [(q, (answer,) if isinstance(answer, int) else answer) for q, answer in answered]
    pairs = [Demonstration([(q.state, action)]) for q, actions in named for action in actions]
    return _judged_by_pairs(found, pairs, allowed, deadline)


def _judged_by_pairs(
    found: Audit, taken: Sequence[Demonstration], allowed: Allowed, deadline: float
) -> Audit:
    """By the rewards that make what was taken optimal under their own values."""
    known = allowed.fan.class_of_task
    shown = shown_pairs(known.parts, taken)
    gaps = np.where(shown, action_gaps(known.plan), 0.0).max(axis=1)
    sure = float(known.task.mdp.start.floats @ gaps)
    if sure > allowed.limit:
        told = f"what it holds best loses at least {allowed.words(sure)}"
        return replace(found, verdict="fail", reason=told)
    is_right = not (shown & ~known.plan.optimal).any()
    if taken and is_right and is_closed(known.task.mdp, known.plan, taken):
        region = region_of(allowed.fan, known.rows.normals[known.rows.stated_by(shown)])
        return _judged_by_region(found, region, allowed, deadline)
    chart = chart_in_sight(allowed.fan)
    if chart is not None and chart.finish(deadline):
        return _judged_by_chart(found, chart.worst(shown), len(chart.cells), allowed)
    rng = stream(0, "audit", "answers")
    loss, weights = largest(planner_rounds(allowed.fan, shown.ravel(), rng))
    if weights is not None and loss > allowed.limit:
        return _open(found, loss, weights, allowed)
    told = "the states are not closed" if is_right else "a wrong action may cost more later"
    reason = f"{told}; a search found none who answers so and loses more, which proves nothing"
    return replace(found, reason=reason)


def _judged_by_chart(found: Audit, worst: Lost, n_cells: int, allowed: Allowed) -> Audit:
    """By the most that is lost with what was named optimal, every class of policies visited."""
    if worst.weights is not None and worst.loss > allowed.limit:
        return _open(found, worst.loss, worst.weights, allowed)
    told = f"nobody who answers so loses more than {allowed.words(worst.loss)}"
    reason = f"{told}; classes of policies visited: {n_cells}"
    return replace(found, verdict="pass", reason=reason, loss_bound=worst.loss)


def _open(found: Audit, loss: float, weights: Floats, allowed: Allowed) -> Audit:
    """Not decided: a reward that answers the same loses too much."""
    assert math.isfinite(loss)
    told = f"a reward that answers the same loses {allowed.words(loss)}"
    return replace(found, reason=told, witness=tuple(float(weight) for weight in weights))
