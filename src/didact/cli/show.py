"""`didact show`: a world and what is optimal in it."""

from __future__ import annotations

import click

from didact.cli import options, printing
from didact.cli.settings import read_settings, with_seed


@click.command("show")
@click.argument("world")
@options.parameters
@options.seed("a random world; the same as -p seed=N")
@options.arithmetic()
@options.file("--out", help="Also write the task to this file.")
@options.as_json
def command(
    world: str,
    settings: tuple[str, ...],
    seed: int | None,
    arithmetic: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Draw WORLD with its optimal actions.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as FrozenLake-v1,
    module:name of an environment of your own, or a task file (.json).
    """
    from didact.app.show import show
    from didact.files.kinds import require_other

    if out is not None:
        require_other(out, [world])
    shown = show(
        world,
        with_seed(read_settings(settings), seed),
        arithmetic=arithmetic,  # type: ignore[arg-type]
    )
    if out is not None:
        from didact.mdp import save_task

        save_task(shown.task, out)
    if as_json:
        printing.print_json(shown.document())
        return
    from didact.report.terminal.worlds import draw_task

    printing.print_drawing(lambda width: draw_task(shown.task, shown.plan, width=width))
    if out is not None:
        printing.print_line(f"  saved as {out}")
