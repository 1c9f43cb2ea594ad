"""The paper's printed numbers and claims, as data: we compare with them and never fit to them."""

from __future__ import annotations

from collections.abc import Iterable

from didact.studies.summary import Claim, Finding, Printed, TableCell, estimate, verdict_on

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

_CLAIMS = (
    Claim(
        "example", "policy",
        "the policy's half-spaces are 2.539 w0 - w1 >= 0 and -w0 >= 0", "appendix, Example",
    ),
    Claim(
        "example", "demonstration",
        "the demonstration's half-spaces are -w0 >= 0 and w0 - w1 >= 0, which is looser",
        "appendix, Example (there with w1, w2)",
    ),
    Claim(
        "example", "top-right",
        "started in the top right cell, a demonstration has the class of the policy",
        "Figure 1 and its text",
    ),
    Claim(
        "table1", "underestimates",
        "UVM underestimates the number of pairs needed", "Table 1, caption",
    ),
    Claim(
        "table1", "samples", "UVM picks more pairs with more samples",
        "the appendix's full table",
    ),
    Claim(
        "table1", "slightly", "more samples lower UVM's loss",
        "text, Algorithm comparison: only slightly",
    ),
    Claim(
        "table1", "accurate", "SCOT finds demonstrations that lead to the correct policy",
        "text, Algorithm comparison",
    ),
    Claim(
        "table1", "redundant", "without removing redundant half-spaces lessons are much larger",
        "appendix, full results",
    ),
    Claim(
        "table1", "redundant-loss", "such lessons lead to a slightly lower loss",
        "appendix, full results",
    ),
    Claim(
        "table1", "random", "at about the same size, random demonstrations teach worse than SCOT's",
        "the appendix's full table",
    ),
    Claim(
        "table1", "computation", "SCOT needs orders of magnitude less computation than UVM",
        "text, Algorithm comparison",
    ),
    Claim(
        "features", "grows", "SCOT picks more demonstrations as the number of features grows",
        "appendix, full results",
    ),
    Claim(
        "features", "underestimates",
        "UVM underestimates the demonstrations needed with 10 or more features",
        "text, Algorithm comparison",
    ),
    Claim(
        "features", "plateau", "UVM's pairs plateau and even slightly decrease",
        "appendix, full results",
    ),
    Claim(
        "features", "computation", "UVM needs nearly three orders of magnitude more computation",
        "appendix, full results",
    ),
    Claim(
        "uvm-failure", "certain", "UVM stops with an estimated volume of zero", "appendix, UVM"
    ),
    Claim(
        "uvm-failure", "open",
        "it leaves the upper right cell without a demonstration and red against grey unknown",
        "appendix, UVM",
    ),
    Claim(
        "active", "scot", "SCOT's sequence is a lower bound for the active strategies",
        "Figure 2 and its text",
    ),
    Claim(
        "active", "early", "all active strategies perform similarly for early queries",
        "Figure 2 and its text",
    ),
    Claim(
        "active", "approximation",
        "maximum VaR is a good approximation of maximally informative queries",
        "Figure 2 and its text",
    ),
    Claim(
        "active", "entropy", "maximum entropy ends no better than random", "Figure 2 and its text"
    ),
    Claim(
        "active", "later",
        "maximum VaR and maximum infogain perform better than maximum entropy for later queries",
        "Figure 2 and its text",
    ),
    Claim(
        "chain", "equal",
        "BIRL gives all rewards that lead to any of the policy candidates a likelihood of 1.0",
        "Figure 3, caption",
    ),
    Claim("chain", "wins", "BIO-IRL gives policy A the highest likelihood", "Figure 3, caption"),
    Claim(
        "balls", "faster", "BIO-IRL learns from fewer informative demonstrations than BIRL",
        "Figure 4 and its text",
    ),
)  # fmt: skip
CLAIMS: dict[tuple[str, str], Claim] = {(claim.study, claim.key): claim for claim in _CLAIMS}


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
