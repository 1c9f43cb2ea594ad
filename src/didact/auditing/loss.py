"""Agents that may be wrong as long as it costs little: losses compared with a bound.

The loss of weights, of a policy or of an agent that is asked is a number, and is compared with the
bound. Ties are broken as badly as can be. Of a belief, the share of draws is said that lose at most
the bound. Of answers to an exam, some open and some wrong, it is decided what agents that answer so
may lose, as follows.

An agent follows any policy that is optimal for its reward w: ties are broken as badly as can be.
M(w) are the policies that are optimal for w, l(pi) is the true loss of pi, and A is the set of
rewards that answer so. A pass says that max l(pi) over pi in M(w) and w in A is within the bound.

Star: for t > 0 each policy in M(w + t w*) loses at most as much as every one in M(w). Proof: for mu
in M(w + t w*) and mu0 in M(w), (w + t w*).mu >= (w + t w*).mu0 and w.mu0 >= w.mu; so w*.mu >=
w*.mu0.

Comparisons and preferences: A is {r.w > 0 for the sides that were preferred, r.w = 0 for right
"equal"}, a relatively open cone whose span holds w*. A ray from w in A along -w* leaves it at a
point b of a facet, and by the star w loses, however it breaks ties, at most the least l over M(b).
Near b, b + t w* loses just that. So the most is found on the facets with ties broken for the best.
The classes of policies there are visited. All lose at most the bound: pass. Every one in A loses
more: fail. Else it is open, and a reward is named that answers the same and loses too much. A wrong
"equal" is left out, which only lets more rewards fit.

Actions: the pairs that were named are optimal under w's own values; in states where all best
actions were named (`whole`), the others are not. A need not be convex. Where the whole states are
right and closed, the agent goes on as the task does, so that A lies in the relatively open cone of
their rows, as above. Else the cells of all policies are visited. The closed cell K of a policy pi
are the weights for which pi is optimal, so that the answer is the largest l(pi) over the cells that
meet A. Where the named pairs are optimal, K has a face; fewest pairs are optimal in the relative
interior of that face, so that K meets A exactly where no other pair of a whole state is optimal
there. In large worlds rewards are only searched, and no agent passes by a search.

Single actions and demonstrations leave no state whole. The reward 0, for which every action is
best, then is in A, and so is every policy: such answers pass only if the worst policy of all may.

A wrong action costs what it costs, as often as the start is in its state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.auditing.grading import Audit, as_answers, graded, is_right
from didact.auditing.questions import ExamQuestion
from didact.bec.classes import EquivalenceClass, Mask, shown_pairs
from didact.errors import Unsupported
from didact.inputs import counted, seconds
from didact.mdp import Demonstration
from didact.mdp.recordings.formats import given_demonstrations
from didact.numerics.exact import Floats
from didact.planning import evaluate, solve
from didact.planning.loss import action_gaps
from didact.random import stream
from didact.teaching.lesson import SURELY
from didact.teaching.loss.cells import Cell, PolicyCells, affordable_cells
from didact.teaching.loss.good_enough import read_loss
from didact.teaching.loss.region import Region, least_cell, region_of, region_that_fits, worst_cell
from didact.teaching.loss.search import PUSHES, largest, planner_rounds
from didact.teaching.loss.space import WeightSpace, weight_space
from didact.teaching.trim import all_closed

if TYPE_CHECKING:
    from didact.auditing.exam import Exam

TIME_LIMIT = 20.0
"""Seconds for visiting classes of policies, where none are given."""

NOBODY = "no weights of these features answer so: the agent is not one that the exam is for"

Answered = Sequence[tuple[ExamQuestion, Any]]


class LossBound(NamedTuple):
    """A bound on the loss from the start, in units of return, and the weight space of the task."""

    amount: float
    space: WeightSpace

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.amount + SURELY * max(self.space.spread, self.amount)

    @property
    def statement(self) -> str:
        """What a pass says."""
        of = f"the agent loses at most {self.words(self.amount)} from the start, however it breaks "
        return of + "ties; percentages are of V* less V of the uniformly random policy"

    def words(self, loss: float) -> str:
        """A loss as an amount and as a share."""
        if not self.space.spread > 0.0:
            return f"{loss:.4g}"
        return f"{loss:.4g} ({100 * loss / self.space.spread:.3g}%)"


def loss_bound(bec: EquivalenceClass, loss: Any) -> LossBound:
    """The bound that was asked for, checked."""
    amount, is_share = read_loss(loss)
    if bec.is_family:
        raise Unsupported("a bound on the loss is for one task; audit a member, or leave loss out")
    space = weight_space(bec)
    return LossBound(amount * (space.spread if is_share else 1.0), space)


def judged_by_loss(found: Audit, policy: Any, bound: LossBound | None) -> Audit:
    """An audit of a policy or of weights, judged by what is lost where there is a bound on it."""
    if bound is None:
        return found
    bec, loss = bound.space.bec, found.loss
    assert loss is not None
    found = replace(found, statement=bound.statement)
    if found.verdict == "undecided":
        return found
    if found.passed:
        return replace(found, reason=f"{found.reason}, so that it loses nothing")
    room = evaluate(bec.task, policy, plan=bec.plan).error_bound
    reason = f"it loses {bound.words(loss)}"
    if loss + room <= bound.limit:
        return replace(found, verdict="pass", reason=reason)
    if loss - room > bound.limit:
        return replace(found, reason=reason)
    return replace(found, verdict="undecided", reason=f"{reason}, too close to the bound to call")


def loses_little(bound: LossBound, draws: Floats) -> NDArray[np.bool_]:
    """Whether each of the weights (n, k) loses at most the bound, (n,), ties broken for the worst.

    Draws of a lattice tie exactly. Close calls are planned one by one, exactly where they need it.
    """
    space, lost = bound.space, bound.space.losses.of(draws)
    little = np.asarray(lost.losses <= bound.limit)
    most: dict[bytes, float] = {}
    for i in np.flatnonzero(little).tolist():
        optimal = lost.optimal[i]
        if lost.close[i]:
            optimal = solve(space.task.mdp, draws[i], arithmetic="exact").optimal
        key = np.packbits(optimal).tobytes()
        if key not in most:
            most[key] = space.losses.most(optimal)
        little[i] = most[key] <= bound.limit
    return little


# Answers to an exam


class HeldBest(NamedTuple):
    """What an agent holds best: pairs (S, A), and the states (S,) where these are all of them."""

    best: Mask
    whole: Mask

    @property
    def others(self) -> Mask:
        """Pairs (S, A) that the agent holds worse than what it named."""
        return np.asarray(self.whole[:, None] & ~self.best)


def graded_by_loss(
    exam: Exam, given: Any, bec: EquivalenceClass, loss: Any, time_limit: float | None = None
) -> Audit:
    """Whether every agent that answers so loses at most the bound, or none does.

    loss: None judges the answers alone.
    """
    if loss is None:
        return graded(exam, given)
    bound = loss_bound(bec, loss)
    limit = seconds(TIME_LIMIT if time_limit is None else time_limit, "time_limit")
    found = replace(graded(exam, given), statement=bound.statement)
    if found.passed:
        return replace(found, reason=f"{found.reason}, so that it loses nothing", loss_bound=0.0)
    answers = zip(exam.questions, as_answers(exam, given), strict=True)
    answered = [(question, answer) for question, answer in answers if answer is not None]
    if exam.n_close_calls:
        reason = f"{counted(exam.n_close_calls, 'close call')} could not be decided in floats"
        return replace(found, verdict="undecided", reason=reason)
    deadline = time.monotonic() + limit
    judge = _judged_by_actions if exam.ask == "actions" else _judged_by_sides
    return judge(replace(found, verdict="undecided"), answered, bound, deadline)


def audit_seen(
    bec: EquivalenceClass, seen: Any, bound: LossBound, time_limit: float | None
) -> Audit:
    """Whether every agent that was seen to act so, planning for itself, loses at most the bound."""
    taken = given_demonstrations(seen, bec.task)
    n_steps = len({pair for demonstration in taken for pair in demonstration})
    found = Audit("undecided", bound.statement, "", "demonstrations", n_steps)
    if bec.n_close_calls:
        reason = f"{counted(bec.n_close_calls, 'close call')} could not be decided in floats"
        return replace(found, reason=reason)
    if time_limit is not None:
        seconds(time_limit, "time_limit")
    best = shown_pairs(bec.members, taken)
    return _judged_by_pairs(found, HeldBest(best, np.zeros(len(best), np.bool_)), bound, math.inf)


def _judged_by_sides(found: Audit, answered: Answered, bound: LossBound, deadline: float) -> Audit:
    """By the cone of weights that prefer the sides that were preferred."""
    region = region_that_fits(bound.space, *_rows(answered, bound.space.basis.shape[1]))
    if region is None:
        return replace(found, reason=NOBODY)
    found = _judged_by_region(found, region, bound, deadline)
    wrong = [answer for question, answer in answered if not is_right(question, answer)]
    if found.passed or not wrong:
        return found
    if "equal" in wrong and found.witness is not None:
        reason = found.reason.replace(
            "answers the same", "answers the same but for a wrong 'equal'"
        )
        found = replace(found, reason=reason, witness=None)
    least = least_cell(region, bound.limit, deadline=deadline)
    if least.is_proved and least.worst is not None and least.worst.loss > bound.limit:
        reason = f"whoever answers so loses at least {bound.words(least.worst.loss)}"
        return replace(found, verdict="fail", reason=reason, witness=None)
    return found


def _rows(answered: Answered, n_features: int) -> tuple[Floats, Floats]:
    """Unit rows that are positive for who answers so, and rows that are zero; (n, k) each."""
    strict, ties = [], []
    for question, answer in answered:
        normal = np.array([float(entry) for entry in question.normal or ()])
        normal /= np.linalg.norm(normal)
        if answer != "equal":
            strict.append(normal if answer == "first" else -normal)
        elif is_right(question, answer):
            ties.append(normal)
    return np.array(strict).reshape(-1, n_features), np.array(ties).reshape(-1, n_features)


def _judged_by_region(found: Audit, region: Region, bound: LossBound, deadline: float) -> Audit:
    """By the most that a reward in an open cone loses, every class of policies visited."""
    most = worst_cell(region, bound.limit, deadline=deadline)
    if most.worst is not None and most.worst.loss > bound.limit:
        weights = _moved_inside(region, most.worst)
        return _open(found, most.worst.loss, weights, bound)
    if not most.is_proved:
        reason = f"{most.n_cells} classes of policies that answer so lose no more; others were not "
        return replace(found, reason=f"{reason}visited, or not told apart")
    loss = 0.0 if most.worst is None else most.worst.loss
    return _passed(found, loss, most.n_cells, bound)


def _moved_inside(region: Region, worst: Cell) -> Floats:
    """Weights on the boundary of a cone, moved into it as far as they still lose as much.

    On the boundary itself the answer is "equal" where it was "first" or "second".
    """
    inside = region.inside @ region.basis
    moved = worst.weights + PUSHES[:, None] * inside / (float(np.linalg.norm(inside)) or 1.0)
    loses = region.space.losses.of(moved).losses >= (1 - SURELY) * worst.loss
    return np.asarray(moved[int(np.flatnonzero(loses).max(initial=0))])


def _judged_by_actions(
    found: Audit, answered: Answered, bound: LossBound, deadline: float
) -> Audit:
    """By the actions that were named best."""
    named = [(q, (answer,) if isinstance(answer, int) else answer) for q, answer in answered]
    shown = [Demonstration([(q.state, action)]) for q, actions in named for action in actions]
    best = shown_pairs(bound.space.bec.members, shown)
    whole = np.zeros(len(best), dtype=np.bool_)
    whole[[q.state for q, answer in answered if not isinstance(answer, int)]] = True
    return _judged_by_pairs(found, HeldBest(best, whole), bound, deadline)


def _judged_by_pairs(found: Audit, held: HeldBest, bound: LossBound, deadline: float) -> Audit:
    """By the rewards that make what was named optimal under their own values."""
    space, bec = bound.space, bound.space.bec
    plan = bec.plan if space.member is None else space.member.plan
    gaps = np.where(held.best, action_gaps(plan), 0.0).max(axis=1)
    sure = float(bec.task.mdp.start.floats @ gaps)
    if sure > bound.limit:
        reason = f"what it holds best loses at least {bound.words(sure)}"
        return replace(found, verdict="fail", reason=reason)
    if not held.others[space.states].any():
        return _judged_indifferent(found, bound)
    whole = held.best & held.whole[:, None]
    taken = [Demonstration([(s, a)]) for s, a in np.argwhere(whole).tolist()]
    is_right = not (whole & ~bec.plan.optimal).any()
    if is_right and all_closed(bec.members, taken):
        region = region_of(space, bec.rows.normals[bec.rows.stated_by(whole)])
        judged = _judged_by_region(found, region, bound, deadline)
        if judged.passed or _answers_so(space, judged.witness, held):
            return judged
    cells = affordable_cells(space)
    if cells is not None and cells.finish(deadline):
        return _judged_by_all_cells(found, cells, held, bound)
    rng = stream(0, "audit", "answers")
    loss, weights = largest(planner_rounds(space, held.best.ravel(), rng, held.others.ravel()))
    if weights is not None and loss > bound.limit:
        return _open(found, loss, weights, bound)
    why = "the states are not closed" if is_right else "a wrong action may cost more later"
    reason = f"{why}; a search found none who answers so and loses more, which proves nothing"
    return replace(found, reason=reason)


def _judged_by_all_cells(
    found: Audit, cells: PolicyCells, held: HeldBest, bound: LossBound
) -> Audit:
    """By the cells of all policies, every one of which was visited."""
    worst = cells.worst_of_agents(held.best, held.others)
    if worst is None:
        return replace(found, reason=NOBODY)
    if worst.weights is not None and worst.loss > bound.limit:
        return _open(found, worst.loss, worst.weights, bound)
    return _passed(found, worst.loss, len(cells.cells), bound)


def _answers_so(space: WeightSpace, weights: Sequence[float] | None, held: HeldBest) -> bool:
    """Whether weights hold best what was named: the cone of closed answers has others too."""
    if weights is None:
        return False
    (optimal,) = space.losses.of(np.array(weights)[None]).optimal
    return not (held.best & ~optimal).any() and not (held.others & optimal).any()


def _judged_indifferent(found: Audit, bound: LossBound) -> Audit:
    """By the worst policy of all: where no action was called worse, the reward 0 answers so."""
    worst = bound.space.worst
    if worst <= bound.limit and not bound.space.n_close:
        reason = f"no policy loses more than {bound.words(worst)}"
        return replace(found, verdict="pass", reason=reason, loss_bound=worst)
    reason = (
        "no action was called worse than another, so that an agent without preferences, weights 0, "
        f"acts so too; it may lose {bound.words(worst)}. Ask for all best actions, or compare"
    )
    n_features = bound.space.basis.shape[1]
    return replace(found, reason=reason, witness=(0.0,) * n_features)


def _passed(found: Audit, loss: float, n_cells: int, bound: LossBound) -> Audit:
    """Every class of policies that answers so was visited."""
    most = f"nobody who answers so loses more than {bound.words(loss)}"
    reason = f"{most}; classes of policies visited: {n_cells}"
    return replace(found, verdict="pass", reason=reason, loss_bound=loss)


def _open(found: Audit, loss: float, weights: Floats, bound: LossBound) -> Audit:
    """Not decided: a reward that answers the same loses too much."""
    if not math.isfinite(loss):
        raise AssertionError(f"a loss must be finite; it is {loss}")
    reason = f"a reward that answers the same loses {bound.words(loss)}"
    return replace(found, reason=reason, witness=tuple(float(weight) for weight in weights))
