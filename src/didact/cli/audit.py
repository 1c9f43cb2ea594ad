"""`didact audit`: does this agent, or this person, want what a world wants?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing
from didact.errors import InvalidFile, InvalidParameter

if TYPE_CHECKING:
    from didact.auditing import Audit, Exam
    from didact.auditing.questions import ExamQuestion
    from didact.mdp import Family, Task

    Choose = Callable[[int, ExamQuestion], Any]
    """The answer of a person to a question with its number; None to stop."""

TYPED = {"1": "first", "2": "second", "=": "equal", "3": "equal"}


@click.command("audit")
@options.world("a random world")
@click.option(
    "--agent",
    metavar="AGENT",
    help="weights.json, policy.npy or .json, answers.json, belief.npz, model.zip of "
    "Stable-Baselines3, or module:name.",
)
@options.trust_pickle
@click.option("--person", is_flag=True, help="You are asked, until an answer decides it.")
@options.file("--exam", "exam_file", help="The exam that answers are to; else one is made.")
@options.choice(
    "--ask",
    ("comparisons", "actions", "preferences"),
    "What a person is asked, and what answers are to.",
)
@options.text("--within", "0", "What an action of a policy may cost; bounds its loss.")
@click.option(
    "--loss",
    metavar="LOSS|PERCENT",
    help="Good enough: it passes when at most this is lost from the start, as 0.5 or 1%.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="With --loss: seconds to visit what fits answers. 20 by default.",
)
@options.scope()
@options.arithmetic()
@click.option(
    "--features",
    help="WORLD is a simulator: phi(obs, action, next_obs, terminated, info) as module:name, "
    "file.py:name, or auto.",
)
@click.option(
    "--weights",
    callback=options.parts,
    help="Of these features in the reward, as 1,0; fitted if left out.",
)
@click.option("--against", metavar="AGENT", help="In a simulator: another agent, to compare.")
@options.output(has_details=False)
def command(
    world: options.NamedWorld,
    person: bool,
    output: printing.Output,
    features: str | None,
    weights: list[str] | None,
    against: str | None,
    **given: Any,
) -> int:
    """Say whether an agent, or a person, is aligned with WORLD.

    Weights are planned and compared in every state. Policies and trained agents are followed along
    what they do from the start on. Answers are graded by an exam. A fail names a state and what
    it costs. With --loss it may act wrongly as long as that costs little. In a simulator
    (--features) independent states are sampled: in how many another action gains more than --loss,
    and in which most. Exit code 0: passed; 3: failed, or not decided.
    """
    from didact.worlds.simulators.opening import BUILT_IN

    if features is not None or world.name in BUILT_IN:
        if person or world.seed is not None or world.members is not None:
            raise InvalidParameter("--person, --seed and --members are for tasks; leave them out")
        asked = {name: given[name] for name in ("agent", "loss", "trust_pickle")}
        how = {"features": features, "weights": weights, "against": against, **asked}
        return _audit_simulator(world, output, **how)
    for name, value in (("--weights", weights), ("--against", against)):
        if value is not None:
            raise InvalidParameter(f"{name} is for simulators, with --features; leave it out")
    if person:
        with redirect_stdout(sys.stderr if output.as_json else sys.stdout):
            task, found, answers = audit_source(world, person=_choose, **given)
    else:
        with printing.waiting(f"auditing {given['agent']}"):
            task, found, answers = audit_source(world, **given)
    from didact.report.words.verdicts import describe_audit

    listed = [list(each) if isinstance(each, tuple) else each for each in answers or ()]
    document = {**found.to_dict(), "answers": None if answers is None else listed}
    output.show(lambda: document, describe_audit(task.name, found).lines())
    return printing.exit_code(found.passed)


def _audit_simulator(
    world: options.NamedWorld,
    output: printing.Output,
    *,
    agent: str | None,
    features: str | None,
    weights: list[str] | None,
    against: str | None,
    loss: str | None,
    trust_pickle: bool,
) -> int:
    """Audit an agent in a simulator, by default its own policy, and another in the same place."""
    from didact.auditing import audit
    from didact.cli.observe import agent_of, environment_of, features_of
    from didact.report.words.observed import audit_document, audit_lines

    with printing.waiting(f"auditing {agent or world.name}"):
        env = environment_of(world.name, options.read_settings(world.texts))
        own = env.best_policy(0.99) if agent is None and hasattr(env, "best_policy") else None
        if agent is not None:
            own = agent_of(agent, env, trust_pickle)
        elif own is None:
            raise InvalidParameter("an audit needs --agent")
        try:
            allowed = None if loss is None else float(loss)
        except ValueError:
            told = f"--loss must be a return in a simulator, as 0.5; it is {loss!r:.40}"
            raise InvalidParameter(told) from None
        phi = features_of(features)
        first, second = audit(env, own, features=phi, weights=weights, loss=allowed), None
        if against is not None:
            other = agent_of(against, env, trust_pickle)
            second = audit(first.seen, other, loss=first.loss)
    output.show(lambda: audit_document(first, second), audit_lines(first, second))
    return printing.exit_code(first.status == "pass")


def _choose(number: int, question: ExamQuestion) -> Any:
    """What a person answers; None to stop. Lines of text, so that pipes can answer too."""
    from didact.cli.person import read_line

    printing.print_words(f"{number + 1}. {question.words}")
    if question.kind == "action":
        told = ", ".join(f"{a} {label}" for a, label in enumerate(question.labels))
        printing.print_words(f"   numbers of all best actions, as 0,2 ({told}); q stops")
    else:
        for side, label in enumerate(question.labels, start=1):
            printing.print_words(f"   {side} {label}")
        printing.print_words("   1, 2, or = for equal; q stops")
    while True:
        sys.stdout.flush()
        typed = read_line()
        if typed is None or typed.strip().lower() in ("q", "quit"):
            return None
        answer = _read(question, typed)
        if answer is not None:
            return answer
        if typed.strip():
            printing.print_words(f"   {typed.strip()[:20]!r} is no answer here; q stops")


def _read(question: ExamQuestion, typed: str) -> Any:
    """The answer that was typed; None where it is none."""
    from didact.inputs import whole_in

    word = typed.strip().lower()
    if question.kind != "action":
        return TYPED.get(word, word if word in TYPED.values() else None)
    names = {label.lower(): action for action, label in enumerate(question.labels)}
    parts = [part.strip() for part in word.split(",")]
    found = [names.get(part, whole_in(part)) for part in parts]
    if any(a is None or not 0 <= a < len(question.labels) for a in found):
        return None
    return found


def audit_source(
    world: options.NamedWorld,
    *,
    agent: str | None = None,
    person: Choose | None = None,
    exam_file: str | None = None,
    ask: str = "comparisons",
    within: Any = 0,
    loss: Any = None,
    time_limit: float | None = None,
    trust_pickle: bool = False,
    **settings: Any,
) -> tuple[Task | Family, Audit, tuple[Any, ...] | None]:
    """The audit of an agent that a file or module:name holds, or of a person who is asked.

    With its task or family, and the answers of a person.
    trust_pickle: whether a file of Stable-Baselines3 may be unpickled, which can run any code.
    """
    from didact.auditing import audit
    from didact.cli.policies import holds_answers, read_agent

    if (agent is None) == (person is None):
        raise InvalidParameter("an audit needs --agent or --person, and not both")
    task = world.open()
    if person is not None:
        how = {} if loss is None else {"loss": loss, "time_limit": time_limit}
        answers, found = ask_all(_exam(task, exam_file, ask, settings), person, **how)
        return task, found, answers
    assert agent is not None
    if exam_file is not None or holds_answers(agent):
        questions = _exam(task, exam_file, ask, settings)
        more = {"loss": loss, "time_limit": time_limit, "bec": questions.bec}
        return task, audit(task, agent, within=within, exam=questions, **more), None
    settings |= {"within": within, "loss": loss, "time_limit": time_limit}
    named = read_agent(agent, task, trust_pickle=trust_pickle)
    return task, audit(task, named, **settings), None


def ask_all(questions: Exam, person: Choose, **how: Any) -> tuple[tuple[Any, ...], Audit]:
    """Ask one question after the other, until one is answered wrongly or the person stops.

    how: of `grade`; where a loss is allowed, a wrong answer does not end it.
    """
    from didact.auditing.grading import as_answer, is_right

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
    from didact.auditing import exam, load_exam
    from didact.files.reading import shown_path

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
