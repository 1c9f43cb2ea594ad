"""What is fixed before situations are judged, by a first look at a few of them, and the floors
below which no tolerance can go: rows end at the horizon, and move with the last digits of states.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from didact.bec.chance import slack_of
from didact.bec.observed import Observed, Setting
from didact.bec.walking import Walked
from didact.errors import InvalidModel, InvalidParameter
from didact.inputs import as_float, shown

PILOTS = 40
"""Situations of the first look, from which scale, tolerance and horizon are fixed."""
SMALL = 0.05
"""Default tolerance, as a share of what an action typically makes a difference."""
JITTER = 1e-9
"""Relative size of the nudges that tell how much rows can be trusted."""


def calibrated(
    setting: Setting, walked: Walked, tolerance: Any, horizon: Any, rng: np.random.Generator
) -> tuple[Setting, float]:
    """The setting with scale, tolerance and horizon fixed by a first look at a few situations."""
    n = len(walked.situations)
    some = np.sort(rng.choice(n, size=min(PILOTS, n), replace=False))
    rows = setting.rows_of(
        [walked.situations[i] for i in some], walked.observations[some], rng
    ).rows
    flat = rows.reshape(-1, rows.shape[-1])
    scale = np.sqrt((flat**2).mean(axis=0))
    scale = np.where(scale > 1e-9 * max(float(scale.max()), 1e-300), scale, 1.0)
    shortest = np.array(setting.alternatives.steps_held(rows.shape[1]))[1:]
    briefly = rows[:, shortest == shortest.min()] @ setting.weights
    typical = float(np.sqrt((briefly**2).mean()))
    if tolerance is None:
        if typical == 0:
            raise InvalidModel("no action makes a difference to the return in what was seen; "
                               "give a tolerance, or other features")  # fmt: skip
        chosen = SMALL * typical
    else:
        chosen = as_float(tolerance)
        if not chosen > 0:
            raise InvalidParameter(f"tolerance must be above 0; it is {shown(tolerance)}")
    whole = _largest_return(setting, walked)
    steps = horizon or setting.horizon
    if horizon is None:
        share = min(1.0, chosen / 4 / whole)
        steps = max(1, math.ceil(math.log(share) / math.log(setting.discount)))
    fixed = replace(setting, scale=scale, tolerance=chosen, horizon=steps)
    return fixed, whole * setting.discount**steps


def _largest_return(setting: Setting, walked: Walked) -> float:
    """The most by which the returns of two branches can differ; one of them may end."""
    values = walked.features @ setting.weights
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    return max(high - low, 1e-300) / (1 - setting.discount)


def noise_floor(setting: Setting, walked: Walked, rng: np.random.Generator) -> float | None:
    """The median move of rows, in return, when states move in their last digits; None where the
    simulator's states cannot be moved, or chance moves rows anyway."""
    if setting.simulator.is_random:
        return None
    n = len(walked.situations)
    some = np.sort(rng.choice(n, size=min(PILOTS, n), replace=False))
    states = [walked.situations[i] for i in some]
    moved = setting.simulator.nudged(states, JITTER, rng)
    if moved is None:
        return None
    given = (walked.observations[some], rng, walked.actions[some])
    here, there = (setting.rows_of(each, *given).rows for each in (states, moved))
    return float(np.median(np.abs((there - here) @ setting.weights)))


def require_floor(seen: Observed) -> Observed:
    """What was seen; refuses a tolerance below what can be measured."""
    for what, size in (("nudging states in their last digits", seen.jitter or 0.0),
                       ("cutting branches off at the horizon", seen.tail)):  # fmt: skip
        if size > seen.setting.tolerance:
            raise InvalidParameter(
                f"tolerance must be above what {what} changes, {size:.3g} of return; it is "
                f"{seen.setting.tolerance:.3g}"
            )
    if seen.covariances is None:
        return seen
    slack = slack_of(seen.covariances, seen.setting.weights, seen.setting.repeats)
    size = float(np.median(np.max(slack, axis=1)))
    if size > seen.setting.tolerance:
        raise InvalidParameter(
            f"tolerance must be above what chance leaves undecided, {size:.3g} of return with "
            f"{seen.setting.repeats} repeats; it is {seen.setting.tolerance:.3g}. Give more repeats"
        )
    return seen
