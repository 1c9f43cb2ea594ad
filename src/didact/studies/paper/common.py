"""What the paper's studies share: its printed numbers and claims, a world, a lesson learned.

Numbers and claims are data: we compare with them and never fit to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from didact.learners import learn
from didact.learners.chains.options import published_chain
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import Task
from didact.numerics.exact import Floats
from didact.planning import Plan, evaluate, solve
from didact.random import stream
from didact.studies.summary import Claim, Finding, Printed, TableCell, estimate, verdict_on
from didact.worlds import make

PAIRS, LOSS, WRONG, SECONDS = "pairs", "policy loss", "wrong actions", "seconds"
"""The columns of the paper's tables."""

_TABLE = (
    ("UVM (10^4)", "3.850", "1.722", "44.074", "247.944"),
    ("UVM (10^5)", "5.150", "1.539", "31.420", "567.961"),
    ("UVM (10^6)", "6.650", "1.076", "19.568", "1620.578"),
    ("UVM (10^7)", "8.450", "0.555", "18.642", "10291.365"),
    ("SCOT (redundant)", "66.740", "0.001", "0.617", "12.407"),
    ("SCOT", "17.160", "0.001", "0.667", "0.965"),
    ("Random", "17.700", "0.015", "10.123", "0.000"),
)
REPLICATES = 20
"""The caption says 20. Two of the means are no twentieths of whole numbers; they fit 50."""

PRINTED: tuple[Printed, ...] = tuple(
    Printed("table1", row, column, text, REPLICATES, "the appendix's full table")
    for row, *numbers in _TABLE
    for column, text in zip((PAIRS, LOSS, WRONG, SECONDS), numbers, strict=True)
)

_CLAIMS = {
    "example": (
        ("policy", "the policy's half-spaces are 2.539 w0 - w1 >= 0 and -w0 >= 0",
         "appendix, Example"),
        ("demonstration",
         "the demonstration's half-spaces are -w0 >= 0 and w0 - w1 >= 0, which is looser",
         "appendix, Example (there with w1, w2)"),
        ("top-right", "started in the top right cell, a demonstration has the class of the policy",
         "Figure 1 and its text"),
    ),
    "table1": (
        ("underestimates", "UVM underestimates the number of pairs needed", "Table 1, caption"),
        ("samples", "UVM picks more pairs with more samples", "the appendix's full table"),
        ("slightly", "more samples lower UVM's loss", "text, Algorithm comparison: only slightly"),
        ("accurate", "SCOT finds demonstrations that lead to the correct policy",
         "text, Algorithm comparison"),
        ("redundant", "without removing redundant half-spaces lessons are much larger",
         "appendix, full results"),
        ("redundant-loss", "such lessons lead to a slightly lower loss", "appendix, full results"),
        ("random", "at about the same size, random demonstrations teach worse than SCOT's",
         "the appendix's full table"),
        ("computation", "SCOT needs orders of magnitude less computation than UVM",
         "text, Algorithm comparison"),
    ),
    "features": (
        ("grows", "SCOT picks more demonstrations as the number of features grows",
         "appendix, full results"),
        ("underestimates", "UVM underestimates the demonstrations needed with 10 or more features",
         "text, Algorithm comparison"),
        ("plateau", "UVM's pairs plateau and even slightly decrease", "appendix, full results"),
        ("computation", "UVM needs nearly three orders of magnitude more computation",
         "appendix, full results"),
    ),
    "uvm-failure": (
        ("certain", "UVM stops with an estimated volume of zero", "appendix, UVM"),
        ("open",
         "it leaves the upper right cell without a demonstration and red against grey unknown",
         "appendix, UVM"),
    ),
    "active": (
        ("scot", "SCOT's sequence is a lower bound for the active strategies",
         "Figure 2 and its text"),
        ("early", "all active strategies perform similarly for early queries",
         "Figure 2 and its text"),
        ("approximation", "maximum VaR is a good approximation of maximally informative queries",
         "Figure 2 and its text"),
        ("entropy", "maximum entropy ends no better than random", "Figure 2 and its text"),
        ("later",
         "maximum VaR and maximum infogain perform better than maximum entropy for later queries",
         "Figure 2 and its text"),
    ),
    "chain": (
        ("equal",
         "BIRL gives all rewards that lead to any of the policy candidates a likelihood of 1.0",
         "Figure 3, caption"),
        ("wins", "BIO-IRL gives policy A the highest likelihood", "Figure 3, caption"),
    ),
    "balls": (
        ("faster", "BIO-IRL learns from fewer informative demonstrations than BIRL",
         "Figure 4 and its text"),
    ),
}  # fmt: skip
"""What the paper says in words: key, words and place, by study."""
CLAIMS: dict[tuple[str, str], Claim] = {
    (study, key): Claim(study, key, words, source)
    for study, claims in _CLAIMS.items()
    for key, words, source in claims
}


def printed(study: str, row: str, column: str) -> Printed | None:
    """What the paper prints at a place, if anything."""
    places = (p for p in PRINTED if (p.study, p.row, p.column) == (study, row, column))
    return next(places, None)


def compared(
    study: str, row: str, column: str, values: Iterable[float], *, papers: str | None = None
) -> TableCell:
    """The cell of these values, beside the paper's number where it prints one.

    papers: the paper's row to compare with, where ours has another name.
    """
    ours = estimate(values)
    paper = printed(study, papers or row, column)
    return TableCell(row, column, ours, paper, None if paper is None else verdict_on(ours, paper))


def finding(study: str, key: str, holds: bool | None, evidence: str) -> Finding:
    """What our numbers say to the paper's claim `key`."""
    return Finding(CLAIMS[study, key], None if holds is None else bool(holds), evidence)


STUCK = 3.0
"""A chain is stuck when weights are known that are likelier than its best by so many nats."""


def drawn_seed(seed: int, study: str, number: int, *names: str | int) -> int:
    """A seed from the study's seed, the study and the trial alone, for what takes whole numbers."""
    return int(stream(seed, study, number, *names).integers(2**32))


def random_world(study: str, settings: Any, number: int, n_features: int) -> tuple[int, Task]:
    """The seed of a trial's random grid, and the grid, of the settings' size and discount."""
    seed = drawn_seed(settings.seed, study, number, "world")
    shape = {"size": settings.size, "discount": settings.discount}
    return seed, make("random-grid", n_features=n_features, seed=seed, **shape)


def chain_of(settings: Any, n_features: int) -> dict[str, Any]:
    """The paper's chain with the confidence, steps and step size of the settings."""
    return published_chain(
        n_features,
        confidence=settings.confidence,
        n_steps=settings.steps,
        step_size=settings.step_size,
    )


def learned(
    task: Task, plan: Plan, demonstrations: Sequence[Any], options: Mapping[str, Any], seed: int
) -> tuple[Floats, dict[str, Any]]:
    """The most likely weights after demonstrations, and the losses of their policy."""
    belief = learn(task.mdp, demonstrations, seed=seed, **options)
    result = evaluate(task, belief.map_weights, plan=plan)
    return belief.map_weights, {"loss": result.policy_loss, "wrong": result.wrong_actions}


def is_stuck(
    task: Task,
    demonstrations: Sequence[Any],
    found: Floats,
    others: Sequence[Floats],
    confidence: float,
) -> bool:
    """Whether some of the other weights are likelier than those found by more than STUCK nats.

    All are compared at the same norm: absolute values sum to 1, as on the published chain.
    """
    shown = as_evidence(task.mdp, demonstrations)

    def log_likelihood(weights: Floats) -> float:
        values = solve(task.mdp, weights / np.abs(weights).sum()).action_values
        return softmax_log_likelihood(shown, values, confidence)

    best = max(log_likelihood(np.asarray(weights)) for weights in others)
    return best - log_likelihood(found) > STUCK
