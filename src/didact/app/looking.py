"""What is optimal in a painted world, at once: floats with a proved bound; a proof follows."""

from __future__ import annotations

from typing import Any

from didact.app.painting import WALL, Painting
from didact.planning import solve
from didact.report.page.world import task_drawn


def looked_at(painting: Painting) -> dict[str, Any]:
    """The picture, and by cell the value and the optimal actions (None and [] in walls).

    n_close: comparisons that floats leave open; they are drawn as ties.
    """
    task = painting.task()
    plan = solve(task.mdp, task.true_weights, arithmetic="float")
    values: list[float | None] = []
    optimal: list[list[int]] = []
    state = 0
    for letter in "".join(painting.rows):
        free = letter != WALL
        values.append(float(plan.values[state]) if free else None)
        optimal.append(plan.optimal_actions(state) if free else [])
        state += free
    picture, key = task_drawn(task, plan)
    return {
        "picture": picture,
        "key": key,
        "values": values,
        "optimal": optimal,
        "n_close": plan.n_close - plan.n_settled,
    }
