"""A study: settings with their sources, a trial function, what its records come to; their registry.

Settings are a frozen dataclass whose fields say where each value comes from. The default of a field
is the paper's value, or ours where the paper gives none; a report lists every field that was run
with another one. The registry holds the paper's studies, our own, and a user's.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import is_whole, nearest_spelling, shown
from didact.registry import Registry

_NOT_GIVEN = object()
MAX_TRIALS, LARGEST_SEED = 1_000_000, 2**63 - 1
Plain = bool | int | float | str
"""What a setting may hold, alone or in a tuple."""


def setting(default: Any, *, source: str, paper: Any = _NOT_GIVEN) -> Any:
    """A field of a settings dataclass, with the place that its value comes from.

    default: its value unless another is given.
    source: where the value comes from, as 'Table 1, caption'.
    paper: the paper's value, where the default is another; None where the paper gives none.
    """
    published = default if paper is _NOT_GIVEN else paper
    return field(default=default, metadata={"source": source, "paper": published})


def require_settings(settings: Any) -> None:
    """Refuse what is no dataclass of plain values with `trials` and `seed`."""
    if not is_dataclass(settings) or isinstance(settings, type):
        raise InvalidParameter(
            f"settings must be an instance of a dataclass; it is {shown(settings)}"
        )
    for name, least, most in (("trials", 1, MAX_TRIALS), ("seed", 0, LARGEST_SEED)):
        value: Any = getattr(settings, name, None)
        if not is_whole(value) or not least <= value <= most:
            raise InvalidParameter(
                f"settings must have {name}, a whole number from {least} to {most:,}; "
                f"it is {shown(value)}"
            )
    for each in fields(settings):
        value = getattr(settings, each.name)
        entries = value if isinstance(value, tuple) else (value,)
        if not all(_is_plain(entry) for entry in entries):
            raise InvalidParameter(
                f"the setting {each.name!r} must be text, a finite number, a truth value or a "
                f"tuple of them; it is {shown(value)}"
            )


def _is_plain(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, Plain)


def settings_document(settings: Any) -> dict[str, Any]:
    """The settings as plain JSON values, by name in alphabetical order."""
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in sorted(values.items())
    }


def restored(settings: Any, document: Mapping[str, Any]) -> Any:
    """Settings of the same kind from a document; ValueError or TypeError where it does not fit."""
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in document.items()}
    found = type(settings)(**values)
    require_settings(found)
    return found


def fingerprint(settings: Any) -> str:
    """The settings as one line of JSON; equal texts mean equal settings."""
    return json.dumps(settings_document(settings), ensure_ascii=False, allow_nan=False)


def with_changes(settings: Any, changes: Mapping[str, Any]) -> Any:
    """The settings with other values for some fields, each of the kind that it had."""
    known = {each.name: each for each in fields(settings)}
    checked = {}
    for name, value in changes.items():
        if name not in known:
            raise InvalidParameter(
                f"there is no setting {shown(name)}{nearest_spelling(name, [*known, 'jobs'])}; "
                f"there are {', '.join(known)}"
            )
        checked[name] = _of_the_same_kind(name, getattr(settings, name), value)
    changed = replace(settings, **checked)
    require_settings(changed)
    return changed


def _of_the_same_kind(name: str, present: Any, value: Any) -> Any:
    """The value as the setting holds it: a whole number also where there are decimals."""
    if isinstance(present, tuple):
        if isinstance(value, str):
            value = [entry.strip() for entry in value.split(",")]
        entries = value if isinstance(value, list | tuple) else (value,)
        if not present:
            return tuple(entries)
        return tuple(_of_the_same_kind(name, present[0], entry) for entry in entries)
    if isinstance(present, float) and not isinstance(value, bool):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    elif isinstance(present, str):
        return str(value)
    elif isinstance(value, type(present)) and isinstance(value, bool) == isinstance(present, bool):
        return value
    elif isinstance(present, int) and not isinstance(present, bool):
        try:
            return int(value) if isinstance(value, str) else int(str(value))
        except ValueError:
            pass
    kind = "true or false" if isinstance(present, bool) else "a number like"
    raise InvalidParameter(f"the setting {name!r} must be {kind} {present}; it is {shown(value)}")


def origins(settings: Any) -> list[tuple[str, Any, str]]:
    """Every setting: its name, its value, and where the paper has it or who chose it."""
    return [
        (each.name, getattr(settings, each.name), str(each.metadata.get("source", "")))
        for each in fields(settings)
    ]


def departures(settings: Any) -> list[str]:
    """One line for every setting that differs from the paper's."""
    found = []
    for each in fields(settings):
        published = each.metadata.get("paper")  # None where it is silent, and for a plain field
        value = getattr(settings, each.name)
        if published is not None and value != published:
            source = each.metadata.get("source", "our choice")
            found.append(f"{each.name} is {told(value)}, not {told(published)} ({source})")
    return found


def told(value: Any) -> str:
    """A setting as a reader writes it."""
    if isinstance(value, tuple):
        return ", ".join(told(entry) for entry in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


Record = Mapping[str, Any]
Trial = Callable[[Any, int], Record]

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def _trials_of(settings: Any) -> int:
    return int(settings.trials)


def one_trial(settings: Any) -> int:
    """The number of trials of a study in which nothing is repeated."""
    return 1


@dataclass(frozen=True, eq=False)
class Study:
    """One table or figure: everything that is needed to run and to report it.

    name: lower-case words joined by '-'.
    settings: an instance of a frozen dataclass with `trials` and `seed`.
    trial: trial(settings, number) gives a plain record; what it measures in seconds stands under
        the key 'seconds' and is kept apart, since no two runs agree on it.
    summarise: summarise(settings, records) gives a `Summary`.
    title: of the report.
    quick: small settings, if there are any.
    n_trials: n_trials(settings), how many trials the settings ask for.
    departures: what always differs from the paper, in words.
    draw_times: draw_times(settings, seconds by name) gives figures of seconds.
    judge_times: judge_times(settings, seconds by name) gives findings on the paper's times.
    """

    name: str
    settings: Any
    trial: Trial
    summarise: Callable[[Any, Sequence[Record]], Any]
    title: str = ""
    quick: Any = None
    n_trials: Callable[[Any], int] = _trials_of
    departures: Sequence[str] = ()
    draw_times: Callable[[Any, Mapping[str, Sequence[float]]], Sequence[Any]] | None = None
    judge_times: Callable[[Any, Mapping[str, Sequence[float]]], Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name == "all":
            raise InvalidParameter(
                "a study's name must be lower-case words joined by '-', and not 'all'; "
                f"it is {shown(self.name)}"
            )
        for settings in (self.settings, self.quick):
            if settings is not None:
                require_settings(settings)
        if not callable(self.trial):
            raise InvalidParameter(f"the trial must be a function; it is {shown(self.trial)}")

    def has_setting(self, name: str) -> bool:
        """Whether a setting can be changed; where nothing is repeated, trials cannot.

        name: of the setting.
        """
        repeated = name != "trials" or self.n_trials is not one_trial
        return repeated and name in {each.name for each in fields(self.settings)}

    def chosen_settings(self, *, quick: bool) -> Any:
        """The quick settings where there are any and they are wanted, else the full ones.

        quick: whether they are wanted.
        """
        return self.quick if quick and self.quick is not None else self.settings


ENTRY_POINTS = "didact.studies"
BUILT_IN = {
    "example": "didact.studies.paper.worked_examples:EXAMPLE",
    "table1": "didact.studies.paper.table1:STUDY",
    "features": "didact.studies.paper.features:STUDY",
    "uvm-failure": "didact.studies.paper.worked_examples:FAILURE",
    "active": "didact.studies.paper.curves:ACTIVE",
    "chain": "didact.studies.paper.worked_examples:CHAIN",
    "balls": "didact.studies.paper.curves:BALLS",
}
"""The paper's studies, in its order."""

OWN = {
    "families": "didact.studies.extensions.lesson_sizes:FAMILIES",
    "exams": "didact.studies.extensions.exams:STUDY",
    "frontier": "didact.studies.extensions.lesson_sizes:FRONTIER",
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
