"""A class in words: one sentence for every equality and every facet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from didact.bec.cone import Cone
from didact.bec.directions import TOLERANCE
from didact.bec.linear import independent
from didact.bec.words import Kind, describe_half_space, two_sides
from didact.inputs import instance, printable
from didact.mdp import MDP, Task


def describe(
    cone: Any, names: Sequence[str] | None = None, *, kind: Kind | None = None
) -> list[str]:
    """What the class says of the rewards of features: equalities first, then facets.

    cone: a task, its class, a lesson, or the cone of a class, `known.cone`.
    names: of the features; by default those of the task, and numbers for a cone.
    kind: what a feature counts: 'state' (steps on it), 'action' (uses of it) or 'feature' (units);
        by default as the task has it, and 'state' for a cone.

    Equalities that follow from others are left out. Where several rows state the same, the one
    with the fewest features speaks. A lesson says what it is for, taught and open alike.
    """
    if isinstance(cone, Task):
        from didact.bec.classes import equivalence_class

        cone = equivalence_class(cone)
    if hasattr(cone, "facets") and hasattr(cone, "demonstrations"):
        return [facet["words"] for facet in cone.facets]
    if not isinstance(cone, Cone) and isinstance(getattr(cone, "cone", None), Cone):
        mdp = cone.parts[0].task.mdp
        names = _feature_names(mdp) if names is None else names
        cone, kind = cone.cone, _kind(mdp) if kind is None else kind
    told = "a Task, its class or a lesson, such as equivalence_class(task)"
    instance(cone, Cone, "cone", told)
    return _sentences(cone, names, "state" if kind is None else kind)


def _sentences(cone: Cone, names: Sequence[str] | None, kind: Kind) -> list[str]:
    weights = cone.true_weights.fractions()
    return [
        describe_half_space(
            _normal(cone, row), names, equality=equality, kind=kind, weights=weights
        )
        for equality, rows in ((True, telling_equalities(cone)), (False, telling_facets(cone)))
        for row in rows
    ]


def row_words(cone: Cone, mdp: MDP, row: int) -> str:
    """What one row of a class says about the features of a model, in plain English."""
    exact = cone.rows.exact
    return describe_half_space(
        cone.rows.normals[row].tolist() if exact is None else exact[row],
        _feature_names(mdp),
        equality=row in cone.equalities,
        kind=_kind(mdp),
        weights=cone.true_weights.fractions(),
    )


def side_words(mdp: MDP, normal: Sequence[Any]) -> tuple[str, str]:
    """What a normal counts for and against of the features of a model, in plain English."""
    return two_sides(normal, _feature_names(mdp), kind=_kind(mdp))


def _feature_names(mdp: MDP) -> list[str]:
    return [printable(mdp.feature_name(i)) for i in range(mdp.n_features)]


def _kind(mdp: MDP) -> Kind:
    return "feature" if mdp.has_action_features else "state"


def _normal(cone: Cone, row: int) -> list[Any]:
    """The row's normal; in floats without what is rounding."""
    if cone.rows.exact is not None:
        return list(cone.rows.exact[row])
    return [x if abs(x) > TOLERANCE else 0.0 for x in cone.rows.normals[row].tolist()]


def _n_features(cone: Cone, row: int) -> int:
    return sum(1 for entry in _normal(cone, row) if entry)


def telling_facets(cone: Cone) -> list[int]:
    """For each facet the row with the fewest features, the first of them."""
    return [min(members, key=lambda row: _n_features(cone, row)) for members in cone.facets]


def telling_equalities(cone: Cone) -> list[int]:
    """Independent equalities from which the others follow, in order, few features before many."""
    candidates = sorted(cone.equalities, key=lambda row: _n_features(cone, row))
    if cone.rows.exact is not None:
        exact = [cone.rows.exact[row] for row in candidates]
        return sorted(candidates[place] for place in independent(exact)) if exact else []
    chosen: list[int] = []
    across = cone.rows.normals[candidates]
    for place, row in enumerate(candidates):
        length = float(np.linalg.norm(across[place]))
        if length > TOLERANCE:
            chosen.append(row)
            direction = across[place] / length
            across = across - np.outer(across @ direction, direction)
    return sorted(chosen)
