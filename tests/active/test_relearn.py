"""Warm starts: different draws, likelier ones oftener; and a check that the chains mixed."""

import numpy as np
import pytest

from didact.active.relearn import ANEW, FRESH, WARM, learn_from, warm_starts
from didact.learners import Belief, register_learner
from didact.mdp import Demonstration
from didact.worlds import make
from tests.active.beliefs import situation_of

TASK = make("random-grid", size=3, n_features=3, seed=2)


def some_weights(n):
    weights = np.random.default_rng(1).normal(size=(n, 3))
    return weights / np.linalg.norm(weights, axis=1, keepdims=True)


def test_starts_are_different_draws():
    before = situation_of(TASK, some_weights(10), confidence=200.0)
    answer = Demonstration([(0, 1), (3, 1)])
    for seed in range(20):
        starts = warm_starts(before, answer, 10, np.random.default_rng(seed))
        assert sorted(map(tuple, starts)) == sorted(map(tuple, before.weights))
        few = warm_starts(before, answer, 4, np.random.default_rng(seed))
        assert np.array_equal(few, starts[:4])


def test_the_first_start_is_as_likely_as_it_explains_the_answer():
    before = situation_of(TASK, some_weights(5), confidence=3.0)
    answer = Demonstration([(0, 1), (3, 3)])
    fit = before.policies[:, 0, 1] * before.policies[:, 3, 3]
    chances = fit / fit.sum()
    n = 4000
    firsts = [warm_starts(before, answer, 1, np.random.default_rng(i))[0] for i in range(n)]
    counts = np.array([sum(np.array_equal(f, w) for f in firsts) for w in before.weights]) / n
    assert (np.abs(counts - chances) < 4 * np.sqrt(chances * (1 - chances) / n)).all()
    assert chances.max() > 2 * chances.min()


def test_an_answer_that_no_draw_explains_still_gives_starts():
    before = situation_of(TASK, some_weights(6), confidence=1e6)
    worst = int(before.policies[:, 0].max(axis=0).argmin())
    starts = warm_starts(before, Demonstration([(0, worst)] * 2), 3, np.random.default_rng(0))
    assert len(set(map(tuple, starts))) == 3
    assert np.isfinite(starts).all()


class Chains:
    """A learner with chains that mix or are stuck, as told; it keeps the starts it was given."""

    def __init__(self, mixes, densities=(0.0,) * 9, stuck=50.0):
        self.mixes, self.densities, self.stuck = list(mixes), list(densities), stuck
        self.starts = []

    def __call__(self, evidence, rng, *, n_chains=2, start=None):
        self.starts.append(start)
        draws = rng.normal(size=(n_chains, 400, 3))
        mixes = self.mixes.pop(0)
        if not mixes:
            draws += 100.0 * np.arange(n_chains)[:, None, None]
        zeros, bests = np.zeros((n_chains, 400)), np.zeros(n_chains)
        bests[0] = 0.0 if mixes else -self.stuck
        density = self.densities.pop(0)
        return Belief(
            evidence.mdp, "chains", evidence.demonstrations, draws, zeros, draws[0, 0], density,
            bests, np.ones(n_chains), 1.0, None, {},
        )  # fmt: skip


@pytest.fixture
def chains(own_registries):
    def register(*arguments):
        return register_learner("chains")(Chains(*arguments))

    return register


def learned(before, **options):
    answer = [Demonstration([(0, 1)])]
    rng = np.random.default_rng(0)
    return learn_from(TASK.mdp, answer, before, rng, learner="chains", options=options)


def test_the_first_belief_starts_fresh(chains):
    learner = chains([True])
    belief, start = learned(None)
    assert (start, learner.starts) == (FRESH, [None])
    assert belief.is_mixed


def test_chains_that_mix_from_warm_starts_are_kept(chains):
    learner = chains([True])
    before = situation_of(TASK, some_weights(9))
    _, start = learned(before, n_chains=3)
    assert start == WARM
    assert learner.starts[0].shape == (3, 3)
    assert {tuple(s) for s in learner.starts[0]} <= {tuple(w) for w in before.weights}


@pytest.mark.parametrize(
    ("mixes", "densities", "kept"),
    [
        ([False, True], [0.0, -9.0], ANEW),  # what is not stuck is better than what is
        ([False, False], [0.0, 1.0], ANEW),  # else the likelier summit
        ([False, False], [1.0, 0.0], WARM),
    ],
)
def test_where_a_warm_chain_is_stuck_fresh_ones_are_tried(chains, mixes, densities, kept):
    learner = chains(mixes, densities)
    belief, start = learned(situation_of(TASK, some_weights(9)))
    assert start == kept
    assert learner.starts[1] is None
    assert belief.map_log_posterior == (densities[0] if kept == WARM else densities[1])


def test_chains_that_only_need_more_steps_are_told_and_kept(chains):
    learner = chains([False], [0.0], 1.0)
    belief, start = learned(situation_of(TASK, some_weights(9)))
    assert (start, len(learner.starts), belief.is_mixed) == (WARM, 1, False)


@pytest.mark.parametrize(
    ("n", "options"), [(9, {"start": [[1, 0, 0]] * 2}), (1, {}), (3, {"n_chains": 4})]
)
def test_own_starts_and_too_few_draws_are_not_warm(chains, n, options):
    learner = chains([True])
    _, start = learned(situation_of(TASK, some_weights(n)), **options)
    assert start == FRESH
    assert learner.starts == [options.get("start")]
