"""Modes of a posterior among the summits that searches found, and chains spread over them.

Two summits are two modes when a valley lies between them: the log density somewhere on the way from
one to the other is DEEP nats below the lower of them. Chains that all start in one mode of several
can agree with each other, and R-hat cannot see what none of them has seen; so the searches of all
chains are put together, and the chains start in different modes. What no search found stays unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from didact.learners.chains.priors import Prior
from didact.numerics.exact import Floats

NEAR = 3.0
"""Summits so many nats below the best one still count, and chains may start there."""

DEEP = 3.0
"""So many nats below the lower of two summits a valley parts them."""

ALIKE = 0.99
"""Cosine above which two summits are one without a look at what lies between."""

MOST_MODES, MOST_SUMMITS = 8, 32
"""Modes that are told apart, and summits, the highest, that are looked at."""


@dataclass(frozen=True, eq=False)
class Summit:
    """Weights (k,), their log density, and the number of the chain whose search found them."""

    weights: Floats
    density: float
    chain: int = 0


@dataclass(frozen=True, eq=False)
class Modes:
    """Summits by mode, the highest of each first, and so the modes."""

    prior: Prior
    density_at: Callable[[Floats], float]
    members: tuple[list[Summit], ...]

    @classmethod
    def among(
        cls,
        summits: Sequence[Summit],
        prior: Prior,
        density_at: Callable[[Floats], float],
        *,
        near: float = NEAR,
    ) -> Modes:
        """The modes of the summits that are at most `near` nats below the highest."""
        found = cls(prior, density_at, ())
        ordered = sorted(summits, key=lambda summit: -summit.density)[:MOST_SUMMITS]
        for summit in ordered:
            if summit.density >= ordered[0].density - near:
                found = found.joined_by(summit)
        return found

    def joined_by(self, summit: Summit) -> Modes:
        """The modes with a summit more: in one of them, or in one of its own."""
        for number, mode in enumerate(self.members):
            if not self.is_parted(mode[0], summit):
                grown = [*mode, summit]
                members = (*self.members[:number], grown, *self.members[number + 1 :])
                return Modes(self.prior, self.density_at, members)
        if len(self.members) == MOST_MODES:
            return self
        return Modes(self.prior, self.density_at, (*self.members, [summit]))

    def is_parted(self, one: Summit, other: Summit) -> bool:
        """Whether a valley lies between two summits."""
        if _cosines(one.weights[None], other.weights[None])[0, 0] > ALIKE:
            return False
        least = min(one.density, other.density) - DEEP
        return any(self.density_at(place) < least for place in self._between(one, other))

    def _between(self, one: Summit, other: Summit) -> list[Floats]:
        """Weights half of the way, and at its quarters; around, where it leads through 0."""
        half = one.weights + other.weights
        if np.linalg.norm(half) < 1e-6 * np.linalg.norm(one.weights):
            half = np.zeros(half.size)
            half[int(np.argmin(np.abs(one.weights)))] = float(np.linalg.norm(one.weights))
        ways = (half / 2, (one.weights + half / 2) / 2, (other.weights + half / 2) / 2)
        return [self.prior.nearest(way) for way in ways]

    def start_of(self, chain: int) -> Floats | None:
        """Where a chain starts: in one mode after the other, at a summit of its own if it has one.

        None with one mode only: then any start will do.
        """
        if len(self.members) < 2:
            return None
        mode = self.members[chain % len(self.members)]
        own = [summit for summit in mode if summit.chain == chain]
        return (own or mode)[0].weights

    def n_missed(self, visited: Floats) -> int:
        """In how many modes none of the weights (n, k) is: each belongs to the nearest summit."""
        if len(self.members) < 2:
            return 0
        tops = np.array([mode[0].weights for mode in self.members])
        nearest = _cosines(visited, tops).argmax(axis=1)
        return len(tops) - np.unique(nearest).size


def missed_notes(n_missed: int) -> tuple[str, ...]:
    """What a reader must know of modes in which no chain has been."""
    if not n_missed:
        return ()
    places = "a hill" if n_missed == 1 else f"{n_missed} hills"
    return (
        f"a search found {places} nearly as high as the best where no chain has been: a part of "
        "the posterior may be missing from the draws; run more chains, or start them elsewhere",
    )


def _cosines(left: Floats, right: Floats) -> Floats:
    """Of the angles between rows, (n, m); 0 with the zero vector."""
    lengths = np.linalg.norm(left, axis=1)[:, None] * np.linalg.norm(right, axis=1)[None, :]
    return np.asarray((left @ right.T) / np.where(lengths > 0.0, lengths, 1.0))
