"""The loop of questions: learn, measure, see whether to stop, pick a state, ask, be answered.

Each question, answer and belief has a random stream of its own, so none depends on what another
drew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.measure import Truth, measured
from didact.active.oracles import Answer, Question, answered, optimal_oracle
from didact.active.relearn import learn_from
from didact.active.run import Run, Step
from didact.active.situation import Situation, draws_for_tables
from didact.active.strategies import Query, next_query
from didact.bec.classes import EquivalenceClass
from didact.inputs import plain
from didact.mdp import Comparison, Demonstration, Task
from didact.mdp.items import Item
from didact.planning import solve
from didact.random import stream


@dataclass
class Loop:
    """What one run of questions needs, and what it has come to."""

    task: Task
    strategy: str
    options: Mapping[str, Any]
    n_queries: int
    horizon: int
    root: int
    answer: Answer | None
    states: NDArray[np.int64]
    repeat: bool
    loss_below: float | None
    sure: float | None
    learner: str
    warm: bool
    n_samples: int
    learner_options: Mapping[str, Any]
    on_step: Callable[[Step, Situation], None] | None
    shown: list[Item]
    truth: Truth | None = None
    asked: list[int] = field(default_factory=list)
    n_before: int = 0
    steps: list[Step] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)

    def know(self, known: EquivalenceClass) -> None:
        """Measure against this class, and let benchmarks use it."""
        self.truth = Truth.of(known)
        self.memory["known"] = known

    def run(self, seed: int | None, horizon: int | None) -> Run:
        """Ask until one of the ends."""
        self.n_before = self.n_asked
        situation = self._learned(None, None, None)
        oracle = self._oracle() if self.answer is None else self.answer
        ended = self._ending()
        while ended is None:
            query, ended = self._next(situation)
            if query is None:
                break
            given = self._answered(oracle, query, situation)
            if given is None:
                ended = "stopped"
                break
            if isinstance(given, Demonstration):
                self.asked.append(query.state)
            self.shown.append(given)
            situation = self._learned(situation, query, given)
            ended = self._ending()
        return Run(
            task_name=self.task.name,
            strategy=self.strategy,
            steps=tuple(self.steps),
            ended=ended or "done",
            demonstrations=tuple(item for item in self.shown if isinstance(item, Demonstration)),
            belief=situation.belief,
            settings=self._settings(seed, horizon),
        )

    def _next(self, situation: Situation) -> tuple[Query | None, str | None]:
        compares = self.options.get("comparisons") or self.n_asked > len(self.asked)
        if not situation.open_states.size and not compares:
            return None, "done"  # whoever asks what to do need not look whether there is a state
        rng = stream(self.root, "query", self.n_asked)
        query = next_query(self.strategy, situation, rng, self.options)
        return query, "done" if query is None else None

    @property
    def n_asked(self) -> int:
        """How many questions were answered, those from before counted."""
        return len(self.asked) + sum(isinstance(item, Comparison) for item in self.shown)

    def _answered(
        self, oracle: Answer, query: Query, situation: Situation
    ) -> Demonstration | Comparison | None:
        """The answer to a question; a benchmark brings its own, unless somebody else answers."""
        if query.answer is not None and self.answer is None:
            return query.answer
        number, actions = self.n_asked + 1, query.actions
        if actions is None:
            rng = stream(self.root, "answer", query.state, self.asked.count(query.state))
        else:
            rng = stream(self.root, "compare", query.state, *actions, number)
        asked = Question(number, query.state, self.horizon, situation, rng, actions)
        return answered(oracle, asked)

    def _learned(
        self,
        before: Situation | None,
        query: Query | None,
        given: Demonstration | Comparison | None,
    ) -> Situation:
        """Learn from all that was shown, measure, and see what is open."""
        number = len(self.steps)
        rng = stream(self.root, "learn", number)
        last = before if self.warm else None
        belief, start = learn_from(
            *(self.task.mdp, self.shown, last, rng),
            learner=self.learner,
            options=self.learner_options,
        )
        situation = Situation(
            task=self.task,
            belief=belief,
            draws=draws_for_tables(belief, self.n_samples),
            open_states=self._open(),
            asked=tuple(self.asked),
            horizon=self.horizon,
            memory=self.memory,
            open_pairs=self._open_pairs(),
        )
        step = measured(
            *(number, situation, self.states),
            truth=self.truth,
            query=query,
            answer=given,
            start=start,
        )
        self.steps.append(step)
        if self.on_step is not None:
            self.on_step(step, situation)
        return situation

    def _open(self) -> NDArray[np.int64]:
        if self.repeat:
            return self.states
        return self.states[~np.isin(self.states, self.asked)]

    def _open_pairs(self) -> NDArray[np.bool_]:
        """Which two actions may be compared where, (S, A, A)."""
        n_states, n_actions = self.task.mdp.n_states, self.task.mdp.n_actions
        pairs = np.zeros((n_states, n_actions, n_actions), dtype=np.bool_)
        pairs[self.states] = np.triu(np.ones((n_actions, n_actions), dtype=np.bool_), 1)
        for item in () if self.repeat else self.shown:
            if isinstance(item, Comparison):
                pairs[item.state, min(item.better, item.other), max(item.better, item.other)] = 0
        return pairs

    def _ending(self) -> str | None:
        """Why to stop; None to go on. A point, or chains that did not mix, end nothing."""
        step = self.steps[-1]
        bound = np.inf if step.bound is None else step.bound
        if step.is_telling and self.loss_below is not None and bound < self.loss_below:
            return "enough"
        if step.is_telling and self.sure is not None and step.sure >= self.sure:
            return "settled"
        return "queries" if self.n_asked - self.n_before >= self.n_queries else None

    def _oracle(self) -> Answer:
        plan = None if self.truth is None else self.truth.known.plan
        return optimal_oracle(self.task, plan or solve(self.task.mdp, self.task.true_weights))

    def _settings(self, seed: int | None, horizon: int | None) -> dict[str, Any]:
        options = {**self.options, **self.learner_options}
        return {
            "strategy": self.strategy,
            "n_queries": self.n_queries,
            "horizon": horizon,
            "seed": seed,
            "answer": "the optimal policy" if self.answer is None else "given",
            "repeat": self.repeat,
            "loss_below": self.loss_below,
            "sure": self.sure,
            "learner": self.learner,
            "warm": self.warm,
            "n_samples": self.n_samples,
            **{name: plain(value) for name, value in options.items()},
        }
