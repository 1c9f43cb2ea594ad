"""The six-cell world: what its policy says of the weights, and what one demonstration says.

Figure 1 and the appendix's example. Nothing in it is random: there is one trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.cone import Cone
from didact.mdp import Task
from didact.studies.paper.published import finding
from didact.studies.study import Record, Study, one_trial, setting
from didact.studies.summary import (
    Column,
    Figure,
    Finding,
    Plane,
    Summary,
    Table,
    TableCell,
    WorldPanel,
)
from didact.worlds import make

DOWN, LEFT, UP = 1, 2, 0
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


def _task(settings: ExampleSettings) -> Task:
    return make("six-cell", weights=(settings.white, settings.grey), discount=settings.discount)


def trial(settings: ExampleSettings, number: int) -> Record:
    """The half-spaces of the policy, of the demonstration, and of the longer one, exactly."""
    task = _task(settings)
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


def summarise(settings: ExampleSettings, records: Sequence[Record]) -> Summary:
    """The half-spaces in words, beside the printed ones, and drawn."""
    record = records[0]
    spaces = {
        name: [in_words(space) for space in record["half-spaces"][name]]
        for name in (POLICY, DEMONSTRATION, LONGER)
    }
    cells = []
    for name, found in spaces.items():
        same = "yes" if record["same class"][name] else "no"
        cells += [
            TableCell(name, "half-spaces", " and ".join(found)),
            TableCell(name, "the policy's class", same),
        ]
    columns = (Column("half-spaces"), Column("the policy's class"))
    table = Table("Half-spaces, exactly", "what is shown", columns, tuple(cells))
    findings = _findings(spaces, record["same class"])
    return Summary((table,), (_figure(settings, record),), findings)


def _findings(
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


def _figure(settings: ExampleSettings, record: Record) -> Figure:
    task = _task(settings)
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


STUDY = Study(
    "example",
    ExampleSettings(),
    trial,
    summarise,
    title="The six-cell world: half-spaces of a policy and of a demonstration (Figure 1)",
    quick=ExampleSettings(),
    n_trials=one_trial,
    departures=(
        "the goal pays once and ends: the printed 2.539 follows from no other convention",
        "the demonstration is only drawn in the paper; ours starts in the lower right and has the "
        "half-spaces that the appendix prints",
    ),
)
