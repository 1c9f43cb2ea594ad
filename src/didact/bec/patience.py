"""Long exact work: told before it begins, followed while it runs, left with the floats in hand.

`auto` says so before certificates that will take more than a minute, tells every tenth of them, and
who interrupts it (Ctrl-C) has the numerical class instead. Whoever asks for 'exact' gets that, or
the interruption.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from didact.bec.cone import Cone, cone_of
from didact.bec.rows import Rows
from didact.numerics.exact import Numbers
from didact.planning.solve import Arithmetic

log = logging.getLogger("didact")

LONG = 60.0
"""Seconds from which exact work is told before it begins."""

_ROW_SECONDS, _AT_FEATURES, _GROWTH = 3e-3, 35, 5.5
"""What one row takes with so many features, and the power with which that grows: measured on random
grids from 20 to 50 features. Below, rows take no time worth telling."""


def expected_seconds(rows: Rows) -> float:
    """About how long certificates for all rows will take."""
    return float(rows.n_rows * _ROW_SECONDS * (rows.normals.shape[1] / _AT_FEATURES) ** _GROWTH)


def patient_cone(
    rows: Rows, weights: Numbers, arithmetic: Arithmetic, numerical: Callable[[], Rows]
) -> tuple[Rows, Cone]:
    """The rows and their cone; those in floats where somebody interrupts what takes long.

    numerical: the same rows in floats.
    """
    seconds = expected_seconds(rows)
    if rows.exact is None or arithmetic != "auto" or seconds < LONG:
        return rows, cone_of(rows, weights)
    log.warning(
        "certificates for %s rows of %s features will take about %s; interrupt them (Ctrl-C) to "
        "take the numerical class, which is not proved",
        rows.n_rows,
        rows.normals.shape[1],
        _duration(seconds),
    )
    try:
        return rows, cone_of(rows, weights, progress=_every_tenth())
    except KeyboardInterrupt:
        log.warning("interrupted: the class is numerical, not proved")
        floats = numerical()
        return floats, cone_of(floats, weights)


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    if minutes < 120:
        return f"{minutes} minute{'s' if minutes > 1 else ''}"
    return f"{round(minutes / 60)} hours"


def _every_tenth() -> Callable[[int, int], None]:
    """Tells how far certificates are, at every tenth of them."""
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        if 10 * done // total > told:
            told = 10 * done // total
            log.info("%s of %s rows have their certificates (%s%%)", done, total, 10 * told)

    return tell
