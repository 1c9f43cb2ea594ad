"""`didact show`: a world and what is optimal in it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from didact.cli import options, printing

if TYPE_CHECKING:
    from didact.mdp import Task
    from didact.planning import Plan
    from didact.planning.solve import Arithmetic


@click.command("show")
@options.world("a random world; the same as -p seed=N", has_members=False)
@options.arithmetic()
@options.file("--out", help="Also write the task to this file.")
@options.output()
def command(
    world: options.NamedWorld,
    arithmetic: Arithmetic,
    out: str | None,
    output: printing.Output,
) -> None:
    """Draw WORLD with its optimal actions.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as FrozenLake-v1,
    module:name of an environment of your own, or a task file (.json).
    """
    from didact.files.kinds import require_other
    from didact.planning import solve
    from didact.worlds.opening import open_task

    if out is not None:
        require_other(out, [world.name])
    task = open_task(world.name, options.with_seed(options.read_settings(world.texts), world.seed))
    plan = solve(task.mdp, task.true_weights, arithmetic=arithmetic)
    if out is not None:
        task.save(out)
    from didact.report.terminal.worlds import draw_task

    drawing = partial(draw_task, task, plan, details=output.details)
    output.draw(lambda: _document(task, plan), drawing, [out])


def _document(task: Task, plan: Plan) -> dict[str, Any]:
    """What is optimal where, for machines."""
    mdp = task.mdp
    return {
        "name": task.name,
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "n_features": mdp.n_features,
        "discount": mdp.discount,
        "deterministic": mdp.is_deterministic(),
        "weights": task.weights.tolist(),
        "values": plan.values.tolist(),
        "optimal": [plan.optimal_actions(state) for state in range(mdp.n_states)],
        "error_bound": plan.error_bound,
        "arithmetic": plan.arithmetic,
        "proved": plan.is_proved,
    }
