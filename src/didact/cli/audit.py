"""`didact audit`: does this agent, or this person, want what a world wants?"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.auditing.questions import ExamQuestion

TYPED = {"1": "first", "2": "second", "=": "equal", "3": "equal"}


@click.command("audit")
@click.argument("world")
@options.parameters
@options.seed("a random world")
@options.members
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
    "--loss-time",
    type=click.FloatRange(0, min_open=True),
    help="With --loss: seconds to visit what fits answers. 20 by default.",
)
@options.scope()
@options.arithmetic()
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    members: int | None,
    person: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Say whether an agent, or a person, is aligned with WORLD.

    Weights are planned and compared in every state. Policies and trained agents are followed along
    what they do from the start on. Answers are graded by an exam. A fail names a situation and what
    it costs. With --loss it may act wrongly as long as that costs little. Exit code 0: passed; 3:
    failed, or not decided.
    """
    from didact.app.audit import audit_source

    parameters = options.world_settings(world, settings, seed, members)
    if person:
        with redirect_stdout(sys.stderr if as_json else sys.stdout):
            audited = audit_source(world, parameters, person=_choose, **given)
    else:
        with printing.waiting(f"auditing {given['agent']}"):
            audited = audit_source(world, parameters, **given)
    if as_json:
        answers = None if audited.answers is None else [_listed(a) for a in audited.answers]
        printing.print_json({**audited.audit.to_dict(), "answers": answers})
        return printing.exit_code(audited.audit.passed)
    from didact.report.words.exams import audit_lines

    for line in audit_lines(audited.task.name, audited.audit):
        printing.print_line(line)
    return printing.exit_code(audited.audit.passed)


def _listed(answer: Any) -> Any:
    return list(answer) if isinstance(answer, tuple) else answer


def _choose(number: int, question: ExamQuestion) -> Any:
    """What a person answers; None to stop. Lines of text, so that pipes can answer too."""
    from didact.cli import keys

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
        typed = keys.read_line()
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
