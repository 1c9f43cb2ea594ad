"""Losses after each query or demonstration: active learning (Figure 2), ball sorting (Figure 4).

Active learning: every trial is one random world, on which all strategies ask with the same random
numbers. An answer is an optimal trajectory from the state asked.

Ball sorting: every trial is one random reward. SCOT's demonstrations are shown one after another;
after each BIRL and BIO-IRL learn afresh from all that was shown, with the same random numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from didact.active import AskSettings, ask
from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.errors import InvalidParameter
from didact.studies.paper.common import chain_of, drawn_seed, finding, learned, random_world
from didact.studies.study import Record, Study, setting
from didact.studies.summary import (
    Column,
    Estimate,
    Figure,
    Finding,
    Lines,
    Summary,
    Table,
    WorldPanel,
    all_of,
    differences,
    estimate,
    series_of,
    table_of,
)
from didact.teaching import Lesson, teach
from didact.worlds import make

MEASURES = {"wrong": "wrong actions, % of states", "loss": "policy loss"}
Curves = dict[str, list[Estimate]]
"""A measure at each place, by who was measured."""


def curves_of(
    records: Sequence[Record], names: Iterable[str], measure: str, places: Sequence[int]
) -> Curves:
    """The means over trials of a measure at places of each one's list."""
    return {
        name: [estimate(record[name][measure][place] for record in records) for place in places]
        for name in names
    }


def curves_panel(
    measure: str, x_title: str, xs: Sequence[int], curves: Mapping[str, Sequence[Estimate]]
) -> Lines:
    """The curves of a measure as lines."""
    title = MEASURES[measure]
    series = tuple(series_of(name, xs, found) for name, found in curves.items())
    return Lines(title, x_title, title, series)


# Active learning.

RANDOM, ENTROPY, INFOGAIN, VAR, SCOT = "random", "max-entropy", "max-infogain", "max-var", "scot"
EARLY, SIMILAR = 3, 2.0
"""Our choice: how many queries are early, how many percentage points are no difference."""


@dataclass(frozen=True)
class ActiveSettings:
    """The benchmark of query strategies."""

    trials: int = setting(100, source="Figure 2, caption")
    size: int = setting(10, source="Figure 2, caption")
    features: int = setting(10, source="appendix, Active learning")
    horizon: int = setting(20, source="appendix, Active learning")
    queries: int = setting(20, source="our choice; the text does not say", paper=None)
    strategies: tuple[str, ...] = setting(
        (RANDOM, ENTROPY, INFOGAIN, VAR, SCOT), source="Figure 2 and its text"
    )
    discount: float = setting(0.95, source="appendix, Active learning")
    confidence: float = setting(100.0, source="appendix, Active learning")
    steps: int = setting(10_000, source="appendix, Active learning")
    step_size: float = setting(0.005, source="appendix, Active learning")
    chain: str = setting("published", source="appendix, Active learning; the other choice is ours")
    seed: int = setting(0, source="our choice", paper=None)


def learner_options(settings: ActiveSettings) -> dict[str, Any]:
    """The chain that learns after each answer: the paper's, a walk, or one until it has mixed."""
    if settings.chain == "published":
        return chain_of(settings, settings.features)
    ours = {"learner": "birl", "threads": 1, "confidence": settings.confidence}
    if settings.chain == "ours":
        return {**ours, "n_chains": 1, "n_steps": settings.steps}
    if settings.chain == "mixed":
        return ours
    raise InvalidParameter(
        f"chain must be 'published', 'ours' or 'mixed'; it is {settings.chain!r}"
    )


def query_trial(settings: ActiveSettings, number: int) -> Record:
    """The losses before the first query and after each, for every strategy on one world."""
    world, task = random_world("active", settings, number, settings.features)
    bec = equivalence_class(task)
    seed = drawn_seed(settings.seed, "active", number, "questions")
    found: dict[str, Any] = {"world": world}
    for strategy in settings.strategies:
        run = ask(
            task,
            strategy=strategy,
            n_queries=settings.queries,
            horizon=settings.horizon,
            seed=seed,
            settings=AskSettings(truth=bec),
            **learner_options(settings),
        )
        wrong, loss = run.wrong_actions.tolist(), run.policy_losses.tolist()
        left = settings.queries + 1 - len(wrong)
        found[strategy] = {
            "wrong": [100 * share for share in wrong + wrong[-1:] * left],
            "loss": loss + loss[-1:] * left,
            "asked": run.n_queries,
        }
    return found


def area(record: Record, strategy: str, measure: str, first: int = 1) -> float:
    """The mean of a loss over the queries from `first` on."""
    values = record[strategy][measure][first:]
    return float(sum(values) / len(values))


def summarise_queries(settings: ActiveSettings, records: Sequence[Record]) -> Summary:
    """Both losses by query, their means over queries, and the paired differences from random."""
    queries = list(range(settings.queries + 1))
    tables = [_areas(settings, records)]
    panels = []
    for measure, title in MEASURES.items():
        curves = curves_of(records, settings.strategies, measure, queries)
        told = f"{title[0].upper()}{title[1:]} by query"
        columns = {Column(name, decimals=3): found for name, found in curves.items()}
        tables.append(table_of(told, "queries", queries, columns))
        answered = {name: found[1:] for name, found in curves.items()}
        panels.append(curves_panel(measure, "queries answered", queries[1:], answered))
    figure = Figure("active", "Losses after each query", tuple(panels))
    remarks = (
        "SCOT knows the answer: its sequence is a benchmark, not a proven lower bound. Where a "
        "lesson is over before the last query, its last loss stays.",
    )
    return Summary(tuple(tables), (figure,), tuple(_findings(settings, records)), remarks)


def _areas(settings: ActiveSettings, records: Sequence[Record]) -> Table:
    """The means over all queries, and by how much they are less than random's."""
    names = settings.strategies
    columns: dict[Column, list[Estimate | None]] = {}
    for measure, title in MEASURES.items():
        columns[Column(f"{title}: mean", decimals=3)] = [
            estimate(area(record, name, measure) for record in records) for name in names
        ]
        columns[Column(f"{title}: less than random's by", decimals=3)] = [
            None
            if name == RANDOM or RANDOM not in names
            else _better(records, RANDOM, name, measure)
            for name in names
        ]
    return table_of("Means over all queries", "strategy", names, columns)


def _better(
    records: Sequence[Record], one: str, other: str, measure: str, first: int = 1
) -> Estimate:
    """By how much less `other` loses than `one`, on the same worlds."""
    return differences(
        records, lambda r: area(r, one, measure, first), lambda r: area(r, other, measure, first)
    )


_says = partial(finding, "active")


def _findings(settings: ActiveSettings, records: Sequence[Record]) -> list[Finding]:
    """What the paper says of the strategies; nothing where one of them was not run."""
    if not {RANDOM, ENTROPY, INFOGAIN, VAR, SCOT} <= set(settings.strategies):
        return []
    means = {
        name: estimate(area(r, name, "wrong") for r in records).mean for name in settings.strategies
    }
    return [
        _on_scot(means, records),
        _on_early(records),
        _on_approximation(means, records),
        _on_entropy(settings.queries, records),
        _on_later(settings.queries // 2 + 1, records),
    ]


def _on_scot(means: Mapping[str, float], records: Sequence[Record]) -> Finding:
    others = [name for name in means if name != SCOT]
    return _says(
        "scot",
        all_of(_better(records, name, SCOT, "wrong").is_positive for name in others),
        "mean % of wrong actions over all queries: "
        + ", ".join(f"{name} {value:.2f}" for name, value in means.items()),
    )


def _on_early(records: Sequence[Record]) -> Finding:
    apart = {
        (one, other): differences(records, partial(_early, one), partial(_early, other))
        for one, other in combinations((ENTROPY, INFOGAIN, VAR), 2)
    }
    return _says(
        "early",
        all_of(found.is_within(SIMILAR) for found in apart.values()),
        f"percentage points of wrong actions over the first {EARLY} queries: "
        + "; ".join(f"{one} less {other} {found.told()}" for (one, other), found in apart.items()),
    )


def _early(strategy: str, record: Record) -> float:
    """The mean % of wrong actions over the first queries."""
    return float(sum(record[strategy]["wrong"][1 : EARLY + 1])) / EARLY


def _on_approximation(means: Mapping[str, float], records: Sequence[Record]) -> Finding:
    closed = differences(
        records,
        lambda r: area(r, RANDOM, "wrong") + area(r, SCOT, "wrong"),
        lambda r: 2 * area(r, VAR, "wrong"),
    )
    share = (means[RANDOM] - means[VAR]) / ((means[RANDOM] - means[SCOT]) or 1.0)
    return _says(
        "approximation",
        closed.is_positive,
        f"of what random queries have more wrong actions than SCOT's, {100 * share:.0f}% is "
        "gone with maximum VaR; good is taken as more than half",
    )


def _on_entropy(queries: int, records: Sequence[Record]) -> Finding:
    ends = _better(records, RANDOM, ENTROPY, "wrong", queries)
    told, word = ends.either()
    return _says(
        "entropy",
        ends.is_within(SIMILAR),
        f"after {queries} queries maximum entropy has {told} "
        f"percentage points {word} wrong actions than random",
    )


def _on_later(half: int, records: Sequence[Record]) -> Finding:
    later = {name: _better(records, ENTROPY, name, "wrong", half) for name in (VAR, INFOGAIN)}
    return _says(
        "later",
        all_of(found.is_positive for found in later.values()),
        "; ".join(
            f"{name} has {told} percentage points {word} wrong actions from query {half} on"
            for name, (told, word) in ((name, found.either()) for name, found in later.items())
        ),
    )


ACTIVE = Study(
    "active",
    ActiveSettings(),
    query_trial,
    summarise_queries,
    title="Active learning against the teaching benchmark (Figure 2)",
    quick=ActiveSettings(trials=10, size=8, features=8, queries=8, steps=5000),
    departures=(
        "worlds are drawn as for the table",
        "maximum entropy is that of an action's probability over the posterior, in ten bins, and a "
        "state is asked once; the paper does not say what it took",
        "maximum infogain scores trajectories by their expected information; the paper gives no "
        "formula",
        "the published chain's moves are made in uniformly random order, and the likelihood is "
        "exact at every step",
    ),
)


# Ball sorting.

BIRL, BIO = "BIRL", "BIO-IRL"


@dataclass(frozen=True)
class BallSettings:
    """The table with four bins."""

    trials: int = setting(50, source="Figure 4, caption")
    size: int = setting(6, source="appendix, Ball sorting")
    starts: int = setting(36, source="Figure 4, caption, and appendix; the text has 25")
    discount: float = setting(0.95, source="text, Experiments")
    horizon: int = setting(10, source="appendix, Ball sorting")
    shown: int = setting(5, source="our choice; lessons have 2 to 5 demonstrations", paper=None)
    confidence: float = setting(100.0, source="appendix, Ball sorting")
    steps: int = setting(1000, source="appendix, Ball sorting")
    step_size: float = setting(0.05, source="appendix, Ball sorting")
    trust: float = setting(100.0, source="appendix, Ball sorting")
    matching: str = setting("greedy", source="appendix, BIO-IRL specifics")
    seed: int = setting(0, source="our choice", paper=None)


def ball_trial(settings: BallSettings, number: int) -> Record:
    """The losses of both learners after 1, 2, ... demonstrations; the last ones stay."""
    world = drawn_seed(settings.seed, "balls", number, "world")
    shape = {"size": settings.size, "starts": settings.starts, "discount": settings.discount}
    task = make("ball-sorting", seed=world, **shape)
    bec = equivalence_class(task)
    seed = drawn_seed(settings.seed, "balls", number, "learners")
    how = {"horizon": settings.horizon, "trim": False}
    lesson = teach(task, teacher="scot", bec=bec, seed=seed, **how)
    chain = chain_of(settings, task.mdp.n_features)
    trusting = {"learner": "bio-irl", "trust": settings.trust, "matching": settings.matching}
    return {
        "world": world,
        "demonstrations": len(lesson.demonstrations),
        "teaches": lesson.is_complete,
        BIRL: _losses(settings.shown, lesson, bec, chain, seed),
        BIO: _losses(settings.shown, lesson, bec, {**chain, **trusting}, seed),
    }


def _losses(
    most: int, lesson: Lesson, bec: EquivalenceClass, options: Mapping[str, Any], seed: int
) -> dict[str, list[float]]:
    """What a learner loses after each of the first `most` demonstrations."""
    losses: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for n_shown in range(1, most + 1):
        if n_shown <= len(lesson.demonstrations):
            shown = lesson.demonstrations[:n_shown]
            _, last = learned(bec.task, bec.plan, shown, options, seed)
        losses["wrong"].append(100 * last["wrong"])
        losses["loss"].append(last["loss"])
    return losses


def summarise_balls(settings: BallSettings, records: Sequence[Record]) -> Summary:
    """Both losses by number of demonstrations, and the paired difference of the learners."""
    numbers = range(1, settings.shown + 1)
    columns: dict[Column, list[Estimate]] = {}
    panels = []
    for measure, title in MEASURES.items():
        curves = curves_of(records, (BIRL, BIO), measure, range(settings.shown))
        for name, found in curves.items():
            columns[Column(f"{name}: {title}", decimals=3)] = found
        columns[Column(f"{title}: BIO-IRL's less by", decimals=3)] = [
            differences(
                records, partial(_after, BIRL, measure, place), partial(_after, BIO, measure, place)
            )
            for place in range(settings.shown)
        ]
        panels.append(curves_panel(measure, "demonstrations", numbers, curves))
    table = table_of("After each demonstration", "demonstrations", numbers, columns)
    sizes = estimate(r["demonstrations"] for r in records)
    remarks = (f"A lesson has {sizes.mean:.2f} demonstrations on average; its last losses stay.",)
    top = make("ball-sorting", size=settings.size, starts=settings.starts)
    drawn = WorldPanel("the table and its bins", top)
    figure = Figure("balls", "Losses after each demonstration", (*panels, drawn))
    return Summary((table,), (figure,), (_on_speed(settings.shown, records),), remarks)


def _after(learner: str, measure: str, place: int, record: Record) -> float:
    """What a learner loses after a demonstration, the first at place 0."""
    return float(record[learner][measure][place])


def _on_speed(shown: int, records: Sequence[Record]) -> Finding:
    """Whether BIO-IRL does less wrong over all demonstrations."""
    first = differences(records, lambda r: r[BIRL]["wrong"][0], lambda r: r[BIO]["wrong"][0])
    over_all = differences(
        records,
        lambda r: sum(r[BIRL]["wrong"]) / shown,
        lambda r: sum(r[BIO]["wrong"]) / shown,
    )
    told, word = over_all.either()
    at_first, first_word = first.either()
    at_first += "" if first_word == word else f" {first_word}"
    return finding(
        "balls",
        "faster",
        over_all.is_positive,
        f"BIO-IRL has {told} percentage points {word} wrong actions over all "
        f"demonstrations, {at_first} after the first",
    )


BALLS = Study(
    "balls",
    BallSettings(),
    ball_trial,
    summarise_balls,
    title="Ball sorting: learning from a teacher with BIRL and BIO-IRL (Figure 4)",
    quick=BallSettings(trials=20),
    departures=(
        "36 positions as in the caption and the appendix; the four bins are among them, and no "
        "demonstration starts there",
        "rewards are uniform where absolute values sum to 1; the paper does not say",
        "the chain's moves are made in uniformly random order, and the likelihood is exact",
    ),
)
