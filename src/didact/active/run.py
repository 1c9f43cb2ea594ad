"""The result of asking: what was asked, what was answered, and what was known after each answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.files.json import write_json
from didact.files.kinds import json_kind
from didact.inputs import counted, shown_name
from didact.learners.belief import Belief
from didact.mdp import Comparison, Demonstration
from didact.mdp.showing import draw, in_notebook
from didact.numerics.exact import Floats

RUN_FORMAT = "didact.run/1"
ANSWERS_FORMAT = "didact.answers/1"
"""What a person has answered so far; the run replaces it at the end."""

ENDINGS = {
    "queries": "all questions are asked",
    "enough": "the loss that is left is small enough",
    "settled": "the learned policy is settled",
    "done": "there is nothing more to ask",
    "stopped": "whoever answers stopped",
}


@dataclass(frozen=True)
class Step:
    """What was known after one answer; step 0 is before the first question.

    policy_loss, wrong_actions: of the most likely weights' policy under the true ones. covered: how
    many of the `n_elements` facets and equalities of the task's class the answers state. These
    four are None where the truth is not known. value_at_risk: the 0.95 quantile of the policy's
    loss from the start over the belief; bound: an upper bound on it at 95% confidence, None where
    the effective draws are too few. sure: the least share of draws, over states that can be asked,
    under which what the policy does is optimal; agreed: the mean share. mixed: whether the draws
    can pass for the posterior; r_hat, ess: the worst by feature. is_point: the learner gives one
    weight vector, so nothing is known of how sure it is. comparison: the answer where it was asked
    which of two actions is better.
    """

    number: int
    state: int | None
    score: float | None
    demonstration: Demonstration | None
    policy_loss: float | None
    wrong_actions: float | None
    covered: int | None
    n_elements: int | None
    value_at_risk: float
    bound: float | None
    sure: float
    agreed: float
    mixed: bool
    r_hat: float | None
    ess: float | None
    is_point: bool
    warnings: tuple[str, ...] = ()
    comparison: Comparison | None = None

    def __repr__(self) -> str:
        asked = "" if self.state is None else f", asked in state {self.state}"
        loss = "" if self.policy_loss is None else f", loss {self.policy_loss:.4g}"
        mixed = "" if self.mixed else ", not mixed"
        return f"Step({self.number}{asked}{loss}, sure {self.sure:.3g}{mixed})"

    @property
    def is_telling(self) -> bool:
        """Whether the draws say something about the risk: there are several, and they mixed."""
        return self.mixed and not self.is_point

    def document(self) -> dict[str, Any]:
        """The step as a JSON object."""
        shown, said = self.demonstration, self.comparison
        fields = {name: value for name, value in vars(self).items() if name != "comparison"}
        return {
            **fields,
            "demonstration": None if shown is None else [list(pair) for pair in shown],
            "warnings": list(self.warnings),
            **({} if said is None else {"comparison": said.document()}),
        }


@dataclass(frozen=True, eq=False)
class Run:
    """Questions, answers and what was learned from them, one step after another.

    demonstrations: those given before the first question, then the answers; comparisons are in
    `belief.feedback`. ended: 'queries',
    'enough', 'settled', 'done' (nothing more to ask) or 'stopped'. belief: the last one.
    """

    task_name: str
    strategy: str
    steps: tuple[Step, ...]
    ended: str
    demonstrations: tuple[Demonstration, ...]
    belief: Belief
    settings: Mapping[str, Any]

    @property
    def n_queries(self) -> int:
        """How many questions were answered."""
        return len(self.steps) - 1

    @property
    def states(self) -> tuple[int, ...]:
        """The states asked, in order."""
        return tuple(step.state for step in self.steps[1:] if step.state is not None)

    @property
    def policy_losses(self) -> Floats:
        """The policy loss before the first question and after each answer; NaN where unknown."""
        return _as_floats([step.policy_loss for step in self.steps])

    @property
    def wrong_actions(self) -> Floats:
        """The share of wrong actions before the first question and after each answer."""
        return _as_floats([step.wrong_actions for step in self.steps])

    def document(self) -> dict[str, Any]:
        """The `didact.run/1` object; items: all that was shown and said, where it was said."""
        said = self.belief.feedback
        items = (*self.demonstrations, *said)
        return {
            "format": RUN_FORMAT,
            "task": self.task_name,
            "strategy": self.strategy,
            "ended": self.ended,
            "n_queries": self.n_queries,
            "demonstrations": [[list(pair) for pair in d] for d in self.demonstrations],
            **({"items": [item.document() for item in items]} if said else {}),
            "weights": self.belief.map_weights.tolist(),
            "steps": [step.document() for step in self.steps],
            "settings": dict(self.settings),
        }

    to_dict = document

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each answer, and one before the first question: what was known then."""
        return [step.document() for step in self.steps]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.run/1` file; `didact check` and `didact learn` read its answers."""
        write_json(self.document(), path, kind=json_kind(RUN_FORMAT, ANSWERS_FORMAT))

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw a loss before the first question and after each answer.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.curve`.
        """
        return draw(self, ax, **style)

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        return (
            f"Run({shown_name(self.task_name)!r}, {self.strategy!r}, "
            f"{counted(self.n_queries, 'question')}, "
            f"ended: {ENDINGS[self.ended]})"
        )


def _as_floats(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values])
