"""How hard tasks are to teach: facets, the fewest demonstrations and pairs with bounds, the time.

Demonstrations are whole episodes from the task's own starts. Pairs are single (state, action) pairs
from any state that can be reached, the least that must be seen however it is shown; they can always
teach the task. A bound holds for every lesson of that kind, not only for the one that was found.

The bound on demonstrations is that of the lesson's certificate, once the independent checker has
accepted it. Where there is none, in floats or in large tasks, starts are covered instead: a
demonstration from a start shows nothing but pairs that optimal play can reach from there within the
horizon. One candidate for each start shows all of those at once, and no complete lesson has fewer
demonstrations than the smallest cover by such candidates, sampled or not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import DidactError, InvalidParameter
from didact.inputs import (
    counted,
    entries,
    explains_names,
    flag,
    in_one_line,
    seconds,
    shown,
    shown_name,
)
from didact.mdp import Family, Task
from didact.mdp.files import load_task_or_family
from didact.mdp.showing import draw, in_notebook
from didact.planning.solve import Arithmetic
from didact.random import as_generator
from didact.teaching.covers.candidates import Starts, as_horizon, as_starts
from didact.teaching.covers.problem import Problem, cover_elements, coverage_from
from didact.teaching.lesson import Lesson, checked_bound
from didact.teaching.teach import teach
from didact.teaching.teachers import exact_minimum
from didact.worlds import worlds
from didact.worlds.gym.minigrid import is_minigrid
from didact.worlds.opening import environment_task, meaning_of, newest_version, open_task

MAX_ENTRIES = 20_000_000
"""Starts times states; above it only the trivial bound is given: the matrix would not fit."""

TIME_LIMIT = 20.0
"""Seconds for one search of a smallest lesson; after it, bounds are reported."""

Source = Task | Family | str | Callable[[], Task | Family]


@dataclass(frozen=True)
class Benchmark:
    """A task of the built-in list: the name of its row, the world, and its parameters.

    The world of a Gymnasium environment is its name without a version; the newest one that is
    installed is taken.
    """

    name: str
    world: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def task(self) -> Task:
        """The task itself."""
        if self.world in worlds():
            return open_task(self.world, self.parameters)
        return environment_task(newest_version(self.world), self.parameters)


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("six-cell", "six-cell"),
    Benchmark("chain", "chain"),
    Benchmark("uvm-failure", "uvm-failure"),
    Benchmark("ball-sorting", "ball-sorting"),
    Benchmark("random-grid 5x5", "random-grid", {"size": 5, "n_features": 4}),
    Benchmark("random-grid 9x9", "random-grid"),
    Benchmark("garnet", "garnet"),
    Benchmark("FrozenLake 4x4", "FrozenLake", {"is_slippery": False}),
    Benchmark("FrozenLake 4x4 slippery", "FrozenLake", {"is_slippery": True}),
    Benchmark("FrozenLake 8x8 slippery", "FrozenLake", {"map_name": "8x8"}),
    Benchmark("CliffWalking", "CliffWalking"),
    Benchmark("Taxi", "Taxi"),
    Benchmark("MiniGrid Empty 5x5", "MiniGrid-Empty-5x5"),
    Benchmark("MiniGrid LavaGap S5", "MiniGrid-LavaGapS5"),
    Benchmark("MiniGrid DoorKey 5x5", "MiniGrid-DoorKey-5x5"),
)


def benchmarks() -> tuple[Benchmark, ...]:
    """The built-in list; MiniGrid's environments only where the package is installed."""
    has_minigrid = find_spec("minigrid") is not None
    return tuple(b for b in BENCHMARKS if has_minigrid or not is_minigrid(b.world))


@dataclass(frozen=True)
class Difficulty:
    """How hard one task is to teach; numbers are None where `error` says why there are none.

    name: of the task.
    n_states: how many states it has.
    n_actions: how many actions.
    n_features: how many features.
    n_facets: how many half-spaces a lesson has to show.
    n_equalities: how many ties it has to show.
    status: 'complete' when whole episodes from the task's starts can teach it, else 'partial'.
    share: of facets and equalities that they can show.
    n_demonstrations: of the lesson with the fewest demonstrations that was found.
    fewest_demonstrations: a proved bound, no lesson has fewer; the same number means a proved
        minimum, None that no bound is known (for what can be shown at all).
    n_pairs: of the lesson with the fewest pairs that was found.
    fewest_pairs: a proved bound, as for demonstrations.
    longest: steps of the longest demonstration.
    loss: what a learner may still lose after a partial lesson.
    arithmetic: 'exact' or 'float'.
    seconds: how long the row took.
    error: why there are no numbers; None where there are.
    """

    name: str
    n_states: int | None = None
    n_actions: int | None = None
    n_features: int | None = None
    n_facets: int | None = None
    n_equalities: int | None = None
    status: str | None = None
    share: float | None = None
    n_demonstrations: int | None = None
    fewest_demonstrations: int | None = None
    n_pairs: int | None = None
    fewest_pairs: int | None = None
    longest: int | None = None
    loss: float | None = None
    arithmetic: str | None = None
    seconds: float = 0.0
    error: str | None = None

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        name = f"{shown_name(self.name)!r}"
        if self.error is not None:
            return f"Difficulty({name}, no numbers: {shown_name(self.error, 80)})"
        sizes = counted(self.n_demonstrations or 0, "demonstration")
        sizes += f" or {counted(self.n_pairs or 0, 'pair')}"
        share = "" if self.share is None else f", {100 * self.share:.0f}% can be shown"
        return f"Difficulty({name}, {sizes}, {counted(self.n_facets or 0, 'facet')}{share})"

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return dict(vars(self))

    to_dict = document

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the smallest lessons and their bounds; many rows: `didact.plots.difficulty`.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.difficulty`.
        """
        return draw(self, ax, **style)


class DifficultyRanking(list[Difficulty]):
    """The difficulties of tasks, the hardest first: a list, with its rows for a table."""

    _repr_html_ = in_notebook

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each task, as `pandas.DataFrame` takes it."""
        return [row.to_dict() for row in self]


@explains_names
def rank(
    tasks: Iterable[Source | Benchmark] | Mapping[str, Source] | None = None,
    *,
    exact: bool = True,
    arithmetic: Arithmetic = "auto",
    time_limit: float = TIME_LIMIT,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> DifficultyRanking:
    """The teaching difficulty of tasks, the hardest first; of the built-in list by default.

    tasks: tasks, families, names of worlds or of Gymnasium environments, or functions that make
        one; a mapping gives them names. What cannot be opened or taught is a row with the reason,
        at the end.
    exact: search the smallest lessons; else SCOT's are reported with their bounds.
    arithmetic: 'exact', 'float', or 'auto': exact while that is affordable.
    time_limit: seconds for each search of a smallest lesson.
    seed: a whole number, for tasks whose trajectories are sampled.
    progress: called with the name of each task before its turn.

    The result is a list of `Difficulty` that notebooks show as a table, with `to_records()`.
    A small task goes first, unseen, so that no row pays for what is loaded once.
    """
    flag(exact, "exact")
    time_limit = seconds(time_limit, "time_limit")
    tasks = benchmarks() if tasks is None else tasks
    if isinstance(tasks, Mapping):
        named = [(str(name), _maker(source)[1]) for name, source in tasks.items()]
    else:
        named = [_maker(source) for source in entries(tasks, "tasks", "tasks or names")]
    search = _RankSearch(exact, arithmetic, time_limit, seed)
    search.difficulty("chain", partial(open_task, "chain"))
    rows = []
    for name, source in named:
        if progress is not None:
            progress(name)
        rows.append(search.difficulty(name, source))
    return DifficultyRanking(sorted(rows, key=_hardness))


def _hardness(row: Difficulty) -> tuple[Any, ...]:
    """Hardest first: what whole episodes cannot teach, then by pairs, demonstrations, facets."""
    if row.error is not None:
        return (2,)
    parts = (row.n_pairs, row.n_demonstrations, row.n_facets, row.n_states)
    return (row.status == "complete", *(-(part or 0) for part in parts), row.name)


def _maker(source: Any) -> tuple[str, Callable[[], Task | Family]]:
    if isinstance(source, Benchmark):
        return source.name, source.task
    if isinstance(source, Task | Family):
        return source.name, lambda: source
    if isinstance(source, str):
        return source, partial(open_named, source)
    if callable(source):
        return getattr(source, "__name__", "task"), source
    raise InvalidParameter(
        "a task to rank must be a Task or Family, a name or a function that makes one; it is "
        f"{shown(source)}"
    )


def open_named(name: str) -> Task | Family:
    """The task of a built-in row, or what the name means; a version may be left out."""
    for benchmark in BENCHMARKS:
        if name == benchmark.name:
            return benchmark.task()
    if meaning_of(name) == "file":
        return load_task_or_family(name)
    return open_task(name, any_version=True)


@dataclass(frozen=True)
class _RankSearch:
    """How the smallest lessons of a task are searched."""

    exact: bool
    arithmetic: Arithmetic
    time_limit: float
    seed: int

    def difficulty(self, name: str, make_task: Callable[[], Task | Family]) -> Difficulty:
        """The row of a task; where it cannot be made or taught, with the reason."""
        began = time.perf_counter()
        try:
            row = self._row(name, equivalence_class(make_task(), arithmetic=self.arithmetic))
        except (DidactError, MemoryError) as error:
            reason = in_one_line(error) or "there is not enough memory for it"
            row = Difficulty(name, error=reason)
        return replace(row, seconds=time.perf_counter() - began)

    def _row(self, name: str, bec: EquivalenceClass) -> Difficulty:
        whole, single = self.lesson(bec), self.lesson(bec, horizon=1, starts="all")
        mdps, cone = [member.task.mdp for member in bec.members], bec.cone
        n_elements = cone.n_facets + len(cone.equalities)
        n_open = len(whole.uncovered)
        fewest_pairs = None
        if single.is_complete:  # its candidates were all that there are
            fewest_pairs = max(min(1, single.n_pairs), math.ceil(single.lower_bound or 0))
        return Difficulty(
            name=name,
            n_states=sum(mdp.n_states for mdp in mdps),
            n_actions=max(mdp.n_actions for mdp in mdps),
            n_features=mdps[0].n_features,
            n_facets=cone.n_facets,
            n_equalities=len(cone.equalities),
            status=whole.status,
            share=1.0 if n_elements == 0 else (n_elements - n_open) / n_elements,
            n_demonstrations=len(whole.demonstrations),
            fewest_demonstrations=self._fewest(bec, whole) if whole.is_complete else None,
            n_pairs=single.n_pairs,
            fewest_pairs=fewest_pairs,
            longest=max(map(len, whole.demonstrations), default=0),
            loss=whole.loss,
            arithmetic=bec.arithmetic,
        )

    def _fewest(self, bec: EquivalenceClass, whole: Lesson) -> int:
        """The bound of a complete lesson: of its certificate, else of a cover by starts."""
        bound = checked_bound(whole)
        if bound is not None:
            return math.ceil(bound)
        offers = [
            Starts(member, as_starts(member.task, None), as_horizon(member.task.mdp, None))
            for member in bec.members
        ]
        return fewest_demonstrations(bec, offers, time_limit=self.time_limit)

    def lesson(self, bec: EquivalenceClass, **where: Any) -> Lesson:
        """The smallest lesson found, or SCOT's."""
        options: dict[str, Any] = {"teacher": "scot"}
        if self.exact:
            options = {"teacher": "exact", "time_limit": self.time_limit}
        return teach(bec.source, bec=bec, seed=self.seed, trim=False, **where, **options)


def fewest_demonstrations(
    bec: EquivalenceClass, offers: Sequence[Starts], *, time_limit: float
) -> int:
    """No complete lesson from these starts has fewer demonstrations of at most so many steps.

    offers: of each member. 0 when nothing needs to be shown; at least 1 otherwise.
    """
    elements = cover_elements(bec)
    if elements.n_elements == 0:
        return 0
    n_starts = sum(offer.starts.size for offer in offers)
    if n_starts * max(member.task.mdp.n_states for member in bec.members) > MAX_ENTRIES:
        return 1
    # One candidate for each start shows all that any demonstration from it can show.
    begun = [(offer, start) for offer in offers for start in offer.starts.tolist()]
    masks = {i: coverage_from(elements, offer, [s]) for i, (offer, s) in enumerate(begun)}
    problem = Problem(elements, cast(Any, begun), [1] * n_starts, given_masks=masks)
    picks = exact_minimum(problem, as_generator(0, "bound"), time_limit=time_limit)
    return max(1, math.ceil(picks.lower_bound or 1))
