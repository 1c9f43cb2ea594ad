"""What is known after an answer: against the truth where it is known, and by the belief itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.active.run import Step
from didact.active.situation import Situation
from didact.active.strategies import Query
from didact.bec.classes import EquivalenceClass
from didact.learners.risk import effective_draws, upper_bound, value_at_risk
from didact.mdp import Comparison, Demonstration
from didact.planning import evaluate
from didact.teaching.covers.elements import Elements, cover_elements

LEVEL, DELTA = 0.95, 0.05


@dataclass(frozen=True, eq=False)
class Truth:
    """The task's class, and what of it demonstrations cover: facets and equalities."""

    elements: Elements

    @classmethod
    def of(cls, known: EquivalenceClass) -> Truth:
        """The truth that the task's class tells."""
        return cls(cover_elements(known))

    @property
    def known(self) -> EquivalenceClass:
        """The task's class."""
        return self.elements.class_of_task

    def n_covered(self, shown: tuple[Demonstration, ...], said: Sequence[Any] = ()) -> int:
        """How many elements demonstrations cover, and comparisons that state a row of the class."""
        covered = self.elements.stated_elements(shown)
        for item in said:
            if isinstance(item, Comparison):
                covered |= self._stated(item)
        return self.elements.closure(covered).bit_count()

    def _stated(self, item: Comparison) -> int:
        rows = self.known.rows
        same = (rows.statements == (item.state, item.better, item.other)).all(axis=1)
        numbers = rows.number[same & (rows.number >= 0)]
        found = self.elements.element_of_row[numbers].tolist()
        return sum(1 << element for element in set(found) if element >= 0)


def measured(
    number: int,
    situation: Situation,
    states: Any,
    *,
    truth: Truth | None,
    query: Query | None,
    answer: Demonstration | Comparison | None,
    start: str,
) -> Step:
    """The step that a belief has come to; states: all that could ever be asked."""
    belief = situation.belief
    risk, bound = _risk(situation)
    agreement = situation.agreement[states]
    return Step(
        number=number,
        state=None if query is None else query.state,
        score=None if query is None else query.score,
        demonstration=answer if isinstance(answer, Demonstration) else None,
        **_against(truth, situation),
        value_at_risk=risk,
        bound=bound,
        sure=float(agreement.min()),
        agreed=float(agreement.mean()),
        mixed=belief.is_mixed,
        r_hat=None if belief.is_point else _worst(belief.r_hat, np.max),
        ess=None if belief.is_point else _worst(belief.ess_bulk, np.min),
        is_point=belief.is_point,
        start=start,
        warnings=belief.warnings,
        comparison=answer if isinstance(answer, Comparison) else None,
    )


def _against(truth: Truth | None, situation: Situation) -> dict[str, Any]:
    """How the most likely weights' policy does, and what is covered; None without a truth."""
    if truth is None:
        return dict.fromkeys(("policy_loss", "wrong_actions", "covered", "n_elements"))
    found = evaluate(situation.task, situation.belief.policy("map"), plan=truth.known.plan)
    return {
        "policy_loss": found.policy_loss,
        "wrong_actions": found.wrong_actions,
        "covered": truth.n_covered(situation.demonstrations, situation.belief.feedback),
        "n_elements": truth.elements.n_elements,
    }


def _risk(situation: Situation) -> tuple[float, float | None]:
    """The value at risk of the loss from the start, and an upper bound on it."""
    losses = situation.losses @ situation.mdp.start.floats
    risk = float(value_at_risk(losses, LEVEL))
    if situation.belief.is_point:
        return risk, None
    shaped = losses.reshape(situation.draws.shape[:2])
    worth = effective_draws(shaped, situation.draws, LEVEL)
    bound = upper_bound(losses, LEVEL, DELTA, worth) if worth else None
    return risk, None if bound is None else float(bound)


def _worst(values: Any, find: Any) -> float | None:
    """The worst diagnostic over the features; None where there is none."""
    finite = values[np.isfinite(values)]
    return float(find(finite)) if finite.size else None
