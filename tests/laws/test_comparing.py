"""`compare` against brute force: curves, areas and tables a second time, in fractions.

Nothing is left to chance: strategies ask in a fixed order, every state has one optimal action, and
the learner takes the first of five rewards that explains most answers. So what every belief does,
what it loses and how often it errs can be found by trying all policies.
"""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction

import pytest
from scipy import stats

from didact.active import compare, register_strategy
from didact.learners import register_learner
from tests.laws.test_bec import Drawn, Oracle, draw_once
from tests.oracles import Plain, optimal_sets, policy_sums, reward_payments

N_QUERIES = 3
GUESSES = [[1, 0, 0, 0], [-1, 2, 1, 0], [0, -1, 1, 1], [-2, -1, 3, 1], [1, 1, -3, 2]]

pytestmark = pytest.mark.usefixtures("own_registries")


def draw(number: int) -> tuple[Drawn, Oracle]:
    """Few states, and one optimal action in each."""
    rng = random.Random(f"compare {number}")
    while True:
        drawn = draw_once(rng, tied=False)
        oracle = Oracle(drawn)
        lone = all(len(oracle.optimal[s]) == 1 for s in range(oracle.n) if not drawn.terminal[s])
        if lone and len(oracle.scope) >= 2 and oracle.n <= 4 and drawn.scope == "reachable":
            return drawn, oracle


class World:
    """One world with its truth, and what each guess would do in it."""

    def __init__(self, number: int):
        self.drawn, self.oracle = draw(number)
        self.task = self.drawn.task()
        self.plain = Plain(self.task.mdp)
        self.weights = self.task.true_weights.fractions()
        self.guesses = [[Fraction(x) for x in guess[: self.drawn.k]] for guess in GUESSES]
        self.sets = [optimal_sets(self.plain, guess)[1] for guess in self.guesses]
        self.best = optimal_sets(self.plain, self.weights)

    def learned(self, answers: list[tuple[int, int]]) -> int:
        """The first guess under which most answers are optimal."""
        fits = [sum(a in sets[s] for s, a in answers) for sets in self.sets]
        return fits.index(max(fits))

    def measures(self, guess: int) -> tuple[Fraction, Fraction]:
        """Loss from the start, and the share of actions that are not optimal."""
        policy = [{a: Fraction(1, len(actions)) for a in actions} for actions in self.sets[guess]]
        earned = policy_sums(self.plain, policy, reward_payments(self.plain, self.weights))
        start = self.task.mdp.start.fractions()
        lost = sum(p * (max(q) - v[0]) for p, q, v in zip(start, self.best[0], earned, strict=True))
        alive = [s for s in range(self.oracle.n) if not self.drawn.terminal[s]]
        wrong = [
            sum(share for a, share in policy[s].items() if a not in self.best[1][s]) for s in alive
        ]
        return lost, Fraction(sum(wrong), len(alive))

    def curve(self, order: list[int]) -> list[tuple[Fraction, Fraction]]:
        """Before the first answer and after each; the last stays where questions end."""
        answers = [(s, self.oracle.optimal[s][0]) for s in order[:N_QUERIES]]
        found = [self.measures(self.learned(answers[:n])) for n in range(len(answers) + 1)]
        return found + [found[-1]] * (N_QUERIES + 1 - len(found))


def learn_by_counting(world_of):
    def counting(evidence, rng):
        world = world_of[id(evidence.mdp)]
        shown = [pair for demonstration in evidence.demonstrations for pair in demonstration]
        return [float(x) for x in world.guesses[world.learned(shown)]]

    return counting


def compared(numbers):
    worlds = [World(number) for number in numbers]
    register_learner("counting")(learn_by_counting({id(w.task.mdp): w for w in worlds}))
    register_strategy("up")(lambda situation, rng: int(situation.open_states[0]))
    register_strategy("down")(lambda situation, rng: int(situation.open_states[-1]))
    tasks = [world.task for world in worlds]
    options = {"n_queries": N_QUERIES, "horizon": 1, "learner": "counting"}
    return worlds, compare(tasks, ("up", "down"), **options)


def check(numbers) -> bool:
    worlds, found = compared(numbers)
    assert found.policy_loss.shape == (len(worlds), 2, N_QUERIES + 1)
    losses = []
    for i, world in enumerate(worlds):
        asked = world.oracle.scope
        curves = [world.curve(order) for order in (asked, asked[::-1])]
        losses.append([[float(loss) for loss, _ in curve] for curve in curves])
        for j, curve in enumerate(curves):
            assert found.policy_loss[i, j] == pytest.approx(losses[i][j], abs=1e-9)
            assert found.wrong_actions[i, j] == pytest.approx([float(w) for _, w in curve])
            assert found.n_asked[i, j] == min(N_QUERIES, len(asked))
    check_table(found.table(baseline="up"), losses, found)
    assert [row["strategy"] for row in found.table()] == ["up", "down"]
    return any(left != right for left, right in losses)


def check_table(table, losses, found) -> None:
    areas = [[statistics.fmean(curve[1:]) for curve in curves] for curves in losses]
    for j, row in enumerate(table):
        mine = [area[j] for area in areas]
        differences = [area[j] - area[0] for area in areas]
        assert row["area"] == pytest.approx(statistics.fmean(mine), abs=1e-9)
        assert row["median"] == pytest.approx(statistics.median(mine), abs=1e-9)
        assert row["last"] == pytest.approx(statistics.fmean(c[j][-1] for c in losses), abs=1e-9)
        assert row["n_asked"] == pytest.approx(found.n_asked[:, j].mean())
        clearly = [d for d in differences if abs(d) > 1e-9]
        assert row["n_better"] == sum(d < 0 for d in clearly)
        mean = statistics.fmean(differences)
        assert row["difference"] == pytest.approx(mean, abs=1e-9)
        error = statistics.stdev(differences) / math.sqrt(len(differences))
        if error > 1e-9:
            low, high = stats.t.interval(0.95, len(differences) - 1, mean, error)
            assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)


def test_a_comparison_is_that_of_brute_force():
    assert check(range(12))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 212, 20))
def test_two_hundred_worlds_are_compared_as_by_brute_force(first):
    assert check(range(first, first + 20))


def test_a_comparison_has_a_row_for_each_curve():
    worlds, found = compared(range(3))
    assert found.area().shape == (3, 2)
    assert found.tasks == tuple(world.task.name for world in worlds)
