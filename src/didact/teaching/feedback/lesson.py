"""A lesson of demonstrations and other feedback, the cheapest mix of what was offered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from didact.errors import InvalidParameter
from didact.files.json import write_json
from didact.inputs import counted, is_whole, shown, shown_name
from didact.mdp.family import Family
from didact.mdp.files import write_number
from didact.mdp.items import Item
from didact.mdp.showing import in_notebook, show
from didact.mdp.task import Task
from didact.numerics.later import Later
from didact.teaching.evidence import checked_as_fewest

MIXED_FORMAT = "didact.lesson/2"


@dataclass(frozen=True, eq=False)
class MixedLesson:
    """Demonstrations, comparisons and preferences that teach a task, or as much as they can.

    task_name: of the task or family that is taught.
    status: 'complete' where every row of the class follows from them, decided exactly; else
        'partial'.
    items: in the order to show them; those of a family name their member.
    words: what each would be said as.
    gains: how many facets (and equality rows) each newly covers.
    why: for each item what it newly shows, in words.
    cost: of all of them.
    lower_bound: no complete lesson of allowed items costs less; None where none is known.
    hardest: the smallest difference in return that one must see to give the feedback.
    n_facets: of the task's class.
    n_equalities: of the task's class.
    open: what stays open, in words.
    witness: for a partial lesson weights that fit every item and are wrong.
    loss: the worst loss of a learner that takes the witness.
    settings: what `teach` was given.
    proof: the `didact.proof/1` object, of a family `didact.proof/2`; None in older files.
    """

    task_name: str
    status: str
    items: tuple[Item, ...]
    words: tuple[str, ...]
    gains: tuple[int, ...]
    why: tuple[tuple[str, ...], ...]
    cost: int | Fraction
    lower_bound: int | Fraction | None
    hardest: Fraction | None
    n_facets: int
    n_equalities: int
    open: tuple[str, ...]
    witness: tuple[Fraction, ...] | None
    loss: float | None
    settings: Mapping[str, Any]
    proof: Mapping[str, Any] | None = None
    _known: Any = None

    _repr_html_ = in_notebook("mixed lesson")

    def __repr__(self) -> str:
        left = f", {len(self.open)} open" if self.open else ""
        items = counted(len(self.items), "item")
        return f"MixedLesson({shown_name(self.task_name)!r}, {self.status}: {items}{left}, exact)"

    def __len__(self) -> int:
        return len(self.items)

    @property
    def is_complete(self) -> bool:
        """Whether every row of the class follows from the items."""
        return self.status == "complete"

    @property
    def is_fewest(self) -> bool:
        """Whether no lesson of allowed items costs less, by a certificate that the independent
        checker accepted in this process; False for a lesson from a file."""
        if self._known is None or not self.is_complete or self.lower_bound != self.cost:
            return False
        return checked_as_fewest(self._known, self.document())

    @property
    def is_of_family(self) -> bool:
        """Whether it teaches a family, so that items have members."""
        return self.settings.get("members") is not None

    def reason(self, number: int) -> str:
        """In words: what an item rules out that those before it did not.

        number: of the item, from 0.
        """
        if not is_whole(number) or not 0 <= number < len(self.items):
            raise InvalidParameter(
                f"the items of this lesson are 0 to {len(self.items) - 1}; there is no "
                f"{shown(number)}"
            )
        if not self.why[number]:
            return "It narrows what the others leave open."
        return "It says that " + "; that ".join(self.why[number]) + "."

    def report(self, path: str | os.PathLike[str], task: Task | Family) -> None:
        """Write a page: each item in pictures and words, and what it is for.

        path: of the page, such as 'lesson.html'.
        task: that is taught, or the family; the lesson knows only its name.
        """
        show("report of a mixed lesson", task, self, path)

    def document(self) -> dict[str, Any]:
        """The `didact.lesson/2` object; `check` reads its items."""
        return {
            "format": MIXED_FORMAT,
            "task": self.task_name,
            "status": self.status,
            "items": [item.document() for item in self.items],
            "words": list(self.words),
            "gains": list(self.gains),
            "why": [list(words) for words in self.why],
            "cost": _number(self.cost),
            "lower_bound": _number(self.lower_bound),
            "hardest": _number(self.hardest),
            "n_facets": self.n_facets,
            "n_equalities": self.n_equalities,
            "open": list(self.open),
            "witness": None if self.witness is None else [_number(w) for w in self.witness],
            "loss": self.loss,
            "settings": dict(self.settings),
            "proof": None if self.proof is None else dict(self.proof),
        }

    to_dict = document

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.lesson/2` file whose items have kinds.

        path: of the file.
        """
        write_json(self.document(), path)


MixedLesson.proof = Later("proof")  # type: ignore[assignment]


def _number(value: int | Fraction | None) -> int | float | str | None:
    return None if value is None else write_number(Fraction(value))
