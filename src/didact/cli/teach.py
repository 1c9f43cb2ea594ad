"""`didact teach`: the fewest demonstrations for a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.mdp import Family, Task
    from didact.teaching import Lesson
    from didact.teaching.check import SuggestedStarts

RESERVED = (
    *("world", "task", "source", "parameters", "bec", "starts", "seed"),
    *("member_cost", "feedback"),
)
"""Names that no option of a teacher may have, besides those of the command."""


@click.command("teach")
@options.world("a random world and teacher")
@options.text(
    "--teacher",
    "auto",
    "exact, scot, scot-redundant, uvm, random, or your own; auto: exact if affordable, else scot.",
)
@options.horizon
@options.cost("attempts")
@click.option(
    "--member-cost",
    metavar="COST|MEMBER=COST",
    multiple=True,
    help="Of a family: walking over to a member costs this, once; may be given again.",
)
@click.option("--budget", type=options.Whole(1), help="At most so many demonstrations.")
@options.starts
@click.option("--rollouts", type=options.Whole(1), help="Sample so many from each start.")
@click.option(
    "--min-probability",
    help="Least probability of a demonstration's moves; 0: any. Default: 1/1000 for exact, else 0.",
)
@options.scope()
@options.arithmetic()
@click.option("--closed", is_flag=True, help="Extend it for learners that plan for themselves.")
@click.option(
    "--trim/--no-trim",
    default=True,
    show_default=True,
    help="Cut what follows the last step needed and precedes the first, or show whole ones.",
)
@click.option(
    "--order",
    type=click.Choice(["teacher", "loss"]),
    help="The teacher's order, or so that every beginning loses little; usual with --loss.",
)
@options.settings_of(
    "teacher", "An option of the teacher, as n_samples=100000 for uvm; may be given again."
)
@click.option(
    "--feedback",
    multiple=True,
    type=click.Choice(["demonstrations", "comparisons", "preferences", "corrections", "rankings"]),
    help="Kinds of feedback that may be mixed, the cheapest mix proved; may be given again.",
)
@click.option(
    "--over-teach",
    is_flag=True,
    help="With --feedback preferences: fewer, between trajectories that are worth nearly the same.",
)
@click.option("--margin", help="With --over-teach: the least difference that must be seen.")
@click.option(
    "--loss", metavar="LOSS|PERCENT", help="Good enough: at most this is lost, as 0.5 or 1%."
)
@options.choice("--learner-model", ("both", "half-spaces", "planner"), "With --loss: whose loss.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds to look for the cheapest; then the best known, with a bound. With --loss 60.",
)
@click.option(
    "--lies", type=options.Whole(0), help="Teach although any so many demonstrations are forged."
)
@click.option("--detect", is_flag=True, help="With --lies: only so that they are noticed.")
@options.file("--out", help="Write the lesson to this file.")
@options.output()
def command(
    world: options.NamedWorld,
    member_cost: tuple[str, ...],
    teacher_settings: tuple[str, ...],
    feedback: tuple[str, ...],
    out: str | None,
    output: printing.Output,
    **given: Any,
) -> int:
    """Find the fewest demonstrations that teach WORLD, and prove that they do.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as Taxi-v4, module:name
    of an environment of your own, or a file (.json) of a task or of a family of tasks. Exit code 0:
    taught; 3: something stays open; 4: the proof failed. With --loss 0: every learner that fits was
    visited and keeps to it; 3: that is only tested, or it does not.
    """
    from didact.files.json import require_writable
    from didact.files.kinds import json_kind
    from didact.teaching.lesson import LESSON_FORMAT

    choices = {**given, **options.read_options(teacher_settings, {*given, *RESERVED})}
    choices["seed"] = world.seed or 0
    lies, detect = choices.pop("lies"), choices.pop("detect")
    if lies is None and detect:
        raise click.UsageError("--detect is for --lies; leave it out")
    if lies is not None and feedback:
        raise click.UsageError("--lies is for demonstrations alone; leave --feedback out")
    choices["member_cost"] = options.read_member_cost(member_cost)
    with printing.waiting(f"teaching {world.name}"):
        if out is not None:
            require_writable(out, json_kind(LESSON_FORMAT), [world.name])
        if feedback:
            taught = mixed(world, feedback, **choices)
        elif lies is not None:
            taught = robust(world, lies, detect=detect, **choices)
        else:
            taught = demonstrated(world, **choices)
        if out is not None:
            taught.lesson.save(out)
    if output.as_json:
        printing.print_json(taught.document())
    else:
        _print(taught, out, details=output.details)
    return printing.exit_code(taught.lesson.reaches_its_goal)


def _print(taught: Taught, out: str | None, *, details: bool) -> None:
    """The lesson, and where else to begin where it is not complete."""
    from didact.mdp import Family
    from didact.report.words.lessons import (
        describe_lesson,
        describe_mix,
        suggested_starts_lines,
    )

    task, lesson, verified = taught.task, taught.lesson, taught.verified
    if lesson.is_mixed:
        printing.print_result(describe_mix(task, lesson, verified).lines(details=details), [out])
        return
    if isinstance(task, Family):
        said = describe_lesson(task, lesson, verified)
        printing.print_result(said.lines(details=details), [out])
        return
    from didact.report.terminal.worlds import draw_lesson

    printing.play(task, lesson.demonstrations)
    printing.print_drawing(
        lambda width: draw_lesson(task, lesson, verified, width=width, details=details)
    )
    lines: list[str] = []
    if lesson.status == "partial" and lesson.within is None:
        with printing.waiting("looking for other start states"):
            found = taught.suggested_starts()
        lines = [f"  {line}" for line in suggested_starts_lines(task, lesson, found)]
    lines += [] if taught.honest is None else [f"  {taught.honest}"]
    printing.print_result(lines, [out])


@dataclass(frozen=True, eq=False)
class Taught:
    """A task or a family, a lesson for it, and what the independent checker said of its proof.

    honest: of a lesson that survives lies, what honesty saves.
    """

    task: Task | Family
    lesson: Lesson
    verified: str | None
    honest: str | None = None

    def suggested_starts(self) -> SuggestedStarts | None:
        """Starts from which the lesson is complete; None where it is, or where none do it."""
        from didact.mdp import Family
        from didact.teaching.check import suggested_starts

        if self.lesson.status != "partial" or isinstance(self.task, Family):
            return None
        return suggested_starts(self.task, self.lesson)

    def document(self) -> dict[str, Any]:
        """The lesson for machines; with `suggested_starts` where it leaves something open."""
        from didact.mdp import Family

        told, lesson = self.lesson.document(), self.lesson
        asked_for_all = lesson.status == "partial" and lesson.within is None
        if lesson.is_mixed or not asked_for_all or isinstance(self.task, Family):
            return told
        found = self.suggested_starts()
        return {**told, "way_out": None if found is None else found.to_dict()}


def demonstrated(
    world: options.NamedWorld,
    *,
    over_teach: bool = False,
    margin: str | None = None,
    loss: Any = None,
    learner_model: str = "both",
    time_limit: float | None = None,
    **settings: Any,
) -> Taught:
    """A lesson for a task or a family, its proof checked independently.

    loss: what may be lost; the others are of `teach` and `teach_within`.
    """
    from didact.teaching import teach, teach_within
    from didact.teaching.lesson import verified_lesson

    if over_teach or margin is not None:
        raise click.UsageError("--over-teach and --margin are for --feedback; leave them out")
    task = world.open()
    if loss is None:
        limit = {} if time_limit is None else {"time_limit": time_limit}
        lesson = teach(task, **settings, **limit)
    else:
        how = {**settings, "learner_model": learner_model, "time_limit": time_limit}
        how["teacher"] = "scot" if settings.get("teacher") == "auto" else settings.get("teacher")
        lesson = teach_within(task, loss, **how)
    return Taught(task, lesson, verified_lesson(task, lesson))


def robust(world: options.NamedWorld, lies: int, *, detect: bool, **settings: Any) -> Taught:
    """A lesson that survives lies, and what honesty would save."""
    from didact.teaching import teach, teach_robust
    from didact.teaching.lesson import verified_lesson

    for name in ("loss", "closed", "budget", "member_cost", "rollouts", "order"):
        if settings.get(name):
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --lies")
    task = world.open()
    names = ("horizon", "starts", "cost", "scope", "min_probability", "time_limit")
    kept = {name: settings[name] for name in names if settings.get(name) is not None}
    lesson = teach_robust(task, lies, detect=detect, **kept)
    cost = teach(task, teacher="exact", bec=lesson.bec, **kept).cost
    does = "would be noticed" if detect else "may be forged"
    honest = f"without forgeries cost {cost} would be enough; of these any {lies} {does}"
    return Taught(task, lesson, verified_lesson(task, lesson), honest)


def mixed(world: options.NamedWorld, feedback: tuple[str, ...], **settings: Any) -> Taught:
    """The cheapest mix of these kinds of feedback.

    settings: all options of the command; those that only demonstrations have are refused.
    """
    from didact.teaching import teach_mixed
    from didact.teaching.lesson import verify

    usual = {"teacher": ("auto", "scot", "exact"), "cost": ("demonstrations",), "closed": (False,)}
    for name in ("teacher", "cost", "closed", "loss", "order"):
        if settings.get(name) in usual.get(name, (None,)):
            settings.pop(name, None)
    for name in ("learner_model", "trim"):  # of demonstrations, and harmless beside others
        settings.pop(name, None)
    if settings["time_limit"] is None:
        del settings["time_limit"]
    task = world.open()
    lesson = teach_mixed(task, feedback, **settings)
    return Taught(task, lesson, verify(task, lesson.document()))
