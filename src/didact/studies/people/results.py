"""What a study with people found: scores by condition with intervals, and how far apart they are.

A participant's score is the share of right answers in the test; only who finished it counts.
Intervals are Student's, of 95%. The difference of two conditions is Welch's, and Hedges' g is the
difference in pooled standard deviations with its small-sample factor and normal interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.files.tables import csv_text, markdown_text
from didact.inputs import shown_name
from didact.studies.people.design import Design
from didact.studies.summary import Estimate, estimate

LEVEL = 0.95
COLUMNS = {
    "participant": "number of the participant, from 0 in the order of joining",
    "condition": "what the participant was shown",
    "step": "number of the step, from 0",
    "kind": "consent, practice (before the lesson), lesson, test (after it) or comments",
    "member": "number of the world asked about, from 0; empty where nothing was asked",
    "state": "the state of that world; empty where nothing was asked",
    "action": "the action that was answered, by its number",
    "correct": "1 where that action is optimal, else 0",
    "confidence": "how sure the participant was, from 1 (guessed) to 5 (certain)",
    "comment": "free text",
    "at": "when the answer came, in seconds since 1970 (UTC)",
}


@dataclass(frozen=True)
class Difference:
    """How much better one condition scores than another: Welch's interval, and Hedges' g."""

    one: str
    other: str
    mean: float
    low: float
    high: float
    effect: float
    effect_low: float
    effect_high: float


def scores(answers: Iterable[Mapping[str, Any]], design: Design) -> dict[str, list[float]]:
    """The scores of those who finished the test, by condition."""
    right: dict[tuple[str, int], list[int]] = {}
    for answer in answers:
        if answer["kind"] == "test":
            key = answer["condition"], answer["participant"]
            right.setdefault(key, []).append(int(answer["correct"]))
    found: dict[str, list[float]] = {name: [] for name in design.conditions}
    for (condition, _), given in right.items():
        if len(given) == len(design.test):
            found[condition].append(sum(given) / len(given))
    return found


def estimates(scored: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """The mean score of each condition that has one."""
    return {name: estimate(values) for name, values in scored.items() if values}


def difference(scored: Mapping[str, Sequence[float]], one: str, other: str) -> Difference | None:
    """How far apart two conditions are; None with fewer than two participants in one of them."""
    from scipy.stats import norm, t

    a, b = (np.asarray(scored[name], dtype=np.float64) for name in (one, other))
    if min(a.size, b.size) < 2:
        return None
    mean, va, vb = float(a.mean() - b.mean()), a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    error = math.sqrt(va + vb)
    freedom = 1.0
    if error > 0:
        freedom = (va + vb) ** 2 / (va**2 / (a.size - 1) + vb**2 / (b.size - 1))
    reach = float(t.ppf((1 + LEVEL) / 2, freedom)) * error
    n = a.size + b.size
    squares = (a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)
    pooled = math.sqrt(squares / (n - 2))
    effect = (1 - 3 / (4 * n - 9)) * mean / pooled if pooled > 0 else math.copysign(math.inf, mean)
    effect = 0.0 if mean == 0 else effect
    spread = math.sqrt(n / (a.size * b.size) + effect**2 / (2 * n)) if pooled > 0 else 0.0
    wide = float(norm.ppf((1 + LEVEL) / 2)) * spread
    return Difference(
        *(one, other, mean, mean - reach, mean + reach),
        *(effect, effect - wide, effect + wide),
    )


def needed(spread: float, x: float, power: float = 0.8) -> int:
    """Participants in each of two groups to see a difference of x with this power (two-sided 5%).

    spread: the standard deviation of scores. The normal approximation.
    """
    from scipy.stats import norm

    total = float(norm.ppf((1 + LEVEL) / 2) + norm.ppf(power))
    return max(2, math.ceil(2 * (total * spread / x) ** 2))


def table(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Rows as CSV; texts that a spreadsheet would compute begin with an apostrophe."""
    names = list(columns)
    return csv_text([names, *([row.get(name) for name in names] for row in rows)])


def codebook(design: Design) -> str:
    """What every column means, and what the study was."""
    lines = [
        f"# Codebook: {markdown_text(design.title)}",
        "",
        f"Conditions: {', '.join(map(markdown_text, design.conditions))}. Seed {design.seed}. "
        f"{len(design.practice)} questions before the lesson, {len(design.test)} after it.",
        "",
        "| column of answers.csv | meaning |",
        "| --- | --- |",
        *(f"| {name} | {words} |" for name, words in COLUMNS.items()),
        "",
        "| condition | demonstrations | steps |",
        "| --- | --- | --- |",
        *(
            f"| {markdown_text(name)} | {len(shown)} | {sum(map(len, shown))} |"
            for name, shown in ((name, design.shown[name]) for name in design.conditions)
        ),
        "",
        "| member | world | shown by | questions of the test |",
        "| --- | --- | --- | --- |",
        *(_member_line(design, member) for member in range(len(design.members))),
    ]
    return "\n".join(lines) + "\n"


def _member_line(design: Design, member: int) -> str:
    shown = [
        name
        for name in design.conditions
        if any((each.member or 0) == member for each in design.shown[name])
    ]
    n_asked = sum(asked == member for asked, _ in design.test)
    nobody = "none, set apart" if member in design.unseen else "none"
    told = ", ".join(map(markdown_text, shown)) or nobody
    named = markdown_text(shown_name(design.members[member], 60))
    return f"| {member} | {named} | {told} | {n_asked} |"


def report(design: Design, answers: Sequence[Mapping[str, Any]]) -> str:
    """Scores by condition and their differences from the last condition, as a table in Markdown."""
    scored = scores(answers, design)
    found, base = estimates(scored), design.conditions[-1]
    lines = [
        f"# {markdown_text(design.title)}",
        "",
        "Share of right answers in the test, of those who finished it; 95% intervals.",
        "",
        "| condition | participants | score | standard deviation |",
        "| --- | --- | --- | --- |",
    ]
    for name in design.conditions:
        each = found.get(name)
        told = "no one yet" if each is None else f"{each.mean:.3f}"
        spread = ""
        if each is not None and each.n > 1:
            told += f" [{each.low:.3f}, {each.high:.3f}]"
            spread = f"{each.spread:.3f}"
        lines.append(f"| {markdown_text(name)} | {len(scored[name])} | {told} | {spread} |")
    lines += [
        "",
        f"| against {markdown_text(base)} | difference | Hedges' g |",
        "| --- | --- | --- |",
    ]
    for name in design.conditions[:-1]:
        apart = difference(scored, name, base)
        if apart is None:
            lines.append(f"| {markdown_text(name)} | too few | |")
            continue
        lines.append(
            f"| {markdown_text(name)} | {apart.mean:+.3f} [{apart.low:+.3f}, {apart.high:+.3f}] "
            f"| {apart.effect:+.2f} [{apart.effect_low:+.2f}, {apart.effect_high:+.2f}] |"
        )
    return "\n".join(lines) + "\n"
