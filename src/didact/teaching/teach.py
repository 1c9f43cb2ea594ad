"""Teach a task: find the class, what can be shown, and let a teacher pick."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, overload

from didact.bec.families import Known, equivalence_class, require_class
from didact.bec.observed.result import Observed
from didact.bec.rows import Scope
from didact.errors import InvalidParameter
from didact.inputs import flag, plain, seconds, whole_number
from didact.mdp import Family, Task
from didact.planning.solve import Arithmetic
from didact.random import Seed
from didact.stages import stage
from didact.teaching.clips.lesson import ClipLesson, teach_observed
from didact.teaching.covers.charges import Charges
from didact.teaching.covers.costs import Cost, candidate_costs, member_costs, members_of
from didact.teaching.covers.elements import cover_elements
from didact.teaching.covers.fewest import Allowed, as_probability, cheapest_lesson, probability_in
from didact.teaching.covers.offers import (
    Offer,
    Starts,
    all_starts,
    offered_candidates,
    offers_of,
    require_in_scope,
    starts_of,
)
from didact.teaching.covers.problem import Picks, Problem
from didact.teaching.feedback.mix import as_kinds, as_margin, kind_costs, mixed_lesson
from didact.teaching.lesson import Lesson
from didact.teaching.loss.goal import (
    Bound,
    as_goal,
)
from didact.teaching.methods.exact import chosen_picks
from didact.teaching.picked import lesson_of_picks, lesson_within
from didact.teaching.teachers import find_teacher, picked_by
from didact.teaching.trimming import with_beginnings
from didact.teaching.wish import (
    LIKELY,
    Showing,
    Wish,
    family_settings,
    is_by_loss,
    settings_of,
)


@overload
def teach(task: Task | Family, **settings: Any) -> Lesson: ...


@overload
def teach(task: Observed, *, demonstrations: str = "clips") -> ClipLesson: ...


def teach(
    task: Task | Family | Observed,
    *,
    teacher: str = "scot",
    horizon: int | None = None,
    cost: Cost = "demonstrations",
    member_cost: Any = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    rollouts: int | None = None,
    min_probability: Any = None,
    starts: Starts = None,
    budget: int | None = None,
    closed: bool = False,
    trim: bool = True,
    order: str | None = None,
    seed: Seed = 0,
    known: Known | None = None,
    feedback: Sequence[str] | None = None,
    over_teach: bool = False,
    margin: Any = None,
    loss: Any = None,
    learner: str = "both",
    loss_time: float | None = None,
    demonstrations: str | None = None,
    **options: Any,
) -> Lesson | ClipLesson:
    """A lesson for the task: demonstrations that pin its behaviour down, or as much as can be.

    task: what is to be taught: a task; a family, whose demonstrations each know their member; or
        a policy seen in a simulator, from `observe`, which takes `demonstrations` alone.
    teacher: who picks: 'scot', 'exact', 'scot-redundant', 'uvm', 'random', or one of your own.
    horizon: steps of a demonstration; by default to the end of the episode where the task has
        terminal states, else 1 / (1 - discount).
    cost: what is to be small: 'demonstrations', 'pairs', 'attempts' (the expected number of
        rollouts until each demonstration is seen), a function of a demonstration, or a table
        {start: cost}, which a family does not take.
    member_cost: for a family, what walking over to a member costs, once however much is shown
        there: a table {member: cost}, or one cost for every member.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    rollouts: sample so many trajectories from each start, instead of listing all there are, as in
        the paper. 'exact' samples nothing: it searches all allowed walks.
    min_probability: of a trajectory's moves, given its start and actions, below which it is not
        allowed; 0 allows every possible one. By default 'exact' allows what is seen within about
        1,000 attempts, 1/1000, where such demonstrations can teach, else every possible one;
        other teachers allow every possible one.
    starts: the states where demonstrations may begin, or 'all' that count; by default those of the
        task. For a family {member: states}; members that are left out show nothing.
    budget: at most so many demonstrations.
    closed: extend the lesson so that learners who plan for themselves learn it too.
    trim: cut what follows the last step that is needed of a demonstration, and what precedes the
        first where it may begin there; a closed lesson stays closed. False shows whole ones, as
        'uvm', 'random' and teachers of your own always do.
    order: 'teacher', the teacher's own, or 'loss': those last without which least is lost, so that
        every beginning of the lesson is good; that is usual where `loss` is given.
    seed: of sampling and of teachers that draw: None, a whole number, or a generator.
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
    feedback: kinds of items that may be mixed: 'demonstrations', 'comparisons' of two actions,
        'preferences' and 'corrections' between two trajectories, 'rankings' of best ones that tie
        before a worse one; the cheapest mix, proved. Its items name
        their member in a family. `cost` may then be a table {kind: cost}.
    over_teach: with preferences, try also those between trajectories that are worth nearly the
        same: they say more than the behaviour, so fewer are enough, and are harder to give.
    margin: of over_teach, the least difference in return that an item may ask to be seen.
    loss: good enough: the cheapest lesson after which no learner loses more. A number of return, or
        a text such as '1%', of V* less V of the uniformly random policy. `scot` picks greedily.
        In a family it holds in every member, a percentage of the member's own V* less V.
        With a budget that is too small, what leaves least to lose, as 'exceeded'.
    learner: whose loss: 'half-spaces', 'planner' (who makes demonstrations optimal under its own
        values), or 'both'.
    loss_time: seconds to look for a lesson that keeps to the loss, 60 by default; what is not
        visited then is only tested.
    demonstrations: of a policy in a simulator: 'clips', runs of steps without a mistake, which is
        the default, or 'rollouts', whole ones.
    options: of the teacher, as follows.

    Options of scot and scot-redundant: none.

    Options of exact, the proved smallest lesson:

    time_limit: seconds; after them the best lesson known, with a certified lower bound.

    Options of uvm, the older algorithm that counts random points:

    n_samples: how many points; 100000 by default.
    threshold: stop when the share of points that is left is not above it; 0 by default.
    region: where the points lie: 'box' (the default) or 'sphere'.

    Options of random, demonstrations by chance:

    n: how many are drawn, with replacement; 20 by default.
    """
    if isinstance(task, Observed):
        _require_for_clips(locals())
        kind = "clips" if demonstrations is None else demonstrations
        return teach_observed(task, demonstrations=kind)
    if demonstrations is not None:
        raise InvalidParameter("demonstrations is for policies in simulators; give `horizon` here")
    flag(closed, "closed")
    flag(trim, "trim")
    require_class(task, known)
    kinds = None if feedback is None else as_kinds(feedback)
    if kinds is not None:
        asked = {"closed": closed, "loss": loss is not None, "order": order is not None}
        teacher = _require_mixable(teacher, asked)
    prices = None if kinds is None else kind_costs(cost, kinds)
    least = as_margin(over_teach, margin, kinds)
    find_teacher(teacher, options)
    goal = None if loss is None else as_goal(loss, learner, teacher)
    limit = None if loss_time is None else seconds(loss_time, "loss_time")
    learners = () if goal is None else goal.learners
    by_loss = is_by_loss(order, teacher, usual=goal is not None)
    how = Showing(trim and kinds is None, learners, by_loss)
    likely = as_probability(min_probability)
    wish = Wish(teacher, horizon, cost, rollouts, budget, closed, how, seed, options, likely)
    begin, visits = starts_of(task, starts), _visits(task, member_cost)
    if known is None:
        known = equivalence_class(task, scope=scope, arithmetic=arithmetic)
    offers = offers_of(known, all_starts(known) if begin is None else begin, horizon)
    given = None if starts is None else require_in_scope(known, offers)
    stage("cover: what can be shown, and the fewest of it")
    problem = _problem(wish, known, offers, visits, "demonstrations" if kinds else cost)
    picks = None
    if kinds is None and goal is None and _searches_all(wish, known):
        wish, problem, picks = _all_walks(wish, problem, offers, visits)
    settings = settings_of(wish, problem, given) | family_settings(task, visits)
    settings |= {} if order is None else {"order": order}
    if kinds is not None and prices is not None:
        settings |= _mix_settings(kinds, least, margin)
        allowed = Allowed(known, offers, "demonstrations", likely or Fraction(0), visits)
        return mixed_lesson(problem, kinds, prices, settings, allowed, least)
    if goal is None:
        picks = picked_by(teacher, problem, seed) if picks is None else picks
        return lesson_of_picks(wish, problem, picks, offers, settings)
    settings |= {"loss": plain(loss.loss if isinstance(loss, Bound) else loss), "learner": learner}
    return lesson_within(wish, problem, goal, limit, offers, settings)


def _require_for_clips(given: Mapping[str, Any]) -> None:
    """Refuse what a lesson of clips does not look at."""
    for name, parameter in inspect.signature(teach).parameters.items():
        own = parameter.default is parameter.empty or name == "demonstrations"
        if not own and given[name] is not parameter.default and given[name] != parameter.default:
            raise InvalidParameter(
                f"{name} is for tasks; a policy in a simulator is taught with demonstrations= alone"
            )
    for name in given["options"]:
        raise InvalidParameter(
            f"there is no option {name!r} for a policy in a simulator; it is "
            "taught with demonstrations= alone"
        )


def _problem(
    wish: Wish,
    known: Known,
    offers: Sequence[Offer],
    visits: Mapping[int, Fraction],
    cost: Cost,
) -> Problem:
    """The covering problem of a class, with what can be shown and what that costs."""
    elements = cover_elements(known, redundant=wish.teacher == "scot-redundant")
    rollouts = None if _searches_all(wish, known) else wish.rollouts
    candidates, masks = offered_candidates(elements, offers, rollouts=rollouts, seed=wish.seed)
    if wish.takes_beginnings:
        told = cover_elements(known, redundant=True) if wish.showing.learners else elements
        every_pair = "planner" in wish.showing.learners
        candidates, masks = with_beginnings(told, candidates, all_pairs=every_pair), None
    charges = Charges(members_of(candidates), visits) if visits else None
    costs = candidate_costs(candidates, cost, partial(probability_in, known))
    most = None if wish.budget is None else whole_number(wish.budget, "budget", 1)
    return Problem(elements, candidates, costs, most, wish.options, charges, masks)


def _searches_all(wish: Wish, known: Known) -> bool:
    """Whether the teacher searches all allowed walks: that needs exact rows and a cost by rule."""
    return wish.teacher == "exact" and known.rows.exact is not None and not callable(wish.cost)


def _all_walks(
    wish: Wish, problem: Problem, offers: Sequence[Offer], visits: Mapping[int, Fraction]
) -> tuple[Wish, Problem, Picks | None]:
    """The cheapest lesson over all allowed walks with its certificate, and the problem it solves.

    Where the default least probability leaves no lesson that teaches, every walk is allowed.
    """
    listed = None if problem.candidates.sampled else problem.candidates
    limit = wish.options.get("time_limit")
    limit, found = None if limit is None else seconds(limit, "time_limit"), None
    for least in (LIKELY, Fraction(0)) if wish.min_probability is None else (wish.min_probability,):
        allowed = Allowed(problem.known, offers, wish.cost, least, visits)
        found = cheapest_lesson(allowed, listed, limit)
        wish = replace(wish, min_probability=least)
        if found is None or found.chosen is not None:
            break
    if found is None:  # too large: what was sampled is all there is, without a bound
        return wish, problem, None
    if listed is None and not wish.showing.trim and not wish.counts_steps:
        found = found.extended(allowed)
    charges = Charges(members_of(found.candidates), visits) if visits else None
    problem = replace(
        problem, candidates=found.candidates, costs=found.costs, charges=charges, given_masks=None
    )
    if found.chosen is None or found.certificate is None:
        return wish, problem, None
    return wish, problem, chosen_picks(problem, found.chosen, found.certificate)


def _require_mixable(teacher: str, asked: Mapping[str, bool]) -> str:
    """The teacher of a mix; refuses what only demonstrations have."""
    if teacher not in ("scot", "exact"):
        raise InvalidParameter(
            f"with feedback the cheapest mix is found exactly; leave teacher {teacher!r} out"
        )
    for name in (name for name, is_asked in asked.items() if is_asked):
        raise InvalidParameter(f"{name} is for demonstrations alone; leave it out, or feedback")
    return "exact"


def _mix_settings(kinds: Sequence[str], least: Fraction | None, margin: Any) -> dict[str, Any]:
    """What a mix is told to have been asked for, besides what demonstrations are."""
    told: dict[str, Any] = {"feedback": list(kinds)}
    if least is not None:
        told |= {"over_teach": True, "margin": None if margin is None else str(least)}
    return told


def _visits(task: Task | Family, given: Any) -> dict[int, Fraction]:
    """What showing anything of a member costs, once."""
    if given is None:
        return {}
    if not isinstance(task, Family):
        raise InvalidParameter("member_cost is for families; leave it out for a task")
    return member_costs(task, given)
