"""A belief in words and numbers: its weights, one scale, what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.inputs import counted, shown_name
from didact.learners import Belief
from didact.learners.risk import DOUBTED, Fit
from didact.mdp import MDP, Task
from didact.mdp.model import deciding_states
from didact.mdp.naming import action_words, pair_words, state_words, step_words
from didact.planning import Evaluation

LONGEST_FEATURE = 24
MOST_UNSURE, AGREED = 8, 0.995
"""States in which draws disagree that are listed, and the share of draws from which they agree."""
MOST_DOUBTED = 12
"""Steps that are not believed, told one by one."""


def told_lines(
    belief: Belief, evaluation: Evaluation | None, task: Task | None = None
) -> list[str]:
    """The certificate, and how the policy of the most likely weights fares, in words.

    task: knows where a state lies on its grid, which the belief's model does not.
    """
    certificate = belief.certificate
    lines = [] if certificate is None else [str(certificate)]
    if certificate is not None and certificate.pair is not None and task is not None:
        named = pair_words(belief.mdp, *certificate.pair)
        lines = [lines[0].replace(named, pair_words(task, *certificate.pair), 1)]
    return lines if evaluation is None else [*lines, evaluation_line(evaluation)]


def evaluation_line(evaluation: Evaluation) -> str:
    """How far the learned policy is from the true one."""
    if evaluation.worst_policy_loss == 0 and evaluation.worst_wrong_actions == 0:
        return "The learned policy is optimal in every state: it loses nothing."
    n_states = int(np.count_nonzero(evaluation.wrong_by_state))
    wrong = f"{100 * evaluation.wrong_actions:.3g}% of its actions are wrong"
    where = f", in {counted(n_states, 'state')}" if n_states else ""
    loss, worst = f"{evaluation.policy_loss:.3g}", f"{evaluation.worst_policy_loss:.3g}"
    ties = "" if loss == worst else f", with ties broken badly {worst}"
    return f"The learned policy loses {loss}{ties}; {wrong}{where}."


def fit_lines(task: Task, fit: Fit | None) -> list[str]:
    """How likely the recording is under the learner's confidence, and which steps it doubts."""
    if fit is None or not fit.n_steps:
        return []
    lines = [
        f"wrong steps: {fit.wrong:.3g} of {fit.n_steps}; a teacher of this confidence takes "
        f"{fit.expected_wrong:.3g}, and at least so many with probability {fit.p_value:.2g}; "
        f"log likelihood {fit.log_likelihood:.4g}"
    ]
    if fit.p_value < DOUBTED:
        lines.append(
            "so many wrong steps are not believed: the confidence is too high for this recording, "
            "or the features miss what it is after"
        )
    if fit.doubted:
        lines.append(f"{counted(len(fit.doubted), 'step')} not believed (below 5%):")
    for step in fit.doubted[:MOST_DOUBTED]:
        lines.append(
            f"  {step_words(step.demonstration, step.step)}: "
            f"{pair_words(task, step.state, step.action)} has {_share(step.probability)}, "
            f"{action_words(task, step.likelier)} is likelier"
        )
    if len(fit.doubted) > MOST_DOUBTED:
        lines.append(f"  ({counted(len(fit.doubted) - MOST_DOUBTED, 'more step')})")
    return lines


@dataclass(frozen=True)
class UnsureState:
    """A state in which draws disagree: its name, and its actions with their shares."""

    state: str
    actions: str


def unsure_states(belief: Belief, where: MDP | Task) -> tuple[list[UnsureState], int]:
    """States where the draws agree least on what to do, the least sure first, and how many agree.

    where: the model, or its task, which knows the grid. Nothing for weights without draws.
    """
    if belief.is_point:
        return [], 0
    states = np.flatnonzero(deciding_states(belief.mdp))
    shares = belief.action_probabilities[states]
    highest = shares.max(axis=1, initial=0.0)
    order = [int(i) for i in np.argsort(highest, kind="stable") if highest[i] < AGREED]
    found = [
        UnsureState(state_words(where, int(states[i])), _shared(where, shares[i]))
        for i in order[:MOST_UNSURE]
    ]
    return found, len(states) - len(order)


def _shared(where: MDP | Task, shares: Any) -> str:
    """'right 62%, up 38%', without actions that no percent of the draws takes."""
    likeliest = np.argsort(-shares, kind="stable")
    return ", ".join(
        f"{action_words(where, int(action))} {100 * shares[action]:.0f}%"
        for action in likeliest
        if shares[action] >= 0.005
    )


def _share(probability: float) -> str:
    """A probability in per cent; nobody reads powers of ten below a hundredth of one."""
    return "less than 0.01%" if probability < 1e-4 else f"{100 * probability:.2g}%"


def weight_cells(belief: Belief, row: dict[str, Any]) -> dict[str, str]:
    """A feature in the table: its name and numbers by column; diagnostics where there are draws."""
    name = shown_name(row["name"], LONGEST_FEATURE)
    if belief.is_point:
        return {"feature": name, "weight": f"{row['map']:.3f}"}
    return {
        "feature": name,
        "MAP": f"{row['map']:.3f}",
        "mean": f"{row['mean']:.3f}",
        "R-hat": "-" if np.isnan(row["r_hat"]) else f"{row['r_hat']:.2f}",
        "ESS": "-" if np.isnan(row["ess_bulk"]) else f"{row['ess_bulk']:.0f}",
    }


@dataclass(frozen=True)
class Scale:
    """Where numbers lie on a line that shows them all, and zero."""

    low: float
    high: float

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]]) -> Scale:
        """The scale of the rows of a summary: their weights and intervals."""
        numbers = [0.0] + [row[name] for row in rows for name in ("map", "5%", "95%")]
        return cls(float(np.nanmin(numbers)), float(np.nanmax(numbers)))

    def place(self, value: float, length: float) -> float:
        """How far along a line of some length a number lies."""
        return length * (value - self.low) / ((self.high - self.low) or 1.0)
