"""The registry of studies: the paper's by name, and a user's own, registered in one line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any

from didact.errors import DidactWarning, InvalidParameter
from didact.inputs import shown
from didact.studies.study import Record, Study, Trial

ENTRY_POINTS = "didact.studies"
BUILT_IN = {
    "example": "didact.studies.paper.example",
    "table1": "didact.studies.paper.table1",
    "features": "didact.studies.paper.features",
    "uvm-failure": "didact.studies.paper.uvm_failure",
    "active": "didact.studies.paper.active",
    "chain": "didact.studies.paper.chain",
    "balls": "didact.studies.paper.balls",
}
"""The paper's studies, in its order, and the module that holds each as STUDY."""

_own: dict[str, Study] = {}


def register_study(
    name: str,
    settings: Any,
    trial: Trial,
    *,
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

    if name in BUILT_IN:
        raise InvalidParameter(f"the study {name!r} is built in; choose another name")
    if isinstance(settings, type):
        try:
            settings = settings()
        except TypeError as error:
            raise InvalidParameter(f"every setting needs a default: {error}") from None
    study = Study(name, settings, trial, summarise or means_of, quick=quick, **options)
    _own[name] = study
    return study


def find_study(name: str) -> Study:
    """The study of that name: built in, registered, or installed (entry points)."""
    if name in BUILT_IN:
        found = import_module(BUILT_IN[name]).STUDY
        assert isinstance(found, Study)
        return found
    if name not in _own:
        _see_packages()
    if name not in _own:
        raise InvalidParameter(
            f"no study is called {shown(name)}; there are {', '.join(study_names())}, and all"
        )
    return _own[name]


def study_names() -> list[str]:
    """Every study's name: the paper's in its order, then others."""
    _see_packages()
    return [*BUILT_IN, *_own]


def studies() -> Mapping[str, Study]:
    """Every study by name."""
    return MappingProxyType({name: find_study(name) for name in study_names()})


def _see_packages() -> None:
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.name in _own or entry.name in BUILT_IN:
            continue
        try:
            found = entry.load()
        except Exception as error:
            warnings.warn(
                f"the study {entry.value!r} of a package cannot be loaded: {error}",
                DidactWarning,
                stacklevel=2,
            )
            continue
        if not isinstance(found, Study) or found.name != entry.name:
            raise InvalidParameter(
                f"the entry point {entry.value!r} must be a Study called {entry.name!r}; "
                f"it is {shown(found)}"
            )
        _own[entry.name] = found
