"""Results that code alone must not move; `python -m tests.pins write` records them anew.

Documents of exact results are pinned by a digest of their canonical JSON, so any change shows.
Numbers of samplers and simulators agree within TOLERANCE: the order of additions may change, their
draws may not. A commit that moves a pin on purpose says why and records it anew.
"""

import hashlib
import json
import math
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import didact
from didact.errors import InvalidModel
from didact.worlds.simulators.classics import LQR, PointRobot

FILE = Path(__file__).parent / "data" / "pins.json"
QUICK = ("lesson six-cell", "lesson paper 0", "lesson paper 1", "exam six-cell", "lesson Taxi")
TOLERANCE = 1e-5
"""Relative and absolute; six digits alone would tell two roundings of one number apart."""
VOLATILE = ("elapsed", "seconds", "time", "witnesses", "multipliers")
"""Keys of documents that hold times, or certificates of which there are many: BLAS's last digits
choose one of them, and differ between processors."""


def rounded(value: Any) -> Any:
    """The value with floats of six digits, and without what is VOLATILE."""
    if isinstance(value, dict):
        return {str(k): rounded(v) for k, v in value.items() if not str(k).endswith(VOLATILE)}
    if isinstance(value, list | tuple):
        return [rounded(x) for x in value]
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.6g}")
    return value if isinstance(value, bool | int | str | None) else str(value)


def agree(one: Any, other: Any) -> bool:
    """Whether two results are the same, floats within TOLERANCE."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(agree, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(one == other)


def digest(document: Any) -> str:
    """A short digest of the canonical JSON of a document."""
    text = json.dumps(rounded(document), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_lesson(make: Callable[[], Any], **settings: Any) -> Any:
    """What a lesson costs, and its document."""
    teach = didact.teach
    if "loss" in settings or "feedback" in settings:
        teach = didact.teach_within if "loss" in settings else didact.teach_mixed
    if teach is didact.teach:
        settings = {"teacher": "scot", **settings}
    lesson = teach(make(), **settings)
    return {"cost": str(lesson.cost), "status": lesson.status, "digest": digest(lesson.document())}


def of_belief(make: Callable[[], Any], **settings: Any) -> Any:
    """The posterior mean, or the point, after the task's lesson, and the best log density.

    Not the densest draw: likelihoods have plateaus, on which rounding picks one.
    """
    task = make()
    belief = didact.learn(task, didact.teach(task, teacher="scot"), **{"seed": 0, **settings})
    draws = belief.samples_flat
    return rounded({"best": belief.map_log_posterior, "mean": draws.mean(axis=0), "n": len(draws)})


def of_exam(make: Callable[[], Any], **settings: Any) -> Any:
    """How many questions an exam has, and its document."""
    exam = didact.exam(make(), **settings)
    return {"n": len(exam.questions), "digest": digest(exam.document())}


def of_observed(make: Callable[[], Any], policy: Any, **settings: Any) -> Any:
    """Six digits of what was seen of a policy, and of the lesson of clips."""
    env = make()
    given = {"discount": 0.9, "features": env.features, "weights": env.weights, "seed": 0}
    seen = didact.observe(env, policy, **{**given, **settings})
    rows = np.asarray(seen.rows, dtype=float)
    try:
        n_clips = len(didact.teach(seen).clips)
    except InvalidModel:  # this policy errs everywhere: there is nothing to show
        n_clips = 0
    return rounded({"shape": list(rows.shape), "sums": rows.sum(axis=(0, 1)), "clips": n_clips})


def of_observed_lqr(**settings: Any) -> Any:
    """The same of the best policy of a linear-quadratic regulator."""
    return of_observed(LQR, LQR().best_policy(0.9), **settings)


def of_frontier() -> Any:
    """The costs and bounds of a frontier."""
    found = didact.frontier(grid(4, 3, 0)(), losses=["10%", "1%"])
    return [[str(p.loss), str(p.lesson.cost), p.lesson.status] for p in found.points]


def world(name: str, **options: Any) -> Callable[[], Any]:
    """A world by name, made when it is needed."""
    return partial(didact.make, name, **options)


def grid(size: int, k: int, seed: int, **options: Any) -> Callable[[], Any]:
    """A random grid world."""
    return world("random-grid", size=size, n_features=k, seed=seed, **options)


def family(size: int, k: int, n: int) -> Callable[[], Any]:
    """A family of random grids that share the weights of the first."""

    def make() -> Any:
        tasks = [grid(size, k, seed)() for seed in range(n)]
        weights = tasks[0].weights
        return didact.Family([didact.Task(t.mdp, weights) for t in tasks])

    return make


def right(observations: Any) -> Any:
    """Always the action 1."""
    return np.ones(len(np.atleast_2d(observations)), dtype=int)


def pins() -> dict[str, Callable[[], Any]]:
    """Every pinned result by name."""
    found: dict[str, Callable[[], Any]] = {}

    def lesson(name: str, make: Callable[[], Any], **settings: Any) -> None:
        found[f"lesson {name}"] = partial(of_lesson, make, **settings)

    slip = {"slip": "1/10"}
    for seed in range(20):  # the paper's random worlds: 9x9, eight features
        lesson(f"paper {seed}", grid(9, 8, seed))
    for seed in range(4):
        lesson(f"paper exact {seed}", grid(9, 8, seed), teacher="exact")
        lesson(f"paper exact steps {seed}", grid(9, 8, seed), teacher="exact", horizon=1)
    for name in ("six-cell", "uvm-failure", "garnet"):
        lesson(name, world(name))
        lesson(f"{name} exact", world(name), teacher="exact")
        lesson(f"{name} uvm", world(name), teacher="uvm", n_samples=2000)
    for name in ("Taxi-v3", "FrozenLake-v1", "CliffWalking-v1"):
        lesson(name.split("-")[0], world(name))
        lesson(f"{name.split('-')[0]} exact", world(name), teacher="exact")
    for seed in range(3):
        lesson(f"slippery {seed}", grid(5, 4, seed, **slip), horizon=6)
        lesson(f"slippery exact {seed}", grid(5, 4, seed, **slip), horizon=6, teacher="exact")
        lesson(f"closed {seed}", grid(5, 4, seed), closed=True)
        lesson(f"float {seed}", grid(6, 5, seed), arithmetic="float")
        lesson(f"all states {seed}", grid(5, 4, seed), scope="all", starts="all")
        lesson(f"pairs {seed}", grid(6, 5, seed), teacher="exact", cost="pairs")
    for seed in range(2):
        lesson(f"loss {seed}", grid(4, 3, seed), loss="1%", time_limit=600)
        lesson(f"loss steps {seed}", grid(4, 3, seed), loss="10%", horizon=1, time_limit=600)
        kinds = ["demonstrations", "comparisons"]
        lesson(f"mixed {seed}", grid(4, 3, seed), feedback=kinds)
        lesson(f"random {seed}", grid(5, 4, seed), teacher="random", n=10, seed=seed)
    for n in (2, 5):
        lesson(f"family {n}", family(5, 4, n))
        lesson(f"family exact {n}", family(5, 4, n), teacher="exact", member_cost=1)

    for seed in range(4):
        found[f"belief birl {seed}"] = partial(of_belief, grid(5, 4, seed), confidence=100.0)
    found["belief slippery"] = partial(of_belief, grid(4, 3, 0, **slip), confidence=10.0)
    found["belief garnet"] = partial(of_belief, world("garnet"), confidence=10.0)
    found["belief l1"] = partial(of_belief, grid(4, 3, 1), confidence=10.0, prior="l1-sphere")
    for trust in (1.0, 10.0):
        found[f"belief bio-irl {trust:g}"] = partial(
            of_belief, grid(4, 3, 0), learner="bio-irl", trust=trust, confidence=10.0
        )
    for name in ("ml-irl", "policy-matching"):
        found[f"belief {name}"] = partial(of_belief, grid(5, 4, 0), learner=name)
    # Without a penalty all long weights are equally good, and rounding picks some.
    found["belief max-entropy"] = partial(
        of_belief, grid(5, 4, 0), learner="max-entropy", penalty=0.1
    )

    for seed in range(4):
        found[f"exam comparisons {seed}"] = partial(of_exam, grid(5, 4, seed), ask="comparisons")
        found[f"exam actions {seed}"] = partial(of_exam, grid(5, 4, seed), ask="actions")
    found["exam six-cell"] = partial(of_exam, world("six-cell"))
    found["exam Taxi"] = partial(of_exam, world("Taxi-v3"))

    for seed in range(3):
        robot = partial(PointRobot, 3, seed=seed)
        found[f"observed robot {seed}"] = partial(of_observed, robot, right, n_rollouts=4, length=6)
    found["observed robot held"] = partial(
        of_observed,
        partial(PointRobot, 3, seed=0),
        right,
        n_rollouts=4,
        length=6,
        settings={"held": (1, 4)},
    )
    found["observed lqr"] = partial(of_observed_lqr, n_rollouts=4, length=6)
    found["frontier"] = of_frontier
    return found


def result(name: str) -> Any:
    """A pinned result as it is now; learners that did not mix may say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pins()[name]()


def write() -> None:
    """Record every result anew, and tell which moved."""
    old = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = {}
    for name in pins():
        began = time.process_time()
        now[name] = result(name)
        if name in old and agree(old[name], now[name]):
            now[name] = old[name]
        else:
            took = time.process_time() - began
            print("new" if name not in old else "moved", name, f"({took:.2f} s)", flush=True)
    FILE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python -m tests.pins write")
    write()
