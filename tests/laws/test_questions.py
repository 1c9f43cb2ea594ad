"""Scores of questions and risks of beliefs, a second time from their definitions.

Values are exact: all policies in fractions. Beliefs are a few weights by hand, so that quantiles
and bins can be counted. Models are drawn by number, so a failure names its model.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from didact.active.strategies import max_entropy, max_infogain, max_var
from didact.learners.belief import Belief
from tests.active.beliefs import situation_of
from tests.laws.test_bec import Drawn, draw_once
from tests.oracles import Plain, optimal_sets, policy_sums, reward_payments

WEIGHTS = [Fraction(n, d) for n in range(-4, 5) for d in (1, 2, 4)]
"""Fractions that floats hold exactly."""

MAX_STATES = 3


def draw(number: int) -> tuple[Drawn, random.Random]:
    rng = random.Random(f"questions {number}")
    while True:
        drawn = draw_once(rng, tied=False)
        if len(drawn.moves) <= MAX_STATES:
            return drawn, rng


class Believed:
    """A finite belief about a drawn model: exact values, optimal sets and losses of each draw."""

    def __init__(self, drawn: Drawn, rng: random.Random, n: int):
        self.task = drawn.task()
        self.draws = [[rng.choice(WEIGHTS) for _ in range(drawn.k)] for _ in range(n)]
        plain = Plain(self.task.mdp)
        self.known = {tuple(w): optimal_sets(plain, w) for w in self.draws}
        chosen = self.known[tuple(self.draws[0])][1]
        policy = [{a: Fraction(1, len(best)) for a in best} for best in chosen]
        self.values = [self.known[tuple(w)][0] for w in self.draws]
        self.losses = [
            [
                max(q) - v[0]
                for q, v in zip(
                    self.known[tuple(w)][0],
                    policy_sums(plain, policy, reward_payments(plain, w)),
                    strict=True,
                )
            ]
            for w in self.draws
        ]

    def floats(self) -> list[list[float]]:
        return [[float(x) for x in w] for w in self.draws]


def softmax(values: list[Fraction], confidence: float) -> list[float]:
    top = max(values)
    powers = [math.exp(confidence * float(value - top)) for value in values]
    return [power / sum(powers) for power in powers]


def nats(shares) -> float:
    return -sum(p * math.log(p) for p in shares if p > 0)


def binned(policies: list[list[float]], n_bins: int) -> float | None:
    """Mean over the actions of the entropy of the histogram; None where an edge is too near."""
    total = 0.0
    for by_draw in zip(*policies, strict=True):
        scaled = [p * n_bins for p in by_draw]
        if any(1e-12 < abs(x - round(x)) < 1e-6 for x in scaled):
            return None
        bins = Counter(max(1, math.ceil(x - 1e-9)) for x in scaled)
        total += nats(n / len(by_draw) for n in bins.values())
    return total / len(policies[0])


def quantile(losses: list[Fraction], level: Fraction) -> Fraction:
    """The smallest loss that at least a share `level` does not exceed."""
    ordered = sorted(losses)
    return ordered[max(1, math.ceil(level * len(ordered))) - 1]


def check_one(number: int) -> int:
    """All states of one model; how many questions that were."""
    drawn, rng = draw(number)
    believed = Believed(drawn, rng, rng.randint(1, 6))
    confidence = rng.choice([0.5, 2.0, 10.0])
    situation = situation_of(believed.task, believed.floats(), confidence=confidence)
    level = rng.choice([Fraction(1, 2), Fraction(4, 5), Fraction(19, 20)])
    stream = np.random.default_rng(0)
    n_bins = rng.choice([3, 10])
    entropies = max_entropy(situation, stream, n_bins=n_bins)
    gains, risks = max_infogain(situation, stream), max_var(situation, stream, level=float(level))
    states = [s for s in range(len(drawn.moves)) if not drawn.terminal[s]]
    for s in states:
        policies = [softmax(q[s], confidence) for q in believed.values]
        wanted = binned(policies, n_bins)
        if wanted is not None:
            assert entropies[s] == pytest.approx(wanted, abs=1e-9), (number, s)
        mean = [math.fsum(p) / len(policies) for p in zip(*policies, strict=True)]
        gain = nats(mean) - math.fsum(map(nats, policies)) / len(policies)
        assert gains[s] == pytest.approx(gain, abs=1e-9), (number, s)
        loss = quantile([by_state[s] for by_state in believed.losses], level)
        assert risks[s] == pytest.approx(float(loss), abs=1e-9), (number, s)
        assert (risks[s] == 0) == (loss == 0), (number, s)
    return len(states)


def test_scores_of_questions_are_those_of_their_definitions():
    assert sum(check_one(number) for number in range(12)) > 15


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_scores_of_a_thousand_questions(first):
    assert sum(check_one(number) for number in range(first, first + 100)) > 200


# Risk


def bound_by_counting(n: int, level: Fraction, delta: Fraction) -> int | None:
    """The smallest k with P(Binomial(n, level) <= k - 1) >= 1 - delta, in whole numbers."""
    total = Fraction(0)
    for k in range(1, n + 1):
        total += math.comb(n, k - 1) * level ** (k - 1) * (1 - level) ** (n - k + 1)
        if total >= 1 - delta:
            return k
    return None


def check_risk(number: int) -> bool:
    """The risk of one belief; whether its bound could be given."""
    drawn, rng = draw(10_000 + number)
    believed = Believed(drawn, rng, 4)
    chosen = [rng.randrange(4) for _ in range(rng.choice([8, 40, 240]))]
    samples = np.array([believed.floats()[i] for i in chosen]).reshape(4, -1, drawn.k)
    density = np.zeros(samples.shape[:2])
    mdp = believed.task.mdp
    belief = Belief(
        mdp, "by hand", (), samples, density, np.array(believed.floats()[0]), 0.0, density[:, 0],
        np.full(4, 0.5), 1.0, None, {},
    )  # fmt: skip
    level = rng.choice([Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)])
    delta = rng.choice([Fraction(1, 10), Fraction(1, 20)])
    risk = belief.risk(level=float(level), delta=float(delta))
    start = mdp.start.fractions()
    by_draw = [sum(p * x for p, x in zip(start, loss, strict=True)) for loss in believed.losses]
    losses = sorted(by_draw[i] for i in chosen)
    var = quantile(losses, level)
    tail = sum((max(x - var, Fraction(0)) for x in losses), Fraction(0)) / len(losses)
    cvar = var + tail / (1 - level)
    assert risk.var == pytest.approx(float(var), abs=1e-9), number
    assert risk.cvar == pytest.approx(float(cvar), abs=1e-9), number
    assert risk.mean == pytest.approx(float(sum(losses) / len(losses)), abs=1e-9), number
    assert risk.worst == pytest.approx(float(losses[-1]), abs=1e-9), number
    assert 0 <= risk.n_effective <= len(losses)
    order = bound_by_counting(risk.n_effective, level, delta) if risk.n_effective else None
    assert (risk.bound is None) == (order is None), number
    if order is not None:
        place = math.ceil(Fraction(order * len(losses), risk.n_effective))
        assert risk.bound == pytest.approx(float(losses[min(place, len(losses)) - 1]), abs=1e-9)
        assert risk.bound >= risk.var - 1e-9
    return order is not None


def test_risks_are_those_of_their_definitions():
    assert sum(map(check_risk, range(12))) > 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_risks_of_four_hundred_beliefs(first):
    assert sum(map(check_risk, range(first, first + 100))) > 20
