"""Strategies against each other on many worlds, paired: the same seeds for all of them.

On one world every strategy gets the same answer about the same state, and the same random numbers
for learning. So differences between strategies come from what was asked.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from didact.active.ask import AskSettings, ask
from didact.active.strategies import find_strategy
from didact.bec.classes import equivalence_class
from didact.errors import InvalidParameter, NotMixed
from didact.files.json import write_json
from didact.inputs import choice, counted, plain, whole_number
from didact.mdp import Task
from didact.mdp.showing import in_notebook
from didact.numerics.exact import Floats
from didact.numerics.intervals import mean_interval
from didact.numerics.threads import begin_worker, without_interrupts
from didact.random import stream

COMPARISON_FORMAT = "didact.comparison/1"
STRATEGIES = ("random", "max-entropy", "max-infogain", "max-var", "scot")

Measure = Literal["policy_loss", "wrong_actions"]
ARRAYS = ("policy_loss", "wrong_actions", "n_asked", "share_mixed")


@dataclass(frozen=True, eq=False)
class StrategyComparison:
    """Losses by world, strategy and query: arrays (worlds, strategies, n_queries + 1).

    Entry 0 is before the first question. A run that ended early keeps its last loss. n_asked:
    (worlds, strategies), how many questions were answered. share_mixed: (worlds, strategies), the
    share of beliefs that can pass for the posterior.
    """

    tasks: tuple[str, ...]
    strategies: tuple[str, ...]
    policy_loss: Floats
    wrong_actions: Floats
    n_asked: Floats
    share_mixed: Floats
    settings: Mapping[str, Any]

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        worlds, strategies = counted(len(self.tasks), "world"), ", ".join(self.strategies)
        return f"StrategyComparison({worlds}, {counted(self.n_queries, 'question')}: {strategies})"

    @property
    def n_queries(self) -> int:
        """How many questions each strategy may ask."""
        return int(self.policy_loss.shape[2]) - 1

    def area(self, measure: Measure = "policy_loss") -> Floats:
        """The area under each curve: its mean over the answers, (worlds, strategies)."""
        choice(measure, "measure", get_args(Measure))
        return np.asarray(getattr(self, measure)[:, :, 1:].mean(axis=2))

    def table(
        self, measure: Measure = "policy_loss", *, baseline: str | None = None
    ) -> list[dict[str, Any]]:
        """One row for each strategy: mean area, and its paired difference to the baseline.

        baseline: by default 'random' where it took part, else the first strategy. The interval
        holds the mean difference over such worlds with 95% confidence (Student's t, paired).
        n_better: on how many worlds the area is below the baseline's.
        """
        areas, place = self.area(measure), 0
        if baseline is not None:
            choice(baseline, "baseline", self.strategies)
            place = self.strategies.index(baseline)
        elif "random" in self.strategies:
            place = self.strategies.index("random")
        rows = []
        for number, name in enumerate(self.strategies):
            difference, low, high, _ = mean_interval((areas[:, number] - areas[:, place]).tolist())
            rows.append(
                {
                    "strategy": name,
                    "area": float(areas[:, number].mean()),
                    "difference": difference,
                    "low": low,
                    "high": high,
                    "median": float(np.median(areas[:, number])),
                    "n_better": int((areas[:, number] < areas[:, place]).sum()),
                    "last": float(getattr(self, measure)[:, number, -1].mean()),
                    "n_asked": float(self.n_asked[:, number].mean()),
                    "share_mixed": float(self.share_mixed[:, number].mean()),
                }
            )
        return rows

    def to_records(self) -> list[dict[str, Any]]:
        """`table()` of the policy loss: a row for each strategy."""
        return self.table()

    def document(self) -> dict[str, Any]:
        """The `didact.comparison/1` object."""
        return {
            "format": COMPARISON_FORMAT,
            "tasks": list(self.tasks),
            "strategies": list(self.strategies),
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            "settings": dict(self.settings),
        }

    to_dict = document

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.comparison/1` file."""
        write_json(self.document(), path)


def compare(
    tasks: Sequence[Task],
    strategies: Sequence[str] = STRATEGIES,
    *,
    n_queries: int = 20,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> StrategyComparison:
    """Run every strategy on every task with the same seeds; options go to `ask`.

    jobs: so many processes; the result does not depend on it. progress: called with the number
    of worlds done and their total.
    """
    names, worlds = tuple(strategies), list(tasks)
    count = whole_number(n_queries, "n_queries", 1)
    if not worlds or not names:
        raise InvalidParameter("there must be at least one task and one strategy to compare")
    if len(set(names)) != len(names):
        raise InvalidParameter(f"strategies must differ; they are {', '.join(names)}")
    for name in names:
        find_strategy(name)
    roots = [int(stream(seed, "compare", i).integers(2**63)) for i in range(len(worlds))]
    work = [(task, names, count, root, options) for task, root in zip(worlds, roots, strict=True)]
    found = []
    for done, result in enumerate(_results(work, whole_number(jobs, "jobs", 1)), 1):
        found.append(result)
        if progress is not None:
            progress(done, len(worlds))
    arrays = dict(zip(ARRAYS, map(np.array, zip(*found, strict=True)), strict=True))
    settings = {"n_queries": count, "seed": seed} | _documented(options)
    return StrategyComparison(tuple(t.name for t in worlds), names, settings=settings, **arrays)


def _results(work: list[Any], jobs: int) -> Any:
    if jobs == 1:
        return (_one_world(*given) for given in work)
    from joblib import Parallel, delayed

    with without_interrupts(by_loky=True):
        calls = (delayed(_one_world)(*given) for given in work)
        own = {"initializer": begin_worker, "initargs": (os.getpid(),)}
        return Parallel(n_jobs=jobs, return_as="generator", **own)(calls)


def _one_world(
    task: Task, names: Sequence[str], n_queries: int, root: int, options: Mapping[str, Any]
) -> tuple[list[Floats], list[Floats], list[int], list[float]]:
    """The curves of all strategies on one world."""
    given = {**options}
    settings = given.pop("settings", None) or AskSettings()
    if settings.truth is True:
        # The class depends on the task alone: computed once for all strategies.
        settings = replace(settings, truth=equivalence_class(task))
    losses, wrong, asked, mixed = [], [], [], []
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotMixed)
            run = ask(*(task, name), n_queries=n_queries, seed=root, settings=settings, **given)
        losses.append(_filled(run.policy_losses, n_queries + 1))
        wrong.append(_filled(run.wrong_actions, n_queries + 1))
        asked.append(run.n_queries)
        mixed.append(float(np.mean([step.mixed for step in run.steps])))
    return losses, wrong, asked, mixed


def _documented(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `ask` as a file holds them."""
    settings = options.get("settings")
    named = {"repeat": settings.repeat, "n_samples": settings.n_samples} if settings else {}
    given = {name: value for name, value in options.items() if name != "settings"}
    return {name: plain(value) for name, value in (named | given).items()}


def _filled(curve: Floats, length: int) -> Floats:
    """A curve that ended early goes on with its last value."""
    return np.pad(curve, (0, length - curve.size), mode="edge")
