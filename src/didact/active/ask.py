"""Active inverse reinforcement learning: learn a reward by asking for one answer after another.

Each round learns the belief from all that was shown, measures it, sees whether to stop, lets the
strategy pick a state (or two actions of a state), and asks. It ends after `n_queries` questions,
or earlier: when the bound on the value at risk of the learned policy's loss is below `loss_below`,
when in every state a share `sure` of the draws holds the learned policy's action optimal, when
there is nothing more to ask, or when whoever answers stops. A point estimate, and chains that did
not mix, stop nothing: their draws do not say how sure the belief is.

Each question, answer and belief has a random stream of its own, so none depends on what another
drew, and strategies that ask the same state get the same answer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.run import Run, Step
from didact.active.situation import (
    Answer,
    Question,
    Situation,
    answered,
    draws_for_tables,
    optimal_oracle,
)
from didact.active.strategies import Query, find_strategy, next_query, strategy_name
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import InvalidInput, InvalidParameter, NotMixed
from didact.inputs import entries, flag, is_number, is_whole, plain, shown, whole_number
from didact.learners.belief import Belief
from didact.learners.learn import find_learner, learn, learner_name
from didact.learners.risk import effective_draws, upper_bound, value_at_risk
from didact.mdp import Comparison, Demonstration, Task, as_task
from didact.mdp.items import Item
from didact.mdp.naming import numbered_state
from didact.mdp.recordings.formats import given_items
from didact.planning import evaluate, reachable_states
from didact.random import Seed, as_generator, stream
from didact.teaching.covers.candidates import as_horizon, as_starts
from didact.teaching.covers.problem import Elements, cover_elements
from didact.worlds.opening import named_world

LEVEL, DELTA = 0.95, 0.05
"""Steps tell the 0.95 value at risk, and a bound on it that holds with probability 0.95."""


@dataclass(frozen=True, kw_only=True)
class AskSettings:
    """Settings of `ask` that are seldom changed, checked here.

    states: where to ask; by default wherever the start can lead, never in terminal states.
    asked: states that were asked before; questions are numbered on, and none is asked again.
    repeat: ask a state again; by default each is asked once.
    truth: whether the task's own weights are what is to be learned: False measures nothing against
        them; the task's class, where it is at hand, saves computing it.
    n_samples: how many draws of the belief strategies look at.
    on_step: called with each step and its situation.
    """

    states: Iterable[int] | None = None
    asked: Iterable[int] = ()
    repeat: bool = False
    truth: bool | EquivalenceClass = True
    n_samples: int = 1000
    on_step: Callable[[Step, Situation], None] | None = None

    def __post_init__(self) -> None:
        flag(self.repeat, "repeat")
        whole_number(self.n_samples, "n_samples", 1)
        if not isinstance(self.truth, EquivalenceClass):
            flag(self.truth, "truth")


def ask(
    task: Task,
    strategy: str = "max-var",
    *,
    n_queries: int = 10,
    horizon: int | None = None,
    seed: Seed = 0,
    answer: Answer | None = None,
    demonstrations: Iterable[Any] = (),
    loss_below: float | None = None,
    sure: float | None = None,
    learner: str = "birl",
    strategy_options: Mapping[str, Any] | None = None,
    settings: AskSettings | None = None,
    **learner_options: Any,
) -> Run:
    """Learn a task by asking what to do in one state after another, or which action is better.

    task: what is to be learned; its optimal policy answers by default.
    strategy: who picks the states: 'random', 'max-entropy', 'max-infogain', 'max-var', 'scot',
        'exact', or one of your own.
    n_queries: ask at most so many questions.
    horizon: steps of an answer, as in `teach`.
    seed: None, a whole number, or a generator.
    answer: a function of a `Question` that returns an action, (state, action) pairs or None to
        stop; of two actions to compare (`question.actions`) the better one. By default the task's
        optimal policy answers.
    demonstrations: known before the first question; also comparisons and other feedback.
    loss_below: stop when the bound on the 0.95 value at risk is below it.
    sure: stop when in every state at least this share of the draws holds the learned policy's
        action optimal.
    learner: who learns from the answers, as in `learn`.
    strategy_options: of the strategy, as follows.
    settings: an `AskSettings`: where to ask, what is measured, and more that is seldom changed.
    learner_options: of the learner, as in `learn`.

    Options of scot and exact: none.

    Options of random:

    comparisons: ask which of two actions is better; False by default.

    Options of max-entropy, where the belief about the action is most spread:

    n_bins: of the histogram of action probabilities; 10 by default.

    Options of max-infogain, where the answer is expected to change the belief most:

    n_rollouts: trajectories from each state, where answers are longer than a step; 10 by default.
    comparisons: ask which of two actions is better, the most telling two; False by default.

    Options of max-var, where the learned policy may lose most:

    level: of the value at risk; 0.95 by default.
    """
    task = named_world(task)
    options = dict(strategy_options or {})
    strategy, learner = strategy_name(strategy), learner_name(learner)
    find_strategy(strategy, options)
    find_learner(learner, learner_options)
    chosen = AskSettings() if settings is None else settings
    if not isinstance(chosen, AskSettings):
        raise InvalidParameter(f"settings must be an AskSettings; it is {shown(settings)}")
    rng, number = as_generator(seed, "ask"), int(seed) if is_whole(seed) else None
    asking = _Asking(
        task=as_task(task),
        strategy=strategy,
        strategy_options=options,
        n_queries=whole_number(n_queries, "n_queries", 1),
        horizon=as_horizon(task.mdp, horizon),
        root=int(rng.integers(2**63)) if number is None else number,
        answer=answer,
        states=askable_states(task, chosen.states),
        loss_below=_as_limit(loss_below, "loss_below", np.inf, "a positive number"),
        sure=_as_limit(sure, "sure", 1.0, "above 0 and at most 1"),
        learner=learner,
        learner_options=learner_options,
        settings=chosen,
        shown=list(given_items(demonstrations, task)),
        asked=[
            whole_number(state, f"asked[{i}]", 0, task.mdp.n_states - 1)
            for i, state in enumerate(entries(chosen.asked, "asked", "states"))
        ],
    )
    if isinstance(chosen.truth, EquivalenceClass):
        asking.measure_against(chosen.truth)
    elif chosen.truth:
        asking.measure_against(equivalence_class(task))
    run = asking.run(number, horizon)
    wrong = [step for step in run.steps if not step.mixed]
    if wrong:
        warnings.warn(
            f"after {len(wrong)} of {len(run.steps)} steps, first step {wrong[0].number}, the "
            f"draws were not the posterior: {wrong[0].warnings[-1]}",
            NotMixed,
            stacklevel=2,
        )
    return run


def askable_states(task: Task, states: Iterable[int] | None = None) -> NDArray[np.int64]:
    """States that can be asked, ascending: those given, or all that the start can lead to.

    Terminal states, where nothing is done, are never among them.
    """
    reached = reachable_states(task.mdp)
    if states is None:
        return np.flatnonzero(reached & ~task.mdp.terminal)
    try:
        chosen = as_starts(task, states)
    except InvalidInput as error:
        raise InvalidParameter(str(error).replace("starts", "states", 1)) from None
    if not reached[chosen].all():
        outside = numbered_state(task, int(chosen[~reached[chosen]][0]))
        raise InvalidParameter(f"states must be in reach of the start; {outside} is not")
    return chosen


@dataclass
class _Asking:
    """One run of questions: what it was given, and what it has come to."""

    task: Task
    strategy: str
    strategy_options: Mapping[str, Any]
    n_queries: int
    horizon: int
    root: int
    answer: Answer | None
    states: NDArray[np.int64]
    loss_below: float | None
    sure: float | None
    learner: str
    learner_options: Mapping[str, Any]
    settings: AskSettings
    shown: list[Item]
    asked: list[int]
    elements: Elements | None = None
    steps: list[Step] = field(default_factory=list)
    memory: dict[str, Any] = field(default_factory=dict)

    def measure_against(self, bec: EquivalenceClass) -> None:
        """Measure against the task's class, and let benchmarks use it."""
        self.elements = cover_elements(bec)
        self.memory["bec"] = bec

    def run(self, seed: int | None, horizon: int | None) -> Run:
        """Ask until one of the ends."""
        last = self.n_asked + self.n_queries
        situation = self._learned(None, None)
        oracle = self.answer
        if oracle is None:
            bec = self.memory.get("bec")
            oracle = optimal_oracle(self.task, None if bec is None else bec.plan)
        ended = self._ending(last)
        while ended is None:
            query = self._next(situation)
            if query is None:
                ended = "done"
                break
            given = self._answered(oracle, query, situation)
            if given is None:
                ended = "stopped"
                break
            if isinstance(given, Demonstration):
                self.asked.append(query.state)
            self.shown.append(given)
            situation = self._learned(query, given)
            ended = self._ending(last)
        return Run(
            task_name=self.task.name,
            strategy=self.strategy,
            steps=tuple(self.steps),
            ended=ended,
            demonstrations=tuple(item for item in self.shown if isinstance(item, Demonstration)),
            belief=situation.belief,
            settings=self._settings(seed, horizon),
        )

    @property
    def n_asked(self) -> int:
        """How many questions were answered, those from before counted."""
        return len(self.asked) + sum(isinstance(item, Comparison) for item in self.shown)

    def _next(self, situation: Situation) -> Query | None:
        """The strategy's next question; None when there is nothing more to ask."""
        compares = self.strategy_options.get("comparisons") or self.n_asked > len(self.asked)
        if not situation.open_states.size and not compares:
            return None  # so strategies that ask what to do need not check that a state is open
        rng = stream(self.root, "query", self.n_asked)
        return next_query(self.strategy, situation, rng, self.strategy_options)

    def _answered(
        self, oracle: Answer, query: Query, situation: Situation
    ) -> Demonstration | Comparison | None:
        """The answer to a question; a benchmark brings its own, unless somebody else answers."""
        if query.answer is not None and self.answer is None:
            return query.answer
        number, actions = self.n_asked + 1, query.actions
        if actions is None:
            # By state and repetition, not by number: every strategy gets the same answer there.
            rng = stream(self.root, "answer", query.state, self.asked.count(query.state))
        else:
            rng = stream(self.root, "compare", query.state, *actions, number)
        asked = Question(number, query.state, self.horizon, situation, rng, actions)
        return answered(oracle, asked)

    def _learned(self, query: Query | None, given: Demonstration | Comparison | None) -> Situation:
        """Learn from all that was shown, measure, and see what is open."""
        number = len(self.steps)
        belief = self._belief(stream(self.root, "learn", number))
        situation = Situation(
            task=self.task,
            belief=belief,
            draws=draws_for_tables(belief, self.settings.n_samples),
            open_states=self.states[self.settings.repeat | ~np.isin(self.states, self.asked)],
            asked=tuple(self.asked),
            horizon=self.horizon,
            memory=self.memory,
            open_pairs=self._open_pairs(),
        )
        step = self._measured(number, situation, query, given)
        self.steps.append(step)
        if self.settings.on_step is not None:
            self.settings.on_step(step, situation)
        return situation

    def _belief(self, rng: np.random.Generator) -> Belief:
        """What is learned; its warnings are in the belief, and `ask` tells of them once."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotMixed)
            return learn(
                *(self.task.mdp, self.shown),
                learner=self.learner,
                seed=rng,
                **self.learner_options,
            )

    def _open_pairs(self) -> NDArray[np.bool_]:
        """Which two actions may be compared where, (S, A, A)."""
        n_states, n_actions = self.task.mdp.n_states, self.task.mdp.n_actions
        pairs = np.zeros((n_states, n_actions, n_actions), dtype=np.bool_)
        pairs[self.states] = np.triu(np.ones((n_actions, n_actions), dtype=np.bool_), 1)
        for item in () if self.settings.repeat else self.shown:
            if isinstance(item, Comparison):
                pairs[item.state, min(item.better, item.other), max(item.better, item.other)] = 0
        return pairs

    def _measured(
        self,
        number: int,
        situation: Situation,
        query: Query | None,
        answer: Demonstration | Comparison | None,
    ) -> Step:
        """What is known after an answer: against the truth, and by the belief itself."""
        belief = situation.belief
        risk, bound = _risk(situation)
        agreement = situation.agreement[self.states]
        return Step(
            number=number,
            state=None if query is None else query.state,
            score=None if query is None else query.score,
            demonstration=answer if isinstance(answer, Demonstration) else None,
            **_against(self.elements, situation),
            value_at_risk=risk,
            bound=bound,
            sure=float(agreement.min()),
            agreed=float(agreement.mean()),
            mixed=belief.is_mixed,
            r_hat=None if belief.is_point else _worst(belief.r_hat, np.max),
            ess=None if belief.is_point else _worst(belief.ess_bulk, np.min),
            is_point=belief.is_point,
            warnings=belief.warnings,
            comparison=answer if isinstance(answer, Comparison) else None,
        )

    def _ending(self, last: int) -> str | None:
        """Why to stop; None to go on."""
        step = self.steps[-1]
        bound = np.inf if step.bound is None else step.bound
        if step.is_telling and self.loss_below is not None and bound < self.loss_below:
            return "enough"
        if step.is_telling and self.sure is not None and step.sure >= self.sure:
            return "settled"
        return "queries" if self.n_asked >= last else None

    def _settings(self, seed: int | None, horizon: int | None) -> dict[str, Any]:
        options = {**self.strategy_options, **self.learner_options}
        return {
            "strategy": self.strategy,
            "n_queries": self.n_queries,
            "horizon": horizon,
            "seed": seed,
            "answer": "the optimal policy" if self.answer is None else "given",
            "repeat": self.settings.repeat,
            "loss_below": self.loss_below,
            "sure": self.sure,
            "learner": self.learner,
            "n_samples": self.settings.n_samples,
            **{name: plain(value) for name, value in options.items()},
        }


# What is measured


def _against(elements: Elements | None, situation: Situation) -> dict[str, Any]:
    """How the most likely weights' policy does, and what is covered; None without a truth."""
    if elements is None:
        return dict.fromkeys(("policy_loss", "wrong_actions", "covered", "n_elements"))
    plan = elements.bec.plan
    found = evaluate(situation.task, situation.belief.policy("map"), plan=plan)
    return {
        "policy_loss": found.policy_loss,
        "wrong_actions": found.wrong_actions,
        "covered": _n_covered(elements, situation.demonstrations, situation.belief.feedback),
        "n_elements": elements.n_elements,
    }


def _n_covered(
    elements: Elements, shown: tuple[Demonstration, ...], feedback: Sequence[Any]
) -> int:
    """How many elements demonstrations cover, and comparisons that state a row of the class."""
    covered, rows = elements.stated_elements(shown), elements.bec.rows
    for item in feedback:
        if isinstance(item, Comparison):
            same = (rows.statements == (item.state, item.better, item.other)).all(axis=1)
            numbers = rows.number[same & (rows.number >= 0)]
            for element in elements.element_of_row[numbers].tolist():
                covered |= 1 << element if element >= 0 else 0
    return elements.closure(covered).bit_count()


def _risk(situation: Situation) -> tuple[float, float | None]:
    """The value at risk of the loss from the start, and an upper bound on it."""
    losses = situation.losses @ situation.mdp.start.floats
    risk = float(value_at_risk(losses, LEVEL))
    if situation.belief.is_point:
        return risk, None
    shaped = losses.reshape(situation.draws.shape[:2])
    worth = effective_draws(shaped, situation.draws, LEVEL)
    bound = upper_bound(losses, LEVEL, DELTA, worth) if worth else None
    return risk, None if bound is None else float(bound)


def _worst(values: Any, find: Any) -> float | None:
    """The worst diagnostic over the features; None where there is none."""
    finite = values[np.isfinite(values)]
    return float(find(finite)) if finite.size else None


# What is given


def _as_limit(value: Any, name: str, most: float, rule: str) -> float | None:
    """A number above 0 and at most so large, or None."""
    if value is None:
        return None
    if not is_number(value) or not 0.0 < value <= most or value == np.inf:
        raise InvalidParameter(f"{name} must be {rule}; it is {shown(value)}")
    return float(value)
