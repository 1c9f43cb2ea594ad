"""Simulators: what certificates promise, and what a table says that is seen through its steps."""

import numpy as np
import pytest
from gymnasium import spaces
from scipy.stats import binom

import didact
from didact.bec.observed.result import distances_to_cone
from didact.numerics.intervals import binomial_upper_bound
from didact.teaching.clips.lesson import clips_of
from tests.bec.observed.test_branches import Tabular
from tests.effort import number

DELTA, SHARE = 0.1, 0.2


class Rooms:
    """Nobody leaves a room; one in five episodes begins in the second one. Action 0 pays e0 in the
    first room and e1 in the second, action 1 the feature after it."""

    action_space = spaces.Discrete(2)
    weights = np.array([1.0, 0.5, 0.1])

    def start(self, n, rng):
        return (rng.random((n, 1)) < SHARE).astype(float)

    def step(self, states, actions):
        rewards = self.features(states, actions, None, None) @ self.weights
        return states, rewards, np.zeros(len(states), dtype=bool)

    def features(self, observation, action, after, ended):
        rooms = np.atleast_2d(observation)[:, 0].astype(int)
        return np.eye(3)[rooms + np.asarray(action)]

    def best_policy(self, discount):
        return lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int)


@pytest.fixture(scope="module")
def first_room():
    """What was seen, and a lesson that says nothing of the second room."""
    seen = didact.observe(Rooms(), discount=0.5, n_rollouts=40, length=2, tolerance=0.1)
    clip = next(clip for clip in clips_of(seen) if clip.observations[0, 0] == 0)
    return seen, type(didact.teach(seen))(seen, (clip,), 1)


def test_repeated_certificates_miss_at_most_delta(first_room):
    seen, lesson = first_room
    n_missed, n = 0, number(60, 1000)
    for seed in range(n):
        told = didact.certify(
            seen, lesson, n_states=30, level=1 - DELTA, extend=False, replan=False, seed=seed
        ).certificate
        n_missed += told.open_share < SHARE
        assert told.n_mistaken == 0
    assert n_missed <= binom.ppf(0.9999, n, DELTA / 2)  # half of delta is for mistakes


def test_states_of_rollouts_counted_as_independent_miss_far_more(first_room):
    seen, lesson = first_room
    n_missed, n = 0, number(60, 1000)
    policy = Rooms().best_policy(0.5)
    for seed in range(n):
        rolled = didact.observe(Rooms(), policy, discount=0.5, n_rollouts=3, length=10,
                                tolerance=0.1, settings={"horizon": 12}, seed=seed)  # fmt: skip
        n_open = int((lesson.openness(rolled.scaled_rows / rolled.setting.unit
                                      * rolled.setting.scale / seen.setting.scale
                                      * seen.setting.unit) > 0.1).sum())  # fmt: skip
        n_missed += binomial_upper_bound(n_open, 30, DELTA / 2) < SHARE
    assert n_missed > 3 * DELTA * n


def drawn_task(seed, n_states=14, n_actions=3, k=4):
    """A deterministic task without ties: successors and features by chance."""
    rng = np.random.default_rng(seed)
    table = np.zeros((n_states, n_actions, n_states))
    after = rng.integers(n_states, size=(n_states, n_actions))
    np.put_along_axis(table, after[:, :, None], 1.0, axis=2)
    features = rng.integers(-9, 10, size=(n_states, k)).tolist()
    return didact.Task(didact.MDP(table, features, "0.8"), rng.integers(-9, 10, size=k).tolist())


@pytest.mark.parametrize("seed", range(number(3, 12)))
def test_a_table_seen_through_its_simulator_has_its_facets_and_its_lesson(seed):
    task = drawn_task(seed)
    bec = didact.equivalence_class(task, scope="all")
    world = Tabular(task)
    seen = didact.observe(world, world.policy, features=world.features, weights=task.weights,
                          discount=0.8, n_rollouts=150, length=1, tolerance=1e-6)  # fmt: skip
    assert not seen.mistaken.any()
    assert len(np.unique(seen.observations)) == task.mdp.n_states
    rows = seen.rows.reshape(-1, 4)
    rows = rows[np.linalg.norm(rows, axis=1) > 1e-6]
    units = rows / np.linalg.norm(rows, axis=1)[:, None]
    facets = np.array([bec.rows.exact[facet[0]] for facet in bec.cone.facets], dtype=float)
    facets /= np.linalg.norm(facets, axis=1)[:, None]
    assert ((facets @ units.T).max(axis=1) > 1 - 1e-9).all()  # each is a row
    assert distances_to_cone(facets, units).lengths.max() < 1e-6  # and no row is beyond
    fewest = didact.teach(task, teacher="exact", horizon=1, scope="all", starts="all")
    assert len(didact.teach(seen).clips) == len(fewest.demonstrations)
