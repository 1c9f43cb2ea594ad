"""Ask, answer, learn, measure: active inverse reinforcement learning as one loop."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.measure import Truth, measured
from didact.active.oracles import Answer, Question, answered, optimal_oracle
from didact.active.relearn import learn_from
from didact.active.run import Run, Step
from didact.active.situation import Situation, draws_for_tables
from didact.active.strategies import Query, find_strategy, next_query
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import InvalidInput, InvalidParameter, NotMixed
from didact.inputs import entries, flag, is_number, is_whole, plain, shown, whole_number
from didact.learners.learn import find_learner
from didact.mdp import MDP, Demonstration, Task, as_task, given_demonstrations
from didact.planning import reachable_states, solve
from didact.random import Seed, as_generator, stream
from didact.teaching.covers.candidates import as_horizon, as_starts

SAMPLES = 1000
"""So many draws of a belief decide what to ask."""


def ask(
    task: Task,
    *,
    strategy: str = "max-var",
    n_queries: int = 10,
    horizon: int | None = None,
    seed: Seed = 0,
    answer: Answer | None = None,
    demonstrations: Iterable[Any] = (),
    states: Iterable[int] | None = None,
    asked: Iterable[int] = (),
    repeat: bool = False,
    loss_below: float | None = None,
    sure: float | None = None,
    truth: bool = True,
    learner: str = "birl",
    warm: bool = True,
    n_samples: int = SAMPLES,
    strategy_options: Mapping[str, Any] | None = None,
    known: EquivalenceClass | None = None,
    on_step: Callable[[Step, Situation], None] | None = None,
    **learner_options: Any,
) -> Run:
    """Learn a task by asking what to do in one state after another.

    task: what is to be learned; its optimal policy answers by default.
    strategy: who picks the states: 'random', 'max-entropy', 'max-infogain', 'max-var', 'scot',
        'exact', or one of your own.
    n_queries: ask at most so many questions.
    horizon: steps of an answer, as in `teach`.
    seed: None, a whole number, or a generator.
    answer: a function of a `Question` that returns an action, (state, action) pairs or None to
        stop; by default the task's optimal policy answers.
    demonstrations: known before the first question.
    states: where to ask; by default wherever the start can lead, never in terminal states.
    asked: states that were asked before; questions are numbered on, and none is asked again.
    repeat: ask a state again; by default each is asked once.
    loss_below: stop when the bound on the 0.95 value at risk is below it.
    sure: stop when in every state at least this share of the draws holds the learned policy's
        action optimal.
    truth: whether the task's own weights are what is to be learned; False measures nothing against
        them.
    learner: who learns from the answers, as in `learn`.
    warm: let the chains begin with draws of the belief before the answer; False begins anew.
    n_samples: how many draws of the belief strategies look at.
    strategy_options: of the strategy, as follows.
    known: the task's class, when it is at hand.
    on_step: called with each step and its situation.
    learner_options: of the learner, as in `learn`.

    Options of random, scot and exact: none.

    Options of max-entropy, where the belief about the action is most spread:

    n_bins: of the histogram of action probabilities; 10 by default.

    Options of max-infogain, where the answer is expected to change the belief most:

    n_rollouts: trajectories from each state, where answers are longer than a step; 10 by default.

    Options of max-var, where the learned policy may lose most:

    level: of the value at risk; 0.95 by default.
    """
    options = dict(strategy_options or {})
    find_strategy(strategy, options)
    find_learner(learner, learner_options)
    loop = _Loop(
        task=as_task(task),
        strategy=strategy,
        options=options,
        n_queries=whole_number(n_queries, "n_queries", 1),
        horizon=as_horizon(task.mdp, horizon),
        root=_root(seed),
        answer=answer,
        states=askable_states(task, states),
        repeat=flag(repeat, "repeat"),
        loss_below=_as_positive(loss_below, "loss_below"),
        sure=_as_share(sure, "sure"),
        learner=learner,
        warm=flag(warm, "warm"),
        n_samples=whole_number(n_samples, "n_samples", 1),
        learner_options=learner_options,
        on_step=on_step,
        shown=list(given_demonstrations(demonstrations, task)),
        asked=_as_asked(asked, task.mdp),
    )
    if flag(truth, "truth"):
        loop.know(equivalence_class(task) if known is None else known)
    run = loop.run(_as_seed(seed), horizon)
    _warn(run)
    return run


def askable_states(task: Task, states: Iterable[int] | None = None) -> NDArray[np.int64]:
    """States that can be asked, ascending: those given, or all that the start can lead to.

    Terminal states, where nothing is done, are never among them.
    """
    reached = reachable_states(task.mdp)
    if states is None:
        return np.flatnonzero(reached & ~task.mdp.terminal)
    try:
        chosen = as_starts(task.mdp, states)
    except InvalidInput as error:
        raise InvalidParameter(str(error).replace("starts", "states", 1)) from None
    if not reached[chosen].all():
        raise InvalidParameter(
            f"states must be in reach of the start; state {chosen[~reached[chosen]][0]} is not"
        )
    return chosen


def _as_asked(states: Iterable[int], mdp: MDP) -> list[int]:
    given = entries(states, "asked", "states")
    return [whole_number(s, f"asked[{i}]", 0, mdp.n_states - 1) for i, s in enumerate(given)]


@dataclass
class _Loop:
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
    shown: list[Demonstration]
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
        self.n_before = len(self.asked)
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
            self.asked.append(query.state)
            self.shown.append(given)
            situation = self._learned(situation, query, given)
            ended = self._ending()
        return Run(
            task_name=self.task.name,
            strategy=self.strategy,
            steps=tuple(self.steps),
            ended=ended or "done",
            demonstrations=tuple(self.shown),
            belief=situation.belief,
            settings=self._settings(seed, horizon),
        )

    def _next(self, situation: Situation) -> tuple[Query | None, str | None]:
        if not situation.open_states.size:
            return None, "done"
        rng = stream(self.root, "query", len(self.asked))
        query = next_query(self.strategy, situation, rng, self.options)
        return query, "done" if query is None else None

    def _answered(self, oracle: Answer, query: Query, situation: Situation) -> Demonstration | None:
        """The answer to a question; a benchmark brings its own, unless somebody else answers."""
        if query.answer is not None and self.answer is None:
            return query.answer
        rng = stream(self.root, "answer", query.state, self.asked.count(query.state))
        number = len(self.asked) + 1
        return answered(oracle, Question(number, query.state, self.horizon, situation, rng))

    def _learned(
        self, before: Situation | None, query: Query | None, given: Demonstration | None
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

    def _ending(self) -> str | None:
        """Why to stop; None to go on. A point, or chains that did not mix, end nothing."""
        step = self.steps[-1]
        bound = np.inf if step.bound is None else step.bound
        if step.is_telling and self.loss_below is not None and bound < self.loss_below:
            return "enough"
        if step.is_telling and self.sure is not None and step.sure >= self.sure:
            return "settled"
        return "queries" if len(self.asked) - self.n_before >= self.n_queries else None

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


def _root(seed: Seed) -> int:
    """The number that all streams of a run come from."""
    as_seed = _as_seed(seed)
    return int(as_generator(seed, "ask").integers(2**63)) if as_seed is None else as_seed


def _as_seed(seed: Seed) -> int | None:
    if is_whole(seed):
        as_generator(seed)
        return int(seed)
    return None


def _as_positive(value: Any, name: str) -> float | None:
    return None if value is None else _as_number(value, name, np.inf, "a positive number")


def _as_share(value: Any, name: str) -> float | None:
    return None if value is None else _as_number(value, name, 1.0, "above 0 and at most 1")


def _as_number(value: Any, name: str, most: float, rule: str) -> float:
    if not is_number(value) or not 0.0 < value <= most or value == np.inf:
        raise InvalidParameter(f"{name} must be {rule}; it is {shown(value)}")
    return float(value)


def _warn(run: Run) -> None:
    """One line where some of the beliefs are not the posterior."""
    wrong = [step for step in run.steps if not step.mixed]
    if wrong:
        warnings.warn(
            f"after {len(wrong)} of {len(run.steps)} steps, first step {wrong[0].number}, the "
            f"draws were not the posterior: {wrong[0].warnings[-1]}",
            NotMixed,
            stacklevel=3,
        )
