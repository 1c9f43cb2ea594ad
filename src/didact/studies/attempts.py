"""One attempt at a trial, as a worker makes it: a plain record and its seconds, or a reason."""

from __future__ import annotations

import json
import time
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact import __version__
from didact.errors import InvalidParameter, NotMixed
from didact.inputs import FAILURES, reason_of
from didact.studies.study import Record, Trial


@dataclass(frozen=True)
class Attempt:
    """What a worker brings back: a record and seconds, or a reason why there is none."""

    record: Record | None
    seconds: Mapping[str, float]
    took: float
    reason: str = ""
    details: str = ""


def attempt(trial: Trial, settings: Any, number: int) -> Attempt:
    """Run one trial; whatever it raises is told, not raised."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotMixed)
            record, seconds = _plain(trial(settings, number))
    except FAILURES as error:
        took = time.perf_counter() - began
        return Attempt(None, {}, took, reason_of(error, 300), traceback.format_exc()[-5000:])
    return Attempt(record, seconds, time.perf_counter() - began)


def attempt_there(version: str, trial: Trial, settings: Any, number: int) -> Attempt:
    """The same on a cluster, whose workers may have joined after the run began."""
    if version != __version__:
        reason = f"a worker must have didact {version}; it has {__version__}"
        return Attempt(None, {}, 0.0, reason, reason)
    return attempt(trial, settings, number)


def _plain(record: Any) -> tuple[Record, dict[str, float]]:
    """The record as it comes back from the store, and its seconds apart."""
    if not isinstance(record, Mapping):
        raise InvalidParameter(f"a trial must return a record (a dict); it returned {record!r:.60}")
    try:
        read = json.loads(json.dumps(dict(record), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"a record must hold plain finite JSON values: {error}. Convert arrays and numbers of "
            "NumPy with tolist(), float() or int(), and leave out what is not known"
        ) from None
    seconds = read.pop("seconds", {})
    if not isinstance(seconds, dict):
        raise InvalidParameter(
            f"a record's seconds must be given by name; they are {seconds!r:.60}"
        )
    return read, {str(name): float(value) for name, value in seconds.items()}
