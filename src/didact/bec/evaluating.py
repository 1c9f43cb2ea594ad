"""How a policy fares: on a task, whose values are known, or beside an observed policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from didact.bec.observed import Observed
from didact.bec.returns import ObservedEvaluation, evaluate_observed
from didact.errors import InvalidParameter
from didact.mdp import Task
from didact.planning import Evaluation, Plan
from didact.planning import evaluate as evaluate_on_task
from didact.random import Seed


@overload
def evaluate(task: Task, policy: Any, *, plan: Plan | None = None) -> Evaluation: ...


@overload
def evaluate(
    task: Observed,
    policy: Any,
    *,
    planner: Callable[..., Any] | None = None,
    n_situations: int | None = None,
    seed: Seed = None,
) -> ObservedEvaluation: ...


def evaluate(
    task: Task | Observed,
    policy: Any,
    *,
    plan: Plan | None = None,
    planner: Callable[..., Any] | None = None,
    n_situations: int | None = None,
    seed: Seed = None,
) -> Evaluation | ObservedEvaluation:
    """How a policy fares on a task, or beside the policy that was seen in a simulator.

    task: whose true weights judge it: a task, or what `observe` saw.
    policy: weights (k,), a Plan, actions (S,) as ints, probabilities (S, A), a function of a
        state, or an object with `predict`. In a simulator weights, what a lesson or `learn` gives,
        a function of observations, or an object with `predict`.
    plan: the task's own solution, when it is at hand already.
    planner: in a simulator, the policy of weights: a function that plans or trains for them.
        Without it weights act by branching: each action is worth what follows under the observed
        policy.
    n_situations: in a simulator, how many are drawn along the policy, and episodes for returns;
        300 by default.
    seed: in a simulator, of those draws; 2 by default.
    """
    if not isinstance(task, Observed):
        for value, name in ((planner, "planner"), (n_situations, "n_situations"), (seed, "seed")):
            if value is not None:
                raise InvalidParameter(f"{name} is for policies in simulators; leave it out")
        return evaluate_on_task(task, policy, plan=plan)
    if plan is not None:
        raise InvalidParameter("plan is for tasks; in a simulator give a planner, or leave it out")
    return evaluate_observed(
        task,
        policy,
        planner=planner,
        n_situations=300 if n_situations is None else n_situations,
        seed=2 if seed is None else seed,
    )
