"""Certify how much a lesson of clips leaves open, on states sampled after the lesson was fixed.

The states are independent: one of each episode, at a time drawn from the discount's geometric
distribution (`didact.bec.observed.episodes`). Counting all states of a few rollouts as independent
would promise too much (45% of bounds missed at a nominal 5%). With v open ones among N, the share
is at most BetaInv(1 - delta; v + 1, N - v) (Clopper and Pearson). Where counterexamples become
clips, the next round samples again and spends 6 delta / (pi i)^2 in round i, so all rounds together
spend delta.

Where steps depend on chance, a state is closed when a test of each row says that the weights in the
middle of those that fit do not prefer another action by more than the tolerance. A test is wrong
with probability at most WRONG, so an open state is counted with at least 1 - WRONG; a certain
mistake is left out with as much certainty. The bounds are divided by these.

A state counts as a mistake of the policy unless its margins are above -tolerance by what the
horizon cuts off and the features miss (`Setting.error`), with the rewards of the sampled states'
own steps and branches among those that bound it."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.branches import measure
from didact.bec.observed.episodes import sample_states
from didact.bec.observed.openness import distances_to_cone
from didact.bec.observed.result import Observed
from didact.bec.observed.setting import WRONG, Floats, Setting
from didact.errors import InvalidParameter
from didact.inputs import as_float, flag, instance, is_number, shown, whole_number
from didact.numerics.intervals import binomial_upper_bound
from didact.random import Seed, as_generator, stream
from didact.stages import stage
from didact.teaching.clips.lesson import (
    ClipCertificate,
    ClipLesson,
    LeftOpen,
    assumptions_of,
    clip_from,
)
from didact.teaching.clips.replan import replanned

MAX_ROUNDS = 20
"""Of sampled states; after them the last bounds are given."""
TRIAL = 8
"""States by which the time of a round is foretold; also the fewest of a round."""
MAX_WITNESSES = 10
"""Open states that a lesson keeps with their witness rewards."""


def certify(
    seen: Observed,
    lesson: ClipLesson,
    *,
    n_states: int = 600,
    level: float = 0.95,
    target: float = 0.02,
    extend: bool = True,
    replan: bool = True,
    seconds: float | None = None,
    seed: Seed = 1,
) -> ClipLesson:
    """The lesson with a certificate from independently sampled states.

    seen: what was observed of the policy.
    lesson: its lesson, from `teach`.
    n_states: sampled in each round.
    level: of both bounds together, over all rounds.
    target: the share of open states that is small enough.
    extend: show counterexamples as further clips, and sample again, until the target is met.
    replan: plan for the taught weights, and report the return; a lesson whose learner does not
        reach nine tenths of the agent's return does not hold.
    seconds: that sampling may take, about: fewer states, and no further round, where all would take
        longer.
    seed: None, a whole number, or a generator; another one than that of `observe`.
    """
    instance(seen, Observed, "seen", "the result of observe")
    instance(lesson, ClipLesson, "lesson", "the result of teach(seen)")
    whole_number(n_states, "n_states", 1)
    for value, name in ((level, "level"), (target, "target")):
        if not is_number(value) or not 0 < value < 1:
            raise InvalidParameter(f"{name} must be between 0 and 1; it is {shown(value)}")
    flag(extend, "extend")
    flag(replan, "replan")
    rng, began = as_generator(seed, "certify"), time.monotonic()
    if seconds is not None:
        n_states = _fitting(seen.setting, n_states, as_float(seconds))
    for number in range(1, MAX_ROUNDS + 1):
        # 6 / (pi i)^2 sums to 1 over all rounds
        spent = (1 - level) * 6 / (math.pi * number) ** 2 if extend else 1 - level
        fresh = Fresh(seen.setting, n_states, rng)
        lesson, found = _judged(lesson, fresh, spent, level, target, number)
        is_late = seconds is not None and 2 * (time.monotonic() - began) > seconds
        if not extend or is_late or _is_done(lesson) or not len(found):
            break
        if number < MAX_ROUNDS:
            lesson = _extended(lesson, fresh, found, rng)
    return _replanned(lesson) if replan else lesson


def _replanned(lesson: ClipLesson) -> ClipLesson:
    """The lesson whose certificate says what planning for the taught weights reaches."""
    told, seen = lesson.certificate, lesson.seen
    if told is None or lesson.is_empty or np.asarray(seen.observations).dtype.kind not in "fiu":
        return lesson
    stage("planning for the taught weights")
    return replace(
        lesson, certificate=replace(told, replanned=replanned(lesson, stream(0, "replan")))
    )


def _is_done(lesson: ClipLesson) -> bool:
    return lesson.certificate is None or lesson.certificate.holds


def _fitting(setting: Setting, n_states: int, seconds: float) -> int:
    """How many states can be sampled and branched in this time, by the time that a few take."""
    if not seconds > 0:
        raise InvalidParameter(f"seconds must be above 0; it is {shown(seconds)}")
    began = time.monotonic()
    Fresh(setting, TRIAL, stream(0, "trial"))
    return int(np.clip(TRIAL * seconds / (time.monotonic() - began), TRIAL, n_states))


class Fresh:
    """Independently sampled states, with their rows."""

    def __init__(self, setting: Setting, n: int, rng: np.random.Generator):
        found, setting = sample_states(setting, n, rng)
        self.states = found.states
        self.observations, self.times = np.stack(found.observations), np.array(found.times)
        self.own = setting.policy(self.observations)
        self.measured = measure(setting, found.states, self.observations, rng)
        self.others, self.setting = self.measured.others, self.measured.setting
        rows, covariances = self.measured.rows, self.measured.covariances
        tolerance = setting.tolerance
        least = self.setting.shortfall(rows, covariances, setting.weights)
        most = -self.setting.shortfall(-rows, covariances, setting.weights)
        self.mistaken = (least - self.setting.error < -tolerance).any(axis=1)
        self.surely_mistaken = (most + self.setting.error < -tolerance).any(axis=1)
        self.rows = setting.scaled(rows)
        random = covariances is not None
        self.certain = np.where((least > 0)[:, :, None], self.rows, 0.0) if random else self.rows

    def away(self, lesson: ClipLesson) -> Floats:
        """How much return a state leaves open, (n,)."""
        if self.measured.covariances is None:
            return lesson.openness(self.rows)
        least = self.setting.shortfall(
            self.measured.rows, self.measured.covariances, as_large(lesson)
        )
        return np.asarray(-least.min(axis=1))


def as_large(lesson: ClipLesson) -> Floats:
    """The lesson's weights, as large as the true ones in scaled features."""
    setting = lesson.seen.setting
    size = float(np.linalg.norm(lesson.weights * setting.scale))
    return np.asarray(lesson.weights * setting.unit / (size or 1.0))


def _judged(
    lesson: ClipLesson, fresh: Fresh, delta: float, level: float, target: float, number: int
) -> tuple[ClipLesson, NDArray[np.int64]]:
    """The lesson with its certificate, and which of the sampled states are open."""
    away = fresh.away(lesson)
    is_open = (away > lesson.seen.setting.tolerance) & ~fresh.surely_mistaken
    wrong = 0.0 if fresh.measured.covariances is None else WRONG
    n, n_open, n_mistaken = len(away), int(is_open.sum()), int(fresh.mistaken.sum())
    told = ClipCertificate(
        n,
        n_open,
        n_mistaken,
        open_share=min(1.0, binomial_upper_bound(n_open, n, delta / 2) / (1 - 2 * wrong)),
        mistaken_share=min(1.0, binomial_upper_bound(n_mistaken, n, delta / 2) / (1 - wrong)),
        level=level,
        target=target,
        rounds=number,
        assumptions=assumptions_of(fresh.setting),
    )
    found = np.flatnonzero(is_open)
    furthest = found[np.argsort(-away[found], kind="stable")][:MAX_WITNESSES]
    left = tuple(_witnessed(lesson, fresh, int(i)) for i in furthest)
    return replace(lesson, certificate=told, left_open=left), found


def _witnessed(lesson: ClipLesson, fresh: Fresh, number: int) -> LeftOpen:
    """An open state with the reward that fits the clips and prefers another action most."""
    setting = lesson.seen.setting
    if fresh.measured.covariances is None:
        lengths, residuals = distances_to_cone(lesson.cone, fresh.rows[number])
        worst = int(lengths.argmax())
        weights = -residuals[worst] / setting.scale
    else:
        weights = as_large(lesson)
        lengths = -(fresh.measured.rows[number] @ weights)
        worst = int(lengths.argmax())
    return LeftOpen(
        fresh.observations[number],
        fresh.own[number],
        fresh.others[number][worst],
        float(lengths[worst]),
        weights / (np.linalg.norm(weights) or 1.0),
        setting.alternatives.steps_held(len(lengths))[1 + worst],
    )


def _extended(
    lesson: ClipLesson, fresh: Fresh, found: NDArray[np.int64], rng: np.random.Generator
) -> ClipLesson:
    """The fewest clips, of those so far and of runs from open states, the furthest first."""
    left, before = found, lesson.n_candidates
    while len(left):
        away = _contradicted(lesson, fresh, left)
        left, away = left[away > 0], away[away > 0]
        if not len(left):
            break
        worst = int(left[np.argmax(away)])
        clip = clip_from(lesson.seen, fresh.states[worst], int(fresh.times[worst]), rng)
        lesson = lesson.with_clips([] if clip is None else [clip])
        left = left[left != worst]
    return lesson if lesson.n_candidates == before else lesson.chosen_anew()


def _contradicted(lesson: ClipLesson, fresh: Fresh, numbers: NDArray[np.int64]) -> Floats:
    """How much showing each of these states would teach; 0 where nothing."""
    setting = lesson.seen.setting
    if fresh.measured.covariances is None:
        away = lesson.openness(fresh.rows[numbers])
        return np.where(away > setting.tolerance, away, 0.0)
    middle = as_large(lesson) * setting.scale / setting.unit
    said = fresh.certain[numbers]
    told = said @ middle if middle.any() else -np.linalg.norm(said, axis=2)
    return np.asarray(np.maximum(-told.min(axis=1), 0.0))
