"""A study with people from its file to its report: made, simulated, exported, deleted from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from didact.errors import InvalidFile, InvalidParameter
from didact.files.json import require_writable, write_text
from didact.files.kinds import beginning_like
from didact.files.reading import read_text, shown_path
from didact.inputs import finite_number, whole_number
from didact.mdp import Family
from didact.mdp.files import family_document, task_document
from didact.studies.people.design import Design, design_study
from didact.studies.people.records import Records
from didact.studies.people.results import (
    COLUMNS,
    codebook,
    estimates,
    needed,
    report,
    scores,
    table,
)
from didact.studies.people.simulated import CONFIDENCES, simulated_answers
from didact.worlds.opening import open_task_or_family


def init_study(
    path: str,
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    consent: str | None = None,
    **settings: Any,
) -> Design:
    """Make the file of a study of the world or family that `source` names.

    consent: a file with the text.
    """
    subject = open_task_or_family(source, parameters)
    if consent is not None:
        settings["consent"] = read_text(consent)
    if os.path.lexists(path):  # before the work
        raise InvalidFile(f"{shown_path(path)}: is there already; a study is never overwritten")
    design = design_study(subject, **settings)
    document = family_document(subject) if isinstance(subject, Family) else task_document(subject)
    Records.create(path, design, document).close()
    return design


def export_study(path: str, folder: str) -> list[str]:
    """Write answers.csv, participants.csv, codebook.md and report.md; where they are."""
    records = Records(path, read_only=True)
    people, answers = records.found
    records.close()
    place = Path(folder)
    os.makedirs(place, exist_ok=True)
    names = ("participant", "condition", "began", "steps")
    files = {
        "answers.csv": table([{name: row[name] for name in COLUMNS} for row in answers], COLUMNS),
        "participants.csv": table([{name: row[name] for name in names} for row in people], names),
        "codebook.md": codebook(records.design),
        "report.md": report(records.design, answers),
    }
    kinds = {
        name: beginning_like(text, 1 if name.endswith(".csv") else 3, f"{name} of this study")
        for name, text in files.items()
    }
    for name, kind in kinds.items():  # all of them before the first one is written
        require_writable(place / name, kind, [path])
    for name, text in files.items():
        write_text(text, place / name, kind=kinds[name])
    return [str(place / name) for name in files]


def delete_participant(path: str, number: int) -> int:
    """Forget a participant; how many answers they had given."""
    records = Records(path)
    try:
        return records.delete(whole_number(number, "participant", 0))
    finally:
        records.close()


@dataclass(frozen=True, eq=False)
class Simulated:
    """A study that learners took: its report, and how many people would see a difference."""

    design: Design
    n: int
    text: str
    conditions: Mapping[str, Any]
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
) -> Simulated:
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
    return Simulated(
        design=design,
        n=n,
        text=report(design, answers),
        conditions={
            name: {
                "n": each.n,
                "mean": each.mean,
                "interval": [each.low, each.high] if each.n > 1 else None,
            }
            for name, each in found.items()
        },
        needed=needed(largest, x) if largest > 0 else None,
        seen=x,
    )
