"""The stop rule looks at what people decide by, and rounding is nothing."""

import numpy as np
import pytest

from didact.learners.chains.metropolis import Target
from didact.learners.chains.models import scorer_of
from didact.learners.chains.priors import PRIORS
from didact.learners.chains.stopping import Mixing, decisions, mixing_of
from didact.learners.evidence import as_evidence
from didact.mdp import MDP, Task
from didact.planning import evaluate, solve
from didact.worlds import make


def target_of(task) -> Target:
    evidence = as_evidence(task.mdp, [])
    return Target(evidence, 100.0, scorer_of(evidence), PRIORS["l2-sphere"], 0)


def pairs_task() -> Task:
    """A grid whose features are those of pairs."""
    mdp = make("random-grid", size=4, n_features=3, seed=2).mdp
    features = np.random.default_rng(3).integers(-2, 3, (mdp.n_states, mdp.n_actions, 3))
    features[mdp.terminal] = features[mdp.terminal][:, :1]
    paid = MDP(mdp.transitions, features, mdp.exact_discount, terminal=mdp.terminal)
    return Task(paid, [1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "task",
    [
        make("random-grid", size=4, n_features=3, seed=2),
        make("random-grid", size=4, n_features=3, seed=2, slip="1/10"),
        pairs_task(),
    ],
    ids=["grid", "slippery", "features of pairs"],
)
def test_losses_and_wrong_actions_are_those_of_an_evaluation(task):
    rng = np.random.default_rng(0)
    draws = PRIORS["l2-sphere"].draw(rng, 12, task.mdp.n_features)
    draws[5] = draws[4]
    best = draws[0]
    losses, wrong = decisions(target_of(task), draws.reshape(2, 6, -1), best)
    policy = solve(task.mdp, best).policy
    for i, weights in enumerate(draws):
        judge = Task(task.mdp, weights)
        found = evaluate(judge, policy)
        assert losses.ravel()[i] == pytest.approx(found.policy_loss, abs=1e-9)
        assert wrong.ravel()[i] == pytest.approx(found.wrong_actions, abs=1e-12)
    assert losses[0, 0] == 0.0


def test_a_loss_that_is_only_rounding_is_constant():
    task = make("random-grid", size=4, n_features=3, seed=2)
    best = PRIORS["l2-sphere"].draw(np.random.default_rng(0), 1, 3)[0]
    draws = best * (1.0 + 1e-13 * np.random.default_rng(1).standard_normal((4, 100, 3)))
    losses, wrong = decisions(target_of(task), draws, best)
    assert not losses.any()
    assert not wrong.any()


def test_the_worst_of_all_is_told():
    task = make("random-grid", size=3, n_features=2, seed=0)
    rng = np.random.default_rng(0)
    samples = PRIORS["l2-sphere"].draw(rng, 4000, 2).reshape(4, 1000, 2)
    densities = rng.standard_normal((4, 1000))
    mixing = mixing_of(target_of(task), samples, densities, samples[0, 0])
    assert mixing.is_enough
    apart = densities + np.arange(4)[:, None]
    mixing = mixing_of(target_of(task), samples, apart, samples[0, 0])
    assert not mixing.is_enough
    assert mixing.r_hat_of == mixing.ess_of == "the log density"
    assert not Mixing(1.0, "a", 399.0, "b").is_enough
    assert not Mixing(1.011, "a", 500.0, "b").is_enough
