"""A study with people from its file to its report: made, simulated, exported, preregistered.

The draft of a preregistration names hypotheses, design, power by simulation, exclusion, analysis.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidParameter
from didact.files.folders import make_folder
from didact.files.json import require_writable, write_text
from didact.files.kinds import beginning_like
from didact.files.reading import read_text, shown_path
from didact.files.tables import markdown_text
from didact.inputs import counted, finite_number, whole_number
from didact.mdp import Family
from didact.mdp.files import family_document, task_document
from didact.studies.people.conditions import members_of
from didact.studies.people.design import RETEST, Design, Procedure, design_study
from didact.studies.people.learners import CONFIDENCES, simulated_answers
from didact.studies.people.records import Records
from didact.studies.people.results import (
    COLUMNS,
    LEVEL,
    LIKERT_COLUMNS,
    PATH_COLUMNS,
    PERSON_COLUMNS,
    WATCHED_COLUMNS,
    ScoreReport,
    codebook,
    estimates,
    likert_rows,
    needed,
    path_rows,
    person_rows,
    report,
    scores,
    table,
    watched_rows,
)
from didact.worlds.opening import open_task_or_family

GROUP_SIZES = (10, 20, 40, 80, 160, 320)


def init_study(
    path: str,
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    consent: str | None = None,
    debriefing: str | None = None,
    likert: str | None = None,
    procedure: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Design:
    """Make the file of a study of the world or family that `source` names.

    consent, debriefing: files with these texts. likert: a file with a statement on each line.
    procedure: other fields of `Procedure`. settings: of `design_study`.
    """
    subject = open_task_or_family(source, parameters)
    texts: dict[str, Any] = {
        name: read_text(file)
        for name, file in (("consent", consent), ("debriefing", debriefing))
        if file is not None
    }
    if likert is not None:
        lines = (line.strip() for line in read_text(likert).splitlines())
        texts["likert"] = tuple(line for line in lines if line and not line.startswith("#"))
        if not texts["likert"]:
            raise InvalidFile(f"{shown_path(likert)}: must have a statement on each line")
    if os.path.lexists(path):  # before the work
        raise InvalidFile(f"{shown_path(path)}: is there already; a study is never overwritten")
    how = Procedure(**{**(procedure or {}), **texts})
    how.require_sound()
    design = design_study(subject, procedure=how, **settings)
    document = family_document(subject) if isinstance(subject, Family) else task_document(subject)
    Records.create(path, design, document).close()
    return design


def export_study(path: str, folder: str) -> list[str]:
    """Write the tables of a study, its codebook and its report; where they are."""
    records = Records(path, read_only=True)
    (people, answers), design = records.found, records.design
    records.close()
    members = members_of(records.subject())
    files = {
        "answers.csv": table(answers, COLUMNS),
        "participants.csv": table(person_rows(people, answers, design), PERSON_COLUMNS),
        "watched.csv": table(watched_rows(answers), WATCHED_COLUMNS),
        "codebook.md": codebook(design, members),
        "report.md": report(design, answers).markdown(),
    }
    if design.procedure.likert:
        files["likert.csv"] = table(likert_rows(answers, design), LIKERT_COLUMNS)
    if design.paths:
        files["paths.csv"] = table(path_rows(answers, design), PATH_COLUMNS)
    return write_together(files, folder, [path])


def write_together(files: Mapping[str, str], folder: str, kept: Sequence[str]) -> list[str]:
    """Write files of a study; files of another kind stay, and then none is written.

    kept: files that are never written over.
    """
    place = Path(folder)
    make_folder(place)
    kinds = {
        name: beginning_like(text, 1 if name.endswith(".csv") else 3, f"{name} of this study")
        for name, text in files.items()
    }
    for name, kind in kinds.items():  # all of them before the first one is written
        require_writable(place / name, kind, kept)
    for name, text in files.items():
        write_text(text, place / name, kind=kinds[name])
    return [str(place / name) for name in files]


def preregister_study(
    path: str, folder: str, n: int = 120, *, confidences: Sequence[float] = (), x: float = 0.2
) -> list[str]:
    """Write a draft of a preregistration, and the analysis in Python and in R; where they are.

    n, confidences: of the learners whose answers the power is computed from. x: the difference.
    People fill in the draft and change the scripts: what is there with another text stays.
    """
    simulated = simulate_study(path, n, confidences=confidences, x=x)
    own = Path(__file__).parent
    scripts = {name: read_text(str(own / name)) for name in ("analysis.py", "analysis.R")}
    files = {"preregistration.md": preregistration(simulated), **scripts}
    for name, text in files.items():
        place = Path(folder) / name
        if place.is_file() and place.stat().st_size and read_text(place) != text:
            raise InvalidFile(
                f"{shown_path(place)}: is there with another text, so it is not replaced; take "
                "another folder"
            )
    return write_together(files, folder, [path])


def delete_participant(path: str, number: int) -> int:
    """Forget a participant; how many answers they had given."""
    records = Records(path)
    try:
        return records.delete(whole_number(number, "participant", 0))
    finally:
        records.close()


@dataclass(frozen=True, eq=False)
class SimulatedStudy:
    """A study that learners took: its report, and how many people would see a difference."""

    design: Design
    n: int
    report: ScoreReport
    conditions: Mapping[str, Any]
    spread: float
    needed: int | None
    seen: float

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "participants": self.n,
            "conditions": dict(self.conditions),
            "difference": self.seen,
            "needed_per_condition": self.needed,
        }


def simulate_study(
    path: str, n: int = 120, *, confidences: Sequence[float] = (), x: float = 0.1
) -> SimulatedStudy:
    """The study taken by n Bayesian learners, and how many people it takes to see x.

    confidences: of the learners, in turn. x: a difference of two conditions in mean score. Nothing
    is written into the study.
    """
    whole_number(n, "n", 1, 100_000)
    if not 0 < x <= 1:
        raise InvalidParameter(f"the difference must be above 0 and at most 1; it is {x:g}")
    for each in confidences:
        finite_number(each, "confidence", 0)
    records = Records(path, read_only=True)
    records.close()
    design, subject = records.design, records.subject()
    answers = simulated_answers(subject, design, n, tuple(confidences) or CONFIDENCES)
    found = estimates(scores(answers, design))
    spreads = [each.spread for each in found.values() if each.n > 1]
    largest = max(spreads, default=0.0)
    return SimulatedStudy(
        design=design,
        n=n,
        report=report(design, answers),
        conditions={
            name: {
                "n": each.n,
                "mean": each.mean,
                "interval": [each.low, each.high] if each.n > 1 else None,
            }
            for name, each in found.items()
        },
        spread=largest,
        needed=needed(largest, x) if largest > 0 else None,
        seen=x,
    )


def preregistration(found: SimulatedStudy) -> str:
    """The draft as Markdown; what only the researchers know is left to fill in, in [brackets]."""
    design = found.design
    parts = [
        f"# Preregistration: {markdown_text(design.title)}",
        "Draft by `didact study preregister`. Fill in what stands in [brackets].",
        "Authors: [names]. Ethics approval: [board, number]. Data collection: [has not begun].",
        "## Hypotheses",
        "\n".join(
            f"{i + 1}. Participants in condition `{name}` have another mean score in the test than "
            f"those in {_last(design)}. Expected direction: [higher]."
            for i, name in enumerate(design.conditions[:-1])
        ),
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
