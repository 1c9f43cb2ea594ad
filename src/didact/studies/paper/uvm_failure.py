"""False certainty: volume minimisation stops with no volume left and a whole plane unknown.

The appendix's example of why a volume is no measure of what is taught. One trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.bec.classes import equivalence_class
from didact.planning import evaluate, solve
from didact.studies.paper.published import finding
from didact.studies.study import Record, Study, one_trial, setting
from didact.studies.summary import Column, Figure, Finding, Summary, Table, TableCell, WorldPanel
from didact.studies.summary import known as known_number
from didact.teaching import teach
from didact.worlds import make

UPPER_RIGHT = 2
TEACHERS = {"UVM": "uvm", "SCOT": "scot"}


@dataclass(frozen=True)
class FailureSettings:
    """One world, single steps, as in the comparison of the two teachers."""

    samples: int = setting(100_000, source="our choice; not given", paper=None)
    trials: int = setting(1, source="one world", paper=None)
    seed: int = setting(0, source="our choice", paper=None)


def trial(settings: FailureSettings, number: int) -> Record:
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


def summarise(settings: FailureSettings, records: Sequence[Record]) -> Summary:
    """Both lessons side by side, and the world as a learner of UVM's lesson may see it."""
    record = records[0]
    cells = []
    for name in TEACHERS:
        lesson = record[name]
        volume = lesson["volumes"]
        cells += [
            TableCell(name, "pairs", known_number(len(lesson["pairs"]))),
            TableCell(name, "volume left", "-" if volume is None else known_number(volume[-1])),
            TableCell(name, "teaches", "yes" if lesson["teaches"] else "no"),
            TableCell(name, "a witness loses", known_number(lesson["loss"])),
            TableCell(name, "left open", "; ".join(lesson["open"]) or "nothing"),
        ]
    columns = (
        Column("pairs", decimals=0),
        Column("volume left", decimals=4),
        Column("teaches"),
        Column("a witness loses"),
        Column("left open"),
    )
    table = Table("Two lessons of single steps", "teacher", columns, tuple(cells))
    return Summary((table,), (_figure(record),), _findings(record["UVM"]))


def _findings(uvm: Mapping[str, Any]) -> tuple[Finding, Finding]:
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


def _figure(record: Record) -> Figure:
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


STUDY = Study(
    "uvm-failure",
    FailureSettings(),
    trial,
    summarise,
    title="The false certainty of volume minimisation (appendix, Figures 5 and 6)",
    quick=FailureSettings(),
    n_trials=one_trial,
    departures=(
        "the paper gives its world only as a picture; ours is another one with the same property",
    ),
)
