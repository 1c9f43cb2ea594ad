"""Questions of an exam: what is asked, in words that do not give the answer away, and the key.

A comparison or a preference offers two sides, which differ by a row of feature counts, and is
answered by 'first', 'second' or 'equal'. A question about actions is answered by one action, or by
a list of all that are best.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from didact.bec.describe import side_words
from didact.bec.families import FamilyClass, Known
from didact.bec.parts import Part, exact_gap
from didact.inputs import printable
from didact.mdp import MDP, Demonstration
from didact.mdp.files import write_number
from didact.mdp.naming import state_words
from didact.numerics.texts import number_text

Kind = Literal["comparison", "action", "preference"]
Cost = Fraction | float
SIDES = ("first", "second", "equal")


@dataclass(frozen=True)
class Question:
    """One question, with its key.

    kind: 'comparison', 'action' or 'preference'.
    state: where it is asked; member: whose state it is, in a family.
    place: the same in words.
    options: two actions, two demonstrations, or for a question about actions all of them.
    labels: the options in words.
    costs: what each option costs against the best one there, in return; 0 for the best.
    key: the right answer: 'first', 'second' or 'equal'; of actions all that are best.
    words: what is asked.
    normal: what the first side counts more than the second, a row of integers, in float arithmetic
        of floats; None for actions.
    angle: the sine of the angle between that row and the true weights; None for actions.
    says: what the right answer says of the features; None for actions.
    """

    kind: Kind
    state: int
    place: str
    options: tuple[Any, ...]
    labels: tuple[str, ...]
    costs: tuple[Cost, ...]
    key: Any
    words: str
    normal: tuple[Any, ...] | None = None
    angle: float | None = None
    says: str | None = None
    member: int | None = None

    @property
    def margin(self) -> Cost:
        """What the least bad wrong option costs; 0 where all are as good."""
        return min((cost for cost in self.costs if cost > 0), default=Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """The question as a file holds it, with its key."""
        named: dict[str, Any] = {"kind": self.kind}
        if self.member is not None:
            named["member"] = self.member
        return named | {
            "state": self.state,
            "place": self.place,
            "options": [_option(option) for option in self.options],
            "labels": list(self.labels),
            "words": self.words,
            "costs": [write_number(c) if isinstance(c, Fraction) else c for c in self.costs],
            "key": list(self.key) if isinstance(self.key, tuple) else self.key,
            "normal": None if self.normal is None else [_entry(x) for x in self.normal],
            "angle": self.angle,
            "says": self.says,
        }


def _option(option: Any) -> Any:
    return [list(p) for p in option.pairs] if isinstance(option, Demonstration) else option


def _entry(entry: Any) -> Any:
    return number_text(entry) if isinstance(entry, int) else entry


def side_of(product: Any) -> str:
    """The answer of an agent whose weights give this product with the normal."""
    return "equal" if not product else "first" if product > 0 else "second"


def swapped(*identity: Any) -> bool:
    """Whether the better side stands second: settled by what is asked, as a coin would."""
    return bool(hashlib.sha256(repr(identity).encode()).digest()[0] & 1)


def turned(pair: Sequence[Any], swap: bool) -> tuple[Any, ...]:
    """Two sides in the order in which they are shown."""
    return tuple(reversed(pair)) if swap else tuple(pair)


def oriented(normal: Sequence[Any], swap: bool) -> tuple[Any, ...]:
    """What the side shown first counts more than the other."""
    return tuple(-entry for entry in normal) if swap else tuple(normal)


def cost_of(part: Part, state: int, action: int, better: int) -> Cost:
    """What an action costs against a best one, exactly where counts are exact."""
    exact = exact_gap(part, state, action, better)
    values = part.plan.action_values[state]
    return float(values[better] - values[action]) if exact is None else exact


def place_words(known: Known, part: Part, state: int) -> str:
    """Where a state is; in a family with its member."""
    where = state_words(part.task, state)
    if not isinstance(known, FamilyClass):
        return where
    return f"{where} of {printable(known.family.names[part.member or 0])}"


def apart_words(mdp: MDP, normal: Sequence[Any]) -> str:
    """What two sides differ by, without saying which is better."""
    first, second = side_words(mdp, normal)
    return f"They differ by {first} (first) against {second} (second)."
