"""The paper's worked examples: one small world and one trial each.

The six-cell world (Figure 1, appendix): what its policy says of the weights, and what one
demonstration says.

False certainty (appendix, Figures 5 and 6): volume minimisation stops with no volume left and a
whole plane unknown; the example of why a volume is no measure of what is taught.

The Markov chain (Figure 3): how likely each policy candidate is for BIRL and for BIO-IRL. One
demonstration walks from the first state right of the middle to the right end. Some policies are
consistent with it; BIRL finds them all equally likely, BIO-IRL asks which of them a teacher would
have taught with just this demonstration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.cone import Cone
from didact.bec.directions import Matching, angular_similarity
from didact.learners.chains.information_gap import InformationGap
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import Task
from didact.planning import evaluate, solve
from didact.random import stream
from didact.studies.paper.common import finding
from didact.studies.study import Record, Study, one_trial, setting
from didact.studies.summary import (
    Bars,
    Column,
    Figure,
    Finding,
    Plane,
    Series,
    Summary,
    Table,
    WorldPanel,
    known,
    table_of,
)
from didact.teaching import teach
from didact.worlds import make

# The six-cell world.

UP, DOWN, LEFT = 0, 1, 2
TOP_RIGHT = ((2, DOWN), (5, LEFT), (4, LEFT), (3, UP))
SHOWN = TOP_RIGHT[1:]
POLICY, DEMONSTRATION, LONGER = "policy", "demonstration", "from the top right"


@dataclass(frozen=True)
class ExampleSettings:
    """The worked example: w is (white, grey)."""

    discount: str = setting("0.9", source="appendix, Example")
    white: str = setting("-1", source="our choice; any in the class", paper=None)
    grey: str = setting("-10", source="our choice; any in the class", paper=None)
    trials: int = setting(1, source="nothing is random", paper=None)
    seed: int = setting(0, source="nothing is random", paper=None)


def _six_cells(settings: ExampleSettings) -> Task:
    return make("six-cell", weights=(settings.white, settings.grey), discount=settings.discount)


def example_trial(settings: ExampleSettings, number: int) -> Record:
    """The half-spaces of the policy, of the demonstration, and of the longer one, exactly."""
    task = _six_cells(settings)
    bec = equivalence_class(task, arithmetic="exact")
    classes = {
        POLICY: bec.cone,
        DEMONSTRATION: demonstration_class(bec, [SHOWN]),
        LONGER: demonstration_class(bec, [TOP_RIGHT]),
    }
    optimal = bec.plan.optimal
    return {
        "policy": [[int(s), int(a)] for s, a in zip(*optimal.nonzero(), strict=True)],
        "half-spaces": {name: _half_spaces(cone) for name, cone in classes.items()},
        "same class": {name: cone.equals(bec.cone) for name, cone in classes.items()},
    }


def _half_spaces(cone: Cone) -> list[list[str]]:
    """The facets as fractions, scaled so that the last entry that is not zero is 1 or -1."""
    assert cone.rows.exact is not None
    found = []
    for row in cone.facet_rows():
        normal = [Fraction(entry) for entry in cone.rows.exact[row]]
        last = next(abs(entry) for entry in reversed(normal) if entry)
        found.append([str(entry / last) for entry in normal])
    return sorted(found)


def in_words(half_space: Sequence[str]) -> str:
    """'2.539 w0 - w1 >= 0'."""
    parts = []
    for i, entry in enumerate(Fraction(text) for text in half_space):
        if entry:
            size = "" if abs(entry) == 1 else f"{float(abs(entry)):.4g} "
            parts.append(f"{'-' if entry < 0 else '+'} {size}w{i}")
    text = " ".join(parts).removeprefix("+ ")
    return (f"-{text[2:]}" if text.startswith("- ") else text) + " >= 0"


def summarise_example(settings: ExampleSettings, records: Sequence[Record]) -> Summary:
    """The half-spaces in words, beside the printed ones, and drawn."""
    record = records[0]
    spaces = {
        name: [in_words(space) for space in record["half-spaces"][name]]
        for name in (POLICY, DEMONSTRATION, LONGER)
    }
    same = record["same class"]
    columns = {
        Column("half-spaces"): [" and ".join(found) for found in spaces.values()],
        Column("the policy's class"): ["yes" if same[name] else "no" for name in spaces],
    }
    table = table_of("Half-spaces, exactly", "what is shown", spaces, columns)
    findings = _example_findings(spaces, same)
    return Summary((table,), (_example_figure(settings, record),), findings)


def _example_findings(
    spaces: Mapping[str, Sequence[str]], is_same: Mapping[str, bool]
) -> tuple[Finding, ...]:
    """Whether the half-spaces are those that the paper prints."""
    told = {name: " and ".join(found) for name, found in spaces.items()}
    of_policy = set(spaces[POLICY]) == {"2.539 w0 - w1 >= 0", "-w0 >= 0"}
    of_shown = set(spaces[DEMONSTRATION]) == {"-w0 >= 0", "w0 - w1 >= 0"}
    looser = of_shown and not is_same[DEMONSTRATION]
    return (
        finding("example", "policy", of_policy, told[POLICY]),
        finding("example", "demonstration", looser, told[DEMONSTRATION]),
        finding("example", "top-right", is_same[LONGER], told[LONGER]),
    )


def _example_figure(settings: ExampleSettings, record: Record) -> Figure:
    task = _six_cells(settings)
    policy = tuple((int(s), int(a)) for s, a in record["policy"])
    weights = (float(Fraction(settings.white)), float(Fraction(settings.grey)))

    def plane(name: str, title: str) -> Plane:
        normals = tuple(
            (float(Fraction(a)), float(Fraction(b)), in_words((a, b)))
            for a, b in record["half-spaces"][name]
        )
        return Plane(title, "w0 (white)", "w1 (grey)", normals, ((*weights, "true weights"),))

    return Figure(
        "example",
        "What a policy and a demonstration say of the weights",
        (
            WorldPanel("(a) the optimal policy", task, policy),
            plane(POLICY, "(b) its class"),
            WorldPanel("(c) a demonstration", task, policy, SHOWN),
            plane(DEMONSTRATION, "(d) the demonstration's class"),
        ),
    )


EXAMPLE = Study(
    "example",
    ExampleSettings(),
    example_trial,
    summarise_example,
    title="The six-cell world: half-spaces of a policy and of a demonstration (Figure 1)",
    quick=ExampleSettings(),
    n_trials=one_trial,
    departures=(
        "the goal pays once and ends: the printed 2.539 follows from no other convention",
        "the demonstration is only drawn in the paper; ours starts in the lower right and has the "
        "half-spaces that the appendix prints",
    ),
)


# False certainty.

UPPER_RIGHT = 2
TEACHERS = {"UVM": "uvm", "SCOT": "scot"}


@dataclass(frozen=True)
class FailureSettings:
    """One world, single steps, as in the comparison of the two teachers."""

    samples: int = setting(100_000, source="our choice; not given", paper=None)
    trials: int = setting(1, source="one world", paper=None)
    seed: int = setting(0, source="our choice", paper=None)


def failure_trial(settings: FailureSettings, number: int) -> Record:
    """UVM's and SCOT's lessons, UVM's volumes, and what a learner of UVM's may still do."""
    task = make("uvm-failure")
    bec = equivalence_class(task, arithmetic="exact")
    found: dict[str, Any] = {}
    for name, teacher in TEACHERS.items():
        options: dict[str, Any] = {"n_samples": settings.samples} if teacher == "uvm" else {}
        lesson = teach(task, teacher=teacher, horizon=1, bec=bec, seed=settings.seed, **options)
        witness = None if lesson.witness is None else [str(w) for w in lesson.witness]
        found[name] = {
            "pairs": [
                list(pair) for demonstration in lesson.demonstrations for pair in demonstration
            ],
            "volumes": None if lesson.volumes is None else list(lesson.volumes),
            "teaches": lesson.is_complete,
            "witness": witness,
            "loss": lesson.loss,
            "open": [missing.words for missing in lesson.uncovered],
        }
    return found


def summarise_failure(settings: FailureSettings, records: Sequence[Record]) -> Summary:
    """Both lessons side by side, and the world as a learner of UVM's lesson may see it."""
    record = records[0]
    lessons = [record[name] for name in TEACHERS]
    columns: dict[Column, list[Any]] = {
        Column("pairs", decimals=0): [known(len(lesson["pairs"])) for lesson in lessons],
        Column("volume left", decimals=4): [
            "-" if lesson["volumes"] is None else known(lesson["volumes"][-1]) for lesson in lessons
        ],
        Column("teaches"): ["yes" if lesson["teaches"] else "no" for lesson in lessons],
        Column("a witness loses"): [known(lesson["loss"]) for lesson in lessons],
        Column("left open"): ["; ".join(lesson["open"]) or "nothing" for lesson in lessons],
    }
    table = table_of("Two lessons of single steps", "teacher", TEACHERS, columns)
    return Summary((table,), (_failure_figure(record),), _failure_findings(record["UVM"]))


def _failure_findings(uvm: Mapping[str, Any]) -> tuple[Finding, Finding]:
    """Whether UVM is certain, and wrong to be."""
    shown_states = {state for state, _ in uvm["pairs"]}
    volumes = ", ".join(f"{volume:.4g}" for volume in uvm["volumes"])
    return (
        finding("uvm-failure", "certain", uvm["volumes"][-1] == 0.0, f"volumes {volumes}"),
        finding(
            "uvm-failure",
            "open",
            UPPER_RIGHT not in shown_states and not uvm["teaches"],
            f"open: {'; '.join(uvm['open'])}; weights that fit all that is shown may lose "
            f"{uvm['loss']:.3g}",
        ),
    )


def _failure_figure(record: Record) -> Figure:
    task = make("uvm-failure")
    pairs = {
        name: tuple((int(s), int(a)) for s, a in lesson["pairs"]) for name, lesson in record.items()
    }

    def policy(weights: Any) -> tuple[tuple[int, int], ...]:
        optimal = solve(task.mdp, weights).optimal
        return tuple((int(s), int(a)) for s, a in zip(*optimal.nonzero(), strict=True))

    truth = policy(task.true_weights)
    witness = record["UVM"]["witness"] or [str(w) for w in task.true_weights.fractions()]
    wrong = np.flatnonzero(evaluate(task, witness).wrong_by_state)
    marks = tuple((int(state), "wrong") for state in wrong)
    return Figure(
        "uvm-failure",
        "False certainty: volume zero, and the upper right never shown",
        (
            WorldPanel("the optimal policy", task, truth),
            WorldPanel("UVM stops after these: volume 0", task, shown=pairs["UVM"]),
            WorldPanel("a policy that fits them", task, policy(witness), marks=marks),
            WorldPanel("SCOT shows these", task, shown=pairs["SCOT"]),
        ),
    )


FAILURE = Study(
    "uvm-failure",
    FailureSettings(),
    failure_trial,
    summarise_failure,
    title="The false certainty of volume minimisation (appendix, Figures 5 and 6)",
    quick=FailureSettings(),
    n_trials=one_trial,
    departures=(
        "the paper gives its world only as a picture; ours is another one with the same property",
    ),
)


# The Markov chain.

TO_LEFT, TO_RIGHT = 0, 1
CERTAIN = 0.99
"""A likelihood above this is 1.0 as the paper prints it in a picture."""
NEARLY_ALL = 0.95
PAPERS = " (the paper's)"
UNDECIDED = "not decided by the text, which gives no order of the normals: "
MATCHINGS: tuple[Matching, ...] = ("optimal", "greedy")


@dataclass(frozen=True)
class ChainSettings:
    """The chain and its one demonstration."""

    length: int = setting(6, source="our choice; the picture's is not in the text", paper=None)
    discount: float = setting(0.95, source="our choice; not given", paper=None)
    confidence: float = setting(100.0, source="appendix, Markov chain")
    trusts: tuple[float, ...] = setting((1.0, 10.0), source="Figure 3, caption")
    matching: str = setting(
        "optimal",
        source="our choice; the appendix matches greedily and gives no order",
        paper="greedy",
    )
    draws: int = setting(5000, source="our choice: rewards that look for policies", paper=None)
    trials: int = setting(1, source="one world", paper=None)
    seed: int = setting(0, source="our choice", paper=None)


def _chain(settings: ChainSettings) -> Task:
    return make("chain", length=settings.length, discount=settings.discount)


def demonstration(settings: ChainSettings) -> list[tuple[int, int]]:
    """From the first state right of the middle to the right end."""
    return [(state, TO_RIGHT) for state in range(settings.length // 2, settings.length - 1)]


def chain_trial(settings: ChainSettings, number: int) -> Record:
    """Every policy that some drawn reward has and the demonstration fits, with its gap.

    A policy stands for the reward of unit length, among those drawn, that makes the demonstration
    most likely; how likely the others of its rewards make it is counted.
    """
    mdp = _chain(settings).mdp
    shown = demonstration(settings)
    evidence = as_evidence(mdp, [shown])
    gaps = {name: InformationGap(evidence, matching=name) for name in MATCHINGS}
    best: dict[str, tuple[float, Any]] = {}
    every: dict[str, list[float]] = {}
    for weights in stream(settings.seed, "chain", number).normal(size=(settings.draws, 3)):
        weights /= np.linalg.norm(weights)
        plan = solve(mdp, weights)
        if all(plan.optimal[state, action] for state, action in shown):
            name = "".join("<" if left else ">" for left, _ in plan.optimal)
            likelihood = softmax_log_likelihood(evidence, plan.action_values, settings.confidence)
            every.setdefault(name, []).append(math.exp(likelihood))
            if name not in best or likelihood > best[name][0]:
                best[name] = (likelihood, weights)
    return {
        "candidates": {
            name: {
                "log likelihood": likelihood,
                "weights": weights.tolist(),
                "rewards": len(every[name]),
                "certain": sum(value > CERTAIN for value in every[name]),
                "gap": {matching: gap.of(weights) for matching, gap in gaps.items()},
                "greedy range": greedy_range(gaps["greedy"], weights),
            }
            for name, (likelihood, weights) in sorted(best.items())
        }
    }


def greedy_range(gap: InformationGap, weights: Any) -> list[float]:
    """The smallest and the largest gap of greedy matching over all orders of the normals.

    The half-spaces of the demonstration and those of SCOT's lesson are ordered independently.
    """
    own = gap.of_reward(weights)
    told, could = (
        {
            angular_similarity(np.array(order), own.reference, matching="greedy")
            for order in permutations(own.normals(pairs))
        }
        for pairs in (gap.shown_pairs, own.lesson)
    )
    found = [abs(one - other) for one in told for other in could]
    return [min(found), max(found)]


def lettered(settings: ChainSettings, record: Record) -> dict[str, str]:
    """The paper's letters: A moves to the nearer end, the others follow by their moves."""
    middle = settings.length // 2
    nearer = "<" * middle + ">" * (settings.length - middle)
    names = [nearer, *sorted(set(record["candidates"]) - {nearer})]
    return {name: chr(ord("A") + place) for place, name in enumerate(names)}


def likelihoods(
    settings: ChainSettings, record: Record, trust: float, matching: str
) -> dict[str, float]:
    """BIRL's likelihood times exp(-trust gap), by letter."""
    letters = lettered(settings, record)
    found = {
        letters[name]: math.exp(entry["log likelihood"] - trust * entry["gap"][matching])
        for name, entry in record["candidates"].items()
    }
    return dict(sorted(found.items()))


def summarise_chain(settings: ChainSettings, records: Sequence[Record]) -> Summary:
    """Likelihoods by candidate, for both ways of matching half-spaces."""
    record = records[0]
    tables = tuple(
        _chain_table(settings, record, matching)
        for matching in sorted(MATCHINGS, key=lambda name: name != settings.matching)
    )
    remarks = (
        "The demonstration moves right from the first state right of the middle. A moves to the "
        "nearer end everywhere: both ends are liked equally.",
    )
    findings = (_on_birl(settings, record), _on_bio_irl(settings, record))
    return Summary(tables, (_chain_figure(settings, record),), findings, remarks)


def _on_birl(settings: ChainSettings, record: Record) -> Finding:
    """Whether every candidate's rewards make the demonstration certain."""
    letters = lettered(settings, record)
    certain = {
        letters[name]: (entry["certain"], entry["rewards"])
        for name, entry in record["candidates"].items()
    }
    counts = [f"{share} of {n} of {letter}'s" for letter, (share, n) in sorted(certain.items())]
    return finding(
        "chain",
        "equal",
        min(share / n for share, n in certain.values()) > NEARLY_ALL,
        f"above {CERTAIN} for {', '.join(counts)} rewards drawn; lower only near the border of a "
        "policy",
    )


def _on_bio_irl(settings: ChainSettings, record: Record) -> Finding:
    """Whether greedy matching, the paper's, gives A the smallest gap in every order of the normals.

    Not decided where that depends on the order, which the paper does not give.
    """
    letters = lettered(settings, record)
    ranges = {letters[name]: entry["greedy range"] for name, entry in record["candidates"].items()}
    lows, highs = ([ranges[x][end] for x in sorted(ranges) if x != "A"] for end in (0, 1))
    own = ranges["A"]
    holds = True if own[1] < min(lows) else False if own[0] > min(highs) else None
    gaps = ", ".join(
        f"{letter} {low:.3f}" + (f" to {high:.3f}" if high - low > 5e-4 else "")
        for letter, (low, high) in sorted(ranges.items())
    )
    winners = {matching: _likeliest(settings, record, matching) for matching in sorted(MATCHINGS)}
    return finding(
        "chain",
        "wins",
        holds,
        f"{UNDECIDED if holds is None else ''}over all orders of the normals the gaps of greedy "
        f"matching (the appendix's) are {gaps}; the likeliest is "
        f"{winners['greedy']} in the order of states and actions, and {winners['optimal']} with "
        "optimal matching (ours)",
    )


def _likeliest(settings: ChainSettings, record: Record, matching: str) -> str:
    """The likeliest candidate for each trust, named once where it is the same."""
    found = [likelihoods(settings, record, trust, matching) for trust in settings.trusts]
    return " and ".join(dict.fromkeys(max(each, key=each.__getitem__) for each in found))


def _chain_table(settings: ChainSettings, record: Record, matching: str) -> Table:
    letters = lettered(settings, record)
    candidates = record["candidates"].items()
    ordered = dict(sorted((letters[name], (name, entry)) for name, entry in candidates))
    columns: dict[Column, list[Any]] = {
        Column("moves"): [name for name, _ in ordered.values()],
        Column("gap", decimals=3): [known(entry["gap"][matching]) for _, entry in ordered.values()],
    }
    for trust in (0.0, *settings.trusts):
        found = likelihoods(settings, record, trust, matching)
        columns[Column(_who(trust), decimals=4)] = [known(found[letter]) for letter in ordered]
    whose = PAPERS if matching == "greedy" else ""
    title = f"Likelihood of each policy candidate, {matching} matching{whose}"
    return table_of(title, "candidate", ordered, columns)


def _who(trust: float) -> str:
    return "BIRL" if trust == 0 else f"BIO-IRL, trust {trust:g}"


def _chain_figure(settings: ChainSettings, record: Record) -> Figure:
    task = _chain(settings)
    letters = lettered(settings, record)
    names = [name for name in letters if name in record["candidates"]]
    worlds = [
        WorldPanel(
            f"policy {letters[name]}",
            task,
            tuple((s, TO_LEFT if sign == "<" else TO_RIGHT) for s, sign in enumerate(name)),
        )
        for name in names
    ]
    series = []
    for trust in (0.0, *settings.trusts):
        found = likelihoods(settings, record, trust, settings.matching)
        places = tuple(float(i) for i in range(len(names)))
        series.append(Series(_who(trust), places, tuple(found[letters[n]] for n in names)))
    categories = tuple(f"policy {letters[name]}" for name in names)
    shown = WorldPanel("the demonstration", task, shown=tuple(demonstration(settings)))
    bars = Bars("likelihood of each candidate", "likelihood", categories, tuple(series))
    title = "One demonstration, the policies that fit it, and how likely they are"
    return Figure("chain", title, (shown, *worlds, bars))


CHAIN = Study(
    "chain",
    ChainSettings(),
    chain_trial,
    summarise_chain,
    title="Which policy did the teacher mean? The Markov chain (Figure 3)",
    quick=ChainSettings(draws=2000),
    n_trials=one_trial,
    departures=(
        "number of states, discount and demonstration are only in the paper's picture; ours is "
        "the shortest chain of an even length with four candidates",
        "half-spaces are matched optimally, which is our choice: greedy matching depends on the "
        "order of the normals, which the appendix does not give (second table)",
    ),
)
