"""A study with people from its file to its report: made, simulated, exported, deleted from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidParameter
from didact.files.folders import make_folder
from didact.files.json import require_writable, write_text
from didact.files.kinds import beginning_like
from didact.files.reading import read_text, shown_path
from didact.inputs import finite_number, whole_number
from didact.mdp import Family
from didact.mdp.files import family_document, task_document
from didact.studies.people.conditions import members_of
from didact.studies.people.design import Design, Procedure, design_study
from didact.studies.people.preregistration import preregistration
from didact.studies.people.records import Records
from didact.studies.people.results import (
    COLUMNS,
    LIKERT_COLUMNS,
    PATH_COLUMNS,
    PERSON_COLUMNS,
    WATCHED_COLUMNS,
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
from didact.studies.people.simulated import CONFIDENCES, SimulatedStudy, simulated_answers
from didact.worlds.opening import open_task_or_family


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
