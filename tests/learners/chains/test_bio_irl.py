"""BIO-IRL: BIRL bit for bit without trust, and its own density with it."""

from __future__ import annotations

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.learners import learn
from didact.learners.chains.information_gap import InformationGap
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.planning import evaluate, solve
from didact.planning.batch import action_values_of
from didact.teaching import teach
from didact.worlds import make
from tests.effort import number

WORLDS = {
    "chain": (make("chain", length=6), [[(3, 1), (4, 1)]]),
    "six-cell": (make("six-cell"), [[(4, 2), (3, 0)]]),
    "slippery": (make("random-grid", size=3, n_features=3, slip="1/4", seed=1), [[(4, 0)]]),
    "empty": (make("chain", length=5), []),
}
SHORT = {"n_steps": 400, "n_chains": 2, "seed": 3}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("options", [{}, {"prior": "l1-sphere"}, {"step_size": 0.05, "thin": 3}])
def test_without_trust_it_is_birl_bit_for_bit(name, options):
    task, shown = WORLDS[name]
    birl = learn(task.mdp, shown, learner="birl", **SHORT, **options)
    bio = learn(task.mdp, shown, learner="bio-irl", trust=0, **SHORT, **options)
    assert bio.samples.tobytes() == birl.samples.tobytes()
    assert bio.log_posterior.tobytes() == birl.log_posterior.tobytes()
    assert bio.map_weights.tobytes() == birl.map_weights.tobytes()


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("trust", [1, 100])
def test_every_density_is_birls_less_trust_times_the_gap(name, trust):
    task, shown = WORLDS[name]
    belief = learn(task.mdp, shown, learner="bio-irl", trust=trust, confidence=20.0, **SHORT)
    evidence = as_evidence(task.mdp, shown)
    gap = InformationGap(evidence)
    densities = []
    for chain, logs in zip(belief.samples, belief.log_posterior, strict=True):
        for weights, log in list(zip(chain, logs, strict=True))[::40]:
            plan = solve(task.mdp, weights)
            likelihood = softmax_log_likelihood(evidence, plan.action_values, 20.0)
            densities.append((log, likelihood - trust * gap(weights, plan.action_values)))
    found, expected = np.array(densities).T
    constant = found[0] - expected[0]  # of the prior, which is uniform
    np.testing.assert_allclose(found, expected + constant, atol=1e-8)


def planned(mdp, weights):
    """Action values (n, S, A) under each of the weights (n, k), and the names of their policies."""
    values = action_values_of(mdp, weights)
    optimal = values >= values.max(axis=2, keepdims=True) - 1e-9
    return values, [policy.tobytes() for policy in optimal]


def test_the_chain_visits_policies_as_often_as_their_density_says():
    """Cells by enumeration: a fine grid on the sphere, weighted by the density."""
    task, shown = WORLDS["chain"]
    evidence = as_evidence(task.mdp, shown)
    gap = InformationGap(evidence)
    n = number(28, 60)
    cosines, turns = np.meshgrid(
        (np.arange(n) + 0.5) * 2 / n - 1, (np.arange(2 * n) + 0.5) * np.pi / n, indexing="ij"
    )
    flat = np.sqrt(1 - cosines**2)
    grid = np.stack([flat * np.cos(turns), flat * np.sin(turns), cosines], axis=-1).reshape(-1, 3)
    mass: dict[bytes, float] = {}
    for weights, values, key in zip(grid, *planned(task.mdp, grid), strict=True):
        log = softmax_log_likelihood(evidence, values, 5.0)
        mass[key] = mass.get(key, 0.0) + np.exp(log - 10 * gap(weights, values))
    total = sum(mass.values())
    belief = learn(
        task.mdp, shown, learner="bio-irl", trust=10, confidence=5.0, step_size=0.4, n_steps=8_000,
        n_chains=4, seed=0,
    )  # fmt: skip
    draws = belief.samples.reshape(-1, 3)[:: 12 // number(1, 3)]
    visits: dict[bytes, float] = {}
    for key in planned(task.mdp, draws)[1]:
        visits[key] = visits.get(key, 0.0) + 1 / len(draws)
    for key, share in mass.items():
        assert visits.get(key, 0.0) == pytest.approx(share / total, abs=0.03)


def test_a_lesson_teaches_more_to_a_learner_that_knows_it_is_one():
    """Ball sorting, the paper's chain length, the first demonstration alone: half the loss."""
    losses = {"birl": [], "bio-irl": []}
    for seed in range(number(5, 16)):
        task = make("ball-sorting", seed=seed)
        lesson = teach(task, horizon=10, budget=1)
        for learner, found in losses.items():
            belief = learn(
                task.mdp, lesson.demonstrations, learner=learner, n_steps=1000, step_size=0.05,
                n_chains=1, seed=seed,
            )  # fmt: skip
            found.append(evaluate(task, belief.map_weights).policy_loss)
    assert np.mean(losses["bio-irl"]) < 0.5 * np.mean(losses["birl"])


@pytest.mark.parametrize("trust", [-1, np.nan, np.inf, "much", True])
def test_trust_must_be_a_finite_number_from_0(trust):
    task, shown = WORLDS["chain"]
    with pytest.raises(InvalidParameter, match="trust must be a finite number from 0"):
        learn(task.mdp, shown, learner="bio-irl", trust=trust)
