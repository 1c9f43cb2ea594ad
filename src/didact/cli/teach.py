"""`didact teach`: the fewest demonstrations for a world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.app.teach import Taught
    from didact.mdp import Task

RESERVED = (
    *("world", "task", "source", "parameters", "bec", "starts", "seed"),
    *("member_cost", "feedback"),
)
"""Names that no option of a teacher may have, besides those of the command."""


@click.command("teach")
@click.argument("world")
@options.parameters
@options.seed("a random world and teacher")
@options.members
@options.text("--teacher", "scot", "scot, scot-redundant, exact, uvm, random, or one of your own.")
@options.horizon
@options.cost("attempts")
@click.option(
    "--member-cost",
    metavar="COST|MEMBER=COST",
    multiple=True,
    help="Of a family: walking over to a member costs this, once; may be given again.",
)
@click.option("--budget", type=options.Whole(1), help="At most so many demonstrations.")
@click.option("--starts", metavar="S,S,...", help="Start states, instead of the world's; or all.")
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
@options.choice("--learner", ("both", "half-spaces", "planner"), "With --loss: whose loss.")
@click.option(
    "--loss-time",
    type=click.FloatRange(0, min_open=True),
    help="With --loss: seconds to look; what is not visited then is only tested. 60 by default.",
)
@click.option(
    "--frontier",
    "as_frontier",
    is_flag=True,
    help="How many demonstrations keep within how much loss: 10% to exact.",
)
@options.file("--out", help="Write the lesson to this file; with --frontier, its page (.html).")
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    members: int | None,
    starts: str | None,
    member_cost: tuple[str, ...],
    teacher_settings: tuple[str, ...],
    feedback: tuple[str, ...],
    as_frontier: bool,
    out: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Find the fewest demonstrations that teach WORLD, and prove that they do.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as Taxi-v4, module:name
    of an environment of your own, or a file (.json) of a task or of a family of tasks. Exit code 0:
    taught; 3: something stays open; 4: the proof failed. With --loss 0: every learner that fits was
    visited and keeps to it; 3: that is only tested, or it does not.
    """
    parameters = options.world_settings(world, settings, seed, members)
    choices = {**given, **options.read_options(teacher_settings, {*given, *RESERVED})}
    choices |= {
        "starts": "all" if starts == "all" else options.read_numbers(starts, "--starts"),
        "seed": 0 if seed is None else seed,
    }
    if as_frontier and not feedback:
        return _frontier(world, parameters, {**choices, "out": out}, as_json)
    choices["member_cost"] = options.read_member_cost(member_cost)
    if feedback:
        return _mix(world, parameters, choices, {"feedback": feedback, "out": out}, as_json)
    return _lesson(world, parameters, {**choices, "out": out}, as_json)


def _lesson(world: str, parameters: Any, choices: dict[str, Any], as_json: bool) -> int:
    """The demonstrations that a teacher picks."""
    from didact.app.teach import teach_source

    _require_no_over_teaching(choices)
    with printing.waiting(f"teaching {world}"):
        taught = teach_source(world, parameters, **choices)
    if as_json:
        printing.print_json(taught.document())
        return printing.exit_code(taught.lesson.reaches_its_goal)
    from didact.mdp import Family

    if isinstance(taught.task, Family):
        from didact.report.words.lessons import family_lesson_lines

        for line in family_lesson_lines(taught.task, taught.lesson, taught.verified):
            printing.print_line(line)
    else:
        _draw(taught.task, taught)
    if choices["out"] is not None:
        printing.print_line(f"  saved as {choices['out']}")
    return printing.exit_code(taught.lesson.reaches_its_goal)


def _frontier(world: str, parameters: Any, choices: dict[str, Any], as_json: bool) -> int:
    """How many demonstrations keep learners within how much of the best."""
    from didact.app.teach import frontier_source

    if choices.pop("loss") is not None or choices.pop("budget") is not None:
        raise click.UsageError("--frontier has its own losses; leave --loss and --budget out")
    _require_no_over_teaching(choices)
    limit = choices.pop("loss_time")
    choices |= {} if limit is None else {"time_limit": limit}
    if choices["teacher"] == "scot":
        choices["teacher"] = "exact"
    with printing.waiting(f"the frontier of {world}"):
        task, found = frontier_source(world, parameters, **choices)
    if as_json:
        printing.print_json(found.to_dict())
    else:
        from didact.report.words.lessons import frontier_lines

        for line in frontier_lines(task, found):
            printing.print_line(line)
        if choices["out"] is not None:
            printing.print_line(f"  saved as {choices['out']}")
    return printing.exit_code(found.is_certain)


def _require_no_over_teaching(choices: dict[str, Any]) -> None:
    """Refuse what only a mix of feedback has."""
    given = choices.pop("over_teach"), choices.pop("margin")
    if given != (False, None):
        raise click.UsageError("--over-teach and --margin are for --feedback; leave them out")


def _mix(
    world: str, parameters: Any, choices: dict[str, Any], named: dict[str, Any], as_json: bool
) -> int:
    """The cheapest mix of several kinds of feedback."""
    from didact.app.teach import mix_source

    with printing.waiting(f"teaching {world}"):
        mixed = mix_source(world, parameters, **choices, **named)
    if as_json:
        printing.print_json(mixed.lesson.document())
    else:
        from didact.report.words.lessons import mixed_lesson_lines

        for line in mixed_lesson_lines(mixed.lesson, mixed.verified):
            printing.print_line(line)
        if named["out"] is not None:
            printing.print_line(f"  saved as {named['out']}")
    return printing.exit_code(mixed.lesson.is_complete)


def _draw(task: Task, taught: Taught) -> None:
    """The lesson of a task, and a way out where it is not complete."""
    from didact.report.terminal.worlds import draw_lesson

    printing.play(task, taught.lesson.demonstrations)
    printing.print_drawing(
        lambda width: draw_lesson(task, taught.lesson, taught.verified, width=width)
    )
    if taught.lesson.status == "partial" and taught.lesson.within is None:
        from didact.report.words.lessons import suggested_starts_lines

        with printing.waiting("looking for a way out"):
            found = taught.suggested_starts()
        for line in suggested_starts_lines(task, taught.lesson, found):
            printing.print_line(f"  {line}")
