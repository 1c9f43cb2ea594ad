"""Walks through environments: against their tables, a second walk, and what must be refused.

Continuous observations are known before a walk; floats that are few are walked through.
"""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.mdp.files import task_document
from didact.mdp.model import deciding_states
from didact.planning import solve
from didact.worlds import from_gymnasium
from didact.worlds.gym import walks
from didact.worlds.gym.walks import from_environment

CLIFF = "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"


class Table:
    """An environment from lists: following[state][action] = (next state, reward, ends)."""

    def __init__(self, following, first=0):
        self.following = following
        self.first = first
        self.action_space = gymnasium.spaces.Discrete(len(following[0]))
        self.state = None

    def reset(self, seed=None):
        self.state = self.first
        return self.state, {}

    def step(self, action):
        self.state, reward, ends = self.following[self.state][action]
        return self.state, reward, ends, False, {}


class Corridor(gymnasium.Env):
    """Five documented lines: the shape of an environment of one's own."""

    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.place, {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.place, 0.5 if self.place == 4 else -0.1, self.place == 4, False, {}


@st.composite
def tables(draw):
    n, actions = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    entry = st.tuples(
        st.integers(0, n - 1), st.sampled_from([0, 1, -1, 0.1, np.float32(0.1)]), st.booleans()
    )
    line = st.lists(entry, min_size=actions, max_size=actions)
    return draw(st.lists(line, min_size=n, max_size=n)), draw(st.integers(0, n - 1))


@given(tables())
def test_every_step_of_the_model_is_a_step_of_the_environment(given_table):
    following, first = given_table
    task = from_environment(Table(following, first), discount="0.9")
    mdp = task.mdp
    going, ended, waiting = {first}, set(), [first]
    while waiting:
        for after, _, ends in following[waiting.pop()]:
            if ends:
                ended.add(after)
            elif after not in going:
                going.add(after)
                waiting.append(after)
    assert set(np.flatnonzero(deciding_states(mdp))) == going
    assert int(mdp.terminal.sum()) == len(ended)
    assert {s for s in ended if s not in going} <= set(np.flatnonzero(mdp.terminal))
    named = {(mdp.state_name(s), bool(mdp.terminal[s])): s for s in range(mdp.n_states)}
    moves = mdp.transitions.matrix().toarray()
    for state in going:
        for action, (after, reward, ends) in enumerate(following[state]):
            row = named[str(state), False] * mdp.n_actions + action
            name = f"{after} (end)" if ends and after in going else str(after)
            assert moves[row, named[name, ends]] == 1
            pays = mdp.features.floats[named[str(state), False], action] @ task.weights
            assert pays == float(str(reward))
    assert mdp.start.floats[named[str(first), False]] == 1


@pytest.mark.parametrize(
    ("id", "options"),
    [("FrozenLake-v1", {"is_slippery": False}), (CLIFF, {})],
    ids=["lake", "cliff"],
)
def test_a_walk_finds_what_the_table_says(id, options):
    read = from_gymnasium(id, discount="0.95", **options)
    env = gymnasium.make(id, **options).unwrapped
    certain = [
        [next((t, r, ends) for p, t, r, ends in outcomes if p) for outcomes in actions.values()]
        for actions in env.P.values()
    ]
    walked = from_environment(Table(certain, env.reset()[0]), discount="0.95")
    assert walked.mdp.n_states == read.mdp.n_states
    assert walked.mdp.feature_names == read.mdp.feature_names
    assert walked.true_weights.fractions() == read.true_weights.fractions()
    plans = [solve(task.mdp, task.true_weights) for task in (walked, read)]
    found = [
        {
            task.mdp.state_name(s): (round(float(plan.values[s]), 12), plan.optimal_actions(s))
            for s in range(task.mdp.n_states)
        }
        for task, plan in zip((walked, read), plans, strict=True)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("start", [None, "uniform"])
def test_a_table_is_read_where_there_is_one(start):
    lake = gymnasium.make("FrozenLake-v1")
    read, walked = from_gymnasium(lake, start=start), from_environment(lake, start=start)
    assert task_document(walked) == task_document(read)
    going = [state for state in range(16) if state not in (5, 7, 11, 12, 15)]
    starts = np.flatnonzero(read.mdp.start.floats).tolist()
    assert starts == (going if start == "uniform" else [0])


def test_steps_that_draw_from_the_generator_are_refused_even_if_one_outcome_is_certain():
    with pytest.raises(Unsupported, match="give the environment a table P"):
        from_environment(gymnasium.make("FrozenLake-v1", is_slippery=False), key=lambda env: env.s)


def test_names_may_be_given():
    names = {"action_names": ["back", "on"], "feature_names": ["step", "prize"]}
    task = from_environment(Corridor(), state_names=lambda place: f"place {place}", **names)
    assert task.mdp.state_names == tuple(f"place {i}" for i in range(5))
    assert (task.mdp.action_names, task.mdp.feature_names) == (("back", "on"), ("step", "prize"))
    listed = from_environment(Corridor(), state_names=list("abcde"))
    assert listed.mdp.state_names == tuple("abcde")
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    named = from_gymnasium(
        lake, state_names=[f"cell {i}" for i in range(16)], **names | {"action_names": None}
    )
    assert (named.mdp.state_name(7), named.mdp.action_name(0)) == ("cell 7", "left")
    both = from_environment(Table([[(0, 1, False), (0, 2, True)]]), state_names=["here"])
    assert both.mdp.state_names == ("here", "here (end)")
    with pytest.raises(InvalidModel, match="state_names must have 5 entries; it has 2"):
        from_environment(Corridor(), state_names=["a", "b"])


def test_an_environment_of_ones_own():
    task = from_environment(Corridor())
    assert (task.name, task.mdp.n_states, task.mdp.n_actions) == ("Corridor", 5, 2)
    assert task.mdp.feature_names == ("reward -0.1", "reward 0.5")
    keyed = from_environment(Corridor(), key=lambda env: (env.place, "x"), start="uniform")
    assert keyed.mdp.state_names[0] == "(0, 'x')"
    assert keyed.mdp.start.floats.tolist() == [0.25, 0.25, 0.25, 0.25, 0]


def test_own_features_are_functions_of_keys():
    of_states = from_environment(Corridor(), features=lambda key: [key, 1], weights=[1, -1])
    assert of_states.mdp.features.floats.tolist() == [[s, 1] for s in range(5)]
    of_steps = from_environment(
        Corridor(), features=lambda key, action, after, reward: [after - key], weights=[2]
    )
    assert of_steps.mdp.features.floats[:2, :, 0].tolist() == [[0, 1], [-1, 1]]
    assert from_environment(Corridor(), features=lambda key: [key], weights=[7]).weights == [7]


def test_several_seeds_are_several_starts():
    class Somewhere(Corridor):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place = int(self.np_random.integers(4))
            return self.place, {}

    places = [Somewhere().reset(seed=seed)[0] for seed in range(6)]
    task = from_environment(Somewhere(), seed=range(6))
    shares = {task.mdp.state_name(s): p for s, p in enumerate(task.mdp.start.floats) if p}
    assert shares == {str(p): pytest.approx(places.count(p) / 6) for p in places}


def test_actions_may_begin_elsewhere():
    class Shifted(Corridor):
        action_space = gymnasium.spaces.Discrete(2, start=5)

        def step(self, action):
            assert action in (5, 6)
            return super().step(action - 5)

    assert from_environment(Shifted()).mdp.n_states == 5


class Slippery(Corridor):
    def step(self, action):
        return super().step(int(self.np_random.random() < 0.9) ^ action)


class Counting(Corridor):
    """Its reward depends on the time, which its observation does not tell."""

    def reset(self, *, seed=None, options=None):
        self.n = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.n += 1
        observation, reward, *rest = super().step(action)
        return observation, reward - self.n, *rest


class Carrying(Corridor):
    """What it does depends on something that its observation does not tell."""

    def reset(self, *, seed=None, options=None):
        self.holds = False
        return super().reset(seed=seed)

    def step(self, action):
        if self.holds and self.place == 1 and action == 0:
            return self.place, -0.1, False, False, {}
        answer = super().step(action)
        self.holds = self.holds or self.place == 2
        return answer


@pytest.mark.parametrize(
    ("env", "options", "error", "message"),
    [
        (Slippery, {}, Unsupported, "draws random numbers in its steps"),
        (Counting, {}, InvalidModel, "go on differently: action 0 has another reward"),
        (Carrying, {}, InvalidModel, "go on differently: action 0 has another next state"),
        (Corridor, {"limit": 3}, Unsupported, "more than 3 states, too many to tabularise"),
        (Corridor, {"limit": 0}, InvalidParameter, "limit must be a whole number from 1"),
        (Corridor, {"key": 3}, InvalidParameter, "key must be a function"),
        (Corridor, {"key": lambda env: []}, InvalidParameter, "a key must be hashable"),
        (Corridor, {"seed": []}, InvalidParameter, "seed must be a whole number or several"),
        (Corridor, {"seed": "x"}, InvalidParameter, "seed must be a whole number"),
        (Corridor, {"start": 2}, InvalidParameter, "start must be None"),
        (Corridor, {"features": [[1]]}, InvalidParameter, "features must be a function"),
        (Corridor, {"features": len}, InvalidParameter, "weights must be given"),
    ],
)
def test_what_cannot_be_walked_is_refused(env, options, error, message):
    with pytest.raises(error, match=message) as refused:
        from_environment(env(), **options)
    assert "\n" not in str(refused.value)


def test_what_the_key_must_hold_can_be_added():
    task = from_environment(Carrying(), key=lambda env: (env.place, env.holds))
    assert task.mdp.n_states == 6


def test_actions_must_be_numbered_and_environments_copied():
    class Smooth(Corridor):
        action_space = gymnasium.spaces.Box(0, 1)

    with pytest.raises(Unsupported, match="Discrete action_space"):
        from_environment(Smooth())
    stuck = Corridor()
    stuck.lines = (line for line in ())
    with pytest.raises(Unsupported, match="cannot be copied"):
        from_environment(stuck)


def test_the_environment_given_is_left_alone():
    env = Corridor()
    env.reset()
    env.step(1)
    from_environment(env)
    assert env.place == 1


def test_progress_is_told(monkeypatch, caplog):
    monkeypatch.setattr("didact.worlds.gym.walks.TOLD_EVERY", 2)
    with caplog.at_level("INFO", "didact"):
        from_environment(Corridor())
    assert caplog.messages == [f"Corridor: {n} states found, at most 50000" for n in (2, 4)]


CONTINUOUS = ["CartPole-v1", "MountainCar-v0"]


@pytest.mark.parametrize("id", CONTINUOUS)
def test_they_are_refused_before_the_walk_with_a_way_out(id, monkeypatch):
    def never(*args, **options):
        raise AssertionError("no walk should begin")

    monkeypatch.setattr(walks, "explore", never)
    with pytest.raises(Unsupported, match=f"{id} observes continuous numbers.*give key=") as told:
        didact.make(id)
    assert "limit" not in str(told.value)


class Track(gymnasium.Env):
    """A line of `n` places that are shown as decimals."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, n, show, space):
        self.n, self.show, self.observation_space = n, show, space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.show(0), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.show(self.place), -1, self.place == self.n, False, {}


BOX = gymnasium.spaces.Box(0, 1, (1,), dtype=np.float32)
FEW = {
    "decimals": lambda: Track(8, lambda p: np.array([p / 8], dtype=np.float32), BOX),
    "one-hot": lambda: Track(
        8, lambda p: np.eye(9, dtype=np.float32)[p], gymnasium.spaces.Box(0, 1, (9,))
    ),
    "far": lambda: Track(
        500, lambda p: np.array([p], dtype=np.float64), gymnasium.spaces.Box(0, 999, (1,))
    ),
    "in a dict": lambda: Track(
        8,
        lambda p: {"at": np.array([p / 8], dtype=np.float32)},
        gymnasium.spaces.Dict({"at": BOX}),
    ),
}


@pytest.mark.parametrize("name", FEW)
def test_floats_that_are_few_are_walked_through(name):
    env = FEW[name]()
    task = didact.make(env)
    assert task.mdp.n_states == env.n + 1
    assert task.state(env.show(3)) == 3


def test_bins_of_ones_own_are_never_asked_about():
    drift = Track(8, lambda p: np.random.default_rng(p).normal(size=1), BOX)
    assert didact.make(drift, key=lambda env: env.place).mdp.n_states == 9
