"""What demonstrations cover, one after the other: walked once, asked for gains, firsts and gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from didact.teaching.covers.elements import Elements


@dataclass(frozen=True, eq=False)
class Coverage:
    """Elements, and those that the first 0, 1, 2, ... demonstrations cover, as bits."""

    elements: Elements
    after: tuple[int, ...]

    @classmethod
    def of(cls, elements: Elements, stated: Iterable[int]) -> Coverage:
        """The coverage by demonstrations that state these elements, in that order."""
        walk = accumulate(stated, lambda covered, new: elements.closure(covered | new), initial=0)
        return cls(elements, tuple(walk))

    @property
    def covered(self) -> int:
        """What all demonstrations cover."""
        return self.after[-1]

    @property
    def is_complete(self) -> bool:
        """Whether everything is covered."""
        return self.covered == self.elements.everything

    @property
    def gains(self) -> tuple[int, ...]:
        """How many elements each demonstration newly covers."""
        return tuple((now & ~before).bit_count() for before, now in pairwise(self.after))

    def first_to_cover(self, element: int) -> int | None:
        """The first demonstration after which an element is covered; None where none is."""
        return next((n - 1 for n, bits in enumerate(self.after) if bits >> element & 1), None)
