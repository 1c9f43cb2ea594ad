"""What clips of a policy in a simulator teach, beside other ways to choose them.

Every trial is one world and its nearly best policy, seen through the simulator only. The certified
lesson is compared with as many clips by chance, with as many clips around the most important
states (where most return is at stake between the best and the worst action, as the HIGHLIGHTS
summaries choose them), and with all clips. A learner takes the middle of the rewards that fit,
plans for it, and is judged by its return: 100% is the return of planning for the true reward, 0%
that of acting by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from didact.bec import Observed, ObserveSettings, observe
from didact.bec.observed.evaluate import returns_of
from didact.numerics.exact import Floats
from didact.random import stream
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
    Bars,
    Claim,
    Column,
    Figure,
    Finding,
    Series,
    Summary,
    Table,
    by_case,
    differences,
    estimate,
    series_of,
    table_of,
)
from didact.teaching.clips.certify import certify
from didact.teaching.clips.lesson import Clip, ClipLesson, clips_of, teach_observed
from didact.worlds.simulators.classics import MountainCar, Pendulum, PointRobot

NAME = "simulators"
LESSON, RANDOM, IMPORTANT, ALL = "lesson", "random clips", "important clips", "all clips"
WAYS = (LESSON, RANDOM, IMPORTANT, ALL)
OURS = "our statement"
CLAIMS = {
    "small": Claim(NAME, "small", "lessons have at most 8 clips", OURS),
    "open": Claim(NAME, "open", "at most 5% of states are left open, certified", OURS),
    "return": Claim(NAME, "return", "every learner of a lesson attains 99.5% of the return", OURS),
    "random": Claim(NAME, "random", "as many clips by chance teach less", OURS),
    "important": Claim(NAME, "important", "as many important clips teach less", OURS),
}


@dataclass(frozen=True)
class SimulatorSettings:
    """Point worlds with some numbers of features, a pendulum and a mountain car."""

    trials: int = setting(10, source="our choice")
    features: tuple[int, ...] = setting((3, 4, 5, 6), source="our choice")
    classics: tuple[str, ...] = setting(("pendulum", "mountain-car"), source="our choice")
    n_rollouts: int = setting(40, source="our choice")
    length: int = setting(30, source="our choice")
    held: tuple[int, ...] = setting((1, 4, 16), source="our choice")
    n_states: int = setting(300, source="our choice")
    target: float = setting(0.05, source="our choice")
    episodes: int = setting(200, source="our choice")
    seed: int = setting(0, source="our choice")


def cases(settings: SimulatorSettings) -> list[str]:
    """Every world, in words."""
    return [*(f"point robot, {k} features" for k in settings.features), *settings.classics]


def n_trials(settings: SimulatorSettings) -> int:
    """One for each case and run."""
    return settings.trials * len(cases(settings))


def trial(settings: SimulatorSettings, number: int) -> Record:
    """One world: its certified lesson, and what learners make of it and of other choices."""
    every = cases(settings)
    case = every[number % len(every)]
    rng = stream(settings.seed, NAME, number)
    env, discount, length = _world(case, int(rng.integers(2**31)), settings.length)
    seen = observe(
        env,
        discount=discount,
        n_rollouts=settings.n_rollouts,
        length=length,
        settings=ObserveSettings(held=settings.held),
        seed=int(rng.integers(2**31)),
    )
    lesson = certify(
        seen,
        teach_observed(seen),
        n_states=settings.n_states,
        target=settings.target,
        replan=False,  # learners of the lesson plan below
        seed=int(rng.integers(2**31)),
    )
    told = lesson.certificate
    assert told is not None
    judge = _ReturnJudge(seen, env, rng.integers(2**31, size=settings.episodes).tolist(), rng)
    return {
        "case": case,
        "clips": len(lesson.clips),
        "shown steps": lesson.n_steps,
        "open": told.open_share,
        "mistaken": told.mistaken_share,
        **{way: judge.share(chosen.weights) for way, chosen in _choices(lesson, rng).items()},
    }


def _world(case: str, seed: int, length: int) -> tuple[Any, float, int]:
    """The world of a case, its discount, and how long rollouts are."""
    if case == "pendulum":
        return Pendulum(), 0.95, length
    if case == "mountain-car":
        return MountainCar(), 0.99, 5 * length
    return PointRobot(int(case.split()[2]), seed=seed), 0.95, length


def _choices(lesson: ClipLesson, rng: np.random.Generator) -> dict[str, ClipLesson]:
    """The lesson, and as many clips by other rules."""
    clips = clips_of(lesson.seen)
    n = min(len(lesson.clips), len(clips))
    by_chance = rng.choice(len(clips), size=n, replace=False)
    by_stakes = np.argsort([-stake_of(lesson.seen, clip) for clip in clips], kind="stable")[:n]
    chosen = {RANDOM: by_chance, IMPORTANT: by_stakes, ALL: np.arange(len(clips))}
    return {LESSON: lesson} | {
        way: replace(lesson, clips=tuple(clips[i] for i in numbers), certificate=None)
        for way, numbers in chosen.items()
    }


def stake_of(seen: Observed, clip: Clip) -> float:
    """The most return that a step of the clip decides: between its best and its worst action."""
    margins = clip.rows @ seen.setting.truth
    return float((np.maximum(margins.max(axis=1), 0) - np.minimum(margins.min(axis=1), 0)).max())


class _ReturnJudge:
    """Returns of planning for weights, between acting by chance and planning for the truth."""

    def __init__(self, seen: Observed, env: Any, seeds: list[int], rng: np.random.Generator):
        self._seen, self._env, self._seeds = seen, env, seeds
        n_actions, setting_ = int(env.action_space.n), seen.setting
        self._best = self._mean(setting_.policy)
        self._chance = self._mean(lambda seen_there: rng.integers(n_actions, size=len(seen_there)))

    def _mean(self, policy: Any) -> float:
        found = returns_of(
            self._seen.setting, lambda batch: policy(batch.observations), self._seeds
        )
        return float(found.mean())

    def share(self, weights: Floats) -> float:
        """Per cent of what can be attained."""
        if not np.any(weights):
            return 0.0
        planned = self._mean(self._env.best_policy(self._seen.setting.discount, weights))
        return 100.0 * (planned - self._chance) / (self._best - self._chance)


def summarise(settings: SimulatorSettings, records: Sequence[Record]) -> Summary:
    """Clips, what stays open, and what learners attain, for each world."""
    cases_ = by_case(records)
    return Summary((_table(cases_),), (_figure(cases_),), _findings(records))


def _table(cases_: Mapping[str, Sequence[Record]]) -> Table:
    scales = {
        Column("clips"): 1.0,
        Column("shown steps"): 1.0,
        Column("open", "percent"): 100.0,
        Column("mistaken", "percent"): 100.0,
        **{Column(way, "percent"): 1.0 for way in WAYS},
    }
    columns = {
        column: [
            estimate(scale * float(record[column.name]) for record in found)
            for found in cases_.values()
        ]
        for column, scale in scales.items()
    }
    return table_of("Lessons in simulators", "world", cases_, columns)


def _figure(cases_: Mapping[str, Sequence[Record]]) -> Figure:
    """What learners attain by each choice of clips, and how few clips a lesson has."""

    def bars(name: str, title: str, most: float = np.inf) -> Series:
        means = [estimate(float(record[name]) for record in found) for found in cases_.values()]
        return series_of(title, range(len(means)), means, most=most)

    attained = Bars(
        "What do learners attain?",
        "% of the return",
        tuple(cases_),
        tuple(bars(way, way, 100.0) for way in WAYS),
    )
    shown = Bars("How much must be shown?", "clips", tuple(cases_), (bars("clips", LESSON),))
    return Figure(NAME, "Clips of policies in simulators", (attained, shown))


def _findings(records: Sequence[Record]) -> tuple[Finding, ...]:
    n, small = len(records), sum(record["clips"] <= 8 for record in records)
    closed = sum(record["open"] <= 0.05 for record in records)
    attained = estimate(float(record[LESSON]) for record in records)
    worst = min(float(record[LESSON]) for record in records)
    told = [
        Finding(CLAIMS["small"], small == n, f"{small} of {n}"),
        Finding(CLAIMS["open"], closed == n, f"{closed} of {n}"),
        Finding(
            CLAIMS["return"],
            worst >= 99.5,
            f"{attained.told()}% in mean, at worst {worst:.2f}%",
        ),
    ]
    for key, way in (("random", RANDOM), ("important", IMPORTANT)):
        told.append(_compared(CLAIMS[key], way, records))
    return tuple(told)


def _compared(claim: Claim, way: str, records: Sequence[Record]) -> Finding:
    """Whether other clips teach less, by a sign test over worlds: few of them lose very much, and
    the mean of such losses has hardly an interval."""
    from scipy.stats import binomtest

    lost = differences(records, lambda r: r[LESSON], lambda r: r[way])
    gaps = [float(record[LESSON]) - float(record[way]) for record in records]
    less, more = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    sure = less + more > 0 and binomtest(less, less + more).pvalue < 0.05
    words = f"less in {less} of {len(gaps)} worlds, more in {more}; {lost.told()}% of the return"
    return Finding(claim, less > more if sure else None, words)


STUDY = Study(
    NAME,
    SimulatorSettings(),
    trial,
    summarise,
    title="Simulators: what clips of a policy teach, beside other choices",
    quick=SimulatorSettings(trials=2, features=(3, 4), n_rollouts=20, length=20, episodes=80),
    n_trials=n_trials,
)
