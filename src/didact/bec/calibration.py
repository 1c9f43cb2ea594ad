"""What is fixed before situations are judged, by a first look at a few of them, and the floors
below which no tolerance can go: rows end at the horizon, and move with the last digits of states.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from didact.bec.chance import enough_repeats
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
) -> Setting:
    """The setting with scale, tolerance and horizon fixed by a first look at a few situations."""
    n = len(walked.situations)
    some = np.sort(rng.choice(n, size=min(PILOTS, n), replace=False))
    rows, _, _, setting = setting.rows_of(
        [walked.situations[i] for i in some], walked.observations[some], rng
    )
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
    steps = horizon or setting.horizon
    if horizon is None:
        share = min(1.0, chosen / 4 / setting.rewards.largest_return(setting.discount))
        steps = max(1, math.ceil(math.log(share) / math.log(setting.discount)))
    return replace(setting, scale=scale, tolerance=chosen, horizon=steps)


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
    setting = seen.setting
    for what, size in (("nudging states in their last digits", seen.jitter or 0.0),
                       ("the reward, where the features miss it,",
                        setting.rewards.unexplained(setting.discount)),
                       ("cutting branches off at the horizon", setting.error)):  # fmt: skip
        if size > setting.tolerance:
            raise InvalidParameter(
                f"tolerance must be above what {what} changes, {size:.3g} of return; it is "
                f"{setting.tolerance:.3g}{_longer(setting)}"
            )
    if seen.covariances is None:
        return seen
    slack = np.max(setting.slack(seen.covariances, setting.weights), axis=1)
    middle = int(np.argsort(slack, kind="stable")[len(slack) // 2])
    if slack[middle] > setting.tolerance:
        variance = float(np.einsum("bij,i,j->b", seen.covariances[middle], setting.weights,
                                   setting.weights).max())  # fmt: skip
        enough = enough_repeats(
            variance, setting.repeats, setting.span(setting.weights), setting.tolerance
        )
        raise InvalidParameter(
            f"tolerance must be above what chance leaves undecided, {slack[middle]:.3g} of return "
            f"with {setting.repeats} repeats; it is {setting.tolerance:.3g}. Give more repeats, "
            f"such as {enough}"
        )
    return seen


def _longer(setting: Setting) -> str:
    """The horizon that would be enough, where the horizon is too short."""
    left = setting.tolerance - setting.rewards.unexplained(setting.discount)
    if setting.tail <= setting.tolerance or left <= 0:
        return ""
    share = left / 2 / setting.rewards.largest_return(setting.discount)
    low, high = setting.rewards.bounds
    return (
        f". Rewards are between {low:.3g} and {high:.3g}: give "
        f"horizon={math.ceil(math.log(share) / math.log(setting.discount))}"
    )
