"""Time until draws can be used, effective draws against the walk and the published chain, and how
often the stop rule holds: `python -m benchmarks.mixing CASE FIRST LAST` tries the seeds of a case.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import didact
from benchmarks.timing import print_table
from didact.learners import Belief, learn
from didact.learners.chains import kernels
from didact.learners.chains.chain import Particles, Target
from didact.learners.chains.options import PRIORS
from didact.learners.chains.rounds import decisions
from didact.learners.chains.scores import Scorer
from didact.learners.chains.smc import Population, fitted, moves_by
from didact.learners.diagnostics import bulk_ess
from didact.learners.evidence import as_evidence

GRID: dict[str, Any] = {"size": 9, "n_features": 8}
SLIPPERY = {**GRID, "slip": "0.1"}

CASES: dict[str, tuple[dict[str, Any], int, float]] = {
    **{f"grid-{c}": (GRID, 1, float(c)) for c in (1, 10, 100, 1000)},
    **{f"trajectories-{c}": (GRID, 10, float(c)) for c in (1, 10, 100, 1000)},
    "slippery": (SLIPPERY, 1, 100.0),
    "k20": ({"size": 9, "n_features": 20}, 1, 100.0),
    "large": ({"size": 30, "n_features": 8}, 1, 100.0),
    "large-slippery": ({"size": 30, "n_features": 20, "slip": "0.1"}, 1, 100.0),
}
"""World, horizon of the lesson, confidence."""

OTHERS = {"Taxi-v4": 10, "CliffWalking-v1": 10, "ball-sorting": 10}


def lesson_of(case: str, seed: int) -> tuple[Any, Any, float]:
    """A task, what is shown, and the confidence."""
    if case in OTHERS:
        seeded = {"seed": seed} if case == "ball-sorting" else {}
        task = didact.make(case, **seeded)
        return task, didact.teach(task, teacher="scot", horizon=OTHERS[case]).demonstrations, 100.0
    world, horizon, confidence = CASES[case]
    task = didact.make("random-grid", seed=seed, **world)
    shown = didact.teach(task, teacher="scot", horizon=horizon, scope="all").demonstrations
    return task, shown, confidence


def timed(case: str, seed: int, **options: Any) -> tuple[Belief, float]:
    """A belief, and the seconds of one core that it took."""
    task, shown, confidence = lesson_of(case, seed)
    began = time.process_time()
    belief = learn(task.mdp, shown, confidence=confidence, seed=seed, threads=1, **options)
    return belief, time.process_time() - began


def fewest_effective(belief: Belief) -> float:
    """The fewest effective draws of everything in the stop rule."""
    evidence = as_evidence(belief.mdp, belief.demonstrations)
    target = Target(evidence, 100.0, Scorer(evidence), PRIORS["l2-sphere"], 0)
    step = max(1, belief.n_draws // 2000)
    kept = belief.samples[:, ::step]
    judged = decisions(target, kept, belief.map_weights)
    table = [*np.moveaxis(kept, 2, 0), belief.log_posterior[:, ::step], *judged]
    return float(min(bulk_ess(column) for column in table))


def campaign(case: str, seeds: range) -> list[str]:
    """How often the rule holds, and the median, 95% and worst time."""
    took, failed, used = [], [], []
    for seed in seeds:
        belief, seconds = timed(case, seed)
        took.append(seconds)
        used.append(belief.settings["n_likelihoods"])
        if not belief.is_mixed:
            failed.append(seed)
            print(case, seed, belief.warnings, file=sys.stderr, flush=True)
    times = [f"{np.quantile(took, q):.2f}" for q in (0.5, 0.95, 1.0)]
    return [case, f"{len(took) - len(failed)} of {len(took)}", *times, f"{np.median(used):,.0f}"]


def against(seeds: range) -> Iterator[list[str]]:
    """Effective draws a second and a likelihood, against the walk and the published chain."""
    rates: dict[str, list[tuple[float, float]]] = {"mixture": [], "walk": [], "published": []}
    published = {
        **{"prior": "l1-sphere", "proposal": "lattice", "start": [-1 / 8] * 8, "step_size": 0.005},
        **{"burn_in": 0, "n_chains": 4},
    }
    given = {
        "mixture": {},
        "walk": {"n_steps": 50_000},
        "published": {**published, "n_steps": 50_000},
    }
    for seed in seeds:
        for name, options in given.items():
            belief, seconds = timed("grid-100", seed, **options)
            n_likelihoods = belief.settings.get("n_likelihoods", 200_000)
            effective = fewest_effective(belief)
            rates[name].append((effective / seconds, effective / n_likelihoods))
    ours = np.array(rates["mixture"])
    for name, found in rates.items():
        per_second, per_likelihood = np.median(np.array(found), axis=0)
        ratio = np.median(ours / np.array(found), axis=0)
        yield [
            name,
            f"{per_second:,.1f}",
            f"{1000 * per_likelihood:.2f}",
            *(f"{r:.0f}x" for r in ratio),
        ]


def in_stages(n_steps: int = 500) -> Iterator[list[str]]:
    """Likelihoods a second on a large slippery grid: exact, ended early, rough (warmup)."""
    task, shown, confidence = lesson_of("large-slippery", 100)
    evidence = as_evidence(task.mdp, shown)
    target = Target(evidence, confidence, Scorer(evidence), PRIORS["l2-sphere"], 0)
    mode = np.array(task.weights, dtype=float)
    population = Population(target, np.random.default_rng(0))
    for _ in population.spread(mode / np.linalg.norm(mode), 2 * target.k):
        pass
    places = population.particles.places
    fit = fitted(places, np.full(len(places), 1.0 / len(places)), np.random.default_rng(1), 1)
    first = None
    for name, early, rough in (("exact", 0.0, 0), ("ended early", 1.0, 0), ("warmup", 1.0, 1)):
        particles = Particles(target, places[:1])
        particles.points.numbers[kernels.EARLY] = early
        particles.problem.work.rough[0] = rough
        steps = moves_by(fit, particles.kind, n_steps, np.random.default_rng(2))
        began = time.process_time()
        particles.advance(fit.proposal, steps)
        rate = n_steps / (time.process_time() - began)
        first = rate if first is None else first
        yield [
            name,
            f"{rate:,.0f}",
            f"{rate / first:.2f}x",
            f"{particles.n_accepted / n_steps:.2f}",
        ]


def report() -> None:
    warnings.simplefilter("ignore")
    for case in ("grid-100", "slippery"):
        timed(case, 0)
    heads = ["case", "mixed", "median s", "95% s", "worst s", "likelihoods"]
    cases = (("grid-100", 20), ("slippery", 5), ("large", 3), ("k20", 3))
    rows = (campaign(case, range(100, 100 + n)) for case, n in cases)
    print_table("Until R-hat 1.01 and 400 effective draws of everything, one core", heads, rows)
    heads = [
        "sampler",
        "effective a second",
        "a 1,000 likelihoods",
        "ours, by time",
        "by likelihood",
    ]
    print_table(
        "9x9, k = 8, confidence 100: the fewest effective draws", heads, against(range(100, 108))
    )
    heads = ["scores", "likelihoods a second", "against exact", "accepted"]
    print_table("Steps of a round, 30x30, k = 20, slippery", heads, in_stages())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name, first, last = sys.argv[1:]
    timed(name, 0)
    print(" | ".join(campaign(name, range(int(first), int(last)))), flush=True)
