"""Compile every kernel once, so that nobody waits later: `python -m didact.app.warm`."""

from __future__ import annotations

import time


def warm() -> float:
    """Compile what is not compiled yet; the seconds it took."""
    began = time.perf_counter()
    from didact.bec.classes import equivalence_class
    from didact.numerics import kernels
    from didact.planning import evaluate, solve, successor_features
    from didact.teaching import teach
    from didact.worlds import make

    usual, kernels.WORTH_COMPILING = kernels.WORTH_COMPILING, 0
    try:
        for slip in (0, "0.1"):
            task = make("random-grid", size=3, n_features=2, slip=slip)
            plan = solve(task.mdp, task.true_weights, arithmetic="float")
            successor_features(task.mdp, plan.optimal.argmax(axis=1))
            evaluate(task, [1.0, -1.0])
        known = equivalence_class(task, arithmetic="float")
        known.cone.center()
        teach(task, teacher="uvm", horizon=1, n_samples=1000, known=known)
    finally:
        kernels.WORTH_COMPILING = usual
    return time.perf_counter() - began


if __name__ == "__main__":
    print(f"kernels are compiled ({warm():.1f} s)")
