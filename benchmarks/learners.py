"""Bayesian IRL: steps a second, against value iteration at each step, and how they grow."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import didact
from benchmarks.timing import best_time, print_table
from didact.app.warm import warm
from didact.errors import NotMixed
from didact.learners.evidence import as_evidence
from didact.learners.learn import learn

STEPS = 10_000
STEP_SIZE = 0.005
CONFIDENCE = 100.0
PAIRS = 17


def report() -> None:
    warm()
    warnings.simplefilter("ignore", NotMixed)
    print_table(
        f"BIRL, one chain of {STEPS} steps of {STEP_SIZE}, confidence {CONFIDENCE:g}, "
        f"{PAIRS} pairs; against a chain that warm-starts value iteration (1e-6) at each step",
        ["world", "didact, steps/s", "value iteration, steps/s", "ratio"],
        against_value_iteration(),
    )
    print_table(
        "How it grows", ["world", "states", "features", "deterministic", "slippery"], growth()
    )
    print_table("Two chains", ["threads", "steps/s of both"], threads())
    print_table(
        "BIO-IRL on ball sorting, trust 100, chains of 10,000 steps of 0.05",
        ["reward", "demonstrations", "steps/s"],
        taught(),
    )


def world(size: int, k: int, slip: Any = 0, seed: int = 0) -> tuple[didact.Task, list[Any]]:
    """A random grid and 17 of its optimal pairs."""
    task = didact.make("random-grid", size=size, n_features=k, slip=slip, seed=seed)
    pairs = np.argwhere(didact.solve(task.mdp, task.weights, arithmetic="float").optimal)
    chosen = np.random.default_rng(seed).choice(len(pairs), size=PAIRS, replace=False)
    return task, [[tuple(pairs[i].tolist())] for i in sorted(chosen)]


def steps_per_second(task: didact.Task, shown: list[Any], **options: Any) -> float:
    chosen = {"n_steps": STEPS, "step_size": STEP_SIZE, "n_chains": 1, **options}
    start = np.asarray(task.weights) / np.linalg.norm(task.weights)

    def run() -> None:
        learn(task.mdp, shown, confidence=CONFIDENCE, start=start, **chosen)

    n_steps, n_chains = chosen["n_steps"], chosen["n_chains"]
    return n_chains * n_steps / best_time(run, at_least=1.0, most=20)


def against_value_iteration() -> Iterator[list[str]]:
    for name, slip in (("9x9, k = 8, deterministic", 0), ("9x9, k = 8, slippery", "1/4")):
        task, shown = world(9, 8, slip)
        ours = steps_per_second(task, shown, threads=1)
        theirs = value_iteration_chain(task, shown)
        yield [name, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.0f}x"]


def growth() -> Iterator[list[str]]:
    for size, k in ((5, 4), (9, 8), (12, 8), (15, 10), (30, 20), (50, 20), (100, 20)):
        n_steps = STEPS if size <= 15 else 2_000 if size <= 30 else 300
        found = []
        for slip in (0, "1/4"):
            task, shown = world(size, k, slip)
            n = n_steps if slip == 0 else max(100, n_steps // 5)
            found.append(f"{steps_per_second(task, shown, n_steps=n, threads=1):,.0f}")
        yield [f"{size}x{size}", str(size * size), str(k), *found]


def threads() -> Iterator[list[str]]:
    task, shown = world(9, 8)
    for n in (1, 2):
        speed = steps_per_second(task, shown, n_chains=2, n_steps=10 * STEPS, threads=n)
        yield [str(n), f"{speed:,.0f}"]


def taught() -> Iterator[list[str]]:
    for seed in range(3):
        task = didact.make("ball-sorting", seed=seed)
        lesson = didact.teach(task, horizon=10)

        def run(task: didact.Task = task, lesson: didact.Lesson = lesson) -> None:
            learn(
                task.mdp, lesson.demonstrations, learner="bio-irl", horizon=10, n_chains=1,
                n_steps=10_000, step_size=0.05,
            )  # fmt: skip

        took = best_time(run, at_least=0.1, most=2)
        yield [f"seed {seed}", str(len(lesson.demonstrations)), f"{10_000 / took:,.0f}"]


def value_iteration_chain(task: didact.Task, shown: list[Any]) -> float:
    """Steps a second of the usual chain: values of the last step, swept until they move < 1e-6."""
    import numba

    mdp, evidence = task.mdp, as_evidence(task.mdp, shown)
    moves = mdp.transitions

    @numba.njit(error_model="numpy")
    def chain(offsets, successors, probabilities, features, discount, states, counts, noise, flips):
        n, n_actions = features.shape[0], counts.shape[1]
        weights = noise[0] / np.sqrt((noise[0] ** 2).sum())
        values = np.zeros(n)
        kept = -1e300
        accepted = 0
        for step in range(1, noise.shape[0]):
            proposal = weights + STEP_SIZE * noise[step]
            proposal /= np.sqrt((proposal**2).sum())
            rewards = features @ proposal
            trial = values.copy()
            change = 1.0
            while change >= 1e-6:
                change = 0.0
                for s in range(n):
                    best = -1e300
                    for row in range(s * n_actions, (s + 1) * n_actions):
                        total = 0.0
                        for i in range(offsets[row], offsets[row + 1]):
                            total += probabilities[i] * trial[successors[i]]
                        best = max(best, rewards[s] + discount * total)
                    change = max(change, abs(best - trial[s]))
                    trial[s] = best
            log = 0.0
            for j in range(states.size):
                s = states[j]
                q = np.empty(n_actions)
                for a in range(n_actions):
                    total = 0.0
                    for i in range(offsets[s * n_actions + a], offsets[s * n_actions + a + 1]):
                        total += probabilities[i] * trial[successors[i]]
                    q[a] = CONFIDENCE * (rewards[s] + discount * total)
                top = q.max()
                log_sum = top + np.log(np.exp(q - top).sum())
                for a in range(n_actions):
                    log += counts[j, a] * (q[a] - log_sum)
            if flips[step] < log - kept:
                weights, values, kept = proposal, trial, log
                accepted += 1
        return accepted

    rng = np.random.default_rng(0)
    noise = rng.normal(size=(STEPS + 1, mdp.n_features))
    noise[0] = task.weights
    flips = np.log(rng.random(STEPS + 1))
    given = (moves.offsets, moves.successors, moves.probabilities.floats, mdp.features.floats)
    rest = (mdp.discount, evidence.states, evidence.counts, noise, flips)
    return STEPS / best_time(lambda: chain(*given, *rest), at_least=1.0, most=5)
