"""Episodes of simulators in Minari datasets: Minari reads ours, and recorded ones are replayed."""

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import InvalidFile, InvalidParameter
from didact.mdp.exchange.minari_episodes import Episode, read_episodes, write_episodes
from tests.observing import observe

minari = pytest.importorskip("minari")


def balance(seen):
    seen = np.atleast_2d(seen)
    return (seen[:, 2] + 0.5 * seen[:, 3] > 0).astype(int)


def phi(observation, action, after, ended):
    return np.stack([np.ones(len(observation)), -np.abs(after[:, 0])], axis=1)


GIVEN = dict(features=phi, weights=[1.0, 0.0], discount=0.9, tolerance=0.5, horizon=40)


def recorded(n=4, length=12):
    """Episodes of CartPole by a loop of one's own."""
    env, episodes = gymnasium.make("CartPole-v1").unwrapped, []
    for seed in range(n):
        shown = [env.reset(seed=seed)[0]]
        actions, rewards = [], []
        for _ in range(length):
            action = int(balance(shown[-1])[0])
            after, reward, *_ = env.step(action)
            shown.append(after)
            actions.append(action)
            rewards.append(reward)
        episodes.append(Episode(seed, shown, actions, rewards))
    return episodes, (env.observation_space, env.action_space)


@pytest.fixture
def dataset(tmp_path):
    episodes, spaces = recorded()
    write_episodes(episodes, spaces, str(tmp_path / "cart-v0"), {})
    return str(tmp_path / "cart-v0")


def test_episodes_come_back(dataset):
    given, _ = recorded()
    for one, other in zip(read_episodes(dataset), given, strict=True):
        assert one.seed == other.seed
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)


def test_recorded_episodes_are_replayed_and_taught_by(dataset):
    seen = observe("CartPole-v1", balance, recorded=dataset, **GIVEN)
    assert seen.n_rollouts == 4
    assert len(seen.rows) == 48
    given, _ = recorded()
    np.testing.assert_allclose(seen.observations[:12], given[0].observations[:-1], rtol=1e-6)
    own = observe("CartPole-v1", balance, restore="copy", n_rollouts=1, length=2, **GIVEN)
    assert seen.rows.shape[1:] == own.rows.shape[1:]
    lesson = didact.teach(seen, demonstrations="rollouts")
    assert all(clip.first == 0 and clip.last == 11 for clip in lesson.clips)


def test_another_environment_is_refused(dataset):
    with pytest.raises(InvalidParameter, match="episode 0 shows something else at step"):
        observe("MountainCar-v0", lambda o: 0, recorded=dataset,
                       features=lambda o, a, n, e: [1.0])  # fmt: skip


def test_what_is_wrong_is_told_in_one_line(dataset, tmp_path):
    with pytest.raises(InvalidFile, match="is neither a file nor a Minari dataset"):
        read_episodes("none-v0")
    import h5py

    with h5py.File(f"{dataset}/data/main_data.hdf5", "a") as file:
        del file["episode_1"].attrs["seed"]
    with pytest.raises(InvalidFile, match="episode 1 must have the seed of its reset"):
        read_episodes(dataset)
    with pytest.raises(InvalidFile, match="at least one episode"):
        write_episodes([], (None, None), str(tmp_path / "no-v0"), {})


def test_minari_reads_the_clips_of_a_lesson(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    seen = didact.observe("point-robot", discount=0.9, n_rollouts=6, length=8)
    lesson = didact.teach(seen)
    lesson.save_minari("clips-v0")
    loaded = list(minari.load_dataset("clips-v0").iterate_episodes())
    assert len(loaded) == len(lesson.clips)
    for episode, clip in zip(loaded, lesson.clips, strict=True):
        np.testing.assert_array_equal(episode.observations[:-1], clip.observations)
        np.testing.assert_array_equal(episode.actions, clip.actions)
        robot = seen.setting.simulator.env
        after, rewards, _ = robot.step(clip.observations, clip.actions)
        np.testing.assert_array_equal(episode.observations[1:], after)
        np.testing.assert_allclose(episode.rewards, rewards)
    with pytest.raises(InvalidFile, match="exist"):
        lesson.save_minari("clips-v0")


def test_clips_without_a_simulator_are_not_written(tmp_path):
    didact.observe("point-robot", discount=0.9, n_rollouts=2, length=4).save(tmp_path / "seen.npz")
    lesson = didact.teach(didact.load_observed(tmp_path / "seen.npz"))
    with pytest.raises(InvalidParameter, match="load_observed"):
        lesson.save_minari(str(tmp_path / "clips-v0"))
