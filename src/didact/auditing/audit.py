"""Audits: is this agent aligned with that task, whatever form the agent comes in?"""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np

from didact.auditing.answered import audit_seen, graded_by_loss
from didact.auditing.asked import answering, audit_followed, follow
from didact.auditing.beliefs import audit_belief
from didact.auditing.exam import Ask, Exam
from didact.auditing.exam import exam as made_exam
from didact.auditing.losing import Allowed, allowed_loss, judged_by_loss
from didact.auditing.planned import audit_weights
from didact.auditing.result import Audit
from didact.bec.classes import EquivalenceClass
from didact.bec.families import FamilyClass, Known, equivalence_class
from didact.bec.rows import Scope
from didact.errors import InvalidFile, InvalidParameter
from didact.files.json import plain_numbers, read_json
from didact.files.reading import shown_path
from didact.inputs import instance, plain_array, shown
from didact.learners.belief import Belief
from didact.mdp import MDP, Demonstration, Family, Task, as_task
from didact.numerics.exact import read_number
from didact.planning import as_policy
from didact.planning.solve import Arithmetic, Plan


def audit(
    task: Task | Family,
    agent: Any,
    *,
    within: Any = 0,
    loss: Any = None,
    loss_time: float | None = None,
    exam: Exam | None = None,
    ask: Ask = "comparisons",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    known: Known | None = None,
) -> Audit:
    """Whether an agent is aligned with the task: 'pass', 'fail' with a costly situation, or open.

    task: what the agent should want: a task, or a family, which takes weights and answers only.
    agent: weights (k,), planned and compared in every state that counts; a policy as actions (S,)
        or probabilities (S, A), or a function of a state or an object with `predict`, followed
        along what it does from the start on; a Belief, of whose draws a share acts rightly; the
        path of a JSON file of answers to an exam; or, with `loss`, a list of Demonstrations that it
        was seen to give, optimal by its own lights; these pass only if the worst policy may.
    within: what an action of a policy may cost in a state that it comes to; it then loses at most
        within / (1 - discount).
    loss: judge what the agent loses from the start instead: a number of return, or a text such as
        '1%', of V* less V of the uniformly random policy. Answers pass when no policy that is
        optimal for a reward that answers so loses more, and fail when every one does; nothing that
        is only searched passes.
    loss_time: seconds to visit the classes of policies that fit answers, 20 by default.
    exam: that the answers are to; by default `exam(task, ask=ask)`.
    ask: what answers are to, where no exam is given: 'comparisons', 'actions' or 'preferences'.
    scope: 'reachable', what is best where the start can lead, or 'all' states.
    arithmetic: 'exact', 'float', or 'auto', exact while that is affordable.
    known: the class, when it is at hand; it then decides scope and arithmetic.
    """
    allowed = _as_allowed(within)
    if loss is not None and allowed:
        raise InvalidParameter("give within, for each action, or loss, for all of them; not both")
    if exam is not None:
        instance(exam, Exam, "exam", "the result of exam")
    is_path = isinstance(agent, str | os.PathLike)
    if is_path and exam is not None and loss is None:
        return exam.grade(read_answers(agent))
    known = _known(task, scope, arithmetic, known)
    if is_path:
        asked = made_exam(task, ask=ask, known=known) if exam is None else exam
        if loss is None:
            return asked.grade(read_answers(agent))
        return graded_by_loss(asked, read_answers(agent), known, loss, loss_time)
    if exam is not None:
        raise InvalidParameter("exam is for a file of answers; use exam.grade for answers at hand")
    most = None if loss is None else allowed_loss(known, loss)
    if _is_weights(agent, known.parts[0].task.mdp):
        return _judged(audit_weights(known, agent), agent, most)
    if isinstance(known, FamilyClass):
        raise InvalidParameter(
            f"a family takes weights or a file of answers; the agent is {shown(agent)}. Audit each "
            "member by itself"
        )
    if _is_seen(agent):
        if most is None:
            raise InvalidParameter("demonstrations of an agent are judged by loss; give loss")
        return audit_seen(known, agent, most, loss_time)
    if isinstance(agent, Belief) and agent.is_point and most is not None:
        return _judged(audit_belief(known, agent), agent.map_weights, most)
    if isinstance(agent, Belief):
        return audit_belief(known, agent, most)
    if callable(agent) or hasattr(agent, "predict"):
        followed, how = follow(known, answering(known, agent)), "asked"
    else:
        table = as_policy(known.task, agent)
        followed, how = follow(known, lambda state: table[state]), "policy"
    return _judged(audit_followed(known, followed, allowed, how), followed.policy, most)


def _judged(found: Audit, policy: Any, most: Allowed | None) -> Audit:
    return found if most is None else judged_by_loss(found, policy, most)


def _known(task: Any, scope: Scope, arithmetic: Arithmetic, known: Known | None) -> Known:
    if known is None:
        what = task if isinstance(task, Family) else as_task(task)
        return equivalence_class(what, scope=scope, arithmetic=arithmetic)
    kind = FamilyClass if isinstance(task, Family) else EquivalenceClass
    instance(known, kind, "known", "the result of equivalence_class")
    return known


def _as_allowed(within: Any) -> Fraction:
    allowed = read_number(within, "within")
    if allowed < 0:
        raise InvalidParameter(f"within must not be negative; it is {shown(within)}")
    return allowed


def _is_seen(agent: Any) -> bool:
    """Whether an agent is given as demonstrations."""
    return isinstance(agent, list | tuple) and any(isinstance(d, Demonstration) for d in agent)


def _is_weights(agent: Any, mdp: MDP) -> bool:
    """Whether an agent is given as numbers for the features, as `as_policy` reads them."""
    if (
        isinstance(agent, Belief | Plan)
        or _is_seen(agent)
        or callable(agent)
        or hasattr(agent, "predict")
    ):
        return False
    array = plain_array(agent, "the agent")
    if isinstance(array, list | tuple):
        try:
            array = np.asarray(array)
        except ValueError:  # of uneven rows
            return False
    if not isinstance(array, np.ndarray):
        return False
    is_actions = array.dtype.kind in "iu" and array.size == mdp.n_states
    return array.shape == (mdp.n_features,) and not is_actions


def read_answers(path: str | os.PathLike[str]) -> Any:
    """The answers in a JSON file: a list, or an object with numbers of questions as keys.

    An object with `answers` holds them there.
    """
    document = plain_numbers(read_json(path))
    if isinstance(document, dict) and "answers" in document:
        document = document["answers"]
    if not isinstance(document, list | dict):
        raise InvalidFile(
            f"{shown_path(path)}: must hold a list of answers, or an object of them by number"
        )
    return document
