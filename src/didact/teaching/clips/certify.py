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
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.branches import measure
from didact.bec.observed.episodes import sample_states
from didact.bec.observed.result import Observed, distances_to_cone
from didact.bec.observed.setting import WRONG, Floats, Setting
from didact.errors import InvalidParameter
from didact.inputs import as_float, explains_names, flag, instance, is_number, shown, whole_number
from didact.numerics.intervals import binomial_upper_bound
from didact.random import Seed, as_generator, stream
from didact.stages import deadline, stage, within
from didact.teaching.clips.lesson import (
    ClipCertificate,
    ClipLesson,
    LeftOpen,
    assumptions_of,
    clip_from,
)
from didact.teaching.clips.replan import replanned
from didact.worlds.simulators.batches import as_rows

MAX_ROUNDS = 20
"""Of sampled states; after them the last bounds are given."""
MIN_TRIAL, MAX_TRIAL = 2, 64
"""States by which the time of a round is foretold."""
TRIED, SAMPLED, EXTENDED = 0.3, 0.55, 0.3
"""Shares of the time that is left: for that trial, for a round, and for further clips. What is left
after the rounds, at least a fifth, is for the planning that checks the lesson."""
MAX_WITNESSES = 10
"""Open states that a lesson keeps with their witness rewards."""


@explains_names
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
    seconds: that all this may take, about: fewer states, and no further round, where it would take
        longer; sampled states that are not branched in time count as open and as mistakes.
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
    if seconds is not None and not as_float(seconds) > 0:
        raise InvalidParameter(f"seconds must be above 0; it is {shown(seconds)}")
    rng = as_generator(seed, "certify")
    with within(seconds) as end:
        if end.is_set:
            n_states = _fitting(seen.setting, n_states)
        found = _certified(lesson, n_states, (level, target), rng, extend=extend)
        return _replanned(found) if replan else found


def _certified(
    lesson: ClipLesson,
    n_states: int,
    asked: tuple[float, float],
    rng: np.random.Generator,
    *,
    extend: bool,
) -> ClipLesson:
    """The lesson after its last round in time; asked: the level and the target."""
    level, target = asked
    told, end = lesson, deadline()
    for number in range(1, MAX_ROUNDS + 1):
        # 6 / (pi i)^2 sums to 1 over all rounds
        spent = (1 - level) * 6 / (math.pi * number) ** 2 if extend else 1 - level
        left = end.left
        with within(share=(1 + SAMPLED) / 2):
            fresh = Fresh(lesson.seen.setting, n_states, rng)
        if number > 1 and fresh.n_missing:
            break  # the round before this one was complete
        told, found = _judged(lesson, fresh, spent, level, target, number)
        is_late = end.is_set and left - end.left > SAMPLED * end.left
        if told.certificate is not None and told.certificate.holds:
            break
        if not extend or is_late or not len(found):
            break
        if number < MAX_ROUNDS:
            with within(share=EXTENDED):
                lesson = _extended(told, fresh, found, rng)
    return told


def _replanned(lesson: ClipLesson) -> ClipLesson:
    """The lesson whose certificate says what planning for the taught weights reaches."""
    told, seen = lesson.certificate, lesson.seen
    if told is None or lesson.is_empty or not as_rows(seen.observations[:1]).size:
        return lesson
    stage("planning for the taught weights")
    return replace(
        lesson, certificate=replace(told, replanned=replanned(lesson, stream(0, "replan")))
    )


def _fitting(setting: Setting, n_states: int) -> int:
    """How many states can be sampled and branched in time, by the time that a few others take.

    The number is fixed before the states are drawn: were it the number of those that happened to be
    done, states with long branches would count less than their share.
    """
    end = deadline()
    before = end.left
    n_branches = 1 + setting.alternatives.n_others(setting.simulator.action_space)
    n_tried = setting.states_in(TRIED / 3 * before, n_branches)
    with within(share=TRIED):
        trial = Fresh(setting, int(np.clip(n_tried, MIN_TRIAL, MAX_TRIAL)), stream(0, "trial"))
    n_done = len(trial.rows)
    each = (before - end.left) / max(n_done, 1)
    return int(np.clip(SAMPLED * end.left / max(each, 1e-12), 1, n_states))


class Fresh:
    """Independently sampled states, with their rows; n_missing of them were not branched before the
    deadline, and are left out."""

    def __init__(self, setting: Setting, n: int, rng: np.random.Generator):
        found, setting = sample_states(setting, n, rng)
        states, shown_then, times = zip(*found, strict=True)
        observations = np.stack(shown_then)
        self.measured = measure(setting, states, observations, rng)
        numbers = self.measured.numbers
        self.n_missing = n - len(numbers)
        self.states = [states[i] for i in numbers]
        self.observations, self.times = observations[numbers], np.array(times)[numbers]
        self.own = setting.policy(observations)[numbers]
        self.others, self.setting = self.measured.others, self.measured.setting
        rows, covariances = self.measured.rows, self.measured.covariances
        tolerance = setting.tolerance
        least = self.setting.shortfall(rows, covariances, setting.weights)
        # each of the alternatives may be called better by chance: they share WRONG
        most = rows @ setting.weights + self.setting.slack(
            covariances, setting.weights, WRONG / rows.shape[1]
        )
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
    n = len(away) + fresh.n_missing
    # of an empty lesson there are three bounds: also how much the policy errs at least
    each = delta / (3 if lesson.is_empty else 2)
    n_sure = int(fresh.surely_mistaken.sum()) if lesson.is_empty else 0
    n_open, n_mistaken = (int(some.sum()) + fresh.n_missing for some in (is_open, fresh.mistaken))
    told = ClipCertificate(
        n,
        n_open,
        n_mistaken,
        open_share=min(1.0, binomial_upper_bound(n_open, n, each) / (1 - 2 * wrong)),
        mistaken_share=min(1.0, binomial_upper_bound(n_mistaken, n, each) / (1 - wrong)),
        level=level,
        target=target,
        rounds=number,
        assumptions=assumptions_of(fresh.setting),
        is_empty=lesson.is_empty,
        least_mistaken=max(0.0, 1.0 - binomial_upper_bound(n - n_sure, n, each) - wrong),
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
    while len(left) and not deadline().is_over:
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
