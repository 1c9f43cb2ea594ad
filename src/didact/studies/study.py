"""A study: settings, a trial function, and what its records come to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.studies.settings import require_settings

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

    trial(settings, number) gives a plain record; what it measures in seconds stands under the key
    'seconds' and is kept apart, since no two runs agree on it. summarise(settings, records) gives
    a `Summary`. n_trials: how many trials the settings ask for. departures: what always differs
    from the paper, in words. draw_times(settings, seconds by name) gives figures of seconds,
    judge_times findings on what the paper says of them.
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
        """Whether a setting can be changed; where nothing is repeated, trials cannot."""
        repeated = name != "trials" or self.n_trials is not one_trial
        return repeated and name in {each.name for each in fields(self.settings)}

    def chosen_settings(self, *, quick: bool) -> Any:
        """The quick settings where there are any and they are wanted, else the full ones."""
        return self.quick if quick and self.quick is not None else self.settings
