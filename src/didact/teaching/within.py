"""What a lesson promises of losses: a bound, for which learners, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from didact.inputs import counted
from didact.mdp.files import write_number
from didact.numerics.exact import read_number

ENUMERATED, TESTED, EXCEEDED = "enumerated", "tested", "exceeded"
"""Every class of policies that fits was visited; a search found nothing worse; something is."""

SURELY = 1e-9
"""Losses above a bound by less than this share of the spread are not called larger."""

FROM_BAD_TO_GOOD = (EXCEEDED, TESTED, ENUMERATED)


class Witness(NamedTuple):
    """A reward that loses more than the bound: every lesson within it must exclude these weights.

    weights: (k,), exact. loss: of the best policy that is optimal for them. learner: whose lesson
    must exclude them. excluded_by: the candidates that do, by number; no other does.
    """

    weights: tuple[Fraction, ...]
    loss: float
    learner: str
    excluded_by: frozenset[int]


@dataclass(frozen=True)
class Within:
    """The most that a learner may lose after a lesson.

    bound: what was asked for, in units of return. spread: V* less V of the uniformly random policy,
    which shares are of. worst: the most that was found to be lost, by half-space learners where
    they are guarded. statuses: for each kind of learner 'enumerated', 'tested' or 'exceeded'.
    lower_bound: no lesson within the bound costs less. witnesses: the rewards that say so, each
    checked in exact numbers. n_cells: how many classes of policies were visited.
    """

    bound: float
    spread: float
    worst: float | None
    statuses: Mapping[str, str]
    lower_bound: int | Fraction
    witnesses: tuple[Witness, ...]
    n_cells: int

    @property
    def limit(self) -> float:
        """What is above it surely loses more than the bound."""
        return self.bound + SURELY * max(self.spread, self.bound)

    @property
    def status(self) -> str:
        """The weakest of the statuses."""
        return min(self.statuses.values(), key=FROM_BAD_TO_GOOD.index)

    @property
    def share(self) -> float:
        """The bound as a share of the spread."""
        return self.bound / self.spread if self.spread > 0.0 else 0.0

    def __repr__(self) -> str:
        of = ", ".join(f"{learner} {status}" for learner, status in self.statuses.items())
        found = counted(len(self.witnesses), "witness reward")
        return f"Within({100 * self.share:.3g}%: {of}; {found})"

    def document(self) -> dict[str, Any]:
        """The same as a file holds it."""
        return {
            "bound": self.bound,
            "spread": self.spread,
            "worst": self.worst,
            "status": self.status,
            "statuses": dict(self.statuses),
            "lower_bound": write_number(Fraction(self.lower_bound)),
            "witnesses": [
                {
                    "weights": [write_number(weight) for weight in witness.weights],
                    "loss": witness.loss,
                    "learner": witness.learner,
                    "excluded_by": sorted(witness.excluded_by),
                }
                for witness in self.witnesses
            ],
            "n_cells": self.n_cells,
        }


def read_within(document: Any) -> Within | None:
    """What `Within.document` wrote; None for None."""
    if document is None:
        return None
    worst = document["worst"]
    if not document["statuses"]:
        raise ValueError("a bound on the loss needs the status of a learner; there is none")
    return Within(
        float(document["bound"]),
        float(document["spread"]),
        None if worst is None else float(worst),
        {str(learner): _status(status) for learner, status in document["statuses"].items()},
        read_number(document["lower_bound"], "lower_bound"),
        tuple(
            Witness(
                tuple(read_number(weight, "witnesses") for weight in entry["weights"]),
                float(entry["loss"]),
                str(entry["learner"]),
                frozenset(int(number) for number in entry["excluded_by"]),
            )
            for entry in document["witnesses"]
        ),
        int(document["n_cells"]),
    )


def _status(given: Any) -> str:
    if given not in FROM_BAD_TO_GOOD:
        raise ValueError(f"a status of loss must be one of {FROM_BAD_TO_GOOD}, not {given!r}")
    return str(given)
