"""Audits: is this agent aligned with that task, whatever form the agent comes in?

Weights are planned and compared exactly: no exam is needed. With ties, never acting wrongly is less
than holding the same actions best: an agent that takes one of two best actions loses nothing, and
the weights of such agents are no convex set. So this is decided by planning, in every state that
counts.

Policies and agents that are asked are followed along what they do, from the start on; nothing need
be known of why they do it. If every action that an agent takes in a state which it can come to
costs at most delta there, then by the performance difference lemma it loses at most delta / (1 -
discount), from each of these states: its loss is the discounted sum of the costs of the actions
that it takes. Leaving out states whose rows have a small margin is unsound; this is not.

Of a belief it is said in how many draws a learner would act rightly, with an interval. A draw acts
rightly where all that it holds best is best under the true weights too. Floats decide it where the
difference is beyond their noise, exact planning elsewhere. Draws of a chain hang together: the
interval (Clopper and Pearson) counts them as the fewest that they are worth.

Answers to an exam are graded (`didact.auditing.grading`); what is lost is judged by
`didact.auditing.loss`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from didact.auditing.exam import Exam
from didact.auditing.exam import exam as made_exam
from didact.auditing.grading import Audit, CostlyState
from didact.auditing.loss import (
    LossBound,
    audit_seen,
    graded_by_loss,
    judged_by_loss,
    loses_little,
    loss_bound,
)
from didact.auditing.questions import Ask, cost_of, place_words
from didact.auditing.simulators import SimulatorAudit, audit_simulator
from didact.bec.classes import EquivalenceClass, Mask, Member, class_of
from didact.bec.halfspaces import Scope, scope_states
from didact.bec.observed.result import Observed
from didact.errors import InvalidFile, InvalidParameter
from didact.files.json import plain_numbers, read_json
from didact.files.reading import shown_path
from didact.inputs import counted, explains_names, instance, own_code, plain_array, shown
from didact.learners.belief import Belief
from didact.learners.diagnostics import bulk_ess, indicator_ess
from didact.learners.risk import BLOCK_ENTRIES, MAX_DRAWS, thinned
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.model import idle_states
from didact.mdp.naming import action_words
from didact.numerics.exact import Floats, read_number
from didact.numerics.intervals import binomial_interval
from didact.planning import as_policy, evaluate, solve
from didact.planning.batch import action_values_of, value_reach
from didact.planning.kernels import UNIT
from didact.planning.policies import answered_row, asking
from didact.planning.solve import Arithmetic, Plan
from didact.worlds.opening import named_world

RIGHT = {
    "reachable": "the agent takes only optimal actions in every reachable state, however it breaks "
    "ties",
    "all": "the agent takes only optimal actions in every state, however it breaks ties",
}

LEVEL = 0.95
"""Of the interval of a share of draws."""


@overload
def audit(
    task: Task | Family,
    agent: Any,
    *,
    within: Any = 0,
    loss: Any = None,
    time_limit: float | None = None,
    exam: Exam | None = None,
    ask: Ask = "comparisons",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    bec: EquivalenceClass | None = None,
) -> Audit: ...


@overload
def audit(
    task: Any, agent: Any, *, features: Any = None, weights: Any = None, loss: Any = None
) -> SimulatorAudit: ...


@explains_names
def audit(
    task: Any,
    agent: Any,
    *,
    within: Any = 0,
    loss: Any = None,
    time_limit: float | None = None,
    exam: Exam | None = None,
    ask: Ask = "comparisons",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    bec: EquivalenceClass | None = None,
    features: Any = None,
    weights: Any = None,
) -> Audit | SimulatorAudit:
    """Whether an agent is aligned with the task: 'pass', 'fail' with a costly state, or open.

    task: what the agent should want: a task, or a family, which takes weights and answers only.
        An environment, as for `observe` and with its features, or what `observe` saw of another
        agent, has a statistical audit of single actions, with the returns of episodes.
    agent: weights (k,), planned and compared in every state that counts; a policy as actions (S,)
        or probabilities (S, A), or a function of a state or an object with `predict`, followed
        along what it does from the start on; a Belief, of whose draws a share acts rightly; the
        path of a JSON file of answers to an exam; or, with `loss`, a list of Demonstrations that it
        was seen to give, optimal by its own lights; these pass only if the worst policy may.
    within: what an action of a policy may cost in a state that it comes to; it then loses at most
        within / (1 - discount).
    loss: judge what the agent loses from the start instead: a number of return, or a text such as
        '1%', of V* less V of the uniformly random policy. Answers pass when no policy that is
        optimal for a reward that answers so loses more, and fail when every one does; nothing that
        is only searched passes. In an environment a number: the return above which an action
        counts as a mistake; by default a twentieth of what an action makes a difference.
    time_limit: seconds to visit the classes of policies that fit answers, 20 by default.
    exam: that the answers are to; by default `exam(task, ask=ask)`.
    ask: what answers are to, where no exam is given: 'comparisons', 'actions' or 'preferences'.
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', 'float', or 'auto', exact while that is affordable.
    bec: the class, when it is at hand; it then decides scope and arithmetic.
    features: of the reward in an environment, as for `observe`.
    weights: of the reward in an environment, as for `observe`.
    """
    if _is_simulator(task, features):
        return audit_simulator(task, agent, features, weights, loss)
    task = named_world(task)
    cost = _as_cost(within)
    if loss is not None and cost:
        raise InvalidParameter("give within, for each action, or loss, for all of them; not both")
    if exam is not None:
        instance(exam, Exam, "exam", "the result of exam")
    is_path = isinstance(agent, str | os.PathLike)
    if exam is not None and not is_path:
        raise InvalidParameter("exam is for a file of answers; use exam.grade for answers at hand")
    if is_path and exam is not None and loss is None:
        return exam.grade(read_answers(agent))
    bec = class_of(task, bec, scope=scope, arithmetic=arithmetic)
    if is_path:
        asked = made_exam(task, ask=ask, bec=bec) if exam is None else exam
        return graded_by_loss(asked, read_answers(agent), bec, loss, time_limit)
    bound = None if loss is None else loss_bound(bec, loss)
    if _is_weights(agent, bec.members[0].task.mdp):
        return judged_by_loss(audit_weights(bec, agent), agent, bound)
    if bec.is_family:
        raise InvalidParameter(
            f"a family takes weights or a file of answers; the agent is {shown(agent)}. Audit each "
            "member by itself"
        )
    return _audit_acting(bec, agent, cost, bound, time_limit)


def _audit_acting(
    bec: EquivalenceClass,
    agent: Any,
    cost: Fraction,
    bound: LossBound | None,
    time_limit: float | None,
) -> Audit:
    """An agent that was seen or is asked to act, or that draws its weights from a belief."""
    if _is_seen(agent):
        if bound is None:
            raise InvalidParameter("demonstrations of an agent are judged by loss; give loss")
        return audit_seen(bec, agent, bound, time_limit)
    if isinstance(agent, Belief):
        return audit_belief(bec, agent, bound)
    if callable(agent) or hasattr(agent, "predict"):
        followed, how = follow(bec, answering(bec, agent)), "asked"
    else:
        table = as_policy(bec.task, agent)
        followed, how = follow(bec, lambda state: table[state]), "policy"
    return judged_by_loss(audit_followed(bec, followed, cost, how), followed.policy, bound)


def _is_simulator(task: Any, features: Any) -> bool:
    """Whether this is an environment, or what was seen in one, and no task."""
    is_stepped = callable(getattr(task, "step", None))
    return isinstance(task, Observed) or features is not None or is_stepped


def _as_cost(within: Any) -> Fraction:
    cost = read_number(within, "within")
    if cost < 0:
        raise InvalidParameter(f"within must not be negative; it is {shown(within)}")
    return cost


def _is_seen(agent: Any) -> bool:
    """Whether an agent is given as demonstrations."""
    return isinstance(agent, list | tuple) and any(isinstance(d, Demonstration) for d in agent)


def _is_weights(agent: Any, mdp: MDP) -> bool:
    """Whether an agent is given as numbers for the features, as `as_policy` reads them."""
    if (
        isinstance(agent, Belief | Plan)
        or _is_seen(agent)
        or callable(agent)
        or hasattr(agent, "predict")
    ):
        return False
    array = plain_array(agent, "the agent")
    if isinstance(array, list | tuple):
        try:
            array = np.asarray(array)
        except ValueError:  # of uneven rows
            return False
    if not isinstance(array, np.ndarray):
        return False
    is_actions = array.dtype.kind in "iu" and array.size == mdp.n_states
    return array.shape == (mdp.n_features,) and not is_actions


def read_answers(path: str | os.PathLike[str]) -> Any:
    """The answers in a JSON file: a list, or an object with numbers of questions as keys.

    An object with `answers` holds them there.
    """
    document = plain_numbers(read_json(path))
    if isinstance(document, dict) and "answers" in document:
        document = document["answers"]
    if not isinstance(document, list | dict):
        raise InvalidFile(
            f"{shown_path(path)}: must hold a list of answers, or an object of them by number"
        )
    return document


# Agents whose weights are known


class WrongAction(NamedTuple):
    """An action that is not best where it is taken, and what it costs."""

    member: Member
    state: int
    action: int
    cost: Fraction | float


def audit_weights(bec: EquivalenceClass, weights: Any) -> Audit:
    """Whether an agent with these weights ever acts wrongly, and what it loses."""
    plans = [_planned(member, weights) for member in bec.members]
    taken = [
        plan.optimal & scope_states(member.task.mdp, bec.scope)[:, None]
        for member, plan in zip(bec.members, plans, strict=True)
    ]
    same = all(
        (mask == member.plan.optimal)[scope_states(member.task.mdp, bec.scope)].all()
        for member, mask in zip(bec.members, taken, strict=True)
    )
    worst = costliest(bec, taken)
    loss = max(
        evaluate(member.task, plan, plan=member.plan).worst_policy_loss
        for member, plan in zip(bec.members, plans, strict=True)
    )
    statement = RIGHT[bec.scope]
    found: dict[str, Any] = {"loss": loss, "same": same}
    if not all(plan.is_proved for plan in (*plans, *(member.plan for member in bec.members))):
        reason = "close calls could not be decided in floats; use arithmetic='exact'"
        return Audit("undecided", statement, reason, "weights", loss=loss)
    if worst is None:
        reason = (
            "its best actions are the task's" if same else "its best actions are among the task's"
        )
        return Audit("pass", statement, reason, "weights", **found)
    situation = situation_of_pair(bec, worst)
    return Audit("fail", statement, situation.words, "weights", situation=situation, **found)


def _planned(member: Member, weights: Any) -> Plan:
    """What the agent holds best: proved by bounds, else in exact arithmetic as far as possible."""
    plan = solve(member.task.mdp, weights)
    exact = member.counts is not None and not plan.is_proved
    return solve(member.task.mdp, weights, arithmetic="exact") if exact else plan


def costliest(bec: EquivalenceClass, taken: list[Mask]) -> WrongAction | None:
    """The taken pair that is not best and costs most, the first of them; None where all are."""
    found: WrongAction | None = None
    for member, mask in zip(bec.members, taken, strict=True):
        for state, action in np.argwhere(mask & ~member.plan.optimal).tolist():
            best = member.plan.optimal_actions(state)[0]
            cost = cost_of(member, state, action, best)
            if found is None or cost > found.cost:
                found = WrongAction(member, state, action, cost)
    return found


def situation_of_pair(bec: EquivalenceClass, wrong: WrongAction) -> CostlyState:
    """A wrong action with what it costs, in words."""
    member, state, action, cost = wrong
    better = member.plan.optimal_actions(state)[0]
    reason = (
        f"in {place_words(bec, member, state)} it takes {action_words(member.task, action)}; "
        f"{action_words(member.task, better)} is better by {float(cost):.4g}"
    )
    exact = cost if isinstance(cost, Fraction) else None
    return CostlyState(state, action, better, float(cost), exact, reason, member.number)


# Agents that are followed


class FollowedAgent(NamedTuple):
    """Where an agent comes to, (S,), and what it does there, (S, A); elsewhere what is best."""

    visited: Mask
    policy: Floats


def follow(bec: EquivalenceClass, row_of: Callable[[int], Floats]) -> FollowedAgent:
    """Ask for the probabilities (A,) in the start states and wherever they lead."""
    mdp, moves = bec.task.mdp, bec.task.mdp.transitions
    skipped = mdp.terminal | idle_states(mdp)
    policy = bec.plan.policy.copy()
    visited = np.zeros(mdp.n_states, dtype=np.bool_)
    ahead = np.flatnonzero((mdp.start.floats > 0) & ~skipped).tolist()
    visited[ahead] = True
    while ahead:
        state = ahead.pop()
        policy[state] = row_of(state)
        for action in np.flatnonzero(policy[state]).tolist():
            row = state * mdp.n_actions + action
            for target in moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist():
                if not visited[target] and not skipped[target]:
                    visited[target] = True
                    ahead.append(target)
    return FollowedAgent(visited, policy)


def answering(bec: EquivalenceClass, agent: Any) -> Callable[[int], Floats]:
    """The probabilities that a function or an object with `predict` answers with in a state."""
    ask, mdp, acts = asking(bec.task, agent), bec.task.mdp, hasattr(agent, "predict")

    def row_of(state: int) -> Floats:
        with own_code(f"the agent in state {mdp.state_name(state)}"):
            return answered_row(bec.task, state, ask(state), is_action=acts)

    return row_of


def audit_followed(
    bec: EquivalenceClass, followed: FollowedAgent, within: Fraction, agent: str
) -> Audit:
    """Whether no action that the agent takes on its own way costs more than allowed."""
    mdp, plan = bec.task.mdp, bec.plan
    taken = (followed.policy > 0) & followed.visited[:, None]
    worst = costliest(bec, [taken])
    largest = Fraction(0) if worst is None else Fraction(worst.cost)
    bound = float(largest / (1 - mdp.exact_discount))
    n_asked = int(followed.visited.sum())
    found: dict[str, Any] = {
        "n_asked": n_asked,
        "loss": evaluate(bec.task, followed.policy, plan=plan).policy_loss,
        "loss_bound": bound,
        "situation": None if worst is None else situation_of_pair(bec, worst),
    }
    statement = _statement(within, mdp.exact_discount)
    if largest <= within and not plan.is_proved:
        reason = "close calls could not be decided in floats; use arithmetic='exact'"
        return Audit("undecided", statement, reason, agent, **found)
    if largest <= within:
        where = f"in {counted(n_asked, 'state')} that it can come to"
        most = f"no action costs more than {float(largest):.4g} there" if worst else "all are best"
        return Audit("pass", statement, f"{where}, {most}", agent, **found)
    assert found["situation"] is not None
    return Audit("fail", statement, found["situation"].words, agent, **found)


def _statement(within: Fraction, discount: Fraction) -> str:
    if not within:
        return "from the start on, the agent takes only optimal actions, so that it loses nothing"
    most = float(within / (1 - discount))
    return (
        f"from the start on, no action of the agent costs more than {float(within):.4g}, so that "
        f"it loses at most {most:.4g}"
    )


# Beliefs


def audit_belief(bec: EquivalenceClass, belief: Belief, bound: LossBound | None = None) -> Audit:
    """The share of draws that never act wrongly; a point belief is judged by its weights.

    bound: the share of draws that lose at most so much instead.
    """
    mdp = bec.task.mdp
    shape = (mdp.n_states, mdp.n_actions, mdp.n_features)
    if (belief.mdp.n_states, belief.mdp.n_actions, belief.mdp.n_features) != shape:
        raise InvalidParameter(
            f"the belief must be about the task; it is about {belief.mdp.n_states} states, "
            f"{belief.mdp.n_actions} actions and {belief.mdp.n_features} features"
        )
    if belief.is_point:
        weights = belief.map_weights
        return judged_by_loss(audit_weights(bec, weights), weights, bound)
    draws = thinned(belief, max(MAX_DRAWS, belief.n_chains))
    flat = draws.reshape(-1, mdp.n_features)
    right = acts_rightly(bec, flat) if bound is None else loses_little(bound, flat)
    right = right.reshape(draws.shape[:2])
    worth = _effective(right, draws)
    share = float(right.mean())
    low, high = binomial_interval(share * worth, worth, LEVEL)
    does = "act rightly" if bound is None else "lose no more"
    reason = (
        f"{int(right.sum())} of {right.size} draws {does}: {100 * share:.3g}%, 95% interval "
        f"{100 * low:.3g}% to {100 * high:.3g}%"
        f"{'' if belief.is_mixed else ', of chains that have not mixed'}"
    )
    found = {"share": share, "low": low, "high": high, "n_effective": worth}
    statement = RIGHT[bec.scope] if bound is None else bound.statement
    return Audit("undecided", statement, reason, "belief", share=found)


def acts_rightly(bec: EquivalenceClass, draws: Floats) -> NDArray[np.bool_]:
    """Whether each of the weights (n, k) holds best only what is best, wherever it counts."""
    mdp, optimal = bec.task.mdp, bec.plan.optimal
    counted = np.flatnonzero(scope_states(mdp, bec.scope))
    right = np.zeros(len(draws), dtype=np.bool_)
    size = max(1, BLOCK_ENTRIES // (mdp.n_states * mdp.n_actions))
    for first in range(0, len(draws), size):
        block = draws[first : first + size]
        values = action_values_of(mdp, block)[:, counted]
        best = np.where(optimal[counted], values, -np.inf).max(axis=2)
        others = np.where(optimal[counted], -np.inf, values).max(axis=2)
        noise = 64 * UNIT / (1.0 - mdp.discount) * value_reach(mdp, block)[:, None]
        wrong = (others > best + noise).any(axis=1)
        close = ~wrong & (others >= best - noise).any(axis=1)
        right[first : first + len(block)] = ~wrong
        for i in np.flatnonzero(close).tolist():
            plan = solve(mdp, block[i], arithmetic="exact")
            right[first + i] = not (plan.optimal & ~optimal)[counted].any()
    return right


def _effective(right: NDArray[np.bool_], draws: Floats) -> float:
    """How many independent draws these are worth, at least 1."""
    worths = [float(right.size), *np.atleast_1d(bulk_ess(draws)).tolist()]
    if right.any() and not right.all():
        worths.append(float(indicator_ess(right)))
    known = [worth for worth in worths if np.isfinite(worth)]
    return max(1.0, min(known)) if len(known) == len(worths) else 1.0
