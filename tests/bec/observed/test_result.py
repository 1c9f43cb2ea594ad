"""Files of what was seen: they come back as they were, and damaged ones are told in one line."""

import io
import json
import zipfile

import numpy as np
import pytest

import didact
from didact.errors import InvalidFile, InvalidParameter, Unsupported
from tests.bec.observed.test_observe import right, watch
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
