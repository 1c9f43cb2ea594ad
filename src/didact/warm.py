"""Compile kernels and templates once, so that nobody waits later: `python -m didact.warm`."""

from __future__ import annotations

import time
import warnings


def warm() -> float:
    """Compile what is not compiled yet; the seconds it took."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such short chains cannot mix
        _use_every_kernel()
    _load_every_template()
    return time.perf_counter() - began


def _use_every_kernel() -> None:
    from didact.numerics import compiled as kernels

    usual, kernels.WORTH_COMPILING = kernels.WORTH_COMPILING, 0
    try:
        _plan_teach_and_learn()
        _ask_and_bound_losses()
        _watch_a_robot()
    finally:
        kernels.WORTH_COMPILING = usual


def _plan_teach_and_learn() -> None:
    from didact.bec.classes import equivalence_class
    from didact.bec.nnls import needed_rows
    from didact.learners import learn
    from didact.planning import evaluate, reachable_states, solve, successor_features
    from didact.teaching import teach
    from didact.worlds import make

    shown = [[(0, 0)]]
    for slip in (0, "0.1"):
        task = make("random-grid", size=3, n_features=2, slip=slip)
        plan = solve(task.mdp, task.true_weights, arithmetic="float")
        successor_features(task.mdp, plan.optimal.argmax(axis=1))
        evaluate(task, [1.0, -1.0])
        teach(task, rollouts=2, arithmetic="float")
        learn(task.mdp, shown, n_steps=50, n_chains=1).risk()
        learn(task.mdp, shown, n_steps=50, n_chains=1, log_prior=lambda weights: 0.0)
        learn(task.mdp, shown, n_chains=1, max_likelihoods=1000)
        learn(task.mdp, shown, learner="ml-irl", n_starts=1)
    wide = make("random-grid", size=14, n_features=2, slip="0.1")
    learn(wide.mdp, shown, n_steps=20, n_chains=1)
    learn(wide.mdp, shown, n_chains=1, max_likelihoods=1000)
    bec = equivalence_class(task, arithmetic="float")
    bec.cone.center()
    needed_rows(bec.rows.normals)
    teach(task, teacher="uvm", horizon=1, n_samples=1000, bec=bec)
    reachable_states(make("garnet", n_states=6, starts=1).mdp)


def _ask_and_bound_losses() -> None:
    from didact.active import ask
    from didact.teaching import teach_within
    from didact.worlds import make

    for slip in (0, "0.1"):
        task = make("random-grid", size=3, n_features=3, slip=slip)
        ask(task, strategy="max-infogain", n_queries=1, horizon=2, n_steps=50, n_chains=1)
        teach_within(task, "5%", horizon=1)


def _watch_a_robot() -> None:
    from didact.bec import observe
    from didact.teaching import certify, teach

    seen = observe("point-robot", discount=0.5, n_rollouts=2, length=2)
    certify(seen, teach(seen), n_states=10)


def _load_every_template() -> None:
    from didact.report.page.templates import environment

    for name in environment().list_templates():
        environment().get_template(name)


if __name__ == "__main__":
    print(f"kernels and templates are compiled ({warm():.1f} s)")
