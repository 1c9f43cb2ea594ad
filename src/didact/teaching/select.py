"""Which recorded items teach a task: the best few, the redundant, the contradicting, the gaps.

Episodes are the candidates of a set cover of the facets, as in SCOT; nothing is demonstrated anew.
A step that is not optimal contradicts the task and is never chosen; the right steps before and
after it are candidates of their own (see `feedback.halfspaces`). First the facets are covered;
where some stay open, then whatever narrows the rest most. The exact picks are the cheapest from
which all that was recorded follows. With comparisons and other items among them, few are found from
which all follows that all of them imply: see `feedback.recorded`.

Slips and forged episodes both contradict the task. The share of wrong steps tells them apart: a
demonstrator who slips takes few, one who follows another reward many. With `lies` so many episodes
are kept that any f of them may be forged: see `covers.multicover`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from didact.bec.classes import (
    EquivalenceClass,
    class_of,
    demonstration_class,
    demonstration_rows,
    require_class,
    require_shown_in_scope,
)
from didact.bec.halfspaces import Scope, showable_states
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, counted, explains_names, shown, shown_name, whole_number
from didact.mdp import Demonstration, Family, Task
from didact.mdp.items import Item
from didact.mdp.naming import episode_numbers, state_words
from didact.mdp.recordings.formats import given_episodes, given_feedback, given_of_family
from didact.mdp.showing import draw, in_notebook
from didact.numerics.exact import whole_if_whole, write_number
from didact.numerics.texts import number_texts
from didact.planning.solve import Arithmetic
from didact.random import as_generator
from didact.teaching.check import Verdict, check
from didact.teaching.covers.candidates import MAX_PAIRS, lines_of, listed
from didact.teaching.covers.multicover import excludes_all
from didact.teaching.covers.problem import Coverage, Elements, Problem, cover_elements
from didact.teaching.feedback.halfspaces import (
    Segment,
    WrongItem,
    WrongPair,
    right_segments,
    true_halfspaces,
    wrong_steps,
)
from didact.teaching.feedback.mix import item_costs
from didact.teaching.feedback.recorded import chosen_items
from didact.teaching.lesson import Missing
from didact.teaching.teachers import exact_minimum, greedy_picks, in_greedy_order
from didact.teaching.witness import missing_elements
from didact.worlds.opening import named_world

METHODS = ("greedy", "exact")


@dataclass(frozen=True)
class Contradiction:
    """An episode that shows an action which is not optimal.

    step, state, action: the first such action; better, gap: an optimal one and how much more it is
    worth. n_wrong: how many steps of the episode are not optimal, share: of all its steps. against:
    episodes whose right steps together say that `better` is at least as good, so that no reward
    fits them and makes this action the better one; empty where nothing else that was recorded says
    so.
    """

    episode: int
    step: int
    state: int
    action: int
    better: int
    gap: float
    n_wrong: int
    against: tuple[int, ...]
    share: float


@dataclass(frozen=True, eq=False)
class Selection:
    """Which recorded items teach a task; all lists hold the numbers of episodes, or of items.

    Where an episode has wrong steps, the right ones before and after them are chosen alone; in a
    mix it is chosen as a whole, and only its right steps count.

    task_name: of the task.
    n_items: how many there were to choose from.
    chosen: in the order to show them; an episode stands once for each of its `segments`.
    cost: of the chosen: 1 each, their steps, or as `select` was told by kinds.
    lower_bound: no items from which all that is wanted follows cost less; None where that is not
        proved.
    gains: how many facets and equalities each newly covers, 0 where it only narrows what stays
        open.
    left_out: something that they rightly say would add to the chosen, but the budget is spent.
    redundant: all that they rightly say follows from the chosen; in a mix that teaches the task,
        all of it that matters.
    contradicting: show an action that is not optimal; their right steps are used all the same.
    missing: what the chosen leave open, with the reason 'budget' (another item shows it) or 'not
        recorded'.
    n_covered: how many facets and equalities the chosen cover.
    n_elements: how many there are.
    verdict: what `check` says of the chosen.
    items: the chosen ones themselves.
    segments: where each chosen one stands in its episode (`step`); whole where nothing is wrong;
        empty in a mix.
    wrong: every recorded step that is not optimal, with what it costs, by episode number.
    wrong_items: recorded comparisons and other feedback that are not true of the task.
    is_mixed: whether other items than demonstrations were recorded.
    survives: how many of the chosen episodes may be forged, at most as many as `select` was asked
        for; None where it was not asked.
    """

    task_name: str
    n_items: int
    chosen: tuple[int, ...]
    cost: int | Fraction
    lower_bound: int | Fraction | None
    gains: tuple[int, ...]
    left_out: tuple[int, ...]
    redundant: tuple[int, ...]
    contradicting: tuple[Contradiction, ...]
    missing: tuple[Missing, ...]
    n_covered: int
    n_elements: int
    verdict: Verdict
    items: tuple[Item, ...] = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    wrong: tuple[WrongPair, ...] = field(repr=False)
    wrong_items: tuple[WrongItem, ...] = field(default=(), repr=False)
    is_mixed: bool = False
    survives: int | None = None

    _repr_html_ = in_notebook

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each episode or item: its number, what becomes of it, what it newly covers.

        verdict: 'chosen' where some of it is, else 'left out', 'redundant', or 'contradicting'
        where nothing of it is right. n_wrong: how many steps are not optimal; wrong_share: of all
        its steps.
        """
        gains = dict.fromkeys(self.chosen, 0)
        for number, gain in zip(self.chosen, self.gains, strict=True):
            gains[number] += gain
        n_wrong = {c.episode: c.n_wrong for c in self.contradicting}
        shares = {c.episode: c.share for c in self.contradicting}
        verdicts = {
            **dict.fromkeys([*n_wrong, *(w.item for w in self.wrong_items)], "contradicting"),
            **dict.fromkeys(self.redundant, "redundant"),
            **dict.fromkeys(self.left_out, "left out"),
            **dict.fromkeys(self.chosen, "chosen"),
        }
        return [
            {
                "episode": number,
                "verdict": verdict,
                "new_constraints": gains.get(number, 0),
                "n_wrong": n_wrong.get(number, 0),
                "wrong_share": shares.get(number, 0.0),
            }
            for number, verdict in sorted(verdicts.items())
        ]

    def __repr__(self) -> str:
        what = "item" if self.is_mixed else "episode"
        chosen = f"{len(self.chosen)} of {counted(self.n_items, what)} chosen"
        covered = f"{self.n_covered} of {counted(self.n_elements, 'constraint')} covered"
        teaches = "teaches" if self.teaches else "does not teach"
        return f"Selection({shown_name(self.task_name)!r}, {teaches}: {chosen}, {covered})"

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """The demonstrations among the chosen: all of them, unless it is a mix."""
        return tuple(item for item in self.items if isinstance(item, Demonstration))

    @property
    def suspects(self) -> tuple[int, ...]:
        """The contradicting episodes, those with the largest share of wrong steps first."""
        return tuple(c.episode for c in sorted(self.contradicting, key=lambda c: -c.share))

    @property
    def teaches(self) -> bool:
        """Whether what is right of the chosen alone determines the behaviour."""
        return self.verdict.right_teaches

    @property
    def is_minimal(self) -> bool:
        """Whether no cheaper items are enough for as much, proved."""
        return self.lower_bound == self.cost

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        verdict, bound = self.verdict, self.lower_bound
        return {
            "task": self.task_name,
            "teaches": self.teaches,
            "n_items": self.n_items,
            "chosen": list(self.chosen),
            "segments": [
                {"episode": s.demonstration, "step": s.step, "n_steps": len(s.shown)}
                for s in self.segments
            ],
            "items": [item.document() for item in self.items],
            "cost": write_number(Fraction(self.cost)),
            "lower_bound": None if bound is None else write_number(Fraction(bound)),
            "gains": list(self.gains),
            "n_covered": self.n_covered,
            "n_elements": self.n_elements,
            **({} if self.survives is None else {"survives": self.survives}),
            "left_out": list(self.left_out),
            "redundant": list(self.redundant),
            "contradicting": [{**vars(c), "against": list(c.against)} for c in self.contradicting],
            "wrong": [
                {"episode" if k == "demonstration" else k: v for k, v in wrong.to_dict().items()}
                for wrong in self.wrong
            ],
            "wrong_items": [wrong.to_dict() for wrong in self.wrong_items],
            "missing": [vars(missing) for missing in self.missing],
            "witness": number_texts(verdict.witness),
            "loss": verdict.loss,
            "closed": verdict.closed,
            "arithmetic": verdict.arithmetic,
        }

    to_dict = document

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw how much is covered after each chosen episode.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.coverage`.
        """
        return draw(self, ax, **style)


@explains_names
def select(
    task: Task | Family,
    demonstrations: Any,
    *,
    budget: int | None = None,
    method: str = "greedy",
    cost: str | Mapping[str, Any] = "demonstrations",
    lies: int = 0,
    episodes: Sequence[int] | None = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    bec: EquivalenceClass | None = None,
) -> Selection:
    """Which of the recorded demonstrations teach the task, and what is wrong with the others.

    task: what they should teach; of a family demonstrations say their member.
    demonstrations: lists of (state, action) or (observation, action) pairs, a recording, or the
        path of a file; those outside the scope are refused. Wrong steps are named with what they
        cost, and the right ones before and after them are used alone. Comparisons, preferences,
        rankings and stops may be among them, and are judged in exact arithmetic.
    budget: choose at most so many.
    method: 'greedy' (covers at least 1 - 1/e of the best within a budget) or 'exact' (the fewest,
        or shortest, from which all that was recorded follows).
    cost: what is to be small: 'demonstrations' or 'pairs'; of items their number, or the sum of a
        table {kind: cost}, as {'comparisons': 1, 'preferences': '3/2'}.
    lies: keep so many episodes that any so many of them may be forged: 2 lies + 1 exclude every
        wrong reward, or as many as were recorded (`survives`). In exact arithmetic, without budget.
    episodes: the numbers of the demonstrations; by default those of their file, else 0, 1, 2, ...
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable.
    bec: the task's class, when it is at hand; it then decides scope and arithmetic.
    """
    task = named_world(task)
    require_class(task, bec)
    choice(method, "method", METHODS)
    most = None if budget is None else whole_number(budget, "budget", 1)
    forged = whole_number(lies, "lies", 0)
    if forged and most is not None:
        raise InvalidParameter("lies must be 0 where there is a budget; leave one of them out")
    items = given_feedback(demonstrations, task)
    if items is not None:
        if forged:
            raise Unsupported("lies are for demonstrations, not for other feedback; leave lies out")
        if arithmetic == "float":
            raise Unsupported("other feedback is judged in exact arithmetic; leave arithmetic out")
        costs = item_costs(cost, items)
        bec = class_of(task, bec, scope=scope, arithmetic="exact")
        return _of_items(task, bec, items, most, costs, exact=method == "exact")
    if isinstance(task, Family):
        recorded = given_of_family(demonstrations, task)
        own = list(range(len(recorded)))
    else:
        recorded, own = given_episodes(demonstrations, task)
    numbers = [int(number) for number in (own if episodes is None else episodes)]
    if len(numbers) != len(recorded) or len(set(numbers)) != len(numbers):
        raise InvalidParameter(
            f"episodes must have a number of its own for each of the {len(recorded)} "
            f"demonstrations; it is {shown(episodes)}"
        )
    unit = choice(cost, "cost", ("demonstrations", "pairs"))
    arithmetic = "exact" if forged and arithmetic == "auto" else arithmetic
    bec = class_of(task, bec, scope=scope, arithmetic=arithmetic)
    _require_in_scope(bec, recorded, numbers)
    segments = right_segments(bec, recorded, numbers)
    problem = _problem_of_segments(bec, segments, unit, most)
    picked, adding = _picked_segments(problem, segments, method)
    survives = None
    if forged:
        picked, survives = _surviving(problem, segments, picked, forged)
    coverage = Coverage.of(problem.elements, (problem.masks.get(n, 0) for n in picked))
    shown_ones = tuple(segments[place].shown for place in picked)
    wrong = wrong_steps(bec, recorded, numbers)
    names = [segment.demonstration for segment in segments]
    used = {names[place] for place in (*picked, *adding)}
    return Selection(
        task_name=task.name,
        n_items=len(recorded),
        cost=problem.cost_of(picked),
        lower_bound=None,
        gains=coverage.gains,
        contradicting=_contradictions(wrong, recorded, numbers),
        missing=_missing(problem.elements, coverage.covered, problem.covered_by(problem.masks)),
        n_covered=coverage.covered.bit_count(),
        n_elements=problem.elements.n_elements,
        verdict=check(task, shown_ones, bec=bec),
        items=shown_ones,
        segments=tuple(segments[place] for place in picked),
        wrong=wrong,
        survives=survives,
        chosen=tuple(names[place] for place in picked),
        left_out=tuple(dict.fromkeys(names[place] for place in adding)),
        redundant=tuple(dict.fromkeys(name for name in names if name not in used)),
    )


def _of_items(
    task: Task | Family,
    bec: EquivalenceClass,
    items: Sequence[Item],
    budget: int | None,
    costs: Sequence[int | Fraction],
    *,
    exact: bool,
) -> Selection:
    """The selection among items of several kinds."""
    elements = cover_elements(bec)
    numbers = [i for i, item in enumerate(items) if isinstance(item, Demonstration)]
    shown_ones = [item for item in items if isinstance(item, Demonstration)]
    segments = right_segments(bec, shown_ones, numbers)
    require_shown_in_scope(bec, [segment.shown for segment in segments])
    found = chosen_items(elements, items, budget, costs, exact=exact)
    wrong = wrong_steps(bec, shown_ones, numbers)
    chosen, adding = tuple(items[number] for number in found.chosen), tuple(found.adding())
    used = {*found.chosen, *adding}
    return Selection(
        task_name=bec.name,
        n_items=len(items),
        chosen=tuple(found.chosen),
        cost=whole_if_whole(Fraction(sum(costs[number] for number in found.chosen))),
        lower_bound=found.lower_bound,
        gains=tuple(found.gains),
        left_out=adding,
        redundant=tuple(n for n, rows in enumerate(found.rows) if rows and n not in used),
        contradicting=_contradictions(wrong, shown_ones, numbers),
        missing=_missing(elements, found.covered, found.recorded),
        n_covered=found.covered.bit_count(),
        n_elements=elements.n_elements,
        verdict=check(task, list(chosen), bec=bec),
        items=chosen,
        segments=(),
        wrong=wrong,
        wrong_items=true_halfspaces(bec, items)[1],
        is_mixed=True,
    )


def _contradictions(
    wrong: Sequence[WrongPair], recorded: Sequence[Demonstration], numbers: Sequence[int]
) -> tuple[Contradiction, ...]:
    """One for each episode that shows an action which is not optimal.

    wrong: all such steps, by the numbers of their episodes.
    """
    by_episode: dict[int, list[WrongPair]] = {}
    for step in wrong:
        by_episode.setdefault(step.demonstration, []).append(step)
    first_with: dict[tuple[int, ...], int] = {}
    if wrong:
        for number, demonstration in zip(numbers, recorded, strict=True):
            of = () if demonstration.member is None else (demonstration.member,)
            for pair in demonstration:
                first_with.setdefault((*of, *pair), number)
    n_steps = {number: len(d) for number, d in zip(numbers, recorded, strict=True)}
    found = []
    for episode, steps in by_episode.items():
        first = steps[0]
        speaking = {first_with[pair] for step in steps for pair in step.contradicted_by}
        against = tuple(sorted(speaking - {episode}))
        about = (first.step, first.state, first.action, first.better, first.gap)
        share = len(steps) / n_steps[episode]
        found.append(Contradiction(episode, *about, len(steps), against, share))
    return tuple(found)


def _require_in_scope(
    bec: EquivalenceClass, recorded: Sequence[Demonstration], numbers: Sequence[int]
) -> None:
    called, members = episode_numbers(numbers), bec.members
    inside = [showable_states(member.task.mdp, bec.scope) for member in members]
    for number, demonstration in zip(numbers, recorded, strict=True):
        home = demonstration.member or 0
        for state, _ in demonstration:
            if not inside[home][state]:
                raise InvalidParameter(
                    f"episode {called[number]} must stay in scope {bec.scope!r}; "
                    f"{state_words(members[home].task, state)} cannot be reached from the start. "
                    "Use scope='all'"
                )


def _missing(elements: Elements, covered: int, recorded: int) -> tuple[Missing, ...]:
    """What the chosen leave open, and whether something else that was recorded shows it."""
    return missing_elements(
        elements, covered, lambda e: "budget" if recorded >> e & 1 else "not recorded"
    )


def _problem_of_segments(
    bec: EquivalenceClass, segments: Sequence[Segment], cost: str, budget: int | None
) -> Problem:
    """The cover problem whose candidates are the segments, each pair of one counted once."""
    lines = [sorted({*line}) for line in lines_of(bec, [segment.shown for segment in segments])]
    width = max(map(len, lines), default=1)
    if len(lines) * width > MAX_PAIRS:
        raise InvalidParameter(
            f"{len(lines)} episodes of up to {width} different pairs are more than {MAX_PAIRS} "
            "pairs; give fewer episodes"
        )
    costs = [1 if cost == "demonstrations" else len(segment.shown) for segment in segments]
    return Problem(cover_elements(bec), listed(bec, lines, width), costs, budget)


def _picked_segments(
    problem: Problem, segments: Sequence[Segment], method: str
) -> tuple[list[int], list[int]]:
    """The candidates to show, and those that would still add something.

    First a cover of the facets; where some stay open, then whatever narrows the rest most.
    """
    if method == "greedy":
        picked = list(greedy_picks(problem, problem.budget))
    else:
        picked = list(_cheapest(problem, segments))
    if problem.covered_by(picked) == problem.elements.everything:
        return picked, []
    rows_of = [set(rows) for rows in problem.stated]
    stated = set().union(*(rows_of[number] for number in picked))
    open_rows = set().union(*rows_of)
    while True:
        given = sorted(stated)
        open_rows = {row for row in open_rows - stated if not problem.elements.follows(given, row)}
        adding = [number for number in range(len(rows_of)) if rows_of[number] & open_rows]
        if not adding or len(picked) == problem.budget:
            return picked, adding
        best = max(adding, key=lambda n: (len(rows_of[n] & open_rows) / problem.costs[n], -n))
        picked.append(best)
        stated |= rows_of[best]


def _cheapest(problem: Problem, segments: Sequence[Segment]) -> tuple[int, ...]:
    """The cheapest candidates that together imply all that was recorded, proved.

    Where the recorded do not pin the class down, that is a cover of the class of their own: its
    facets and equalities are all that they imply. Those that cover the task's facets come first.
    Beyond the budget it is what covers most of the task's.
    """
    if problem.covered_by(problem.masks) == problem.elements.everything:
        return exact_minimum(problem, as_generator(0, "select")).numbers
    bec, shown_ones = problem.bec, tuple(segment.shown for segment in segments)
    own = replace(
        bec,
        rows=demonstration_rows(bec, shown_ones),
        cone=demonstration_class(bec, shown_ones),
    )
    whole = replace(problem, elements=cover_elements(own), budget=None)
    chosen = exact_minimum(whole, as_generator(0, "select")).numbers
    if problem.budget is not None and len(chosen) > problem.budget:
        return exact_minimum(problem, as_generator(0, "select")).numbers
    return in_greedy_order(problem, chosen)


def _surviving(
    problem: Problem, segments: Sequence[Segment], picked: list[int], lies: int
) -> tuple[list[int], int]:
    """Segments of so many episodes that some may be forged, and how many, at most `lies`.

    An episode is forged as a whole. Those that were picked come first; the others are dropped one
    after the other, then the picked, last ones first, as long as the demand holds.
    """
    by_episode: dict[int, list[int]] = {}
    for place in [*picked, *range(len(segments))]:
        places = by_episode.setdefault(segments[place].demonstration, [])
        if place not in places:
            places.append(place)
    groups = list(by_episode.values())
    whole = [
        Demonstration(
            [pair for place in each for pair in segments[place].shown],
            segments[each[0]].shown.member,
        )
        for each in groups
    ]
    kept = list(range(len(groups)))
    survives = next(
        (n for n in range(lies, 0, -1) if excludes_all(problem.bec, whole, 2 * n + 1)), 0
    )
    if not survives:
        return picked, 0
    for number in reversed(range(len(groups))):
        rest = [other for other in kept if other != number]
        if excludes_all(problem.bec, [whole[i] for i in rest], 2 * survives + 1):
            kept = rest
    return [place for number in kept for place in groups[number]], survives
