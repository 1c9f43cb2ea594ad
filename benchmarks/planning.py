"""Solving grid worlds: didact, QuantEcon's DiscreteDP (its best method), SciPy value iteration."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.warm import warm


def sup_norm_residual(mdp, weights, values) -> float:
    matrix = mdp.transitions.matrix()
    rewards = mdp.features.floats @ weights
    best = (matrix @ values).reshape(mdp.n_states, -1).max(axis=1)
    return float(np.abs(rewards + mdp.discount * best - values).max())


def quantecon_time(mdp, weights, *, budget: float, first: bool) -> tuple[float, str]:
    """The quickest of QuantEcon's methods, each in the representation that suits it."""
    from quantecon.markov import DiscreteDP

    n, m = mdp.n_states, mdp.n_actions
    rewards = np.repeat(mdp.features.floats @ weights, m)
    states, actions = np.divmod(np.arange(n * m), m)
    matrix = mdp.transitions.matrix()
    from scipy.sparse import csr_matrix

    sparse = DiscreteDP(rewards, csr_matrix(matrix), mdp.discount, states, actions)
    forms = [(sparse, "sparse")]
    if n <= 2000:
        dense = matrix.toarray().reshape(n, m, n)
        forms.append((DiscreteDP(rewards.reshape(n, m), dense, mdp.discount), "dense"))
    found = []
    for model, form in forms:
        for method in ("policy_iteration", "modified_policy_iteration"):
            if n > 2000 and method == "policy_iteration":
                continue  # minutes at 100x100: its sparse solves are not made for this
            solve = partial(model.solve, method=method, epsilon=1e-8, max_iter=100_000)
            took = best_time(solve, at_least=budget, first=first)
            found.append((took, f"{method.replace('_', ' ')}, {form}"))
    return min(found)


def scipy_value_iteration(mdp, weights) -> np.ndarray:
    matrix = mdp.transitions.matrix()
    rewards = mdp.features.floats @ weights
    values = np.zeros(mdp.n_states)
    while True:
        after = rewards + mdp.discount * (matrix @ values).reshape(mdp.n_states, -1).max(axis=1)
        if np.abs(after - values).max() <= 1e-9:
            return after
        values = after


def compare() -> Iterator[list[str]]:
    for size in (9, 100, 1000):
        for slip in (0, "0.2"):
            task = didact.make("random-grid", size=size, n_features=8, slip=slip, seed=0)
            mdp, weights = task.mdp, task.weights
            once = size == 1000
            budget = 0.0 if once else 0.3
            solve = partial(didact.solve, mdp, weights)
            ours = best_time(partial(solve, arithmetic="float"), at_least=budget)
            settled = best_time(solve, at_least=budget, first=once)
            residual = sup_norm_residual(mdp, weights, solve(arithmetic="float").values)
            theirs, method = quantecon_time(mdp, weights, budget=budget, first=once)
            iterated = best_time(
                partial(scipy_value_iteration, mdp, weights), at_least=0.0, first=True
            )
            yield [
                f"{size}x{size} {'slippery' if slip else 'deterministic'}",
                readable(ours),
                readable(settled),
                f"{readable(theirs)} ({method})",
                f"{theirs / ours:.0f}x",
                readable(iterated),
                f"{iterated / ours:.0f}x",
                f"{residual:.1e}",
            ]


def report() -> None:
    warnings.simplefilter("ignore")
    warm()

    print_table(
        "Solving random grids, 8 features, discount 0.95 (warm, best of several)",
        ["world", "didact float", "didact auto", "QuantEcon best", "ratio", "SciPy VI 1e-9",
         "ratio", "residual"],
        compare(),
    )  # fmt: skip
    print("\nPeak memory of didact alone, 1000x1000 slippery, world and solution:", end=" ")
    print(f"{peak_memory():.1f} GB")


def peak_memory() -> float:
    code = (
        "import didact, resource;"
        "t = didact.make('random-grid', size=1000, n_features=8, slip='0.2');"
        "didact.solve(t.mdp, t.weights, arithmetic='float');"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return float(done.stdout)
