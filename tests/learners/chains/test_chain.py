"""Chains: the density depends on the weights alone; blocks and compilers change nothing."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from didact.learners.chains import kernels as chain_kernels
from didact.learners.chains.chain import BLOCK_NUMBERS, NO_MIXTURE, NOTHING, Chain, Target
from didact.learners.chains.options import PRIORS
from didact.learners.chains.scores import Scorer, log_likelihood, shown_in
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import MDP
from didact.planning import solve
from didact.worlds import make
from tests.effort import number
from tests.models import tasks

CONFIDENCE = 100.0


def shown_by(task, n: int, seed: int = 0) -> list:
    """n pairs, most of them optimal ones."""
    rng = np.random.default_rng(seed)
    going = np.flatnonzero(~task.mdp.terminal)
    plan = solve(task.mdp, task.true_weights)
    pairs = []
    for state in rng.choice(going, n).tolist():
        action = int(plan.optimal[state].argmax())
        pairs.append(
            [(state, action if rng.random() < 0.8 else int(rng.integers(task.mdp.n_actions)))]
        )
    return pairs


def chain_for(evidence, prior="l2-sphere", proposal=None, n_draws=0, seed=0, **changes) -> Chain:
    chosen = PRIORS[prior]
    move = chosen.kind(proposal or next(iter(chosen.proposals)), evidence.mdp.n_features)
    confidence = changes.pop("confidence", CONFIDENCE)
    target = Target(evidence, confidence, Scorer(evidence), chosen, move, **changes)
    chain = Chain(target, np.random.default_rng(seed), n_draws=n_draws)
    chain.place(chosen.draw(np.random.default_rng(seed), 1, target.k)[0])
    chain.step_size = 0.05
    return chain


def fresh(evidence, weights, confidence=CONFIDENCE) -> float:
    return softmax_log_likelihood(evidence, solve(evidence.mdp, weights).action_values, confidence)


def with_pair_features(task, rng) -> MDP:
    """The same moves; features of pairs, terminal ones the same for all actions."""
    mdp = task.mdp
    features = rng.integers(-2, 3, (mdp.n_states, mdp.n_actions, 3)).astype(float)
    features[mdp.terminal] = features[mdp.terminal][:, :1]
    return MDP(mdp.transitions, features, mdp.exact_discount, terminal=mdp.terminal)


def worlds():
    grid = {"size": 6, "n_features": 4, "seed": 3}
    yield "deterministic", make("random-grid", **grid)
    yield "slippery", make("random-grid", **grid, slip="1/4")
    yield "long-sighted", make("random-grid", **grid, discount="0.99")
    yield "terminal", make("six-cell")
    yield "tied", make("uvm-failure")
    yield "garnet", make("garnet", n_states=30, seed=1)
    yield "duplicate features", make("random-grid", size=5, n_features=2, seed=0, slip="1/10")


WORLDS = dict(worlds())


@pytest.mark.parametrize("pairs", [False, True], ids=["states", "pairs"])
@pytest.mark.parametrize("name", WORLDS)
def test_every_density_is_what_a_fresh_plan_gives(name, pairs):
    task = WORLDS[name]
    shown = shown_by(task, 12)
    mdp = with_pair_features(task, np.random.default_rng(5)) if pairs else task.mdp
    evidence = as_evidence(mdp, shown)
    chain = chain_for(evidence, n_draws=1500, confidence=20.0)
    chain.advance(300, adapting=True)
    chain.advance(1200, adapting=False)
    assert len(np.unique(chain.densities)) > 100
    for at in range(0, 1500, 30):
        expected = fresh(evidence, chain.samples[at], 20.0)
        assert abs(chain.densities[at] - expected) < 1e-10
    assert abs(chain.best - fresh(evidence, chain.best_weights, 20.0)) < 1e-10
    assert chain.best >= chain.densities.max()


@given(tasks(discounts=("0", "1/2", "0.9", "0.99")), st.integers(0, 5))
def test_random_small_models(task, seed):
    evidence = as_evidence(task.mdp, shown_by(task, 4, seed))
    chain = chain_for(evidence, "box", n_draws=40, seed=seed)
    chain.step_size = 0.5
    chain.advance(40, adapting=False)
    for weights, density in zip(chain.samples, chain.densities, strict=True):
        assert abs(density - fresh(evidence, weights)) < 1e-9


@pytest.mark.parametrize("pairs", [False, True], ids=["states", "pairs"])
@pytest.mark.parametrize("damage", [1e-12, 1e-7, 1e-2, 10.0])
def test_values_are_right_whatever_plan_they_begin_with(damage, pairs):
    task = WORLDS["slippery"]
    rng = np.random.default_rng(8)
    mdp = with_pair_features(task, rng) if pairs else task.mdp
    evidence = as_evidence(mdp, shown_by(task, 12))
    chain = chain_for(evidence)
    plan = chain.particles.problem.work.plan
    for _ in range(20):
        plan.values[:] *= 1.0 + damage * rng.standard_normal(plan.values.size)
        plan.policy[:] = rng.integers(0, mdp.n_actions, plan.policy.size)
        weights = PRIORS["l2-sphere"].draw(rng, 1, mdp.n_features)[0]
        assert abs(chain.place(weights) - fresh(evidence, weights)) < 1e-10


def states_of(chain) -> bytes:
    return chain.samples.tobytes() + chain.densities.tobytes() + chain.best_weights.tobytes()


@pytest.mark.parametrize("prior", ["l2-sphere", "l1-sphere", "box", "gaussian"])
@pytest.mark.parametrize("name", ["deterministic", "slippery", "terminal"])
def test_plain_and_compiled_kernels_give_the_same_bits(run_plain, name, prior):
    evidence = as_evidence(WORLDS[name].mdp, shown_by(WORLDS[name], 5))
    n = number(8, 40)
    found = []
    for compiled in (True, False):
        if not compiled:
            run_plain()
        for proposal in PRIORS[prior].proposals:
            chain = chain_for(evidence, prior, proposal, n_draws=n)
            chain.advance(n, adapting=True)
            found.append(states_of(chain))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


@pytest.mark.parametrize("proposal", ["pairs", "lattice"])
def test_blocks_change_nothing(proposal):
    evidence = as_evidence(WORLDS["slippery"].mdp, shown_by(WORLDS["slippery"], 5))
    found = []
    for sizes in ([300], [1, 2, 297], [100] * 3):
        chain = chain_for(evidence, "l1-sphere", proposal, n_draws=300)
        for size in sizes:
            chain.advance(size, adapting=True)
        found.append(states_of(chain))
    assert len(set(found)) == 1


@pytest.mark.parametrize("name", ["deterministic", "slippery", "terminal"])
def test_stepping_from_python_gives_the_same_bits(monkeypatch, name):
    evidence = as_evidence(WORLDS[name].mdp, shown_by(WORLDS[name], 5))
    found = []
    for changes in ({}, {"log_prior": lambda w: 0.0}, {"extra": lambda w, q: 0.0}):
        chain = chain_for(evidence, n_draws=300, **changes)
        chain.advance(300, adapting=True)
        found.append(states_of(chain))
    assert len(set(found)) == 1


@pytest.mark.parametrize("pairs", [False, True], ids=["states", "pairs"])
@pytest.mark.parametrize("name", ["deterministic", "slippery", "terminal", "garnet"])
def test_extra_terms_are_given_the_action_values_of_the_weights(name, pairs):
    task = WORLDS[name]
    mdp = with_pair_features(task, np.random.default_rng(5)) if pairs else task.mdp
    heard = []

    def extra(weights, action_values):
        heard.append((weights, action_values))
        return 0.0

    chain = chain_for(as_evidence(mdp, shown_by(task, 5)), extra=extra)
    chain.advance(20, adapting=False)
    assert len(heard) == 21
    for weights, action_values in heard:
        expected = solve(mdp, weights, arithmetic="float").action_values
        np.testing.assert_allclose(action_values, expected, atol=1e-11)


def test_extra_terms_and_tilts_count():
    evidence = as_evidence(WORLDS["terminal"].mdp, [])
    chain = chain_for(evidence, n_draws=50, extra=lambda w, q: 3.0 * w[0],
                      log_prior=lambda w: w[1] - 1.0)  # fmt: skip
    chain.advance(50, adapting=False)
    expected = 3.0 * chain.samples[:, 0] + chain.samples[:, 1] - 1.0
    np.testing.assert_allclose(chain.densities, expected, atol=1e-12)


def test_the_step_size_is_adapted_when_asked_and_only_then():
    evidence = as_evidence(WORLDS["deterministic"].mdp, shown_by(WORLDS["deterministic"], 12))
    chain = chain_for(evidence)
    chain.advance(4000, adapting=True)
    adapted = chain.step_size
    assert adapted != 0.05
    chain = chain_for(evidence, n_draws=1)
    chain.step_size = adapted
    chain.advance(8000, adapting=False)
    assert chain.step_size == pytest.approx(adapted, rel=1e-15)
    assert 0.1 < chain.acceptance < 0.45


def test_acceptance_is_the_share_of_moves():
    evidence = as_evidence(WORLDS["deterministic"].mdp, shown_by(WORLDS["deterministic"], 12))
    chain = chain_for(evidence, n_draws=500)
    first = chain.particles.places[0].copy()
    chain.advance(500, adapting=False)
    path = np.vstack((first, chain.samples))
    assert chain.acceptance == (path[1:] != path[:-1]).any(axis=1).mean()


# Pieces of a step


def test_all_orders_are_equally_likely():
    rng = np.random.default_rng(0)
    order = np.arange(4)
    seen = Counter()
    for _ in range(24_000):
        chain_kernels.shuffle(order, rng.random(4), 0)
        seen[tuple(order.tolist())] += 1
    counts = [seen[p] for p in permutations(range(4))]
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("fixed", [0, 1])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("step", [0.01, 0.3, 2.0])
def test_turned_pairs_stay_on_the_sphere_and_come_back(k, fixed, step):
    w = PRIORS["l1-sphere"].draw(np.random.default_rng(4), 1, k)[0]
    first, second = np.triu_indices(w.size, 1)
    rng = np.random.default_rng(0)
    noise, shuffles = rng.standard_normal(first.size), rng.random(first.size)
    order = np.arange(first.size)
    there = w.copy()
    kind = chain_kernels.LATTICE if fixed else chain_kernels.PAIRS
    move = chain_kernels.Proposal(kind, first.size, order, first, second, NO_MIXTURE)
    random = chain_kernels.Randomness(
        noise, shuffles, np.zeros(1), NOTHING, np.zeros(0), np.zeros(0)
    )
    chain_kernels.turn_pairs(step, move, random, 0, there)
    assert np.abs(there).sum() == pytest.approx(1.0, abs=1e-14)
    # Backwards: the same pairs in backward order, each by the opposite length.
    back = there.copy()
    kept = 0.999999999999  # shuffles that leave an order as it is
    move = move._replace(order=order[::-1].copy())
    random = random._replace(noise=-noise[::-1], shuffles=np.full(first.size, kept))
    chain_kernels.turn_pairs(step, move, random, 0, back)
    np.testing.assert_allclose(back, w, atol=1e-9)


@given(st.floats(0.0, 1e4), st.integers(0, 3))
def test_the_kernel_of_the_likelihood_is_its_plain_twin(confidence, seed):
    rng = np.random.default_rng(seed)
    mdp = WORLDS["deterministic"].mdp
    evidence = as_evidence(mdp, [[(int(s), int(a))] for s, a in rng.integers(0, 4, (9, 2))])
    q = rng.normal(size=(mdp.n_states, mdp.n_actions))
    shown = shown_in(evidence, confidence)._replace(values=q[evidence.states].ravel())
    found = log_likelihood(mdp.n_actions, shown, np.zeros(mdp.n_features))
    assert found == pytest.approx(softmax_log_likelihood(evidence, q, confidence), rel=1e-12)


def test_blocks_are_small_where_steps_are_long():
    evidence = as_evidence(WORLDS["deterministic"].mdp, [])
    chain = chain_for(evidence)
    assert 1 <= chain.block_size <= BLOCK_NUMBERS
