"""Active inverse reinforcement learning: what to ask, whom, how often, and when it is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.active.loop import Loop
from didact.active.oracles import Answer
from didact.active.run import Run, Step
from didact.active.situation import Situation
from didact.active.strategies import find_strategy
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import InvalidInput, InvalidParameter, NotMixed
from didact.inputs import entries, flag, is_number, is_whole, shown, whole_number
from didact.learners.learn import find_learner
from didact.mdp import MDP, Task, as_task
from didact.mdp.exchange.feedback import given_items
from didact.mdp.naming import numbered_state
from didact.planning import reachable_states
from didact.random import Seed, as_generator
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
    options = dict(strategy_options or {})
    find_strategy(strategy, options)
    find_learner(learner, learner_options)
    loop = Loop(
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
        shown=list(given_items(demonstrations, task)),
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
        chosen = as_starts(task, states)
    except InvalidInput as error:
        raise InvalidParameter(str(error).replace("starts", "states", 1)) from None
    if not reached[chosen].all():
        outside = numbered_state(task, int(chosen[~reached[chosen]][0]))
        raise InvalidParameter(f"states must be in reach of the start; {outside} is not")
    return chosen


def _as_asked(states: Iterable[int], mdp: MDP) -> list[int]:
    given = entries(states, "asked", "states")
    return [whole_number(s, f"asked[{i}]", 0, mdp.n_states - 1) for i, s in enumerate(given)]


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
