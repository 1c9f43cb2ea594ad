"""Show a world: solve it and say what is optimal where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from didact.mdp import Task
from didact.planning import Plan, solve
from didact.planning.solve import Arithmetic
from didact.worlds.opening import open_task


@dataclass(frozen=True, eq=False)
class ShownWorld:
    """A task and its plan."""

    task: Task
    plan: Plan

    def document(self) -> dict[str, Any]:
        """The same for machines."""
        mdp, plan = self.task.mdp, self.plan
        return {
            "name": self.task.name,
            "n_states": mdp.n_states,
            "n_actions": mdp.n_actions,
            "n_features": mdp.n_features,
            "discount": mdp.discount,
            "deterministic": mdp.is_deterministic(),
            "weights": self.task.weights.tolist(),
            "values": plan.values.tolist(),
            "optimal": [plan.optimal_actions(state) for state in range(mdp.n_states)],
            "error_bound": plan.error_bound,
            "arithmetic": plan.arithmetic,
            "proved": plan.is_proved,
        }


def show(
    source: str, parameters: Mapping[str, Any] | None = None, *, arithmetic: Arithmetic = "auto"
) -> ShownWorld:
    """Solve the task that `source` names."""
    task = open_task(source, parameters)
    return ShownWorld(task, solve(task.mdp, task.true_weights, arithmetic=arithmetic))
