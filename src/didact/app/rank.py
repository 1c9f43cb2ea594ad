"""Rank tasks by how hard they are to teach: the use case behind `didact rank`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from didact.teaching.rank import Difficulty, benchmarks, open_named, rank

RANK_FORMAT = "didact.rank/1"


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rows, hardest first."""

    rows: tuple[Difficulty, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every task could be opened and has its numbers."""
        return all(row.error is None for row in self.rows)

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        return {"format": RANK_FORMAT, "rows": [row.document() for row in self.rows]}


def rank_sources(
    names: Sequence[str] = (),
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **settings: Any,
) -> Ranked:
    """The difficulty of worlds, environments and task files; of the built-in list without names.

    progress: called with the name of each, its number, and how many there are.
    """
    listed = tuple(names) or tuple(benchmark.name for benchmark in benchmarks())
    count = iter(range(len(listed)))

    def tell(name: str) -> None:
        if progress is not None:
            progress(name, next(count), len(listed))

    makers = {name: partial(open_named, name) for name in listed}
    return Ranked(tuple(rank(makers, progress=tell, **settings)))
