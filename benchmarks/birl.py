"""BIRL chains: steps a second against warm-started value iteration, growth, and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import didact
from benchmarks.timing import best_time, print_table
from didact.learners import learn
from didact.learners.chains.birl import birl
from didact.learners.evidence import Evidence, as_evidence

STEPS = 10_000
GROWTH = ((5, 4), (9, 8), (12, 8), (15, 8), (20, 10), (30, 20), (50, 20))


def evidence_for(size: int, k: int, slip: Any = 0, n_pairs: int = 17) -> tuple[Evidence, Any]:
    """Optimal pairs of random states, and the true weights at unit length."""
    task = didact.make("random-grid", size=size, n_features=k, slip=slip, seed=0)
    weights = task.true_weights.floats / np.linalg.norm(task.true_weights.floats)
    plan = didact.solve(task.mdp, weights, arithmetic="float")
    states = np.random.default_rng(0).choice(task.mdp.n_states, n_pairs, replace=False)
    pairs = [[(int(s), int(plan.optimal[s].argmax()))] for s in states]
    return as_evidence(task.mdp, pairs), weights


def chain(evidence: Evidence, weights: Any, n_steps: int, **options: Any) -> Callable[[], object]:
    """A run of one chain in one thread from the true weights, as a function of nothing."""
    from didact.learners.chains.chain import Chain, Target
    from didact.learners.chains.options import PRIORS
    from didact.learners.chains.scores import Scorer

    prior = PRIORS[options.get("prior", "l2-sphere")]
    move = next(iter(prior.proposals.values()))
    target = Target(evidence, 100.0, Scorer(evidence), prior, move)
    walker = Chain(target, np.random.default_rng(0), n_draws=n_steps)

    def run() -> None:
        walker.place(prior.nearest(weights))
        walker.step_size = 0.005
        left = n_steps
        while left:
            n = min(left, walker.block_size)
            walker.advance(n, adapting=False)
            left -= n

    return run


def steps_a_second(evidence: Evidence, weights: Any, n_steps: int, **options: Any) -> float:
    return n_steps / best_time(chain(evidence, weights, n_steps, **options), at_least=1.0)


def value_iteration_chain(evidence: Evidence, weights: Any, n_steps: int) -> float:
    """The same chain with value iteration to 1e-6, from the last values, at each step."""
    import numba

    @numba.njit(error_model="numpy")
    def run(n_steps, n, m, offsets, successors, probabilities, features, discount, shown, counts,
            confidence, w, noise, levels):  # fmt: skip
        k = len(w)
        values, rewards, proposed = np.zeros(n), np.zeros(n), w.copy()
        q = np.zeros(m)
        density = -np.inf
        for t in range(n_steps):
            if t > 0:
                for j in range(k):
                    proposed[j] = w[j] + 0.005 * noise[t * k + j]
                proposed /= np.sqrt((proposed * proposed).sum())
            for s in range(n):
                rewards[s] = 0.0
                for j in range(k):
                    rewards[s] += features[s, j] * proposed[j]
            change = 1.0
            while change > 1e-6:
                change = 0.0
                for s in range(n):
                    best = -np.inf
                    for row in range(s * m, s * m + m):
                        total = 0.0
                        for e in range(offsets[row], offsets[row + 1]):
                            total += probabilities[e] * values[successors[e]]
                        best = max(best, total)
                    new = rewards[s] + discount * best
                    change = max(change, abs(new - values[s]))
                    values[s] = new
            total = 0.0
            for i in range(len(shown)):
                for a in range(m):
                    row = shown[i] * m + a
                    q[a] = 0.0
                    for e in range(offsets[row], offsets[row + 1]):
                        q[a] += confidence * discount * probabilities[e] * values[successors[e]]
                top = q.max()
                for a in range(m):
                    if counts[i, a] != 0.0:
                        total += counts[i, a] * (q[a] - top - np.log(np.exp(q - top).sum()))
            if levels[t] < total - density:
                density = total
                w[:] = proposed

    mdp, rng = evidence.mdp, np.random.default_rng(0)
    moves = mdp.transitions
    noise, levels = (
        rng.standard_normal(n_steps * mdp.n_features),
        -rng.standard_exponential(n_steps),
    )

    def once() -> None:
        run(n_steps, mdp.n_states, mdp.n_actions, moves.offsets, moves.successors,
            moves.probabilities.floats, mdp.features.floats, mdp.discount, evidence.states,
            evidence.counts, 100.0, weights.copy(), noise, levels)  # fmt: skip

    return n_steps / best_time(once, at_least=0.5)


def compare() -> Iterator[list[str]]:
    for size, k, slip, n_steps in (
        (9, 8, 0, STEPS),
        (9, 8, "1/4", STEPS),
        (30, 20, 0, 2000),
        (30, 20, "1/4", 200),
    ):
        evidence, weights = evidence_for(size, k, slip)
        ours = steps_a_second(evidence, weights, n_steps)
        theirs = value_iteration_chain(evidence, weights, n_steps // 10)
        yield [
            f"{size}x{size}, k = {k}, {'slippery' if slip else 'deterministic'}",
            f"{ours:,.0f}",
            f"{theirs:,.0f}",
            f"{ours / theirs:.0f}x",
        ]


def growth() -> Iterator[list[str]]:
    for size, k in GROWTH:
        row = [f"{size}x{size}", str(k)]
        for slip in (0, "1/4"):
            evidence, weights = evidence_for(size, k, slip)
            n_steps = max(100, STEPS * 81 // (size * size) // (10 if slip and size > 12 else 1))
            row.append(f"{steps_a_second(evidence, weights, n_steps):,.0f}")
        yield row


def priors() -> Iterator[list[str]]:
    evidence, weights = evidence_for(9, 8)
    for prior in ("l2-sphere", "l1-sphere", "box", "gaussian"):
        yield [prior, f"{steps_a_second(evidence, weights, STEPS, prior=prior):,.0f}"]


def callbacks() -> Iterator[list[str]]:
    evidence, weights = evidence_for(6, 4)
    options = {"start": weights, "step_size": 0.005, "n_chains": 1, "n_steps": STEPS}
    for name, extra in (
        ("log_prior", {"log_prior": lambda w: 0.0}),
        ("none", {}),
    ):
        run = partial(birl, evidence, np.random.default_rng(0), **options, **extra)
        yield [name, f"{STEPS / best_time(run, at_least=1.0):,.0f}"]


def threads() -> Iterator[list[str]]:
    for size, k, slip in ((9, 8, 0), (30, 20, 0), (9, 8, "1/4")):
        evidence, weights = evidence_for(size, k, slip)
        options = {"start": weights, "step_size": 0.005, "n_chains": 2, "n_steps": 5 * STEPS}
        took = []
        for n in (1, 2):
            run = partial(birl, evidence, np.random.default_rng(0), threads=n, **options)
            took.append(best_time(run, at_least=1.0))
        kind = "slippery" if slip else "deterministic"
        rates = [f"{2 * 5 * STEPS / seconds:,.0f}" for seconds in took]
        yield [f"{size}x{size}, k = {k}, {kind}", *rates, f"{took[0] / took[1]:.2f}x"]


def whole() -> Iterator[list[str]]:
    task = didact.make("random-grid", size=9, n_features=8, seed=0)
    shown = didact.teach(task, horizon=1, scope="all").demonstrations
    for n_chains in (1, 4):
        run = partial(learn, task.mdp, shown, n_chains=n_chains)
        yield [f"{n_chains} of {STEPS:,} steps", f"{best_time(run, at_least=1.0) * 1e3:.0f} ms"]


def taught() -> Iterator[list[str]]:
    for seed in range(3):
        task = didact.make("ball-sorting", seed=seed)
        shown = didact.teach(task, horizon=10).demonstrations
        options: dict[str, Any] = {"learner": "bio-irl", "horizon": 10, "n_chains": 1}
        run = partial(learn, task.mdp, shown, n_steps=STEPS, step_size=0.05, **options)
        took = best_time(run, at_least=0.1, most=2)
        yield [f"seed {seed}", str(len(shown)), f"{STEPS / took:,.0f}"]


def report() -> None:
    import warnings

    warnings.simplefilter("ignore")
    print_table(
        "BIRL chains, 17 pairs, confidence 100, step 0.005, one thread: steps a second",
        ["world", "didact", "value iteration at 1e-6, warm, compiled", "ratio"],
        compare(),
    )
    print_table(
        "Growth: steps a second, one thread", ["world", "k", "deterministic", "slippery"], growth()
    )
    print_table("By prior, 9x9, k = 8: steps a second", ["prior", "didact"], priors())
    print_table(
        "A Python function in the density, 6x6, k = 4: steps a second, with set-up",
        ["function", "didact"],
        callbacks(),
    )
    print_table(
        "Two chains in one thread and in two: steps a second of both",
        ["world", "one thread", "two threads", "ratio"],
        threads(),
    )
    print_table("The default, a search for starts included, 9x9", ["chains", "time"], whole())
    print_table(
        "BIO-IRL on ball sorting, trust 100, one chain of 10,000 steps of 0.05: steps a second",
        ["reward", "demonstrations", "didact"],
        taught(),
    )
