"""`didact study`: studies with people, from the design to the report."""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing

folder = options.text("--out", ".", "The folder to write to.", type=click.Path(file_okay=False))


@click.group("study")
def command() -> None:
    """Run a study with people: who learns more from which demonstrations?

    `init` makes its file, `serve` the pages of participants, `simulate` lets learners take it
    first, `preregister` drafts a preregistration, `export` writes answers, codebook and report,
    `delete` forgets a participant.
    """


@command.command("init")
@click.argument("study")
@click.argument("world")
@options.parameters
@options.text(
    "--conditions",
    "exact,random,none",
    "Of exact, scot, loss, random, highlights, none",
    callback=options.parts,
)
@options.number(
    "--questions",
    default=12,
    within=options.Whole(1, 60),
    help="Of the test, in states that no condition shows.",
)
@options.number(
    "--practice", default=2, within=options.Whole(0, 60), help="Questions before the lesson."
)
@options.number(
    "--paths", default=0, within=options.Whole(0, 60), help="Whole paths asked for after the test."
)
@options.number(
    "--path-steps", default=8, within=options.Whole(1, 100), help="The longest path, in steps."
)
@options.number(
    "--rounds",
    default=0,
    within=options.Whole(0, 10),
    help="Closed loop: after the test a demonstration chosen from the mistakes, and 2 questions.",
)
@options.members
@click.option(
    "--unseen",
    multiple=True,
    metavar="MEMBER",
    help="Of a family: not shown, the test is about it; by name or number, again for several.",
)
@options.seed("a random world, of questions, orders and blocks")
@click.option("--title", help="What participants read at the top.")
@options.file("--consent", help="A text file with what participants agree to.")
@options.file("--debriefing", help="A text file that participants read at the end.")
@options.file("--likert", help="A text file with a statement on each line, to agree with or not.")
@options.number("--points", default=7, within=options.Whole(2, 11), help="Of the Likert scale.")
@click.option(
    "--tutorial/--no-tutorial",
    default=True,
    help="Begin with instructions and two questions with feedback.",
)
@options.number(
    "--tries",
    default=2,
    within=options.Whole(0, 10),
    help="At the comprehension questions; who fails is excluded, 0 asks none.",
)
@click.option(
    "--attention/--no-attention", default=True, help="An attention item in the middle of the test."
)
@options.number(
    "--watch-seconds",
    default=0,
    within=options.Whole(0, 3600),
    help="The least time on the page of the demonstrations.",
)
@click.option("--confidence", is_flag=True, help="Ask how sure participants are, from 1 to 5.")
@click.option("--comments", is_flag=True, help="Ask for a free text at the end.")
@click.option("--code", default="", help="The completion code that participants see at the end.")
@click.option(
    "--return-link",
    default="",
    metavar="URL",
    help="Where participants return to at the end; {id} stands for their id.",
)
def init(**given: Any) -> None:
    """Make the file STUDY (.sqlite) of a study in WORLD, as `didact teach` takes it.

    WORLD may be a family: then demonstrations and questions are of its members.
    """
    from didact.inputs import counted
    from didact.studies.people.study import init_study

    world, seed = given["world"], given["seed"]
    numbers = {f"n_{name}": given[name] for name in ("questions", "practice", "paths", "rounds")}
    same = {name: given[name] for name in ("unseen", "title", "consent", "debriefing", "likert")}
    with printing.waiting("making the study"):
        design = init_study(
            given["study"],
            world,
            options.NamedWorld(world, given["settings"], seed, given["members"]).parameters,
            conditions=tuple(given["conditions"]),
            seed=seed or 0,
            procedure={name: given[name] for name in PROCEDURE},
            **numbers,
            **same,
        )
    for name in design.conditions:
        shown = design.shown[name]
        told = counted(len(shown), "demonstration"), counted(sum(map(len, shown)), "step")
        printing.print_line(f"{name}: {', '.join(told)}")
    printing.print_line(f"  {counted(len(design.test), 'question')} that none of them shows")
    printing.print_line(
        f"  saved as {given['study']}; serve it by: didact study serve {given['study']}"
    )


PROCEDURE = (
    *("points", "tutorial", "tries", "attention", "watch_seconds", "confidence", "comments"),
    *("path_steps", "code", "return_link"),
)
"""Options that are fields of a `Procedure`."""


@command.command("serve")
@click.argument("study", type=click.Path(dir_okay=False))
@options.text("--host", "127.0.0.1", "Where to listen; 0.0.0.0 for other machines.")
@click.option(
    "--port", type=options.Whole(0, 65535), default=0, help="The port; by default a free one."
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name of it; again.")
@options.number(
    "--participants",
    default=10_000,
    within=options.Whole(1, 100_000),
    help="How many may join in all.",
)
@click.option(
    "--shared-computers",
    is_flag=True,
    help="Several people use one browser: it does not remember who took part.",
)
def serve(study: str, host: str, port: int, names: tuple[str, ...], **given: Any) -> None:
    """Serve the pages of STUDY to all who open the link, until interrupted."""
    from didact.files.extras import require_package

    studio = require_package("didact.studio", "studio", "the pages of a study")

    def ready(link: str) -> None:
        printing.print_line(f"the study is at {link}")
        printing.print_line("  interrupt it (Ctrl+C) to end; answers are kept as they come")

    studio.serve_study(study, host=host, port=port, names=names, ready=ready, **given)


@command.command("simulate")
@click.argument("study", type=click.Path(dir_okay=False))
@options.number(
    "-n", "n", default=120, within=options.Whole(1, 100_000), help="Learners that take it."
)
@click.option(
    "--confidence",
    "confidences",
    type=float,
    multiple=True,
    help="How seldom they slip; again for several. By default 2, 10, 50.",
)
@click.option(
    "--difference",
    type=float,
    default=0.1,
    show_default=True,
    help="In mean score, that people should show.",
)
@options.as_json
def simulate(
    study: str, n: int, confidences: tuple[float, ...], difference: float, as_json: bool
) -> None:
    """Let Bayesian learners take STUDY, and say how many people would show a difference."""
    from didact.studies.people.study import simulate_study

    with printing.waiting("learners take the study"):
        found = simulate_study(study, n, confidences=confidences, x=difference)
    if as_json:
        printing.print_json(found.document())
        return
    printing.print_result(found.report.lines())
    told = "no spread to tell from" if found.needed is None else f"{found.needed} people"
    printing.print_line(
        f"to see a difference of {found.seen:g} in 4 of 5 studies: {told} in each condition"
    )


@command.command("preregister")
@click.argument("study", type=click.Path(dir_okay=False))
@options.number(
    "-n", "n", default=120, within=options.Whole(1, 100_000), help="Learners for the power."
)
@click.option(
    "--difference",
    type=float,
    default=0.2,
    show_default=True,
    help="In mean score, the smallest of interest.",
)
@folder
def preregister(study: str, n: int, difference: float, out: str) -> None:
    """Write a draft of a preregistration of STUDY, and its analysis in Python and in R."""
    from didact.studies.people.study import preregister_study

    with printing.waiting("learners take the study"):
        places = preregister_study(study, out, n, x=difference)
    for place in places:
        printing.print_line(f"  saved as {place}")


@command.command("export")
@click.argument("study", type=click.Path(dir_okay=False))
@folder
def export(study: str, out: str) -> None:
    """Write the tables of STUDY (CSV) with their codebook.md, and report.md."""
    from didact.studies.people.study import export_study

    for place in export_study(study, out):
        printing.print_line(f"  saved as {place}")


@command.command("delete")
@click.argument("study", type=click.Path(dir_okay=False))
@click.argument("participant", type=options.Whole(0))
def delete(study: str, participant: int) -> None:
    """Forget PARTICIPANT of STUDY, by the number in participants.csv, with all answers."""
    from didact.studies.people.study import delete_participant

    n = delete_participant(study, participant)
    printing.print_line(f"participant {participant} and {n} answers are gone")
