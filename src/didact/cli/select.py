"""`didact select`: which recorded episodes teach a task?"""

from __future__ import annotations

from typing import Any

import click

from didact.cli import options, printing

OBSERVING = ("policy", "features", "weights", "discount", "tolerance")
"""Options that a simulator needs."""


@click.command("select")
@click.argument("dataset")
@click.option("--task", "world", metavar="WORLD", help="The task, where DATASET does not say it.")
@options.parameters
@click.option("--budget", type=options.Whole(1), help="At most so many episodes, or parts of them.")
@options.choice(
    "--method", ("greedy", "exact"), "exact: the fewest that show all that was recorded."
)
@options.cost()
@options.scope()
@options.arithmetic()
@click.option("--format", "read_as", type=options.FORMATS, help="The format of DATASET.")
@click.option(
    "--simulator",
    metavar="ENV",
    help="Where observations are continuous: the "
    "environment that was recorded; then --policy and --features are needed too.",
)
@click.option("--policy", help="With --simulator: who goes on after a step, as for observe.")
@options.trust_pickle
@click.option("--features", help="With --simulator: phi of a step, as for observe.")
@click.option("--weights", help="With --simulator: of the features, as 1,0.")
@click.option("--discount", type=float, help="With --simulator: below 1; 0.99 by default.")
@click.option("--tolerance", type=float, help="With --simulator: return that counts as none.")
@click.option("--out", "target", help="Write the chosen episodes there, as `didact convert` does.")
@click.option("--replace", is_flag=True, help="Replace what is there.")
@options.details
@options.as_json
def command(
    dataset: str, settings: tuple[str, ...], details: bool, as_json: bool, **given: Any
) -> int:
    """Say which episodes of DATASET teach most, which are redundant, and what is missing.

    DATASET is a Minari dataset on this machine, a folder that imitation reads, or a file in JSON,
    JSON lines or CSV; JSON and JSON lines may hold comparisons, preferences, rankings and stops
    too, of which few are chosen that imply all of it. In --json episodes have their numbers of the
    file, which Minari's filter_episodes takes. Where an episode has wrong steps, these are listed
    with what they cost, and the right ones before and after them are used alone. Exit
    code 0: what is chosen teaches the task; 3: something stays open.
    """
    from didact.app.select import select_source

    observing = {name: given.pop(name) for name in OBSERVING}
    simulator, trust_pickle = given.pop("simulator"), given.pop("trust_pickle")
    if simulator is not None:
        observing["trust_pickle"] = trust_pickle
        return _by_simulator(dataset, simulator, observing, as_json=as_json)
    if trust_pickle:
        raise click.UsageError("--trust-pickle goes with --simulator; name the environment too")
    for name, value in observing.items():
        if value is not None:
            raise click.UsageError(f"--{name} goes with --simulator; name the environment too")
    with printing.waiting(f"selecting from {dataset}"):
        selected = select_source(dataset, parameters=options.read_settings(settings), **given)
    if as_json:
        printing.print_json(selected.document())
        return printing.exit_code(selected.selection.teaches)
    from didact.report.words.selections import describe_selection

    episodes = selected.recording.episodes
    said = describe_selection(selected.task, selected.selection, episodes)
    written = None if selected.written is None else str(selected.written.path)
    printing.print_result(said.lines(details=details), [written])
    return printing.exit_code(selected.selection.teaches)


def _by_simulator(dataset: str, simulator: str, given: dict[str, Any], *, as_json: bool) -> int:
    """Which recorded episodes of a simulator teach, by leading it through them."""
    from didact.app.observe import observe_source
    from didact.report.words.observed import lesson_document, lesson_lines

    settings = {name: value for name, value in given.items() if value is not None}
    if "weights" in settings:
        settings["weights"] = [part.strip() for part in settings["weights"].split(",")]
    with printing.waiting(f"selecting from {dataset}"):
        lesson = observe_source(
            simulator, recorded=dataset, demonstrations="rollouts", certify_it=False, **settings
        ).lesson
    if as_json:
        printing.print_json(lesson_document(lesson))
    else:
        printing.print_result(lesson_lines(lesson))
    return printing.exit_code(not lesson.open_seen and not lesson.is_empty)
