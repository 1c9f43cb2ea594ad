"""The Markov chain: how likely each policy candidate is for BIRL and for BIO-IRL.

One demonstration walks from the first state right of the middle to the right end. Some policies are
consistent with it; BIRL finds them all equally likely, BIO-IRL asks which of them a teacher would
have taught with just this demonstration. One trial.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from didact.bec.similarity import Matching, angular_similarity
from didact.learners.chains.information_gap import InformationGap
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import Task
from didact.planning import solve
from didact.random import stream
from didact.studies.paper.published import finding
from didact.studies.study import Record, Study, one_trial, setting
from didact.studies.summary import (
    Bars,
    Column,
    Figure,
    Finding,
    Series,
    Summary,
    Table,
    TableCell,
    WorldPanel,
)
from didact.studies.summary import known as known_number
from didact.worlds import make

NAME = "chain"
LEFT, RIGHT = 0, 1
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


def _world(settings: ChainSettings) -> Task:
    return make("chain", length=settings.length, discount=settings.discount)


def demonstration(settings: ChainSettings) -> list[tuple[int, int]]:
    """From the first state right of the middle to the right end."""
    return [(state, RIGHT) for state in range(settings.length // 2, settings.length - 1)]


def trial(settings: ChainSettings, number: int) -> Record:
    """Every policy that some drawn reward has and the demonstration fits, with its gap.

    A policy stands for the reward of unit length, among those drawn, that makes the demonstration
    most likely; how likely the others of its rewards make it is counted.
    """
    mdp = _world(settings).mdp
    shown = demonstration(settings)
    evidence = as_evidence(mdp, [shown])
    gaps = {name: InformationGap(evidence, matching=name) for name in MATCHINGS}
    best: dict[str, tuple[float, Any]] = {}
    every: dict[str, list[float]] = {}
    for weights in stream(settings.seed, NAME, number).normal(size=(settings.draws, 3)):
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


def summarise(settings: ChainSettings, records: Sequence[Record]) -> Summary:
    """Likelihoods by candidate, for both ways of matching half-spaces."""
    record = records[0]
    tables = tuple(
        _table(settings, record, matching)
        for matching in sorted(MATCHINGS, key=lambda name: name != settings.matching)
    )
    remarks = (
        "The demonstration moves right from the first state right of the middle. A moves to the "
        "nearer end everywhere: both ends are liked equally.",
    )
    findings = (_on_birl(settings, record), _on_bio_irl(settings, record))
    return Summary(tables, (_figure(settings, record),), findings, remarks)


def _on_birl(settings: ChainSettings, record: Record) -> Finding:
    """Whether every candidate's rewards make the demonstration certain."""
    letters = lettered(settings, record)
    certain = {
        letters[name]: (entry["certain"], entry["rewards"])
        for name, entry in record["candidates"].items()
    }
    counts = [f"{share} of {n} of {letter}'s" for letter, (share, n) in sorted(certain.items())]
    return finding(
        NAME,
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
        NAME,
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


def _table(settings: ChainSettings, record: Record, matching: str) -> Table:
    letters = lettered(settings, record)
    by_trust = {t: likelihoods(settings, record, t, matching) for t in (0.0, *settings.trusts)}
    cells = []
    for name, letter in sorted(letters.items(), key=lambda pair: pair[1]):
        if name not in record["candidates"]:
            continue
        gap = record["candidates"][name]["gap"][matching]
        cells += [TableCell(letter, "moves", name), TableCell(letter, "gap", known_number(gap))]
        cells += [
            TableCell(letter, _who(trust), known_number(found[letter]))
            for trust, found in by_trust.items()
        ]
    likelihood = [Column(_who(trust), decimals=4) for trust in by_trust]
    columns = (Column("moves"), Column("gap", decimals=3), *likelihood)
    whose = PAPERS if matching == "greedy" else ""
    title = f"Likelihood of each policy candidate, {matching} matching{whose}"
    return Table(title, "candidate", columns, tuple(cells))


def _who(trust: float) -> str:
    return "BIRL" if trust == 0 else f"BIO-IRL, trust {trust:g}"


def _figure(settings: ChainSettings, record: Record) -> Figure:
    task = _world(settings)
    letters = lettered(settings, record)
    names = [name for name in letters if name in record["candidates"]]
    worlds = [
        WorldPanel(
            f"policy {letters[name]}",
            task,
            tuple((s, LEFT if sign == "<" else RIGHT) for s, sign in enumerate(name)),
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
    return Figure(NAME, title, (shown, *worlds, bars))


STUDY = Study(
    NAME,
    ChainSettings(),
    trial,
    summarise,
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
