"""What demonstrations leave open: the rewards that still fit them, and what a learner may lose.

The slider over a lesson and a person who teaches ask the same question: here are demonstrations of
a task; what do they pin down, which weights may still be what, and who still fits and is wrong.

What each weight may still be is the largest and the smallest among rewards that fit.
Rewards count up to a positive factor, so one weight with a known sign is the unit: w[unit] = +-1.
The bound of w[i] is a linear program over rows . w >= 0. HiGHS finds it; what it says is then
proved in exact arithmetic. Its multipliers name some of the rows, and with them

    sign * v * e_unit - e_i = sum of nonnegative multiples of rows

is solved exactly, so that no reward that fits has w[i] above v (in the same way below). The float
optimum is a reward that comes as near to v as floats tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from didact.app.lessons import class_for, read_settings
from didact.bec.classes import EquivalenceClass
from didact.bec.farkas import combine
from didact.bec.halfspaces import demonstrated_pairs
from didact.bec.linear import Floats, Row, unit_floats
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import counted, shown, whole_number
from didact.mdp import Demonstration, Family, Task
from didact.planning import rollout, solve
from didact.report.page.halfspaces import half_spaces_drawn, likely_pairs
from didact.report.page.scene import amount
from didact.report.page.words import weights_words
from didact.report.page.world import task_drawn
from didact.teaching import check

MOST_SHOWN, MOST_STEPS = 60, 2_000
"""Demonstrations that a page may send, and their steps in all."""
MOST_NORMALS = 400
"""Half-spaces of three weights that are drawn on a sphere."""
NEAR = 1e-6
"""How far the exact bound may be from the one that HiGHS found, relative to its size."""


def as_task(subject: Task | Family) -> Task:
    """The task; families have no one picture."""
    if isinstance(subject, Family):
        raise Unsupported("this view is of one world; open a member of the family alone")
    return subject


def read_demonstrations(given: Any, task: Task) -> list[Demonstration]:
    """Demonstrations as lists of [state, action], each a state and an action of the task."""
    if not isinstance(given, list) or len(given) > MOST_SHOWN:
        raise InvalidParameter(
            f"demonstrations must be a list of at most {MOST_SHOWN}; it is {shown(given)}"
        )
    steps = sum(len(each) for each in given if isinstance(each, list))
    if steps > MOST_STEPS or not all(isinstance(each, list) and each for each in given):
        raise InvalidParameter(
            f"demonstrations must be lists of [state, action], {MOST_STEPS} in all; it is "
            f"{shown(given)}"
        )
    return [Demonstration([_pair(pair, task) for pair in each]) for each in given]


def _pair(pair: Any, task: Task) -> tuple[int, int]:
    if not isinstance(pair, list) or len(pair) != 2:
        raise InvalidParameter(f"a step must be [state, action]; it is {shown(pair)}")
    state = whole_number(pair[0], "state", 0, task.mdp.n_states - 1)
    return state, whole_number(pair[1], "action", 0, task.mdp.n_actions - 1)


def fitted(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """What the demonstrations of a question leave open, in words, numbers and pictures."""
    task = as_task(subject)
    known = class_for(task, read_settings(question.get("settings", {}))["scope"])
    given = read_demonstrations(question.get("demonstrations"), task)
    verdict = check(task, given, known=known)
    right = [segment.shown for segment in verdict.segments]
    n_said = verdict.n_facets + verdict.n_equalities
    return {
        "teaches": verdict.teaches,
        "n_said": n_said,
        "n_open": verdict.n_open,
        "missing": verdict.missing_words,
        "wrong": [wrong.to_dict() for wrong in verdict.wrong],
        "loss": verdict.loss,
        "proof": None if verdict.proof is None else "proved",
        "believer": _believer(task, verdict.witness),
        **_cone(known, right, verdict.witness, question),
    }


def _believer(task: Task, witness: Sequence[Fraction] | None) -> dict[str, Any] | None:
    """A learner that still fits and is wrong: its reward in words, and what it would do."""
    if witness is None:
        return None
    plan = solve(task.mdp, list(witness), arithmetic="float")
    true = solve(task.mdp, task.true_weights, arithmetic="float")
    astray = (plan.optimal & ~true.optimal).any(axis=1)
    return {
        "words": weights_words(task.mdp, witness),
        "n_astray": int(astray.sum()),
        "picture": None if task.layout is None else task_drawn(task, plan)[0],
    }


def _cone(
    known: EquivalenceClass,
    right: Sequence[Demonstration],
    witness: Sequence[Fraction] | None,
    question: Mapping[str, Any],
) -> dict[str, Any]:
    """The rewards that fit: a picture of two weights, bounds of all, half-spaces of three."""
    mdp = known.task.mdp
    k = mdp.n_features
    chosen = _Chosen.of(known, question)
    rows = known.rows
    stated = rows.stated_by(demonstrated_pairs(mdp, right)).tolist() if right else []
    picture = None
    if k > 1:
        picture = half_spaces_drawn(known, right, pair=chosen.pair, witness=witness)
    bounds = None
    if chosen.unit is not None and k > 1 and rows.exact is not None:
        sign = 1 if known.task.weights[chosen.unit] > 0 else -1
        exact = [rows.exact[row] for row in stated]
        bounds = [_bar(*pair) for pair in weight_bounds(exact, k, chosen.unit, sign)]
    return {
        "names": [mdp.feature_name(i) for i in range(k)],
        "weights": known.task.weights.tolist(),
        "pair": chosen.pair,
        "unit": chosen.unit,
        "bounds": bounds,
        "picture": picture,
        "normals": rows.normals[stated][:MOST_NORMALS].tolist() if k == 3 else None,
    }


@dataclass(frozen=True)
class _Chosen:
    """The two weights of the picture, and the weight that is the unit; None where none can be."""

    pair: tuple[int, int] | None
    unit: int | None

    @classmethod
    def of(cls, known: EquivalenceClass, question: Mapping[str, Any]) -> _Chosen:
        k, weights = known.task.mdp.n_features, known.task.weights
        unit = question.get("unit")
        if unit is not None and weights[whole_number(unit, "unit", 0, k - 1)] == 0:
            raise InvalidParameter("the unit must be a feature whose weight is not 0; take another")
        if unit is None:
            unit = int(np.argmax(np.abs(weights))) if np.any(weights) else None
        pair = question.get("pair")
        if pair is None:
            return cls(likely_pairs(known, 1)[0] if k > 2 else None, unit)
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            raise InvalidParameter(f"pair must be two different features; it is {shown(pair)}")
        first, second = (whole_number(entry, "pair", 0, k - 1) for entry in pair)
        return cls((first, second), unit)


def _bar(low: WeightBound, high: WeightBound) -> dict[str, Any]:
    """A bar: its ends as floats (None without end), as text, and whether both are proved."""
    return {
        "low": None if low.value is None else float(low.value),
        "high": None if high.value is None else float(high.value),
        "words": f"{_told(low)} to {_told(high)}",
        "proved": low.is_proved and high.is_proved,
    }


def _told(bound: WeightBound) -> str:
    if bound.value is None:
        return "any"
    if isinstance(bound.value, Fraction) and bound.value.denominator < 100:
        return str(bound.value)
    return amount(float(bound.value))


def rolled(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """A demonstration that a teacher can give: what is best from a state on, so many steps."""
    task = as_task(subject)
    state = whole_number(question.get("state"), "state", 0, task.mdp.n_states - 1)
    length = whole_number(question.get("length", 1), "length", 1, 200)
    if task.mdp.terminal[state]:
        raise InvalidParameter("a demonstration must start where the episode does not end")
    plan = solve(task.mdp, task.true_weights)
    best = plan.optimal.argmax(axis=1)
    found = rollout(task.mdp, best, horizon=length, rng=np.random.default_rng(0), start=state)
    words = f"{counted(len(found), 'step')} from state {state}"
    return {"demonstration": [list(pair) for pair in found], "words": words}


@dataclass(frozen=True)
class WeightBound:
    """A bound of a weight: exact where it is proved; value None where there is none."""

    value: Fraction | float | None
    is_proved: bool


def weight_bounds(
    rows: Sequence[Row], k: int, unit: int, sign: int
) -> list[tuple[WeightBound, WeightBound]]:
    """The smallest and the largest value of each weight, (k,), in units of one weight.

    rows: integer rows (m, k) of what fits, rows . w >= 0; at least one reward with w[unit] of this
    sign must fit. unit: the weight that is +1 or -1, as `sign` says.
    """
    normals = unit_floats(rows) if rows else np.zeros((0, k))
    found = []
    for i in range(k):
        if i == unit:
            found.append((WeightBound(Fraction(sign), True),) * 2)
            continue
        low, high = (_bound(rows, normals, i, unit, sign, towards) for towards in (-1, 1))
        found.append((low, high))
    return found


def _bound(
    rows: Sequence[Row], normals: Floats, i: int, unit: int, sign: int, towards: int
) -> WeightBound:
    """The largest (towards 1) or the smallest (towards -1) value of w[i]."""
    from scipy.optimize import linprog

    k = normals.shape[1]
    objective = np.zeros(k)
    objective[i] = -towards
    limits: list[tuple[float | None, float | None]] = [(None, None)] * k
    limits[unit] = (sign, sign)
    answer = linprog(objective, A_ub=-normals, b_ub=np.zeros(len(normals)), bounds=limits)
    if answer.status != 0:
        return WeightBound(None, answer.status == 3)
    value = towards * float(answer.x[i])
    support = np.flatnonzero(np.abs(answer.ineqlin.marginals) > 1e-12).tolist()
    target = tuple(-towards if j == i else 0 for j in range(k))
    proved = _proved([rows[j] for j in support], target, unit, sign)
    if proved is None or abs(float(proved) - value) > NEAR * (1 + abs(value)):
        return WeightBound(towards * value, False)
    return WeightBound(towards * proved, True)


def _proved(rows: list[Row], target: Row, unit: int, sign: int) -> Fraction | None:
    """The least v for which the rows give target + sign * v * e_unit; None where they give none.

    Of independent rows there is one such combination at most.
    """
    for side in (1, -1):
        axis = tuple(side if j == unit else 0 for j in range(len(target)))
        found = combine([*rows, axis], target)
        if found is not None:
            shares = dict(zip(found.indices, found.fractions, strict=True))
            return -side * sign * shares.get(len(rows), Fraction(0))
    return None
