"""The cone of what a lesson shows, asked about rows of other worlds: does this follow from it?

A row follows when it lies in the cone of the rows shown (Farkas); else some reward fits all that is
shown and breaks it. In exact arithmetic both answers are proved: only the few rows that witnesses
broke are combined, and every witness is tried on all rows shown. Floats measure the distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from didact.bec.clarkson import all_hold, find_facets
from didact.bec.directions import TOLERANCE
from didact.bec.facet_scan import IS_EQUALITY
from didact.bec.farkas import Inside, decide
from didact.bec.linear import Row, matrix, primitive, products
from didact.bec.nnls import nearest_in_cone
from didact.bec.rows import Rows
from didact.numerics.exact import Floats

if TYPE_CHECKING:
    from flint import fmpz_mat

Weights = tuple[Fraction, ...]


class Shown(Protocol):
    """What is shown, in one arithmetic."""

    def witness_against(self, rows: Rows, number: int) -> Weights | None:
        """Weights that fit all that is shown and break a row; None where the row follows."""

    def fits(self, weights: Weights) -> bool:
        """Whether weights fit all that is shown."""


class ExactlyShown:
    """Rows as whole numbers; answers are proved."""

    def __init__(self, rows: Sequence[Row], likely: Iterable[int] = ()):
        self.rows: fmpz_mat | None = matrix(rows) if rows else None
        self._all = tuple(rows)
        self._generators = [rows[number] for number in likely]
        self._following: set[Row] = set()

    def witness_against(self, rows: Rows, number: int) -> Weights | None:
        """Weights that fit all that is shown and break a row; None where the row follows."""
        assert rows.exact is not None
        return self.against(rows.exact[number])

    def follows(self, row: Row) -> bool:
        """Whether a row is a consequence of all that is shown."""
        return self.against(row) is None

    def against(self, target: Row) -> Weights | None:
        """Weights that fit all that is shown and break a row; None where the row follows."""
        if target in self._following:
            return None
        while True:
            decision = decide(self._generators, target)
            if isinstance(decision, Inside):
                self._following.add(target)
                return None
            broken = self._most_broken(decision.witness)
            if broken is None:
                largest = max(abs(entry) for entry in decision.witness)
                return tuple(Fraction(entry, largest) for entry in decision.witness)
            self._generators.append(self._all[broken])

    def _most_broken(self, witness: Row) -> int | None:
        """The row shown that a direction breaks most; None where it fits all of them."""
        if self.rows is None:
            return None
        values = products(self.rows, witness)
        least = min(range(len(values)), key=values.__getitem__)
        return least if values[least] < 0 else None

    def fits(self, weights: Weights) -> bool:
        """Whether weights fit all that is shown."""
        return self._most_broken(primitive(weights)) is None


class NumericallyShown:
    """Rows as unit floats; answers up to the tolerance."""

    def __init__(self, rows: Floats):
        self.rows = rows

    def witness_against(self, rows: Rows, number: int) -> Weights | None:
        """Weights that fit all that is shown and break a row; None where the row follows."""
        target = rows.normals[number]
        nearest = nearest_in_cone(self.rows, target)
        if float(np.linalg.norm(nearest.residual)) <= TOLERANCE:
            return None
        away = -nearest.residual
        away = away / np.abs(away).max()
        return tuple(Fraction(repr(float(x))) for x in away)

    def fits(self, weights: Weights) -> bool:
        """Whether weights fit all that is shown."""
        point = np.array([float(w) for w in weights])
        return bool((self.rows @ point >= -TOLERANCE * np.linalg.norm(point)).all())


def shown_cone(rows: Rows, weights: Floats, *, exact: bool) -> Shown:
    """The cone of a catalogue's rows, all of which hold at the weights."""
    if not rows.n_rows:
        return ExactlyShown(()) if exact else NumericallyShown(rows.normals)
    inside = rows.balanced_weights(weights)
    if not all_hold(rows.balanced, inside):  # floats took actions for best that are not
        return NumericallyShown(rows.normals)
    found = find_facets(rows.balanced, inside)
    likely = [*found.facets.tolist(), *np.flatnonzero(found.facet_of == IS_EQUALITY).tolist()]
    if exact and rows.exact is not None:
        return ExactlyShown(rows.exact, likely)
    return NumericallyShown(rows.normals[likely])


def fits_rows(rows: Rows, weights: Weights) -> bool:
    """Whether weights fit a catalogue's rows, exactly where these are."""
    if rows.exact is not None:
        return ExactlyShown(rows.exact).fits(weights)
    return NumericallyShown(rows.normals).fits(weights)
