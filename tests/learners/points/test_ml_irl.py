"""Maximum likelihood IRL: recovers from closed lessons, beats chains, says what it proved."""

import math

import numpy as np
import pytest

import didact
from didact.errors import InvalidParameter
from didact.learners.chains.birl import birl
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.learners.points.ml_irl import ml_irl
from didact.mdp import MDP, Task
from didact.random import as_generator
from tests.effort import chunks, crossed, number


def learned(task, demonstrations, seed=0, **options):
    return ml_irl(as_evidence(task.mdp, demonstrations), as_generator(seed, "learn"), **options)


def lesson_for(task, *, closed=False):
    return didact.teach(task, horizon=1, scope="all", closed=closed).demonstrations


def world(seed: int, *, size: int = 9) -> Task:
    return didact.make("random-grid", size=size, n_features=8, seed=seed)


def assert_recovered(task):
    belief = learned(task, lesson_for(task, closed=True))
    assert didact.evaluate(task, belief.map_weights).worst_policy_loss == 0
    assert belief.certificate.holds
    assert belief.settings["at_local_optimum"]
    assert belief.notes == ()


@pytest.mark.parametrize("seed", chunks(1, 12))
def test_closed_lessons_are_learned_without_loss(seed):
    assert_recovered(world(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 200))
def test_closed_lessons_are_learned_without_loss_in_every_world(seed):
    assert_recovered(world(seed))


@pytest.mark.parametrize("seed", chunks(1, 4))
def test_closed_lessons_of_slippery_worlds_are_learned_without_loss(seed):
    task = didact.make("random-grid", size=5, n_features=4, slip="1/4", seed=seed)
    belief = learned(task, lesson_for(task, closed=True), raise_confidence=True)
    assert belief.certificate.holds
    assert didact.evaluate(task, belief.map_weights).worst_policy_loss == 0


@pytest.mark.parametrize("seed", chunks(1, 8))
def test_ties_between_different_ways_are_learned_exactly(seed):
    """Whole-number weights: the lesson shows ties that only some weights keep."""
    weights = np.random.default_rng(seed).integers(-1, 2, size=3).tolist()
    task = Task(didact.make("random-grid", size=5, n_features=4, seed=seed).mdp, [1, *weights])
    belief = learned(task, lesson_for(task, closed=True), raise_confidence=True)
    assert belief.certificate.holds
    assert didact.evaluate(task, belief.map_weights).worst_policy_loss == 0
    assert np.linalg.norm(belief.map_weights) == pytest.approx(1.0, abs=1e-3)
    assert belief.confidence == 100.0


def assert_as_likely_as_a_chain(task):
    evidence = as_evidence(task.mdp, lesson_for(task))
    best = ml_irl(evidence, as_generator(0, "learn"))
    chains = birl(evidence, as_generator(0, "learn"))
    assert best.map_log_posterior >= chains.map_log_posterior - 1e-9


@pytest.mark.parametrize("seed", range(number(1, 6)))
def test_no_chain_finds_more_likely_weights(seed):
    assert_as_likely_as_a_chain(world(seed, size=number(5, 9)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 200))
def test_no_chain_finds_more_likely_weights_in_any_world(seed):
    assert_as_likely_as_a_chain(world(seed))


def tiny(n_features: int) -> Task:
    return didact.make("random-grid", size=3, n_features=n_features, seed=4, slip="1/5")


def noisy_pairs(task, n=8, seed=0):
    """Pairs that no reward explains: random actions."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, task.mdp.n_states, size=n).tolist()
    return [[(s, int(rng.integers(0, task.mdp.n_actions)))] for s in states]


def likelihood(task, demonstrations, weights, confidence):
    evidence = as_evidence(task.mdp, demonstrations)
    plan = didact.solve(task.mdp, weights, arithmetic="float")
    return softmax_log_likelihood(evidence, plan.action_values, confidence)


@pytest.mark.parametrize(
    ("confidence", "norm"), crossed([0.5, 5.0, 100.0], ["l2-sphere", "l1-sphere"], one_in=2)
)
def test_two_features_agree_with_a_fine_grid(confidence, norm):
    """All directions of the plane, with noisy demonstrations: nothing is higher."""
    task = tiny(2)
    shown = noisy_pairs(task)
    belief = learned(task, shown, confidence=confidence, norm=norm)
    order = 2 if norm == "l2-sphere" else 1
    assert np.linalg.norm(belief.map_weights, order) == pytest.approx(1.0)
    highest = -math.inf
    for angle in np.linspace(0.0, 2 * np.pi, number(121, 721)):
        w = np.array([np.cos(angle), np.sin(angle)])
        value = likelihood(task, shown, w / np.linalg.norm(w, order), confidence)
        highest = max(highest, value)
    assert belief.map_log_posterior >= highest - 1e-9
    assert belief.map_log_posterior <= highest + 0.05 * confidence
    own = likelihood(task, shown, belief.map_weights, confidence)
    assert own == pytest.approx(belief.map_log_posterior, abs=1e-8)


def test_one_feature_has_two_directions():
    moves = np.zeros((3, 2, 3))
    moves[0, 0, 1] = moves[0, 1, 2] = 1.0
    mdp = MDP(moves, [[0], [1], [0]], "0.9", terminal=[1, 2])
    for action, weight in ((0, 1.0), (1, -1.0)):
        belief = learned(Task(mdp, [1]), [[(0, action)]], n_starts=1)
        assert belief.map_weights.tolist() == [weight]
        assert belief.certificate.by_likelihood


def test_nothing_shown_is_said():
    task = tiny(3)
    belief = learned(task, [])
    assert belief.map_log_posterior == 0.0
    assert np.linalg.norm(belief.map_weights) == pytest.approx(1.0)
    assert "nothing was shown" in belief.notes[0]
    assert belief.certificate.holds


def test_contradictions_are_said():
    """All actions of a state, one of them twice: nothing makes that optimal."""
    task = tiny(3)
    shown = [[(4, 0)], [(4, 1)], [(4, 2)], [(4, 3)], [(4, 3)], [(0, 1)]]
    belief = learned(task, shown, raise_confidence=True, n_starts=2)
    assert belief.certificate.holds is False
    assert belief.confidence == 1e12
    assert "no confidence from 100 to 1e+12 explains all demonstrations" in belief.notes[0]


@pytest.mark.parametrize("seed", crossed([2, 3, 5, 9], one_in=2))
def test_raising_the_confidence_ends_with_a_certificate(seed):
    """Worlds where the most likely weights at a small confidence make a shown action worse."""
    task = didact.make("random-grid", size=4, n_features=4, seed=seed)
    shown = lesson_for(task, closed=True)
    low = learned(task, shown, confidence=0.1)
    assert low.certificate.holds is False
    assert low.confidence == 0.1
    raised = learned(task, shown, confidence=0.1, raise_confidence=True)
    assert raised.certificate.holds
    assert raised.confidence in (1.0, 10.0)
    assert raised.settings["confidence"] == 0.1
    assert raised.notes == ()
    assert didact.evaluate(task, raised.map_weights).worst_policy_loss == 0
    assert didact.evaluate(task, low.map_weights).worst_policy_loss > 0


def test_repeated_pairs_count_each_time():
    task = tiny(3)
    one, other = [[(4, 0)], [(4, 1)]], [[(4, 0)]] * 9 + [[(4, 1)]]
    shares = []
    for shown in (one, other):
        belief = learned(task, shown, confidence=2.0, n_starts=2)
        plan = didact.solve(task.mdp, belief.map_weights)
        shares.append(plan.action_values[4, 0] - plan.action_values[4, 1])
    assert shares[1] > shares[0] + 1e-3


def test_the_same_seed_gives_the_same_weights():
    task = world(3)
    shown = lesson_for(task)[:5]
    one, two = (learned(task, shown, seed=1, n_starts=2).map_weights.tolist() for _ in range(2))
    assert one == two


def test_settings_can_be_written_as_json():
    import json

    settings = dict(learned(tiny(3), [[(0, 0)]], n_starts=2).settings)
    assert json.loads(json.dumps(settings)) == settings
    assert settings["n_solves"] > 8
    assert "climbs reached the best likelihood" in settings["convergence"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": -1}, "confidence must be a finite number from 0; it is -1"),
        ({"confidence": math.nan}, "confidence must be a finite number from 0; it is nan"),
        ({"n_starts": 0}, "n_starts must be a whole number from 1 to 1000000; it is 0"),
        ({"n_starts": 2.5}, "n_starts must be a whole number from 1 to 1000000; it is 2.5"),
        ({"norm": "box"}, "norm must be 'l2-sphere' or 'l1-sphere'; it is 'box'"),
        ({"norm": ["l2-sphere"]}, "norm must be 'l2-sphere' or 'l1-sphere'"),
        ({"raise_confidence": "yes"}, "raise_confidence must be True or False; it is 'yes'"),
    ],
)
def test_bad_options_are_told_in_one_line(options, message):
    with pytest.raises(InvalidParameter) as raised:
        learned(tiny(2), [[(0, 0)]], **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
