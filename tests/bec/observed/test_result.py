"""Files of what was seen: they come back as they were, and damaged ones are told in one line.

Distances to cones, and the reward behind what a policy does."""

import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import didact
from didact.bec.observed.result import (
    _nothing_explains,
    distances_to_cone,
    nearest_to_observed,
)
from didact.errors import InvalidFile, InvalidParameter, Unsupported
from didact.report.page.simulators import simulator_page
from didact.report.words.observed import lesson_document
from didact.worlds.simulators.classics import PointRobot
from tests.bec.observed.test_observe import Coin, right, watch
from tests.observing import observe


@pytest.fixture(scope="module")
def seen():
    return observe("point-robot", discount=0.9, n_rollouts=6, length=8)


@pytest.fixture
def path(seen, tmp_path):
    place = tmp_path / "seen.npz"
    seen.save(place)
    return place


def test_what_was_seen_comes_back(seen, path):
    read = didact.load_observed(path)
    for name in ("rows", "own", "others", "observations", "rollout", "step"):
        np.testing.assert_array_equal(getattr(read, name), getattr(seen, name))
    assert (read.residual, read.tail, read.jitter) == (seen.residual, seen.tail, seen.jitter)
    assert read.setting.rewards.assumption() == seen.setting.rewards.assumption()
    one, other = didact.teach(read), didact.teach(seen)
    assert list(map(repr, one.clips)) == list(map(repr, other.clips))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_courses_come_back(tmp_path):
    seen = observe("point-robot", discount=0.9, n_rollouts=2, length=3, held=(1, 4))
    seen.save(tmp_path / "seen.npz")
    assert didact.load_observed(tmp_path / "seen.npz").setting.alternatives.held == (1, 4)


def test_continuous_actions_come_back(tmp_path):
    seen = observe("lqr", discount=0.9, n_rollouts=4, length=5)
    seen.save(tmp_path / "seen.npz")
    read = didact.load_observed(tmp_path / "seen.npz", env="lqr")
    np.testing.assert_array_equal(read.own, seen.own)
    assert read.setting.alternatives.held == (1,)
    beside = read.setting.alternatives.beside(read.own, read.observations)
    np.testing.assert_array_equal(beside, seen.others)


def test_without_its_simulator_nothing_is_certified_and_with_it_the_same(seen, path):
    read = didact.load_observed(path)
    with pytest.raises(Unsupported, match="load_observed"):
        didact.certify(read, didact.teach(read), n_states=20)
    back = didact.load_observed(path, env="point-robot")
    told = didact.certify(back, didact.teach(back), n_states=50, extend=False)
    own = didact.certify(seen, didact.teach(seen), n_states=50, extend=False)
    assert told.certificate == own.certificate


def test_another_policy_is_refused(path):
    with pytest.raises(InvalidParameter, match="policy must be the one that was seen"):
        didact.load_observed(path, env="point-robot", policy=right)
    with pytest.raises(InvalidParameter, match="policy must come with env"):
        didact.load_observed(path, policy=right)


def test_chance_must_be_where_it_was(path, tmp_path):
    from tests.bec.observed.test_setting import Dice

    with pytest.raises(InvalidParameter, match="depend on chance, and those that were"):
        didact.load_observed(path, env=Dice(), policy=right, features=Dice().features)
    seen = watch(Dice(noise=0.1), None, tolerance=0.5, repeats=150, n_rollouts=2, length=2)
    seen.save(tmp_path / "dice.npz")
    back = didact.load_observed(tmp_path / "dice.npz", env=Dice(noise=0.1))
    told = didact.certify(back, didact.teach(back), n_states=5, extend=False).certificate
    own = didact.certify(seen, didact.teach(seen), n_states=5, extend=False).certificate
    assert told == own
    with pytest.raises(InvalidParameter, match="depend on chance no more"):
        didact.load_observed(tmp_path / "dice.npz", env="point-robot")


def test_environments_that_are_objects_are_saved_without_states(tmp_path):
    given = dict(restore="copy", discount=0.8, n_rollouts=2, length=3, tolerance=0.5)
    seen = observe("CartPole-v1", lambda o: (np.atleast_2d(o)[:, 2] > 0).astype(int),
                          features=lambda o, a, n, e: np.ones((len(o), 1)), **given)  # fmt: skip
    seen.save(tmp_path / "seen.npz")
    read = didact.load_observed(tmp_path / "seen.npz")
    np.testing.assert_array_equal(read.rows, seen.rows)
    assert read.states == (None,) * len(seen.rows)


def _edited(path, change):
    """The file with its header and arrays changed by a function."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    content = io.BytesIO()
    np.savez(content, header=np.array(json.dumps(header)), **arrays)
    path.write_bytes(content.getvalue())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h.update(format="didact.observed/2"), "format must be"),
        (lambda h, a: h.update(more=1), "has no entry 'more'"),
        (lambda h, a: h.pop("notes"), "has no notes"),
        (lambda h, a: h.update(notes=[1]), "notes must be text"),
        (lambda h, a: h.update(rewards=[0.5, 1]), "0 be one of rewards"),
        (lambda h, a: h.update(rewards=None), "rewards must be the least and the largest"),
        (lambda h, a: h.update(reward_range=[1, 0]), "reward_range must rise"),
        (lambda h, a: h.update(reward_range=["a", 0]), "reward_range must be the least"),
        (lambda h, a: h.update(discount=1.5), "discount"),
        (lambda h, a: h.update(tolerance="x"), "tolerance must be a finite number"),
        (lambda h, a: h.update(horizon=1.5), "horizon must be a whole number"),
        (lambda h, a: h.update(feature_names=["a"]), "feature_names"),
        (lambda h, a: h.update(jitter=-1), "jitter"),
        (lambda h, a: h.update(held=[0]), "held must be a whole number from 1"),
        (lambda h, a: h.update(held=[1, 2, 3]), "held must divide the 8 alternatives"),
        (lambda h, a: a.update(rows=a["rows"][:3]), "must have the shape"),
        (lambda h, a: a.update(rows=a["rows"] * np.nan), "must be finite"),
        (lambda h, a: a.update(rows=a["rows"].astype(np.float32)), "type float32"),
        (lambda h, a: a.update(step=a["step"] - 100), "from 0 on"),
        (lambda h, a: a.update(scale=-a["scale"]), "scales above 0"),
        (lambda h, a: a.update(states=a["states"][:2]), "states must be 48"),
        (lambda h, a: a.pop("weights"), "it holds others"),
    ],
)
def test_files_that_are_wrong_are_told_in_one_line(path, change, message):
    _edited(path, change)
    with pytest.raises(InvalidFile, match=message):
        didact.load_observed(path)


def test_what_is_no_such_file_is_told(path, tmp_path):
    content = path.read_bytes()
    for damaged in (b"", b"no archive", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidFile):
            didact.load_observed(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"1")
    with pytest.raises(InvalidFile, match="holds others"):
        didact.load_observed(path)
    path.unlink()
    watch().save(path)
    assert len(didact.load_observed(path).rows) == 24


@pytest.mark.parametrize("seed", range(20))
def test_distances_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 30), rng.integers(1, 8)
    generators = rng.normal(size=(m, k)) * 10.0 ** rng.integers(-3, 4, size=(m, 1))
    generators[rng.random(m) < 0.1] = 0.0
    rows = np.concatenate([rng.normal(size=(20, k)) * 7, generators[:3], np.zeros((1, k))])
    found = distances_to_cone(generators, rows)
    sizes = np.maximum(np.linalg.norm(generators, axis=1), 1e-300)
    for row, length, residual in zip(rows, found.lengths, found.residuals, strict=True):
        assert length == pytest.approx(nnls((generators / sizes[:, None]).T, row)[1], abs=1e-9)
        assert np.linalg.norm(residual) == pytest.approx(length, abs=1e-12)


def test_the_residual_is_the_reward_that_prefers_the_other_action_most():
    rng = np.random.default_rng(3)
    generators = rng.normal(size=(5, 4)) + 1.0
    row = rng.normal(size=4) - 1.0
    length, residual = (part[0] for part in distances_to_cone(generators, row[None]))
    witness = -residual / length
    assert (generators @ witness >= -1e-9).all(), "it fits what was shown"
    assert -row @ witness == pytest.approx(length)
    for other in rng.normal(size=(2000, 4)):
        if (generators @ other >= 0).all():
            assert -row @ other / np.linalg.norm(other) <= length + 1e-9


def test_a_cone_of_nothing_leaves_everything_open():
    rows = np.array([[3.0, 4.0]])
    assert distances_to_cone(np.empty((0, 2)), rows).lengths == pytest.approx([5.0])
    assert distances_to_cone(np.zeros((2, 2)), rows).lengths == pytest.approx([5.0])


def test_a_policy_for_another_reward_is_explained_by_that_one():
    robot = PointRobot(3, seed=4)
    other = np.array([0.2, -0.9, 0.4])
    seen = watch(robot, robot.best_policy(0.9, other), n_rollouts=15, length=15)
    near = nearest_to_observed(seen)
    assert near.mistaken < 0.5 * seen.mistaken.mean()
    # rewards that differ by a constant ask for the same
    there, here = (w - w.mean() for w in (other, near.weights))
    assert there @ here / np.linalg.norm(there) / np.linalg.norm(here) > 0.95


def test_a_policy_that_errs_everywhere_is_told_what_it_seems_to_want():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.ones(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    assert seen.mistaken.all()
    lesson = didact.certify(seen, didact.teach(seen), n_states=100)
    assert not lesson.clips
    told = lesson.certificate
    assert not told.holds
    assert (told.n_mistaken, told.mistaken_share) == (100, 1.0)
    # p^100 is a third of what the first round may spend, 5% of 6 / pi^2
    assert told.least_mistaken == pytest.approx((0.1 / np.pi**2) ** 0.01, abs=1e-9)
    assert "Nothing is taught: the policy errs by more than 0.1 return in each of" in repr(lesson)
    assert f"in {told.least_mistaken:.2%} to 100.00% the policy itself errs" in repr(lesson)
    half = float(re.search(r"at ([\d.]+) half of these", repr(lesson))[1])
    larger = replace(seen, setting=replace(seen.setting, tolerance=1.05 * half))
    assert larger.mistaken.mean() <= 0.5
    page = simulator_page(lesson)
    assert "Nothing: the policy errs by more than 0.1 return" in page
    assert "in 100 of them the policy itself errs" in page
    document = lesson_document(lesson)
    assert document["nearest"]["mistaken"] == 0.0
    assert document["certificate"]["least_mistaken"] == told.least_mistaken
    assert not any(didact.learn(seen, lesson, learner="max-margin").weights)
    near = nearest_to_observed(seen)
    np.testing.assert_allclose(near.weights, np.array([-1, 1]) / np.sqrt(2), atol=1e-6)
    assert near.unexplained == 0.0


def test_rollouts_that_all_have_a_mistake_are_told_apart():
    env = Coin()
    env.weights = np.array([1.0, 0.0])
    seen = watch(env, lambda o: np.zeros(len(np.atleast_2d(o)), dtype=int), tolerance=0.1)
    seen.__dict__["mistaken"] = seen.step == 2
    rollouts = didact.teach(seen, demonstrations="rollouts")
    assert rollouts.is_empty
    assert "in every rollout; show clips of them (demonstrations='clips')" in rollouts.statement()
    assert didact.teach(seen).clips


@pytest.mark.parametrize("seed", range(30))
def test_what_no_reward_explains_by_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(2, 9)), 3))
    # some reward explains it when a weight vector in the box gives one row a margin and none less
    best = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * 3)
    assert _nothing_explains(rows, 1e-9) == (-best.fun < 1e-9)
