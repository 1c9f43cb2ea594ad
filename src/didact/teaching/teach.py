"""`teach`, `teach_within` and `teach_mixed`: find the class, what can be shown, and the lesson.

All three do the same work first (`_problem`): the class of the task, where demonstrations may
begin, the candidates, and the cover problem of the class over them. Then `teach` lets a teacher
pick, `teach_within` looks for the cheapest candidates that keep to a bound on the loss, and
`teach_mixed` adds other kinds of feedback to the candidates.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, overload

from didact.bec.classes import EquivalenceClass, equivalence_class, require_class
from didact.bec.halfspaces import Scope
from didact.bec.observed.result import Observed
from didact.errors import InvalidParameter
from didact.inputs import choice, explains_names, flag, plain, seconds, shown, whole_number
from didact.mdp import Family, Task
from didact.numerics.exact import changed
from didact.planning.solve import Arithmetic
from didact.random import Seed, as_generator
from didact.stages import stage
from didact.teaching.build import LIKELY, TeachSettings, lesson_of_picks
from didact.teaching.clips.lesson import ClipLesson, teach_observed
from didact.teaching.covers.candidates import (
    ROLLOUTS,
    GivenStarts,
    Starts,
    all_starts,
    offers_of,
    require_in_scope,
    starts_of,
)
from didact.teaching.covers.fewest import cheapest_lesson
from didact.teaching.covers.multicover import cheapest_multicover
from didact.teaching.covers.problem import (
    Cost,
    Picks,
    Problem,
    candidate_costs,
    cover_elements,
    fixed_costs_of,
    member_costs,
    offered_candidates,
)
from didact.teaching.covers.walks import probability_in
from didact.teaching.feedback.mix import as_kinds, as_margin, kind_costs, mixed_lesson
from didact.teaching.lesson import Lesson
from didact.teaching.loss.good_enough import (
    Goal,
    as_goal,
    cheapest_within,
    once_closed,
    planners_keep_to,
)
from didact.teaching.teachers import chosen_picks, find_teacher, picked_by, teacher_name
from didact.teaching.trim import with_beginnings
from didact.worlds.opening import named_world

USUAL_TEACHER = "auto"
"""The teacher where none is named."""
MAX_LIES = 100
"""Forged demonstrations that a lesson is made for; its size grows with twice as many."""


@overload
def teach(task: Task | Family, **settings: Any) -> Lesson: ...


@overload
def teach(task: Observed, *, demonstrations: str = "clips") -> ClipLesson: ...


def teach(
    task: Task | Family | Observed,
    *,
    teacher: str = USUAL_TEACHER,
    horizon: int | None = None,
    starts: GivenStarts = None,
    cost: Cost = "demonstrations",
    member_cost: Any = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    budget: int | None = None,
    closed: bool = False,
    seed: Seed = 0,
    bec: EquivalenceClass | None = None,
    **options: Any,
) -> Lesson | ClipLesson:
    """A lesson for the task: demonstrations that pin its behaviour down, or as much as can be.

    task: what is to be taught: a task; a family, whose demonstrations each know their member; or
        a policy seen in a simulator, from `observe`, which takes the option `demonstrations` alone.
    teacher: who picks: 'exact', 'scot', 'scot-redundant', 'uvm', 'random', or one of your own.
        'auto' (the default) is 'exact' where the class is exact, the cost has a rule, nothing is
        sampled, and states times features of all members are at most 2,000; else 'scot', whose
        lesson may not be the smallest. `lesson.settings['teacher']` says which.
    horizon: steps of a demonstration; by default to the end of the episode where the task has
        terminal states, else 1 / (1 - discount).
    starts: the states where demonstrations may begin, or 'all' that count; by default those of the
        task. For a family {member: states}; members that are left out show nothing.
    cost: what is to be small: 'demonstrations', 'pairs', 'attempts' (the expected number of
        rollouts until each demonstration is seen), a function of a demonstration, or a table
        {start: cost}, which a family does not take.
    member_cost: for a family, what walking over to a member costs, once however much is shown
        there: a table {member: cost}, or one cost for every member.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', with a proof; 'float'; or 'auto', exact while that is affordable.
    budget: at most so many demonstrations.
    closed: extend the lesson so that learners who plan for themselves learn it too.
    seed: of sampling and of teachers that draw: None, a whole number, or a generator.
    bec: the task's class, when it is at hand; it then decides scope and arithmetic.
    options: of how demonstrations are found and shown, and of the teacher, as follows.

    Every teacher takes:

    - `rollouts`: sample so many trajectories from each start, instead of listing all there are, as
      in the paper. 'exact' samples nothing: it searches all allowed trajectories.
    - `min_probability`: of a trajectory's moves, given its start and actions, below which it is not
      allowed; 0 allows every possible one. By default 'exact' allows what is seen within about
      1,000 attempts, 1/1000, where such demonstrations can teach, else every possible one; other
      teachers allow every possible one.
    - `deterministic`: True for a teacher with a deterministic policy, the first optimal action of
      each state, as in the paper's figure of features; all of them by default.
    - `preset`: 'paper' for Algorithm 1 as it is printed: half-spaces of all states
      (`scope='all'`), 20 rollouts from each start unless `rollouts` says how many, and whole
      trajectories (`trim=False`). The paper does not say how many rollouts.
    - `trim`: True (the default) cuts what follows the last step that is needed of a demonstration,
      and what precedes the first where it may begin there; a closed lesson stays closed. False
      shows whole ones, as 'uvm', 'random' and teachers of your own always do.
    - `order`: 'teacher' (the default), the teacher's own, or 'loss': those last without which least
      is lost, so that every beginning of the lesson is good.

    A policy in a simulator takes `demonstrations` alone: 'clips', runs of steps without a mistake,
    which is the default, or 'rollouts', whole ones.

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
    task = named_world(task) if isinstance(task, str) else task
    if isinstance(task, Observed):
        return _teach_observed(task, locals())
    if "demonstrations" in options:
        raise InvalidParameter("demonstrations is for policies in simulators; give `horizon` here")
    scope, options = _preset(options.pop("preset", None), scope, options)
    if isinstance(teacher, str) and teacher == "auto":
        require_class(task, bec)
        find_teacher("exact", TeachSettings.of(options).options)
        starts_of(task, starts)  # what is refused is refused before the work
        as_generator(seed)
        if bec is None:
            bec = equivalence_class(task, scope=scope, arithmetic=arithmetic)
        teacher = _affordable_teacher(bec, cost, options)
        if teacher == "scot":
            options.pop("time_limit", None)
    teacher = teacher_name(teacher)
    settings = TeachSettings.of(
        options,
        teacher=teacher,
        horizon=horizon,
        starts=starts,
        cost=cost,
        member_cost=member_cost,
        scope=scope,
        arithmetic=arithmetic,
        budget=budget,
        closed=closed,
        seed=seed,
    )
    find_teacher(settings.teacher, settings.options)
    problem, begin = _problem(task, settings, bec)
    picks = None
    if _searches_all(settings, problem.bec):
        settings, problem, picks = _cheapest_of_all(settings, problem, begin)
    picks = picked_by(settings.teacher, problem, seed) if picks is None else picks
    return lesson_of_picks(settings, problem, picks, begin, settings.document(problem, begin))


AUTO_ENTRIES = 2_000
"""States times features of all members up to which the default teacher is exact: then it takes
about as long as the bound that a greedy lesson is compared with, at most a second (Taxi: 1,500)."""

log = logging.getLogger("didact")


def _affordable_teacher(bec: EquivalenceClass, cost: Cost, options: Mapping[str, Any]) -> str:
    """'exact' where its search is small, else 'scot' with a word."""
    samples = options.get("rollouts") is not None or options.get("deterministic")
    if bec.rows.exact is None or callable(cost) or samples:
        return "scot"
    n_entries = sum(member.task.mdp.n_states for member in bec.members) * bec.rows.normals.shape[1]
    if n_entries <= AUTO_ENTRIES:
        return "exact"
    log.info(
        "teacher 'scot', a greedy cover: %s states times features are more than %s; "
        "teacher 'exact' searches for the fewest",
        n_entries,
        AUTO_ENTRIES,
    )
    return "scot"


def _preset(name: Any, scope: Scope, options: Mapping[str, Any]) -> tuple[Scope, dict[str, Any]]:
    """Scope and options of a preset; options that are given besides win."""
    if name is None:
        return scope, dict(options)
    choice(name, "preset", ("paper",))
    return "all", {"trim": False, "rollouts": ROLLOUTS, **options}


@explains_names
def teach_within(
    task: Task | Family,
    loss: Any,
    *,
    learner_model: str = "both",
    teacher: str = "scot",
    time_limit: float | None = None,
    horizon: int | None = None,
    starts: GivenStarts = None,
    cost: Cost = "demonstrations",
    budget: int | None = None,
    seed: Seed = 0,
    bec: EquivalenceClass | None = None,
    **options: Any,
) -> Lesson:
    """A lesson that is good enough: the cheapest after which no learner loses more than a bound.

    task: what is to be taught. In a family the bound holds in every member.
    loss: the bound: a number of return, or a text such as '1%', of V* less V of the uniformly
        random policy; in a family of the member's own V* less V.
    learner_model: whose loss: 'half-spaces', 'planner' (who makes demonstrations optimal under its
        own values), or 'both'.
    teacher: 'scot', which picks greedily, or 'exact', the cheapest.
    time_limit: seconds to look for the lesson, 60 by default; classes of policies that are not
        visited then are only tested.
    horizon: steps of a demonstration, as in `teach`.
    starts: where demonstrations may begin, as in `teach`.
    cost: what is to be small, as in `teach`.
    budget: at most so many demonstrations; where that is too few, those that leave least to lose,
        as 'exceeded'.
    seed: of sampling and of the search for rewards that lose too much.
    bec: the task's class, when it is at hand; it then decides scope and arithmetic.
    options: `scope`, `arithmetic`, `member_cost`, `closed`, `rollouts`, `min_probability`, `trim`
        and `order` as in `teach`; here the usual order is 'loss'.
    """
    task = named_world(task)
    teacher = teacher_name(teacher)
    goal = as_goal(loss, learner_model, teacher)
    settings = TeachSettings.of(
        options,
        teacher=teacher,
        horizon=horizon,
        starts=starts,
        cost=cost,
        budget=budget,
        seed=seed,
        learners=goal.learners,
    )
    find_teacher(teacher, settings.options)
    limit = None if time_limit is None else seconds(time_limit, "time_limit")
    return lesson_within(task, goal, settings, bec, limit)


def teach_mixed(
    task: Task | Family,
    feedback: Sequence[str],
    *,
    cost: Mapping[str, Any] | None = None,
    member_cost: Any = None,
    over_teach: bool = False,
    margin: Any = None,
    horizon: int | None = None,
    starts: GivenStarts = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    budget: int | None = None,
    bec: EquivalenceClass | None = None,
    **options: Any,
) -> Lesson:
    """The cheapest mix of demonstrations and other feedback that teaches the task, proved.

    task: what is to be taught; in a family items name their member.
    feedback: kinds of items that may be mixed: 'demonstrations', 'comparisons' of two actions,
        'preferences' and 'corrections' between two trajectories, 'rankings' of best ones that tie
        before a worse one.
    cost: what an item of each kind costs, a table {kind: cost}; 1 where it is left out.
    member_cost: for a family, what walking over to a member costs, as in `teach`.
    over_teach: with preferences, try also those between trajectories that are worth nearly the
        same: they say more than the behaviour, so fewer are enough, and are harder to give.
    margin: of over_teach, the least difference in return that an item may ask to be seen.
    horizon: steps of a demonstration, as in `teach`.
    starts: where demonstrations may begin, as in `teach`.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    arithmetic: 'exact' or 'auto'; other feedback than demonstrations needs exact numbers.
    budget: at most so many items.
    bec: the task's class, when it is at hand; it then decides scope and arithmetic.
    options: `rollouts`, `min_probability` and `seed` as in `teach`; `time_limit`, seconds for the
        cheapest mix, after which it is the best one known.
    """
    task = named_world(task)
    kinds = as_kinds(feedback)
    prices = kind_costs("demonstrations" if cost is None else cost, kinds)
    least = as_margin(over_teach, margin, kinds)
    for name in ("teacher", "closed", "trim", "order", "loss"):
        if name in options:
            raise InvalidParameter(
                f"{name} is for demonstrations alone, and the cheapest mix is found exactly; "
                f"leave {name} {shown(options[name])} out"
            )
    settings = TeachSettings.of(
        options,
        teacher="exact",
        horizon=horizon,
        starts=starts,
        member_cost=member_cost,
        scope=scope,
        arithmetic=arithmetic,
        budget=budget,
        trim=False,
    )
    find_teacher("exact", settings.options)
    problem, begin = _problem(task, settings, bec)
    document = settings.document(problem, begin)
    document |= {"cost": "demonstrations" if cost is None else "given", "feedback": list(kinds)}
    if least is not None:
        document |= {"over_teach": True, "margin": None if margin is None else str(least)}
    allowed = settings.allowed(problem, begin)
    return mixed_lesson(problem, kinds, prices, document, allowed, least)


@explains_names
def teach_robust(
    task: Task | Family,
    lies: int = 1,
    *,
    detect: bool = False,
    repeats: bool = True,
    time_limit: float | None = None,
    horizon: int | None = None,
    starts: GivenStarts = None,
    cost: Cost = "demonstrations",
    scope: Scope = "reachable",
    bec: EquivalenceClass | None = None,
    **options: Any,
) -> Lesson:
    """The cheapest lesson that teaches although any so many of its demonstrations are forged.

    A learner who knows that keeps every reward that at most `lies` demonstrations exclude: the true
    one stays, and every wrong one goes if 2 lies + 1 demonstrations of the lesson exclude it.

    task: what is to be taught; a family's demonstrations each know their member.
    lies: how many demonstrations may be forged.
    detect: only to notice that something is wrong: lies + 1 demonstrations exclude each.
    repeats: whether a demonstration may be shown several times, each of which may be forged.
    time_limit: seconds for the solver; after them the best lesson known, with its lower bound.
    horizon: steps of a demonstration, as in `teach`.
    starts: where demonstrations may begin, as in `teach`.
    cost: what is to be small, as in `teach`; not a function.
    scope: 'reachable', to teach what is best where the start can lead, or 'all' states.
    bec: the task's class, when it is at hand.
    options: `min_probability` as in `teach`.
    """
    task = named_world(task)
    demand = (1 if flag(detect, "detect") else 2) * whole_number(lies, "lies", 0, MAX_LIES) + 1
    if callable(cost) or set(options) - {"min_probability"}:
        given = "a function as cost" if callable(cost) else min({*options} - {"min_probability"})
        raise InvalidParameter(f"teach_robust does not take {given}; leave it out")
    settings = TeachSettings.of(
        options,
        teacher="exact",
        horizon=horizon,
        starts=starts,
        cost=cost,
        scope=scope,
        arithmetic="exact",
        trim=False,
    )
    problem, begin = _problem(task, settings, bec)
    least = Fraction(0) if settings.min_probability is None else settings.min_probability
    settings = replace(settings, min_probability=least)
    allowed = replace(settings.allowed(problem, begin), demand=demand)
    listed = None if problem.candidates.sampled else problem.candidates
    limit = None if time_limit is None else seconds(time_limit, "time_limit")
    found = cheapest_multicover(allowed, listed, repeats=flag(repeats, "repeats"), time_limit=limit)
    problem = replace(problem, candidates=found.candidates, costs=found.costs, given_masks=None)
    assert found.chosen is not None
    assert found.certificate is not None
    bound = found.certificate.bound
    picks = Picks(found.chosen, lower_bound=bound, certificate=found.certificate)
    document = settings.document(problem, begin) | {"lies": lies, "detect": detect}
    return lesson_of_picks(settings, problem, picks, begin, document)


def _problem(
    task: Task | Family, settings: TeachSettings, bec: EquivalenceClass | None
) -> tuple[Problem, Sequence[Starts]]:
    """The cover problem: the class of the task, candidates, what they cover and what they cost.

    Beside it where demonstrations of each member may begin, and their most steps.
    """
    require_class(task, bec)
    given, fixed_costs = starts_of(task, settings.starts), member_costs(task, settings.member_cost)
    if bec is None:
        bec = equivalence_class(task, scope=settings.scope, arithmetic=settings.arithmetic)
    begin = all_starts(bec) if given is None else given
    starts = offers_of(bec, begin, settings.horizon, deterministic=settings.deterministic)
    if settings.taken is not None:
        starts = [replace(own, taken=settings.taken) for own in starts]
    if settings.starts is not None:
        require_in_scope(bec, starts)
    stage("cover: what can be shown, and the fewest of it")
    elements = cover_elements(bec, redundant=settings.teacher == "scot-redundant")
    rollouts = None if _searches_all(settings, bec) else settings.rollouts
    candidates, masks = offered_candidates(elements, starts, rollouts=rollouts, seed=settings.seed)
    if settings.takes_beginnings:
        stated = cover_elements(bec, redundant=True) if settings.learners else elements
        every_pair = "planner" in settings.learners
        candidates, masks = with_beginnings(stated, candidates, all_pairs=every_pair), None
    by_member = fixed_costs_of(candidates, fixed_costs)
    costs = candidate_costs(candidates, settings.cost, partial(probability_in, bec))
    budget, options = settings.budget, settings.options
    return Problem(elements, candidates, costs, budget, options, by_member, masks), starts


def _searches_all(settings: TeachSettings, bec: EquivalenceClass) -> bool:
    """Whether all allowed walks are searched: that needs exact rows and a cost by rule."""
    is_exact = settings.teacher == "exact" and bec.rows.exact is not None
    return is_exact and not callable(settings.cost) and settings.taken is None


def _cheapest_of_all(
    settings: TeachSettings, problem: Problem, starts: Sequence[Starts]
) -> tuple[TeachSettings, Problem, Picks | None]:
    """The cheapest lesson over all allowed walks with its certificate, and the problem it solves.

    Where the default least probability leaves no lesson that teaches, every walk is allowed.
    """
    given, limit = settings.min_probability, settings.options.get("time_limit")
    listed = None if problem.candidates.sampled else problem.candidates
    limit, found = None if limit is None else seconds(limit, "time_limit"), None
    for least in (LIKELY, Fraction(0)) if given is None else (given,):
        settings = replace(settings, min_probability=least)
        allowed = settings.allowed(problem, starts)
        found = cheapest_lesson(allowed, listed, limit)
        if found is None or found.chosen is not None:
            break
    if found is None:  # too large: what was sampled is all there is, without a bound
        return settings, problem, None
    if listed is None and not settings.trim and not settings.counts_steps:
        found = found.extended(allowed)
    problem = replace(
        problem,
        candidates=found.candidates,
        costs=found.costs,
        fixed_costs=fixed_costs_of(found.candidates, problem.member_prices),
        given_masks=None,
    )
    if found.chosen is None or found.certificate is None:
        return settings, problem, None
    return settings, problem, chosen_picks(problem, found.chosen, found.certificate)


def lesson_within(
    task: Task | Family,
    goal: Goal,
    settings: TeachSettings,
    bec: EquivalenceClass | None,
    time_limit: float | None,
) -> Lesson:
    """The cheapest lesson that keeps to a bound on the loss, with what it promises.

    time_limit: seconds to look for it.
    """
    problem, starts = _problem(task, settings, bec)
    document = settings.document(problem, starts)
    document |= {"loss": plain(goal.given), "learner_model": goal.learner_model}
    rng = as_generator(settings.seed, "loss")
    numbers, within = cheapest_within(problem, goal, time_limit=time_limit, rng=rng)
    keeps = partial(planners_keep_to, within, goal, problem.bec)
    picks = Picks(numbers, lower_bound=within.lower_bound)
    lesson = lesson_of_picks(settings, problem, picks, starts, document, keeps=keeps)
    return changed(lesson, within=once_closed(within, closed=lesson.closed))


def _teach_observed(task: Observed, given: Mapping[str, Any]) -> ClipLesson:
    """A lesson of clips; refuses what that does not look at."""
    options = dict(given["options"])
    kind = options.pop("demonstrations", None)
    defaults = {name: p.default for name, p in inspect.signature(teach).parameters.items()}
    own = ("task", "options")
    changed_ones = [n for n in defaults if n not in own and given[n] != defaults[n]]
    for name in (*changed_ones, *options):
        raise InvalidParameter(
            f"a policy in a simulator is taught with demonstrations= alone; leave {name} out"
        )
    return teach_observed(task, demonstrations="clips" if kind is None else kind)
