"""The registry of studies: the paper's, our own, and a user's, registered in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.registry import Registry
from didact.studies.study import Record, Study, Trial

ENTRY_POINTS = "didact.studies"
BUILT_IN = {
    "example": "didact.studies.paper.example:STUDY",
    "table1": "didact.studies.paper.table1:STUDY",
    "features": "didact.studies.paper.features:STUDY",
    "uvm-failure": "didact.studies.paper.uvm_failure:STUDY",
    "active": "didact.studies.paper.active:STUDY",
    "chain": "didact.studies.paper.chain:STUDY",
    "balls": "didact.studies.paper.balls:STUDY",
}
"""The paper's studies, in its order."""

OWN = {
    "families": "didact.studies.extensions.families:STUDY",
    "exams": "didact.studies.extensions.exams:STUDY",
    "frontier": "didact.studies.extensions.frontier:STUDY",
    "people": "didact.studies.extensions.demonstrators:STUDY",
    "simulators": "didact.studies.extensions.simulators:STUDY",
}
"""Studies of what goes beyond the paper."""


def register_study(
    name: str,
    settings: Any,
    *,
    trial: Trial,
    quick: Any = None,
    summarise: Callable[[Any, Sequence[Record]], Any] | None = None,
    **options: Any,
) -> Study:
    """Make a study of these settings and this trial function, and register it.

    name: lower-case words joined by '-', by which the command line knows it.
    settings: an instance of a frozen dataclass with `trials` and `seed`; or the class itself, when
        every field has a default.
    trial: trial(settings, number) gives a plain record.
    quick: smaller settings, for `--quick`.
    summarise: what the records come to; by default the means of all numbers in them.
    options: the other fields of `Study`, as title.
    """
    from didact.studies.summary import means_of

    _studies.require_free(name)
    if isinstance(settings, type):
        try:
            settings = settings()
        except TypeError as error:
            raise InvalidParameter(f"every setting needs a default: {error}") from None
    study = Study(name, settings, trial, summarise or means_of, quick=quick, **options)
    _studies.register(name, study)
    return study


def find_study(name: str) -> Study:
    """The study of that name: built in, registered, or installed (entry points).

    name: as 'table1'.
    """
    return _studies.find(name)


def study_names() -> list[str]:
    """Every study's name: the paper's in its order, then others."""
    return list(_studies.names())


def studies() -> Mapping[str, Study]:
    """Every study by name."""
    return _studies.everything()


def _as_study(name: str, given: Any) -> Study:
    if not isinstance(given, Study) or given.name != name:
        raise InvalidParameter(f"it must be a Study called {name!r}; it is {shown(given)}")
    return given


_studies: Registry[Study] = Registry(
    "study", ENTRY_POINTS, {**BUILT_IN, **OWN}, accept=_as_study, also=("all",)
)
