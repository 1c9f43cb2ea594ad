"""Rows by branching: exact counts of tables, closed forms, and blocks whoever measures them."""

import numpy as np
import pytest
from gymnasium import spaces
from scipy.linalg import solve_discrete_are

import didact
from didact.bec.observed import branches
from didact.bec.observed.branches import branched_rows
from didact.errors import InvalidFile, InvalidParameter
from didact.planning.kernels import single_successors
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.classics import LQR, PointRobot
from tests.bec.observed.test_observe import watch
from tests.effort import chunks, number
from tests.observing import observe, plain_setting


class Tabular:
    """A deterministic task, seen as an array simulator."""

    def __init__(self, task):
        self.task, mdp = task, task.mdp
        self.action_space = spaces.Discrete(mdp.n_actions)
        self.following = single_successors(mdp).reshape(mdp.n_states, -1).astype(int)
        self.plan = didact.solve(task)
        self.table = mdp.features.floats

    def start(self, n, rng):
        return rng.choice(np.flatnonzero(~self.task.mdp.terminal), size=(n, 1)).astype(float)

    def step(self, states, actions):
        here = states[:, 0].round().astype(int)
        after = self.following[here, actions]
        rewards = self.table[here] @ self.task.weights
        return after[:, None].astype(float), rewards, self.task.mdp.terminal[after]

    def features(self, observation, action, after, ended):
        """phi of the state, and of a terminal one when it is entered."""
        here, there = observation[:, 0].round().astype(int), after[:, 0].astype(int)
        last = np.where(ended[:, None], self.table[there], 0.0)
        return self.table[here] + float(self.task.mdp.discount) * last

    def policy(self, observations):
        return self.plan.optimal.argmax(axis=1)[np.asarray(observations)[:, 0].round().astype(int)]


@pytest.mark.parametrize("terminal", ["", "d"])
@pytest.mark.parametrize("seed", chunks(2, 3))
def test_rows_of_a_table_are_its_exact_counts(seed, terminal):
    rng = np.random.default_rng(seed)
    rows = ["".join(rng.choice(list("abcd"), size=5)) for _ in range(4)]
    weights = dict(zip("abcd", rng.normal(size=4).round(3).tolist(), strict=True))
    task = didact.gridworld(rows, weights, terminal=terminal)
    seen = Tabular(task)
    chosen = seen.policy(np.arange(task.mdp.n_states)[:, None])
    counts = _counts(task, chosen)
    places = np.flatnonzero(~task.mdp.terminal)
    actions = np.array([[c, *(b for b in range(task.mdp.n_actions) if b != c)] for c in chosen])
    setting = plain_setting(
        np.zeros(task.mdp.n_features),
        seen=(ArraySimulator(seen, "grid"), seen.policy, seen.features),
        discount=float(task.mdp.discount),
        horizon=number(600, 3000),
    )
    rows = branched_rows(setting, places[:, None].astype(float), actions[places])
    exact = counts[places[:, None], actions[places]]
    np.testing.assert_allclose(rows, exact[:, :1] - exact[:, 1:], atol=1e-9)


def _counts(task, chosen):
    """Counts (S, A, k) of an action and then the policy, by a dense solve."""
    mdp = task.mdp
    following = single_successors(mdp).reshape(mdp.n_states, -1).astype(int)
    discount = float(mdp.discount)
    after = np.zeros((mdp.n_states, mdp.n_states))
    going = ~mdp.terminal
    after[np.flatnonzero(going), following[going, chosen[going]]] = discount
    own = np.linalg.solve(np.eye(mdp.n_states) - after, mdp.features.floats)
    counts = mdp.features.floats[:, None] + discount * own[following]
    counts[mdp.terminal] = mdp.features.floats[mdp.terminal][:, None]
    return counts


def test_margins_of_a_linear_system_are_the_closed_form():
    system, discount = LQR(weights=[1.0, 0.3, 0.2]), 0.9
    gain = system.gain(discount)
    places = np.random.default_rng(0).normal(size=(30, 2))
    own = -places @ gain.T
    pushes = np.array([0.4, -0.7, 0.05])
    firsts = np.concatenate([own[:, None], own[:, None] + pushes[:, None]], axis=1)
    setting = plain_setting(
        system.weights,
        seen=(ArraySimulator(system, "LQR"), lambda o: -o @ gain.T, system.features),
        discount=discount,
        horizon=400,
    )
    rows = branched_rows(setting, places, firsts)
    root = np.sqrt(discount)
    worth = solve_discrete_are(root * system.moves, root * system.pushes,
                               np.diag([1.0, 0.3]), np.diag([0.2]))  # fmt: skip
    bend = 0.2 + discount * (system.pushes.T @ worth @ system.pushes)[0, 0]
    np.testing.assert_allclose(rows @ system.weights, np.tile(bend * pushes**2, (30, 1)), atol=1e-9)


class Line:
    """Walk right or rest on 0..9; the walk ends at 9. Counts the steps that were asked for."""

    action_space = spaces.Discrete(2)

    def start(self, n, rng):
        return np.zeros((n, 1))

    def step(self, states, actions):
        after = np.minimum(states + np.asarray(actions)[:, None], 9.0)
        return after, np.zeros(len(states)), after[:, 0] >= 9.0


def test_an_episode_that_ended_counts_nothing_more():
    seen = (ArraySimulator(Line(), "line"), lambda o: np.ones(len(o), dtype=int),
            lambda o, a, n, e: np.ones((len(o), 1)))  # fmt: skip
    setting = plain_setting(np.ones(1), seen=seen, discount=0.5, horizon=100)
    rows = branched_rows(setting, [np.array([7.0])], np.array([[1, 0]]))
    # 1 + 1/2 steps on the way, and one more after a rest
    assert rows[0, 0, 0] == pytest.approx(1.5 - 1.75)


def test_copies_that_meet_are_not_followed_further():
    class Ring(Line):
        """Both actions lead to the same place after one step."""

        def step(self, states, actions):
            return (states + 1) % 5, np.zeros(len(states)), np.zeros(len(states), dtype=bool)

    simulator = ArraySimulator(Ring(), "ring")
    seen = (simulator, lambda o: np.zeros(len(o), dtype=int),
            lambda o, a, n, e: np.stack([a, 1 - a], axis=1).astype(float))  # fmt: skip
    setting = plain_setting(np.ones(2), seen=seen, discount=0.9, horizon=1000)
    rows = branched_rows(setting, [np.zeros(1)] * 3, np.array([[0, 1]] * 3))
    np.testing.assert_array_equal(rows, [[[-1.0, 1.0]]] * 3)
    assert simulator.n_steps == 6


def test_actions_that_are_held_are_taken_for_so_many_steps():
    """Step by step, one copy at a time."""
    robot = PointRobot(3, seed=4)
    rng = np.random.default_rng(0)

    def policy(places):
        return (np.atleast_2d(places)[:, 0] > 0.5).astype(int) * 5 + 1

    def counts(place, action, held):
        total, here = np.zeros(3), place[None]
        for t in range(12):
            done = np.array([action]) if t < held else policy(here)
            there, _, _ = robot.step(here, done)
            total += 0.9**t * robot.features(here, done, there, None)[0]
            here = there
        return total

    places, held = rng.random((5, 2)), (1, 1, 3, 20)
    firsts = np.concatenate([policy(places)[:, None], rng.integers(9, size=(5, 3))], axis=1)
    setting = plain_setting(
        robot.weights,
        seen=(ArraySimulator(robot, "robot"), policy, robot.features),
        discount=0.9,
        horizon=12,
    )
    rows = branched_rows(setting, list(places), firsts, held)
    for place, first, row in zip(places, firsts, rows, strict=True):
        own = counts(place, first[0], 1)
        expected = [own - counts(place, b, n) for b, n in zip(first[1:], held[1:], strict=True)]
        np.testing.assert_allclose(row, expected, atol=1e-12)


GIVEN = dict(n_rollouts=20, length=16)


@pytest.fixture(scope="module")
def whole():
    """What one process sees that nobody interrupts."""
    return watch(**GIVEN)


def test_processes_give_the_same_bits(whole):
    one, two = whole, watch(**GIVEN, jobs=2)
    assert one.rows.tobytes() == two.rows.tobytes()
    assert one.n_steps == two.n_steps


def test_objects_are_branched_in_processes_too():
    def balance(seen):
        return (np.atleast_2d(seen)[:, 2] > 0).astype(int)

    given = dict(features=lambda o, a, n, e: [1.0], weights=[1.0], discount=0.8, n_rollouts=30,
                 length=5, tolerance=0.5, horizon=20, restore="replay")  # fmt: skip
    one = observe("CartPole-v1", balance, **given)
    two = observe("CartPole-v1", balance, **given, jobs=2)
    assert one.rows.tobytes() == two.rows.tobytes()
    assert one.n_steps == two.n_steps


def test_progress_tells_situations_and_steps_a_second():
    told = []
    seen = watch(**GIVEN, progress=lambda *line: told.append(line))
    assert [done for done, _, _ in told] == [128, 256, 320]
    assert {total for _, total, _ in told} == {len(seen.rows)}
    assert all(rate > 0 for _, _, rate in told)


def test_what_was_interrupted_goes_on(tmp_path, monkeypatch, whole):
    monkeypatch.setattr(branches, "CHECKPOINT_SECONDS", 0.0)
    place, told = tmp_path / "observing.npz", []

    def stop(done, total, rate):
        if done == 256:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(**GIVEN, checkpoint=str(place), progress=stop)
    assert place.exists()
    with pytest.raises(InvalidFile, match="belongs to another observation"):
        watch(**GIVEN, checkpoint=str(place), seed=9)
    seen = watch(**GIVEN, checkpoint=str(place), progress=lambda *line: told.append(line[0]))
    assert told == [320]  # two blocks were done
    assert seen.rows.tobytes() == whole.rows.tobytes()
    assert not place.exists()


def test_bad_workers_are_told(tmp_path):
    with pytest.raises(InvalidParameter, match="jobs"):
        watch(jobs=0)
    with pytest.raises(InvalidParameter, match="progress must be a function"):
        watch(progress=5)
    (tmp_path / "broken.npz").write_bytes(b"no")
    with pytest.raises(InvalidFile, match="observing"):
        watch(checkpoint=str(tmp_path / "broken.npz"))


def test_a_cluster_gives_the_same_bits(whole):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False,
                                  dashboard_address=None) as cluster:  # fmt: skip
        seen = watch(**GIVEN, cluster=cluster.scheduler_address)
    assert seen.rows.tobytes() == whole.rows.tobytes()
