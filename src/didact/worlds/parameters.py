"""Checks of a world's parameters, and random reward weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidNumber, InvalidParameter
from didact.inputs import shown, whole_number
from didact.numerics.exact import Floats, read_number

MAX_FEATURE_ENTRIES = 500_000_000
"""How many numbers the features of a made world may have: 4 GB, refused before they are taken."""


def as_probability(value: Any, place: str) -> Fraction:
    """An exact probability from 0 to 1; a float means its shortest decimal."""
    try:
        probability = read_number(value, place)
    except InvalidNumber as error:
        raise InvalidParameter(str(error)) from None
    if not 0 <= probability <= 1:
        raise InvalidParameter(f"{place} must be a probability from 0 to 1; it is {shown(value)}")
    return probability


def as_sides(size: Any, place: str = "size") -> tuple[int, int]:
    """Rows and columns of a grid, from one whole number or a pair of them."""
    pair = tuple(size) if isinstance(size, tuple | list) else (size, size)
    if len(pair) != 2:
        raise InvalidParameter(
            f"{place} must be a whole number or a pair (rows, columns); it is {shown(size)}"
        )
    rows, columns = (whole_number(side, place, 1, 1_000_000) for side in pair)
    return rows, columns


def as_letter_table(given: Any, place: str) -> dict[str, Any]:
    """A mapping letter -> value, also from text such as '.=-1,G=10' (for the command line)."""
    if isinstance(given, str):
        return _read_letter_table(given, place)
    letters = list(given) if isinstance(given, Mapping) else []
    if not letters or not all(isinstance(key, str) and len(key) == 1 for key in letters):
        raise InvalidParameter(
            f"{place} must map single letters to values, as {{'.': -1, 'G': 10}}; "
            f"it is {shown(given)}"
        )
    return dict(given)


def _read_letter_table(text: str, place: str) -> dict[str, str]:
    entries = [entry.strip() for entry in text.split(",")]
    if not all(len(entry) > 2 and entry[1] == "=" for entry in entries):
        raise InvalidParameter(
            f"{place} as text must read '.=-1,G=10', a letter and its value; it is {shown(text)}"
        )
    table = {entry[0]: entry[2:] for entry in entries}
    if len(table) < len(entries):
        raise InvalidParameter(f"{place} must name each letter once; it is {shown(text)}")
    return table


def draw_unit_weights(n_features: int, rng: np.random.Generator) -> Floats:
    """Weights (k,) uniform on the signed L1 unit sphere, |w1| + ... + |wk| = 1.

    The sphere is 2^k congruent simplices, one for each choice of signs. Exponential magnitudes
    divided by their sum are Dirichlet(1, ..., 1), which is uniform on the simplex, and the signs
    choose one of the simplices with equal probability, so the product is uniform on their union.
    """
    magnitudes = rng.standard_exponential(n_features)
    signs = rng.choice(np.array([-1.0, 1.0]), size=n_features)
    weights: Floats = signs * (magnitudes / magnitudes.sum())
    return weights
