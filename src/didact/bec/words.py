"""Half-spaces of weights in plain English: what a row says about the rewards of features.

A row n says n.w >= 0. Its positive entries go to one side and its negative ones to the other, so
that every number in the sentence is positive: 2.54 steps on white are worth at least one step on
grey. Whether a feature is a reward or a cost cannot be seen from the row. When the true weights are
given and agree in sign, the sentence speaks of costs or of worth: one step on grey costs at least
2.54 times a step on white.

A class is one sentence for every equality and every facet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from didact.bec.cone import Cone
from didact.bec.directions import TOLERANCE
from didact.bec.linear import exact_entry, independent
from didact.errors import InvalidParameter
from didact.inputs import choice, instance, printable
from didact.inputs import entries as listed
from didact.mdp import MDP, Task
from didact.mdp.naming import event_words
from didact.numerics.texts import short_repr

Kind = Literal["state", "action", "feature"]
Name = str | tuple[str, str]
"""What a feature is called; where it counts events, one of them and several: 'a move', 'moves'."""
Measure = Literal["worth", "cost"]
Relation = Literal["at least", "at most", "exactly"]

LARGEST_RATIO = 1000
"""Amounts are scaled to make the smallest 1, or the largest 1 when they lie further apart."""

MAX_TERMS = 5
"""Features that a side of a sentence names; the others are counted."""

SIGNIFICANT_DIGITS = 3
"""Digits of an amount in a sentence."""

DIGITS_OF_ONE = 12
"""Digits to which an amount must be 1 to be said as "one": a word claims more than a number."""

_UNITS = {"state": "step on", "action": "use of", "feature": "unit of"}
_UNITS_PLURAL = {"state": "steps on", "action": "uses of", "feature": "units of"}


@dataclass(frozen=True)
class Term:
    """So many units of a feature, or so many events: then `many` is what several are called.

    The amount is exact and positive.
    """

    amount: Fraction
    feature: int
    name: str
    many: str = ""

    __repr__ = short_repr


@dataclass(frozen=True)
class HalfSpaceWords:
    """A half-space or hyperplane as a comparison of two sides that can be said and checked.

    It says: the worth (or cost) of the left side is at least, at most or exactly that of the right;
    an empty side is nothing.
    """

    left: tuple[Term, ...]
    right: tuple[Term, ...]
    relation: Relation
    measure: Measure
    as_ratio: bool
    kind: Kind

    def sentence(self) -> str:
        """The comparison in words, amounts to three significant digits, without a full stop."""
        if not self.left:
            return "every reward agrees"
        if not self.right:
            return self._against_nothing()
        if self.as_ratio:
            return self._ratio()
        verb = _verb(self.measure, _is_single(self.left))
        together = "together " if len(self.left) > 1 else ""
        left, right = _side(self.left, self.kind), _side(self.right, self.kind)
        return f"{left} {together}{verb} {self.relation} {right}"

    def _against_nothing(self) -> str:
        """One side against zero: never a loss, never a gain, or worth nothing."""
        single = len(self.left) == 1
        what = _unit(self.left[0], self.kind, "a") if single else _side(self.left, self.kind)
        verb = "is" if single else "together are"
        if self.relation == "exactly":
            return f"{what} {verb} worth exactly nothing"
        return f"{what} {verb} never a {'loss' if self.relation == 'at least' else 'gain'}"

    def _ratio(self) -> str:
        """One unit of a feature as so many times one unit of another."""
        amount, verb = _amount_text(self.right[0].amount), _verb(self.measure, True)
        subject = _unit(self.left[0], self.kind, "one")
        object_ = _unit(self.right[0], self.kind, "a")
        if amount == "1":
            return f"{subject} {verb} {self.relation} as much as {object_}"
        return f"{subject} {verb} {self.relation} {amount} times {object_}"


def describe_half_space(
    normal: Sequence[Any],
    names: Sequence[Name] | None,
    *,
    equality: bool = False,
    kind: Kind = "state",
    weights: Sequence[Any] | None = None,
) -> str:
    """What normal.w >= 0 (or = 0) says about the rewards of the named features.

    `weights`, the true ones, only choose the wording. `kind` says what a feature counts: steps on
    states, uses of actions or plain units.

    >>> describe_half_space((2.539, -1), ("white", "grey"))
    '2.54 steps on white are worth at least one step on grey'
    >>> describe_half_space((2.539, -1), ("white", "grey"), weights=(-1, -10))
    'one step on grey costs at least 2.54 times a step on white'
    >>> describe_half_space((-1, 0), ("white", "grey"))
    'a step on white is never a gain'
    """
    words = half_space_words(normal, names, equality=equality, kind=kind, weights=weights)
    return words.sentence()


def half_space_words(
    normal: Sequence[Any],
    names: Sequence[Name] | None,
    *,
    equality: bool = False,
    kind: Kind = "state",
    weights: Sequence[Any] | None = None,
) -> HalfSpaceWords:
    """The comparison that says normal.w >= 0 (or = 0); it holds for exactly those weights."""
    choice(kind, "kind", get_args(Kind))
    entries = _read_numbers(normal, "normal")
    named = _names_for(entries, names)
    scale = _scale(entries)
    positive = _terms(entries, named, scale, 1)
    negative = _terms(entries, named, scale, -1)
    relation: Relation = "exactly" if equality else "at least"
    if not positive and not equality:
        return HalfSpaceWords(negative, (), "at most", "worth", False, kind)
    if not positive or not negative:
        return HalfSpaceWords(positive or negative, (), relation, "worth", False, kind)
    sign = _common_sign(positive + negative, weights, len(entries))
    measure: Measure = "cost" if sign < 0 else "worth"
    left, right = (negative, positive) if sign < 0 else (positive, negative)
    if sign and len(left) == len(right) == 1:
        return _as_ratio(left[0], right[0], relation, measure, kind)
    return HalfSpaceWords(left, right, relation, measure, False, kind)


def _read_numbers(values: Sequence[Any], place: str) -> list[Fraction]:
    return [exact_entry(value, f"{place}[{i}]") for i, value in enumerate(values)]


def _names_for(entries: list[Fraction], names: Sequence[Name] | None) -> list[tuple[str, str]]:
    """What one of each feature is called, and several of it where it counts events, else ''."""
    if names is None:
        return [(f"feature {i}", "") for i in range(len(entries))]
    given = [_one_and_many(name) for name in listed(names, "names", "texts")]
    if len(given) != len(entries):
        raise InvalidParameter(
            f"names must name each of the {len(entries)} features; there are {len(given)}"
        )
    return given


def _one_and_many(name: Any) -> tuple[str, str]:
    one, many = name if isinstance(name, tuple) and len(name) == 2 else (name, "")
    return instance(one, str, "a name"), instance(many, str, "a name")


def _scale(entries: list[Fraction]) -> Fraction:
    """What to divide by: the smallest amount, or the largest when they lie far apart."""
    amounts = [abs(entry) for entry in entries if entry]
    if not amounts:
        return Fraction(1)
    smallest, largest = min(amounts), max(amounts)
    return smallest if largest <= LARGEST_RATIO * smallest else largest


def _terms(
    entries: list[Fraction], names: list[tuple[str, str]], scale: Fraction, sign: int
) -> tuple[Term, ...]:
    """The entries of one sign, the largest amounts first."""
    terms = [
        Term(abs(entry) / scale, i, *names[i])
        for i, entry in enumerate(entries)
        if entry * sign > 0
    ]
    return tuple(sorted(terms, key=lambda term: -term.amount))


def _common_sign(terms: tuple[Term, ...], weights: Sequence[Any] | None, n_features: int) -> int:
    """1 or -1 when the true weights of all terms have that sign, else 0."""
    if weights is None:
        return 0
    exact = _read_numbers(weights, "weights")
    if len(exact) != n_features:
        raise InvalidParameter(
            f"weights must have {n_features} entries, as the normal; there are {len(exact)}"
        )
    if all(exact[term.feature] > 0 for term in terms):
        return 1
    return -1 if all(exact[term.feature] < 0 for term in terms) else 0


def _as_ratio(
    left: Term, right: Term, relation: Relation, measure: Measure, kind: Kind
) -> HalfSpaceWords:
    """One unit against at least one unit of the other; sides change places when that needs it."""
    if left.amount > right.amount:
        left, right = right, left
        relation = "at most" if relation == "at least" else relation
    one = replace(left, amount=Fraction(1))
    other = replace(right, amount=right.amount / left.amount)
    return HalfSpaceWords((one,), (other,), relation, measure, True, kind)


def _side(terms: tuple[Term, ...], kind: Kind) -> str:
    """One side in words: 'one step on grey', or '2.54 steps on white and 1 on sand'."""
    if _is_single(terms):
        return _unit(terms[0], kind, "one")
    link = _UNITS[kind].rsplit(" ", 1)[1]
    parts = [_some(term, link) for term in terms[:MAX_TERMS]]
    unit = _UNITS[kind] if _amount_text(terms[0].amount) == "1" else _UNITS_PLURAL[kind]
    parts[0] = _some(terms[0], unit)
    if len(terms) > MAX_TERMS:
        parts.append(f"{len(terms) - MAX_TERMS} more")
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _unit(term: Term, kind: Kind, number: str) -> str:
    """One unit of a feature: 'one step on grey', 'a step on grey'; or one event: 'a move'."""
    return term.name if term.many else f"{number} {_UNITS[kind]} {term.name}"


def _some(term: Term, unit: str) -> str:
    """'2.54 steps on white', or '20 moves'."""
    amount = _amount_text(term.amount)
    if term.many:
        return term.name if amount == "1" else f"{amount} {term.many}"
    return f"{amount} {unit} {term.name}"


def _is_single(terms: tuple[Term, ...]) -> bool:
    """Whether a side is one unit of one feature."""
    return len(terms) == 1 and _amount_text(terms[0].amount) == "1"


def _verb(measure: Measure, singular: bool) -> str:
    if measure == "cost":
        return "costs" if singular else "cost"
    return "is worth" if singular else "are worth"


def _amount_text(amount: Fraction) -> str:
    """The amount to three significant digits; never 0, and 1 only to twelve digits.

    One is said as "one" or "as much as", so an amount close to it gets the digits that tell.
    """
    rounded = _rounded(amount, SIGNIFICANT_DIGITS)
    digits = SIGNIFICANT_DIGITS
    while rounded == 1 and digits < DIGITS_OF_ONE:
        digits += 1
        rounded = _rounded(amount, digits)
    if -4 <= rounded.adjusted() <= 6:
        return f"{rounded:f}"
    return f"{rounded:e}".replace("e+", "e")


def _rounded(amount: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits)
    quotient = context.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return quotient.normalize(context)


def describe(
    cone: Any, names: Sequence[Name] | None = None, *, kind: Kind | None = None
) -> list[str]:
    """What the class says of the rewards of features: equalities first, then facets.

    cone: a task, its class, a lesson, or the cone of a class, `bec.cone`.
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
        task = cone.members[0].task
        names = _feature_names(task) if names is None else names
        cone, kind = cone.cone, _kind(task.mdp) if kind is None else kind
    told = "a Task, its class or a lesson, such as equivalence_class(task)"
    instance(cone, Cone, "cone", told)
    return _sentences(cone, names, "state" if kind is None else kind)


def _sentences(cone: Cone, names: Sequence[Name] | None, kind: Kind) -> list[str]:
    weights = cone.true_weights.fractions()
    return [
        describe_half_space(
            _normal(cone, row), names, equality=equality, kind=kind, weights=weights
        )
        for equality, rows in ((True, telling_equalities(cone)), (False, telling_facets(cone)))
        for row in rows
    ]


def row_words(cone: Cone, task: Task, row: int) -> str:
    """What one row of a class says about the features of a task, in plain English."""
    exact = cone.rows.exact
    return describe_half_space(
        cone.rows.normals[row].tolist() if exact is None else exact[row],
        _feature_names(task),
        equality=row in cone.equalities,
        kind=_kind(task.mdp),
        weights=cone.true_weights.fractions(),
    )


def side_words(task: Task, normal: Sequence[Any]) -> tuple[str, str]:
    """What a normal counts for and against of the features of a task, in plain English.

    A side without features is 'nothing'.
    """
    entries, kind = _read_numbers(normal, "normal"), _kind(task.mdp)
    named, scale = _names_for(entries, _feature_names(task)), _scale(entries)
    first, second = (
        _side(terms, kind) if (terms := _terms(entries, named, scale, sign)) else "nothing"
        for sign in (1, -1)
    )
    return first, second


def _feature_names(task: Task) -> Sequence[Name]:
    """What the features are called, as the events of a known environment where all are."""
    names = [printable(task.mdp.feature_name(i)) for i in range(task.mdp.n_features)]
    events = [event for name in names if (event := event_words(task.name, name))]
    return events if len(events) == len(names) else names


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
