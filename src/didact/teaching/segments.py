"""Imperfect recordings as what they prove: the segments of right steps, and the wrong steps.

That an action is optimal in a state is a fact about the optimal policy, whatever was done before.
The half-spaces that a demonstration states are those of its pairs, one by one. So the right steps
between wrong ones count as a demonstration that starts in its own first state, and nothing of a
recording is lost but the wrong steps themselves, from which nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from didact.bec.classes import EquivalenceClass, Part, exact_gap, home_statement, shown_pairs
from didact.bec.farkas import Inside, decide
from didact.bec.halfspaces import Rows
from didact.bec.linear import primitive
from didact.mdp import Demonstration
from didact.numerics.texts import number_text


@dataclass(frozen=True)
class Segment:
    """Right steps of a demonstration, one after the other, as many as there are in a row.

    demonstration: its number; step: of the first, from 0; shown: the steps as a demonstration that
    starts there.
    """

    demonstration: int
    step: int
    shown: Demonstration

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {"demonstration": self.demonstration, "step": self.step, "n_steps": len(self.shown)}


@dataclass(frozen=True)
class WrongPair:
    """A shown action that is not optimal: by how much, and which shown pairs contradict it.

    gap: what the step costs, V*(state) - Q*(state, action); exact_gap: the same as a fraction, None
    in floats. contradicted_by: shown optimal pairs whose half-spaces together say that `better` is
    at least as good; empty where nothing else shown says so. In a family each has its member first,
    and `member` is that of the step.
    """

    demonstration: int
    step: int
    state: int
    action: int
    better: int
    gap: float
    contradicted_by: tuple[tuple[int, ...], ...]
    exact_gap: Fraction | None = None
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text."""
        member = {} if self.member is None else {"member": self.member}
        return {
            **{name: value for name, value in vars(self).items() if name != "member"},
            **member,
            "contradicted_by": [list(pair) for pair in self.contradicted_by],
            "exact_gap": None if self.exact_gap is None else number_text(self.exact_gap),
        }


def right_segments(
    known: EquivalenceClass, shown: Sequence[Demonstration], numbers: Sequence[int] | None = None
) -> tuple[Segment, ...]:
    """The segments of right steps, in the order shown; a demonstration without wrong ones is one.

    numbers: of the demonstrations, 0, 1, 2, ... by default.
    """
    segments = []
    for number, demonstration in zip(numbers or range(len(shown)), shown, strict=True):
        optimal = known.parts[demonstration.member or 0].plan.optimal
        states, actions = np.array(demonstration.pairs, dtype=np.int64).T
        cuts = np.flatnonzero(~optimal[states, actions]).tolist()
        for before, after in pairwise([-1, *cuts, len(demonstration)]):
            if before + 1 < after:
                part = Demonstration(demonstration.pairs[before + 1 : after], demonstration.member)
                segments.append(Segment(number, before + 1, part if cuts else demonstration))
    return tuple(segments)


def wrong_steps(
    known: EquivalenceClass, shown: Sequence[Demonstration], numbers: Sequence[int] | None = None
) -> tuple[WrongPair, ...]:
    """Every shown step that is not optimal, in the order shown.

    numbers: of the demonstrations, 0, 1, 2, ... by default.
    """
    judge = _Judge(known, shown)
    return tuple(
        WrongPair(number, step, *pair, *judge.of(demonstration, pair))
        for number, demonstration in zip(numbers or range(len(shown)), shown, strict=True)
        for optimal in (known.parts[demonstration.member or 0].plan.optimal,)
        for step, pair in enumerate(demonstration)
        if not optimal[pair]
    )


class _Judge:
    """What is to be said of a wrong pair, once for all steps that show it."""

    def __init__(self, known: EquivalenceClass, shown: Sequence[Demonstration]):
        self.known, self.shown = known, shown
        self.told: dict[tuple[int, int, int], tuple[Any, ...]] = {}

    def of(self, demonstration: Demonstration, pair: tuple[int, int]) -> tuple[Any, ...]:
        """An optimal action, the gap, what contradicts the pair, the exact gap, and the member."""
        number = demonstration.member or 0
        if (number, *pair) not in self.told:
            of = self.known.parts[number]
            better = of.plan.optimal_actions(pair[0])[0]
            exact = exact_gap(of, *pair, better)
            values = of.plan.action_values[pair[0]]
            gap = float(values.max() - values[pair[1]]) if exact is None else float(exact)
            against = self._contradictions(of, *pair, better)
            self.told[number, *pair] = better, gap, against, exact, demonstration.member
        return self.told[number, *pair]

    def _contradictions(
        self, of: Part, state: int, action: int, better: int
    ) -> tuple[tuple[int, ...], ...]:
        """Shown optimal pairs that together say the opposite of `action` against `better`."""
        counts, part = of.counts, self._shown_rightly
        if counts is None or not part.exact:
            return ()
        opposite = primitive(counts.pairs[state, better] - counts.pairs[state, action])
        if not any(opposite):
            return ()
        verdict = decide(part.exact, opposite)
        if not isinstance(verdict, Inside):
            return ()
        statements = (part.statement_of(row) for row in verdict.multipliers.indices)
        found = [home_statement(self.known.parts, statement)[:-1] for statement in statements]
        return tuple(dict.fromkeys(found))

    @cached_property
    def _shown_rightly(self) -> Rows:
        """The rows that the shown optimal pairs state."""
        pairs = shown_pairs(self.known.parts, self.shown) & self.known.optimal
        return self.known.rows.shown_part(pairs)
