"""Which recorded episodes teach a task: the best few, the redundant, the contradicting, the gaps.

Episodes are the candidates of a set cover of the facets, as in SCOT; nothing is demonstrated anew.
A step that is not optimal contradicts the task and is never chosen; the right steps before and
after it are candidates of their own (see `segments`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from didact.bec.classes import (
    EquivalenceClass,
    equivalence_class,
)
from didact.bec.families import require_class
from didact.bec.rows import Scope, showable_states
from didact.errors import InvalidParameter, Unsupported
from didact.inputs import choice, counted, shown, shown_name, whole_number
from didact.mdp import Demonstration, Task
from didact.mdp.exchange.feedback import given_feedback
from didact.mdp.exchange.given import given_episodes
from didact.mdp.naming import episode_numbers, state_words
from didact.mdp.showing import in_notebook, show
from didact.numerics.texts import number_texts
from didact.planning.solve import Arithmetic
from didact.teaching.check import Verdict, check
from didact.teaching.contradictions import Contradiction, contradictions
from didact.teaching.covers.coverage import Coverage
from didact.teaching.covers.problem import Problem
from didact.teaching.feedback.mix import item_costs
from didact.teaching.gaps import missing_elements
from didact.teaching.lesson import Missing
from didact.teaching.methods.recorded import picked_segments, problem_of_segments
from didact.teaching.mixed_selection import MixedSelection, select_items
from didact.teaching.segments import Segment, WrongPair, right_segments, wrong_steps

METHODS = ("greedy", "exact")


@dataclass(frozen=True, eq=False)
class Selection:
    """Which episodes teach a task; all lists hold episode numbers.

    Where an episode has wrong steps, the right ones before and after them are chosen alone.

    task_name: of the task.
    n_episodes: how many there were to choose from.
    chosen: in the order to show them; an episode stands once for each of its `segments`.
    gains: how many facets and equalities each newly covers, 0 where it only narrows what stays
        open.
    left_out: some of their right steps would add something, but the budget is spent.
    redundant: all that their right steps say follows from the chosen.
    contradicting: show an action that is not optimal; their right steps are used all the same.
    missing: what the chosen leave open, with the reason 'budget' (a left-out episode shows it) or
        'not recorded'.
    n_covered: how many facets and equalities the chosen cover.
    n_elements: how many there are.
    verdict: what `check` says of the chosen.
    demonstrations: the chosen ones themselves.
    segments: where each chosen one stands in its episode (`step`); whole where nothing is wrong.
    wrong: every recorded step that is not optimal, with what it costs, by episode number.
    """

    task_name: str
    n_episodes: int
    chosen: tuple[int, ...]
    gains: tuple[int, ...]
    left_out: tuple[int, ...]
    redundant: tuple[int, ...]
    contradicting: tuple[Contradiction, ...]
    missing: tuple[Missing, ...]
    n_covered: int
    n_elements: int
    verdict: Verdict
    demonstrations: tuple[Demonstration, ...] = field(repr=False)
    segments: tuple[Segment, ...] = field(repr=False)
    wrong: tuple[WrongPair, ...] = field(repr=False)

    _repr_html_ = in_notebook("selection")

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each episode: its number, what becomes of it, what it newly covers.

        verdict: 'chosen' where some of it is, else 'left out', 'redundant', or 'contradicting'
        where no step is right. n_wrong: how many steps are not optimal.
        """
        gains = dict.fromkeys(self.chosen, 0)
        for number, gain in zip(self.chosen, self.gains, strict=True):
            gains[number] += gain
        n_wrong = {c.episode: c.n_wrong for c in self.contradicting}
        verdicts = {
            **dict.fromkeys(n_wrong, "contradicting"),
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
            }
            for number, verdict in sorted(verdicts.items())
        ]

    def __repr__(self) -> str:
        chosen = f"{len(self.chosen)} of {counted(self.n_episodes, 'episode')} chosen"
        covered = f"{self.n_covered} of {counted(self.n_elements, 'constraint')} covered"
        teaches = "teaches" if self.teaches else "does not teach"
        return f"Selection({shown_name(self.task_name)!r}, {teaches}: {chosen}, {covered})"

    @property
    def teaches(self) -> bool:
        """Whether the chosen episodes alone pin the behaviour down."""
        return self.verdict.teaches

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        verdict = self.verdict
        return {
            "task": self.task_name,
            "teaches": self.teaches,
            "n_episodes": self.n_episodes,
            "chosen": list(self.chosen),
            "segments": [
                {"episode": s.demonstration, "step": s.step, "n_steps": len(s.shown)}
                for s in self.segments
            ],
            "gains": list(self.gains),
            "n_covered": self.n_covered,
            "n_elements": self.n_elements,
            "left_out": list(self.left_out),
            "redundant": list(self.redundant),
            "contradicting": [{**vars(c), "against": list(c.against)} for c in self.contradicting],
            "wrong": [_by_episode(wrong.to_dict()) for wrong in self.wrong],
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
        return show("plot of a selection", self, ax, **style)


def _by_episode(record: dict[str, Any]) -> dict[str, Any]:
    """A record whose demonstration is an episode, and called so."""
    return {"episode" if name == "demonstration" else name: v for name, v in record.items()}


def select(
    task: Task,
    demonstrations: Any,
    *,
    budget: int | None = None,
    method: str = "greedy",
    cost: str | Mapping[str, Any] = "demonstrations",
    episodes: Sequence[int] | None = None,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    known: EquivalenceClass | None = None,
) -> Selection | MixedSelection:
    """Which of the recorded demonstrations teach the task, and what is wrong with the others.

    task: what they should teach.
    demonstrations: lists of (state, action) or (observation, action) pairs, a recording, or the
        path of a file; those outside the scope are refused. Wrong steps are named with what they
        cost, and the right ones before and after them are used alone. With comparisons,
        preferences, rankings or stops among them, a `MixedSelection` of items is returned.
    budget: choose at most so many.
    method: 'greedy' (covers at least 1 - 1/e of the best within a budget) or 'exact' (the fewest,
        or shortest, from which all that was recorded follows).
    cost: what is to be small: 'demonstrations' or 'pairs'; of items their number, or the sum of a
        table {kind: cost}, as {'comparisons': 1, 'preferences': '3/2'}.
    episodes: the numbers of the demonstrations; by default those of their file, else 0, 1, 2, ...
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable.
    known: the task's class, when it is at hand; it then decides scope and arithmetic.
    """
    require_class(task, known)
    said = given_feedback(demonstrations, task)
    if said is not None:
        if arithmetic == "float":
            raise Unsupported("other feedback is judged in exact arithmetic; leave arithmetic out")
        costs = item_costs(cost, said)
        most = None if budget is None else whole_number(budget, "budget", 1)
        is_exact = choice(method, "method", METHODS) == "exact"
        known = known or equivalence_class(task, scope=scope, arithmetic="exact")
        return select_items(known, said, most, costs, exact=is_exact)
    recorded, own = given_episodes(demonstrations, task)
    numbers = _as_numbers(own if episodes is None else episodes, len(recorded))
    choice(method, "method", METHODS)
    unit = choice(cost, "cost", ("demonstrations", "pairs"))
    most = None if budget is None else whole_number(budget, "budget", 1)
    known = known or equivalence_class(task, scope=scope, arithmetic=arithmetic)
    _require_in_scope(known, recorded, numbers)
    segments = right_segments(known, recorded, numbers)
    problem = problem_of_segments(known, segments, unit, most)
    picked, adding = picked_segments(problem, segments, method)
    coverage = Coverage.of(problem.elements, (problem.masks.get(n, 0) for n in picked))
    shown_ones = tuple(segments[place].shown for place in picked)
    wrong = wrong_steps(known, recorded, numbers)
    return Selection(
        task_name=task.name,
        n_episodes=len(recorded),
        gains=coverage.gains,
        contradicting=contradictions(wrong, recorded, numbers),
        missing=_missing(problem, coverage.covered),
        n_covered=coverage.covered.bit_count(),
        n_elements=problem.n_elements,
        verdict=check(task, shown_ones, known=known),
        demonstrations=shown_ones,
        segments=tuple(segments[place] for place in picked),
        wrong=wrong,
        **_fates(segments, picked, adding),
    )


def _fates(
    segments: Sequence[Segment], picked: Sequence[int], adding: Sequence[int]
) -> dict[str, tuple[int, ...]]:
    """The episodes that are chosen, left out, and redundant, by their numbers."""
    names = [segment.demonstration for segment in segments]
    used = {names[place] for place in (*picked, *adding)}
    return {
        "chosen": tuple(names[place] for place in picked),
        "left_out": tuple(dict.fromkeys(names[place] for place in adding)),
        "redundant": tuple(dict.fromkeys(name for name in names if name not in used)),
    }


def _as_numbers(episodes: Sequence[int], n: int) -> list[int]:
    numbers = [int(number) for number in episodes]
    if len(numbers) != n or len(set(numbers)) != n:
        raise InvalidParameter(
            f"episodes must have a number of its own for each of the {n} demonstrations; "
            f"it is {shown(episodes)}"
        )
    return numbers


def _require_in_scope(
    known: EquivalenceClass, recorded: Sequence[Demonstration], numbers: Sequence[int]
) -> None:
    inside, called = showable_states(known.task.mdp, known.scope), episode_numbers(numbers)
    for number, demonstration in zip(numbers, recorded, strict=True):
        for state, _ in demonstration:
            if not inside[state]:
                raise InvalidParameter(
                    f"episode {called[number]} must stay in scope {known.scope!r}; "
                    f"{state_words(known.task, state)} cannot be reached from the start. "
                    "Use scope='all'"
                )


def _missing(problem: Problem, covered: int) -> tuple[Missing, ...]:
    """What the chosen leave open, and whether another episode shows it."""
    offered = problem.covered_by(problem.masks)
    return missing_elements(
        problem.elements,
        covered,
        lambda element: "budget" if offered >> element & 1 else "not recorded",
    )
