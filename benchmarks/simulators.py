"""Simulators: steps a second, lessons from a thousand states, distances to a cone."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.bec.observed.result import distances_to_cone
from didact.worlds.simulators.classics import Pendulum, PointRobot
from didact.worlds.simulators.opening import open_simulator

COPIES = 10_000


def report() -> None:
    print_table("Simulator steps a second", ["simulator", "copies", "steps a second"], steps())
    print_table(
        "Observing a policy, and its lesson",
        ["world", "states", "simulator steps", "observe", "steps a second", "class and lesson"],
        lessons(),
    )
    print_table("Distances to a cone", ["rows", "generators", "k", "time"], distances())


def steps() -> Iterator[list[str]]:
    for name, n in (("point-robot", COPIES), ("pendulum", COPIES), ("CartPole-v1", COPIES)):
        simulator = open_simulator(name)
        batch = simulator.begin(range(20))
        states = np.resize(batch.states, (n, batch.states.shape[1]))
        actions = np.zeros(n, dtype=np.int64)

        def stepped(simulator=simulator, states=states, actions=actions) -> None:
            simulator.resume(states).step(actions)

        yield [name, f"{n:,}", f"{n / best_time(stepped):,.0f}"]
    objects = open_simulator("CartPole-v1", restore="copy")

    def one_by_one() -> None:
        batch = objects.begin(range(50))
        batch.step(np.zeros(50, dtype=np.int64))
        batch.keep(np.zeros(50, dtype=bool))

    yield ["CartPole-v1 as objects, with their start", "50", f"{50 / best_time(one_by_one):,.0f}"]


def lessons() -> Iterator[list[str]]:
    robot = PointRobot(4, seed=1)
    yield observed("point-robot, k = 4", robot, 0.95, 50, 20)
    yield observed("pendulum", Pendulum(), 0.95, 30, 20)


def observed(name: str, env: object, discount: float, n_rollouts: int, length: int) -> list[str]:
    policy = env.best_policy(discount)  # type: ignore[attr-defined]
    given = dict(discount=discount, n_rollouts=n_rollouts, length=length)
    didact.observe(env, policy, **given)
    began = time.perf_counter()
    seen = didact.observe(env, policy, **given)
    took = time.perf_counter() - began
    lesson = best_time(lambda: didact.teach(seen).cone)
    rate = f"{seen.n_steps / took:,.0f}"
    return [name, str(len(seen.rows)), f"{seen.n_steps:,}", readable(took), rate, readable(lesson)]


def distances() -> Iterator[list[str]]:
    rng = np.random.default_rng(0)
    for n, m, k in ((10_000, 50, 8), (10_000, 50, 20)):
        generators = rng.normal(size=(m, k))
        generators[:, 0] = np.abs(generators[:, 0])
        rows = rng.normal(size=(n, k))
        took = best_time(lambda g=generators, r=rows: distances_to_cone(g, r))
        yield [f"{n:,}", str(m), str(k), readable(took)]
