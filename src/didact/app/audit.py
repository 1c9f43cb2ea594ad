"""Audit an agent: the use case behind `didact audit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from didact.auditing import Audit, Exam, audit, exam, load_exam
from didact.auditing.grading import as_answer, is_right
from didact.auditing.questions import SIDES, ExamQuestion
from didact.cli.policies import read_policy
from didact.errors import InvalidFile, InvalidModel, InvalidParameter
from didact.files.arrays import read_array
from didact.files.extras import named_object
from didact.files.json import read_json
from didact.files.reading import shown_path
from didact.learners import load_belief
from didact.mdp import Family, Task
from didact.worlds.gym.runs import names_agent
from didact.worlds.gym.trained import load_agent, refuse_pickle
from didact.worlds.opening import open_task_or_family

Choose = Callable[[int, ExamQuestion], Any]
"""The answer of a person to a question with its number; None to stop."""


@dataclass(frozen=True, eq=False)
class Audited:
    """A task or a family, and what was found of an agent; answers: those of a person."""

    task: Task | Family
    audit: Audit
    answers: tuple[Any, ...] | None = None


def audit_source(
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    agent: str | None = None,
    person: Choose | None = None,
    exam_file: str | None = None,
    ask: str = "comparisons",
    within: Any = 0,
    loss: Any = None,
    loss_time: float | None = None,
    trust_pickle: bool = False,
    **settings: Any,
) -> Audited:
    """The audit of an agent that a file or module:name holds, or of a person who is asked.

    trust_pickle: whether a file of Stable-Baselines3 may be unpickled, which can run any code.
    """
    if (agent is None) == (person is None):
        raise InvalidParameter("an audit needs --agent or --person, and not both")
    task = open_task_or_family(source, parameters)
    if person is not None:
        how = {} if loss is None else {"loss": loss, "loss_time": loss_time}
        answers, found = ask_all(_exam(task, exam_file, ask, settings), person, **how)
        return Audited(task, found, answers)
    assert agent is not None
    if exam_file is not None or _holds_answers(agent):
        questions = _exam(task, exam_file, ask, settings)
        more = {"loss": loss, "loss_time": loss_time, "bec": questions.bec}
        return Audited(task, audit(task, agent, within=within, exam=questions, **more))
    settings |= {"within": within, "loss": loss, "loss_time": loss_time}
    return Audited(
        task, audit(task, read_agent(agent, task, trust_pickle=trust_pickle), **settings)
    )


def ask_all(questions: Exam, person: Choose, **how: Any) -> tuple[tuple[Any, ...], Audit]:
    """Ask one question after the other, until one is answered wrongly or the person stops.

    how: of `grade`; where a loss is allowed, a wrong answer does not end it.
    """
    answers: dict[int, Any] = {}
    for number, question in enumerate(questions.questions):
        answer = person(number, question)
        if answer is None:
            break
        answers[number] = as_answer(question, answer, f"answer {number + 1}")
        if not how and not is_right(question, answers[number]):
            break
    return tuple(answers.values()), questions.grade(answers, **how)


def _exam(
    task: Task | Family, exam_file: str | None, ask: str, settings: Mapping[str, Any]
) -> Exam:
    """The exam of a file, which must be this task's, or one that is made now."""
    if exam_file is None:
        return exam(task, ask=ask, **settings)  # type: ignore[arg-type]
    given = load_exam(exam_file)
    how = {name: given.settings.get(name) for name in ("ask", "closed", "scope", "arithmetic")}
    own = exam(task, **how)  # type: ignore[arg-type]
    if own.document()["questions"] != given.document()["questions"]:
        raise InvalidFile(
            f"{shown_path(exam_file)}: must be an exam of this world; its questions are not those "
            "that `didact exam` makes of it"
        )
    return own


def _holds_answers(agent: str) -> bool:
    """Whether a JSON file holds answers about sides, and no numbers."""
    if not agent.endswith(".json"):
        return False
    document = read_json(agent)
    if isinstance(document, dict):
        return document.get("format") is None
    sides = isinstance(document, list) and any(isinstance(a, str) and a in SIDES for a in document)
    return sides or (isinstance(document, list) and None in document)


def read_agent(text: str, task: Task | Family, *, trust_pickle: bool = False) -> Any:
    """Weights, a policy, a belief or an agent with `predict` from what a person names."""
    mdp = task.members[0].mdp if isinstance(task, Family) else task.mdp
    if text.endswith((".json", ".npy")):
        given = read_json(text) if text.endswith(".json") else read_array(text).tolist()
        is_list = isinstance(given, list) and not any(isinstance(x, list) for x in given)
        if is_list and len(given) == mdp.n_features:
            if mdp.n_features == mdp.n_states:
                raise InvalidModel(
                    f"{shown_path(text)}: {len(given)} numbers can be actions or weights, because "
                    "there are as many states as features; give probabilities, or module:name"
                )
            return given
    if isinstance(task, Family):
        raise InvalidParameter(
            f"{shown_path(text)}: a family takes weights or answers; audit each member by itself"
        )
    if text.endswith(".npz"):
        return load_belief(text, task.mdp)
    if names_agent(text):
        return load_agent(text, trust_pickle=trust_pickle)
    if text.endswith((".json", ".npy")):
        return read_policy(text, task)
    refuse_pickle(text)
    return named_object(text, "--agent")
