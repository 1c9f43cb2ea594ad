"""What results say: one `Description` for each type of result, as data.

Terminal, page and notebook only lay it out; none reads a number, a name or a place back from a
sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from didact.inputs import counted


@dataclass(frozen=True)
class Listing:
    """Lines of one kind under a title, of which the first are shown unless all are asked for."""

    title: str
    lines: tuple[str, ...]
    n_shown: int
    noun: str = "line"

    def shown(self, *, all_of_it: bool) -> tuple[str, ...]:
        """The lines to show, the last one counts the others."""
        rest = len(self.lines) - self.n_shown
        if all_of_it or rest <= 0:
            return self.lines
        return (*self.lines[: self.n_shown], f"(and {counted(rest, f'more {self.noun}')})")


@dataclass(frozen=True)
class Description:
    """A result in words.

    verdict: one sentence. facts: a line each, or listings. details: what only some readers want,
    and `more` what that is.
    """

    verdict: str
    facts: tuple[str | Listing, ...] = ()
    details: tuple[str | Listing, ...] = ()
    more: str = ""

    def lines(self, *, details: bool = False, indent: str = "  ") -> Iterator[str]:
        """The verdict and what follows it, one line each, however long."""
        yield self.verdict
        yield from self.following(details=details, indent=indent)

    def following(self, *, details: bool = False, indent: str = "  ") -> Iterator[str]:
        """What follows the verdict."""
        yield from _laid_out(self.facts, indent, all_of_it=details)
        if details:
            yield from _laid_out(self.details, indent, all_of_it=True)
        elif self.details:
            yield f"{indent}--details: {self.more}"


def _laid_out(parts: Iterable[str | Listing], indent: str, *, all_of_it: bool) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield indent + part
        elif part.lines:
            deeper = indent
            if part.title:
                yield f"{indent}{part.title}"
                deeper += "  "
            yield from (deeper + line for line in part.shown(all_of_it=all_of_it))
