"""Agents that are asked what they do: along their own answers, from the start on.

Asked so, nothing need be known of why they do it. If every action that an agent takes in a state
which it can come to costs at most delta there, then by the performance difference lemma it loses
at most delta / (1 - discount), from each of these states: its loss is the discounted sum of the
costs of the actions that it takes. Leaving out states whose rows have a small margin is unsound;
this is not.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.auditing.planned import costliest, situation_of_pair
from didact.auditing.result import Audit
from didact.bec.classes import EquivalenceClass
from didact.bec.parts import Mask
from didact.inputs import counted, own_code
from didact.mdp.idle import idle_states
from didact.numerics.exact import Floats
from didact.planning import evaluate
from didact.planning.policies import answered_row, asking


class Followed(NamedTuple):
    """Where an agent comes to, (S,), and what it does there, (S, A); elsewhere what is best."""

    visited: Mask
    policy: Floats


def follow(known: EquivalenceClass, row_of: Callable[[int], Floats]) -> Followed:
    """Ask for the probabilities (A,) in the start states and wherever they lead."""
    mdp, moves = known.task.mdp, known.task.mdp.transitions
    skipped = mdp.terminal | idle_states(mdp)
    policy = known.plan.policy.copy()
    visited = np.zeros(mdp.n_states, dtype=np.bool_)
    ahead = np.flatnonzero((mdp.start.floats > 0) & ~skipped).tolist()
    visited[ahead] = True
    while ahead:
        state = ahead.pop()
        policy[state] = row_of(state)
        for action in np.flatnonzero(policy[state]).tolist():
            row = state * mdp.n_actions + action
            for target in moves.successors[moves.offsets[row] : moves.offsets[row + 1]].tolist():
                if not visited[target] and not skipped[target]:
                    visited[target] = True
                    ahead.append(target)
    return Followed(visited, policy)


def answering(known: EquivalenceClass, agent: Any) -> Callable[[int], Floats]:
    """The probabilities that a function or an object with `predict` answers with in a state."""
    ask, mdp, acts = asking(known.task, agent), known.task.mdp, hasattr(agent, "predict")

    def row_of(state: int) -> Floats:
        with own_code(f"the agent in state {mdp.state_name(state)}"):
            return answered_row(known.task, state, ask(state), is_action=acts)

    return row_of


def audit_followed(
    known: EquivalenceClass, followed: Followed, within: Fraction, agent: str
) -> Audit:
    """Whether no action that the agent takes on its own way costs more than allowed."""
    mdp, plan = known.task.mdp, known.plan
    taken = (followed.policy > 0) & followed.visited[:, None]
    worst = costliest(known, [taken])
    largest = Fraction(0) if worst is None else Fraction(worst.cost)
    bound = float(largest / (1 - mdp.exact_discount))
    n_asked = int(followed.visited.sum())
    found: dict[str, Any] = {
        "n_asked": n_asked,
        "loss": evaluate(known.task, followed.policy, plan=plan).policy_loss,
        "loss_bound": bound,
        "situation": None if worst is None else situation_of_pair(known, worst),
    }
    statement = _statement(within, mdp.exact_discount)
    if largest <= within and not plan.is_proved:
        told = "close calls could not be decided in floats; use arithmetic='exact'"
        return Audit("undecided", statement, told, agent, **found)
    if largest <= within:
        where = f"in {counted(n_asked, 'state')} that it can come to"
        most = f"no action costs more than {float(largest):.4g} there" if worst else "all are best"
        return Audit("pass", statement, f"{where}, {most}", agent, **found)
    assert found["situation"] is not None
    return Audit("fail", statement, found["situation"].words, agent, **found)


def _statement(within: Fraction, discount: Fraction) -> str:
    if not within:
        return "from the start on, the agent takes best actions only, so that it loses nothing"
    most = float(within / (1 - discount))
    return (
        f"from the start on, no action of the agent costs more than {float(within):.4g}, so that "
        f"it loses at most {most:.4g}"
    )
