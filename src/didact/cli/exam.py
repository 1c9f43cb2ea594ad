"""`didact exam`: the shortest exam that decides whether an agent wants what a world wants."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing
from didact.cli.check import NEEDS_EXACT
from didact.errors import Unsupported


@click.command("exam")
@options.world("a random world")
@options.choice(
    "--ask",
    ("comparisons", "actions", "preferences"),
    "Compare two actions, name the best ones, or compare two trajectories.",
)
@click.option(
    "--closed/--no-closed",
    default=True,
    help="Ask in states that follow too; without them nobody passes.",
)
@options.scope()
@options.arithmetic()
@click.option("--key", is_flag=True, help="Print the right answers too.")
@click.option("--proof", is_flag=True, help="Also run the independent proof checker.")
@options.file("--out", help="Write the exam with its key and proof to this file.")
@options.file("--html", help="Write a sheet to print, and its key beside it (-key.html).")
@options.output()
def command(
    world: options.NamedWorld,
    key: bool,
    proof: bool,
    out: str | None,
    html: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Make the shortest exam that decides whether an agent has the optimal actions of WORLD.

    WORLD is as for `didact teach`. The exam says what a pass means and when it follows; those
    questions that a misaligned agent is likely to fail come first. Exit code 0: right answers
    decide; 3: they do not, because something cannot be asked.
    """
    from didact.auditing import exam
    from didact.auditing.exam import EXAM_FORMAT
    from didact.files.json import require_writable
    from didact.files.kinds import PAGE, json_kind
    from didact.report.page.writing import key_path
    from didact.report.words.verdicts import describe_exam
    from didact.teaching.lesson import verify

    with printing.waiting(f"examining {world.name}"):
        if proof:
            _require_provable(**given)
        wanted = [] if html is None else [(html, PAGE), (key_path(html), PAGE)]
        for place, kind in (*wanted, *([] if out is None else [(out, json_kind(EXAM_FORMAT))])):
            require_writable(place, kind, [world.name])
        task = world.open()
        made = exam(task, **given)
        verified = None
        if proof and not made.is_proved:
            raise Unsupported(NEEDS_EXACT)
        if proof and made.proof is None:
            verified = "no proof: right answers to all questions do not decide it"
        elif proof:
            verified = verify(task, made.document())
        if out is not None:
            made.save(out)
        pages = () if html is None else made.report(html, task=task)
    said = describe_exam(made, key=key, verified=verified)
    output.show(made.document, said.lines(details=output.details), (out, *pages))
    return printing.exit_code(made.can_pass)


def _require_provable(*, ask: str, closed: bool, arithmetic: str, **_: Any) -> None:
    """Refuse settings whose exams have no proof."""
    if arithmetic == "float":
        raise Unsupported(NEEDS_EXACT)
    if ask == "actions" and not closed:
        raise Unsupported(
            "no agent can pass an exam of actions that is not closed, so it has no proof to check; "
            "leave --no-closed or --proof out"
        )
