"""A belief in words and numbers: its weights, one scale, what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.active import Run, Situation, Step
from didact.active.run import ENDINGS
from didact.inputs import counted, shown_name
from didact.learners import Belief
from didact.learners.files import size_in_words
from didact.learners.risk import DOUBTED, Fit
from didact.mdp import MDP, Task
from didact.mdp.model import deciding_states
from didact.mdp.naming import action_words, pair_words, state_words, step_words
from didact.planning import Evaluation
from didact.report.words import Description, Listing
from didact.teaching.identify import invisible_words

LONGEST_FEATURE = 24
MAX_UNSURE, AGREED = 8, 0.995
"""States in which draws disagree that are listed, and the share of draws from which they agree."""
MAX_WARNINGS = 1
"""Warnings that are told, unless all are asked for."""


def told_lines(
    belief: Belief, evaluation: Evaluation | None, task: Task | None = None
) -> list[str]:
    """The certificate, and how the policy of the most likely weights fares, in words.

    task: knows where a state lies on its grid, which the belief's model does not.
    """
    certificate, lines = belief.certificate, []
    if certificate is not None:
        told = str(certificate)
        if certificate.pair is not None and task is not None:
            named = pair_words(belief.mdp, *certificate.pair)
            told = told.replace(named, pair_words(task, *certificate.pair), 1)
        lines.append(told)
        if not certificate.holds and is_optimal(evaluation):
            lines.append(SUFFICIENT)
    return lines if evaluation is None else [*lines, evaluation_line(evaluation)]


SUFFICIENT = (
    "It is sufficient, not necessary: weights can be optimal although the demonstrations do not "
    "certify it."
)


def is_optimal(evaluation: Evaluation | None) -> bool:
    """Whether the learned policy is optimal in every state, however it breaks ties."""
    if evaluation is None:
        return False
    return evaluation.worst_policy_loss == 0 and evaluation.worst_wrong_actions == 0


def evaluation_line(evaluation: Evaluation) -> str:
    """How far the learned policy is from the true one."""
    if is_optimal(evaluation):
        return "The learned policy is optimal in every state: it loses nothing."
    n_states = int(np.count_nonzero(evaluation.wrong_by_state))
    wrong = f"{100 * evaluation.wrong_actions:.3g}% of its actions are wrong"
    where = f", in {counted(n_states, 'state')}" if n_states else ""
    loss, worst = f"{evaluation.policy_loss:.3g}", f"{evaluation.worst_policy_loss:.3g}"
    ties = "" if loss == worst else f", with ties broken badly {worst}"
    return f"The learned policy loses {loss}{ties}; {wrong}{where}."


def fit_lines(task: Task, fit: Fit | None) -> list[str]:
    """How likely the recording is under the learner's confidence."""
    if fit is None or not fit.n_steps:
        return []
    lines = [
        f"suboptimal steps: {fit.wrong:.3g} of {fit.n_steps}; at this confidence "
        f"{fit.expected_wrong:.3g} are expected, posterior predictive p = {fit.p_value:.2g}"
    ]
    if fit.p_value < DOUBTED:
        lines.append("p is below 0.05: confidence too high, or features that matter are missing")
    if fit.doubted:
        lines.append(f"{counted(len(fit.doubted), 'step')} of probability below 5% (--details)")
    return lines


def _doubted_lines(task: Task, fit: Fit) -> Iterator[str]:
    for step in fit.doubted:
        yield (
            f"{step_words(step.demonstration, step.step)}: "
            f"{pair_words(task, step.state, step.action)} has {_share(step.probability)}, "
            f"{action_words(task, step.likelier)} is likelier"
        )


def forged_lines(belief: Belief) -> list[str]:
    """Which demonstrations look forged, where some may be: those likelier forged than honest."""
    forged = belief.settings.get("forged")
    if forged is None:
        return []
    order = sorted(range(len(forged)), key=lambda i: -forged[i])
    named = [i for i in order if forged[i] > 0.5]
    found = ", ".join(f"{i + 1} (probability {forged[i]:.2g})" for i in named or order[:1])
    said = "forged, it seems" if named else "none looks forged; likeliest"
    return [f"{said}: demonstration {found}; at most {belief.settings['lies']} may be"]


def open_lines(belief: Belief) -> list[str]:
    """Why a posterior stays wide: what no demonstration in this MDP can narrow, in words."""
    found = () if belief.is_point else invisible_words(belief.mdp)
    if not found:
        return []
    more = "" if len(found) == 1 else f" ({len(found) - 1} more)"
    return [
        f"No demonstration here can narrow this: {found[0][0].lower()}{found[0][1:-1]}{more}; "
        "didact identify finds what would reveal it."
    ]


def describe_belief(
    task: Task, belief: Belief, evaluation: Evaluation | None, fit: Fit | None
) -> Description:
    """The learner, the certificate, the loss, warnings, and how well the data fit."""
    warnings = tuple(f"warning: {line}" for line in belief.warnings)
    facts: list[str | Listing] = [*told_lines(belief, evaluation, task), *open_lines(belief)]
    facts.append(Listing("", warnings, MAX_WARNINGS, "warning"))
    # A forged step is no sign of a confidence that is too high, which the fit would take it for.
    facts += forged_lines(belief) or fit_lines(task, fit)
    details: list[str | Listing] = []
    if fit is not None:
        doubted = tuple(_doubted_lines(task, fit))
        details.append(Listing("steps of probability below 5%:", doubted, len(doubted)))
        details.append(f"log likelihood {fit.log_likelihood:.4g}")
    head = f"{shown_name(task.name)}: {size_in_words(belief)}"
    return Description(head, tuple(facts), tuple(details), "all features, warnings, log likelihood")


def unsure_states(belief: Belief, where: MDP | Task) -> tuple[list[tuple[str, str]], int]:
    """States where the draws agree least on what to do, the least sure first, and how many agree.

    Each by its name, with its actions and their shares.
    where: the model, or its task, which knows the grid. Nothing for weights without draws.
    """
    if belief.is_point:
        return [], 0
    states = np.flatnonzero(deciding_states(belief.mdp))
    shares = belief.action_probabilities[states]
    highest = shares.max(axis=1, initial=0.0)
    order = [int(i) for i in np.argsort(highest, kind="stable") if highest[i] < AGREED]
    found = [
        (state_words(where, int(states[i])), _shared(where, shares[i])) for i in order[:MAX_UNSURE]
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


SURE = 0.95
"""A state is known when so many of the draws agree with what the learned policy does there."""


def describe_run(run: Run) -> Description:
    """What was asked, what the learned policy loses before and after, why it ended."""
    first, last = run.steps[0], run.steps[-1]
    asked = f"{shown_name(run.task_name)}: {counted(run.n_queries, 'question')} by {run.strategy}"
    found = risk_words(last)
    if last.policy_loss is not None and first.policy_loss is not None:
        found = (
            f"policy loss {first.policy_loss:.3g} -> {last.policy_loss:.3g}, "
            f"wrong actions {first.wrong_actions:.0%} -> {last.wrong_actions:.0%}"
        )
    end = f"{ENDINGS[run.ended][0].upper()}{ENDINGS[run.ended][1:]}."
    n_wrong = sum(not step.mixed for step in run.steps)
    of = f"{n_wrong} of {counted(len(run.steps), 'step')} (!)"
    warning = f"the chains had not mixed in {of}: run more steps"
    return Description(f"{asked}: {found}. {end}", (warning,) if n_wrong else ())


def run_table(run: Run, named: Callable[[int], str]) -> list[dict[str, str]]:
    """A row of cells by column for each answer.

    named: what a state is called. Without the true reward there is no loss, and nothing is wrong.
    """
    rows = []
    for step in run.steps:
        row = {
            "": f"{step.number}{' ' if step.mixed else '!'}",
            "asked": "-" if step.state is None else named(step.state),
        }
        true = run.steps[0].policy_loss is not None
        if true:
            row |= {"loss": _figure(step.policy_loss), "wrong": f"{step.wrong_actions:.0%}"}
        row |= {"VaR 95%": _figure(step.value_at_risk), "bound": _figure(step.bound)}
        row["agreed"] = f"{step.agreed:.0%}"
        if true:
            row["facets"] = f"{step.covered}/{step.n_elements}"
        rows.append(row)
    return rows


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1e4 else f"{value:.2e}"


def risk_words(step: Step) -> str:
    """What the learned policy may lose, as far as the belief tells."""
    if step.is_point:
        return "the learner gives one reward and does not say how sure it is"
    if step.value_at_risk == 0.0 and step.bound in (0.0, None):
        return "as far as it knows, the learned policy loses nothing"
    told = "" if step.bound is None else f" (at most {step.bound:.3g} at 95% confidence)"
    return f"in 95 of 100 cases the learned policy loses at most {step.value_at_risk:.3g}{told}"


def belief_line(step: Step, situation: Situation) -> str:
    """What is believed after an answer, in one line."""
    states = np.flatnonzero(~situation.mdp.terminal)
    n_known = int((situation.agreement[states] >= SURE).sum())
    known = f"sure of {n_known} of {counted(len(states), 'state')}"
    n_answers = len(situation.demonstrations) + len(situation.belief.feedback)
    after = f"after {counted(n_answers, 'answer')}"
    if step.is_point:
        return f"{after}: {risk_words(step)}"
    end = "" if step.mixed else "; the chains have not mixed, so take it with care"
    return f"{after}: {known}; {risk_words(step)}{end}"
