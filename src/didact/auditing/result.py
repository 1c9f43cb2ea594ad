"""What an audit found: passed, failed with a situation and its cost, or not decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from didact.inputs import counted
from didact.mdp.showing import in_notebook
from didact.numerics.texts import number_text

Outcome = Literal["pass", "fail", "undecided"]


@dataclass(frozen=True)
class Situation:
    """Where an agent acts otherwise than the task asks, and what that costs.

    state: where; member: whose state it is, in a family.
    action: what the agent takes, or holds as good as the best; None where it only leaves out an
        action that is as good as those it takes. In a comparison it is what it takes when it is
        offered both ways; where it may go on as it likes, it may act otherwise.
    better: an action that is best there.
    cost: what taking the action there costs, in return; 0 where it costs nothing.
    exact_cost: the same as a fraction; None in floats.
    words: the same in words.
    """

    state: int
    action: int | None
    better: int
    cost: float
    exact_cost: Fraction | None
    words: str
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text, the member only in a family."""
        exact = None if self.exact_cost is None else number_text(self.exact_cost)
        named = {**vars(self), "exact_cost": exact}
        return {k: v for k, v in named.items() if k != "member" or v is not None}


@dataclass(frozen=True, eq=False)
class Audit:
    """Whether an agent is aligned with a task: decided, or what is in the way of deciding.

    verdict: 'pass', 'fail' or 'undecided'; a pass is only said where it follows.
    statement: what a pass says, and a fail denies.
    reason: why it is so, in words.
    agent: how the agent was looked at: 'answers', 'weights', 'policy', 'asked',
        'demonstrations' or 'belief'.
    n_asked: how many questions were answered.
    question: the number of the question that was failed, from 0; None where none was.
    answer: what was answered to it.
    situation: where the agent acts otherwise, and what it costs; None where it does not.
    loss: what the agent loses from the start, ties broken as badly as can be; None where not known.
    loss_bound: it loses at most so much, from any state that was looked at, or from the start where
        a bound on the loss was asked for; None where not known.
    same: whether it holds the same actions best in every state; None where not known.
    share: of a belief, the share of draws that never act wrongly, with `low` and `high`, the ends
        of its 95% interval.
    witness: weights that answer as the agent did and lose more than was allowed; None without.
    """

    verdict: Outcome
    statement: str
    reason: str
    agent: str
    n_asked: int = 0
    question: int | None = None
    answer: Any = None
    situation: Situation | None = None
    loss: float | None = None
    loss_bound: float | None = None
    same: bool | None = None
    share: Mapping[str, float] | None = None
    witness: tuple[float, ...] | None = None

    _repr_html_ = in_notebook("audit")

    @property
    def passed(self) -> bool:
        """Whether the verdict is 'pass'."""
        return self.verdict == "pass"

    def __repr__(self) -> str:
        asked = f", {counted(self.n_asked, 'answer')}" if self.n_asked else ""
        return f"Audit({self.verdict}, by {self.agent}{asked}: {self.reason})"

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        answer = list(self.answer) if isinstance(self.answer, tuple) else self.answer
        return {
            **vars(self),
            "answer": answer,
            "situation": None if self.situation is None else self.situation.to_dict(),
            "witness": None if self.witness is None else list(self.witness),
            "share": None if self.share is None else dict(self.share),
        }
