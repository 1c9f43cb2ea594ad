"""A draft of a preregistration: hypotheses, design, power by simulation, exclusion, analysis."""

from __future__ import annotations

import math
from collections.abc import Iterator

from didact.files.tables import markdown_text
from didact.inputs import counted
from didact.studies.people.design import RETEST, Design
from didact.studies.people.results import LEVEL
from didact.studies.people.simulated import SimulatedStudy

GROUP_SIZES = (10, 20, 40, 80, 160, 320)


def preregistration(found: SimulatedStudy) -> str:
    """The draft as Markdown; what only the researchers know is left to fill in, in [brackets]."""
    design = found.design
    parts = [
        f"# Preregistration: {markdown_text(design.title)}",
        "Draft by `didact study preregister`. Fill in what stands in [brackets].",
        "Authors: [names]. Ethics approval: [board, number]. Data collection: [has not begun].",
        "## Hypotheses",
        "\n".join(_hypotheses(design)),
        "## Design",
        "\n".join(f"- {line}" for line in _design(design)),
        "## Sample size",
        *_sample(found),
        "## Exclusion",
        "\n".join(f"- {line}" for line in _exclusion(design)),
        "## Measures",
        "\n".join(f"- {line}" for line in _measures(design)),
        "## Analysis",
        f"Each condition is compared with {_last(design)} by Welch's t-test of the scores, "
        f"two-sided, with Holm's correction over the {counted(len(design.conditions) - 1, 'test')} "
        f"at a family-wise level of 5%. {100 * LEVEL:g}% intervals and Hedges' g are reported. "
        "Either script does it on the export:",
        f"    didact study export STUDY --out results\n"
        f"    python analysis.py results {design.conditions[-1]}\n"
        f"    Rscript analysis.R results {design.conditions[-1]}",
        "All other analyses are exploratory and will be named so.",
    ]
    return "\n\n".join(parts) + "\n"


def power(spread: float, x: float, n: int, tests: int = 1) -> float:
    """The chance of n participants in each of two groups to see a difference x (two-sided 5%).

    spread: the standard deviation of scores. tests: of how many the level is shared (Bonferroni, a
    lower bound of the power under Holm's correction). The normal approximation, as in
    `results.needed`.
    """
    from scipy.stats import norm

    if spread <= 0:
        return 1.0
    shift, critical = x / (spread * math.sqrt(2 / n)), norm.isf((1 - LEVEL) / (2 * tests))
    return float(norm.sf(critical - shift) + norm.cdf(-critical - shift))


def _last(design: Design) -> str:
    return f"`{design.conditions[-1]}`"


def _hypotheses(design: Design) -> Iterator[str]:
    for i, name in enumerate(design.conditions[:-1]):
        yield (
            f"{i + 1}. Participants in condition `{name}` have another mean score in the test than "
            f"those in {_last(design)}. Expected direction: [higher]."
        )


def _design(design: Design) -> Iterator[str]:
    does = design.procedure
    worlds = ", ".join(markdown_text(name) for name in design.members)
    yield f"World: {worlds}. Between participants, {counted(len(design.conditions), 'condition')}."
    for name in design.conditions:
        shown = design.shown[name]
        steps = counted(sum(map(len, shown)), "step")
        yield f"Condition `{name}`: {counted(len(shown), 'demonstration')} ({steps})."
    yield (
        f"Participants are assigned in blocks of {len(design.conditions)} in a random order "
        f"(seed {design.seed}), so that groups never differ by more than one when they join."
    )
    if does.tutorial:
        yield "Instructions and two questions with feedback, in a world of their own."
    if design.practice:
        yield f"{counted(len(design.practice), 'question')} without feedback before the lesson."
    if does.watch_seconds:
        yield f"The demonstrations are shown for at least {does.watch_seconds} seconds."
    yield (
        f"{counted(len(design.test), 'question')} of the test, the same for all, in an order of "
        "each participant's own; no condition shows their states."
    )
    if design.paths:
        yield f"{counted(len(design.paths), 'whole path')} of at most {does.path_steps} steps."
    if design.retest:
        yield (
            f"Closed loop: {counted(len(design.retest), 'round')}, each with the demonstration "
            "that excludes the most likely reward of the participant's answers, and "
            f"{RETEST} questions."
        )


def _sample(found: SimulatedStudy) -> Iterator[str]:
    groups, x, told = len(found.design.conditions), found.seen, "[number]"
    if found.needed is not None:
        told = f"{found.needed} in each condition, {groups * found.needed} in all"
    yield (
        f"Smallest difference in mean score of interest: {x:g}. In a simulation with {found.n} "
        f"Bayesian learners the largest standard deviation of scores was {found.spread:.3f}; with "
        f"it, a power of 80% takes {told} (normal approximation, two-sided 5%, before Holm's "
        "correction). Learners are not people: a pilot should replace this standard deviation."
    )
    rows = "\n".join(
        f"| {n} | {power(found.spread, x, n):.3f} | {power(found.spread, x, n, groups - 1):.3f} |"
        for n in GROUP_SIZES
    )
    yield (
        "| in each condition | power of one test | with Holm's correction, at least |\n"
        f"| --- | --- | --- |\n{rows}"
    )
    yield "Planned: [number] in each condition; stopping rule: [none]."


def _exclusion(design: Design) -> Iterator[str]:
    does = design.procedure
    if does.tries:
        yield (
            "Participants who fail the comprehension questions "
            f"{'once' if does.tries == 1 else f'{does.tries} times'} do not reach the test."
        )
    yield "Participants who did not finish the test."
    if does.attention:
        yield "Participants who failed the attention item in the middle of the test."
    yield "Nobody takes part twice under one id of a recruiting platform; the software prevents it."


def _measures(design: Design) -> Iterator[str]:
    does = design.procedure
    yield "Primary: the score, the share of right (optimal) answers in the test."
    more = [
        (bool(design.paths), "paths all of whose actions are optimal (paths.csv)"),
        (bool(design.retest), "right answers after the demonstrations of the closed loop (retest)"),
        (does.confidence, "confidence from 1 to 5 (answers.csv)"),
        (bool(does.likert), f"{counted(len(does.likert), 'Likert item')} of {does.points} points"),
        (True, "time of watching, and seconds of each answer"),
    ]
    for is_there, words in more:
        if is_there:
            yield f"Secondary: {words}."
