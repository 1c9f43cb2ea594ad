"""Policy loss: how much worse a learner's policy is under the true reward.

By the performance difference lemma the loss of a policy is the discounted sum of the gaps
V*(s) - Q*(s, a) of the actions it takes. The gaps are zero exactly where an action is optimal, so
the loss is never negative, and it is exactly zero for a policy that takes optimal actions only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel
from didact.inputs import instance
from didact.mdp import MDP, Task, as_task
from didact.mdp.model import deciding_states
from didact.mdp.showing import in_notebook
from didact.numerics.exact import Floats, Numbers
from didact.planning.paths import as_reached, reachable_states
from didact.planning.policies import as_policy
from didact.planning.solve import (
    FloatPlan,
    Plan,
    discounted_sums,
    exact_policy_values,
    is_exact_affordable,
    plan_in_floats,
    solve,
    solve_among,
)

VAGUE = 1e-4
"""A loss whose error bound is a larger share of it is found again in fractions."""
UNIFORM = 1e-12
"""Probabilities that differ by less are equal."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How a policy fares under the true weights.

    policy_loss: expected loss of return from the start distribution, ties broken uniformly.
    worst_policy_loss: the same when ties are broken as badly as possible.
    wrong_actions: share of non-terminal states' action probability that is not optimal; numbers
        that an environment never shows are not counted.
    worst_wrong_actions: share of those states where some chosen action is not optimal.
    loss_by_state: (S,), the loss from each state.
    worst_loss_by_state: (S,), the same when ties are broken as badly as possible.
    wrong_by_state: (S,), the probability of actions that are not optimal.
    error_bound: how far worst_policy_loss can be from the true one.
    """

    policy_loss: float
    worst_policy_loss: float
    wrong_actions: float
    worst_wrong_actions: float
    loss_by_state: Floats
    worst_loss_by_state: Floats
    wrong_by_state: Floats
    error_bound: float

    _repr_html_ = in_notebook

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each state: state, loss, worst_loss, and wrong, the share of wrong actions."""
        columns = (self.loss_by_state, self.worst_loss_by_state, self.wrong_by_state)
        return [
            {"state": s, "loss": float(loss), "worst_loss": float(worst), "wrong": float(wrong)}
            for s, (loss, worst, wrong) in enumerate(zip(*columns, strict=True))
        ]

    def __repr__(self) -> str:
        worst = f"{self.worst_policy_loss:.4g} with ties broken badly"
        wrong = f"{100 * self.wrong_actions:.3g}% of actions wrong"
        return f"Evaluation(loss {self.policy_loss:.4g}, {worst}, {wrong})"


def evaluate(task: Task, policy: Any, *, plan: Plan | None = None) -> Evaluation:
    """How a policy fares on a task.

    task: whose true weights judge it.
    policy: weights (k,), a Plan, actions (S,) as ints, probabilities (S, A), a function of a
        state, or an object with `predict`.
    plan: the task's own solution, when it is at hand already.
    """
    mdp = as_task(task).mdp
    if plan is not None:
        instance(plan, Plan, "plan", "the result of solve")
    truth = solve(mdp, task.true_weights) if plan is None else plan
    if truth.optimal.shape != (mdp.n_states, mdp.n_actions):
        raise InvalidModel("plan must be the solution of the task's own MDP; its shape differs")
    probabilities = as_policy(task, policy)
    gaps, optimal = action_gaps(truth), truth.optimal
    by_state = _discounted_gaps(mdp, probabilities, gaps)
    worst = worst_gaps(mdp, probabilities > 0, gaps)
    loss_by_state, worst_by_state = by_state, worst.values
    reached = as_reached(mdp)
    if reached is not None:
        # What nobody can reach may be so large that rounding of it hides what is lost.
        met, own = reachable_states(mdp), solve(reached, task.true_weights)
        truth = replace(own, optimal=np.where(met[:, None], truth.optimal, own.optimal))
        gaps = np.where(met[:, None], action_gaps(truth), 0.0)
        by_state = _discounted_gaps(mdp, probabilities, gaps)
        worst = worst_gaps(mdp, probabilities > 0, gaps)
        loss_by_state = np.where(met, by_state, loss_by_state)
        worst_by_state = np.where(met, worst.values, worst_by_state)
    error_bound = worst.error_bound + 4 * truth.error_bound / (1.0 - mdp.discount)
    is_wrong = (probabilities > 0) & ~optimal & ~mdp.terminal[:, None]
    if is_wrong.any() or not truth.is_proved:
        vague = error_bound > VAGUE * float(mdp.start.floats @ worst_by_state)
        if vague and is_exact_affordable(mdp, probabilities > 0):
            truth = solve(mdp, task.true_weights, arithmetic="exact")
            found = _exact_losses(task, truth, probabilities, loss_by_state)
            (loss_by_state, worst_by_state), optimal = found, truth.optimal
            error_bound = 4 * float(np.spacing(float(worst_by_state.max(initial=0.0))))
    wrong = np.where(optimal, 0.0, probabilities).sum(axis=1)
    alive = deciding_states(mdp)
    start = mdp.start.floats
    return Evaluation(
        policy_loss=float(start @ loss_by_state),
        worst_policy_loss=float(start @ worst_by_state),
        wrong_actions=float(wrong[alive].mean()),
        worst_wrong_actions=float((wrong[alive] > 0).mean()),
        loss_by_state=loss_by_state,
        worst_loss_by_state=worst_by_state,
        wrong_by_state=wrong,
        error_bound=error_bound,
    )


def _exact_losses(
    task: Task, truth: Plan, probabilities: Floats, by_state: Floats
) -> tuple[Floats, Floats]:
    """The losses of all states in fractions, rounded once: ties uniform, and broken badly.

    truth: in exact arithmetic. by_state: kept where the policy is not uniform over some actions.
    """
    mdp, taken = task.mdp, probabilities > 0
    best = _all_known(truth)
    # The worst policy among the actions taken is the best one for the opposite weights.
    opposite = Numbers.of_results(-weight for weight in task.true_weights.fractions())
    worst = _all_known(solve_among(mdp, opposite, taken))
    lost = np.array([float(v + w) for v, w in zip(best, worst, strict=True)])
    equal = taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)
    if np.abs(probabilities - equal).max() > UNIFORM:
        return np.minimum(by_state, lost), lost
    values = exact_policy_values(mdp, task.true_weights, taken)
    return np.array([float(v - u) for v, u in zip(best, values, strict=True)]), lost


def _all_known(plan: Plan) -> list[Fraction]:
    """The exact values of a plan that was solved exactly in every state."""
    return [value for value in plan.exact_values or () if value is not None]


def action_gaps(plan: Plan) -> Floats:
    """V*(s) - Q*(s, a), shape (S, A): never negative, exactly zero for optimal actions."""
    best = plan.action_values.max(axis=1, keepdims=True)
    return np.where(plan.optimal, 0.0, np.maximum(best - plan.action_values, 0.0))


def _discounted_gaps(mdp: MDP, policy: Floats, gaps: Floats) -> Floats:
    """The discounted sum of the gaps from each state on, by one linear solve."""
    expected = (policy * gaps).sum(axis=1)
    if not expected.any():
        return np.zeros(mdp.n_states)
    return np.maximum(discounted_sums(mdp, policy, expected[:, None])[:, 0], 0.0)


def worst_gaps(mdp: MDP, taken: NDArray[np.bool_], gaps: Floats) -> FloatPlan:
    """The largest discounted sum of gaps when every choice is among the actions taken."""
    rewards = np.where(mdp.terminal[:, None], 0.0, gaps).ravel()
    return plan_in_floats(mdp, rewards, float(rewards.max()), taken)
