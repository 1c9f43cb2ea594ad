"""Gymnasium tables: against value iteration on the raw table, and against sampled steps."""

import inspect
from fractions import Fraction
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from scipy import stats

from didact.bec.halfspaces import scope_states
from didact.errors import InvalidInput, InvalidModel, InvalidParameter, Unsupported
from didact.mdp.files import task_document
from didact.mdp.model import idle_states
from didact.mdp.task import states_by_cell
from didact.teaching import teach
from didact.worlds import from_gymnasium, make
from didact.worlds.gym.tables import clean_probability
from tests.effort import number

TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
CLIFF = "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"
MAP = ["SFFH", "FHFF", "HFFG"]

CASES = [
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"map_name": "8x8"}),
    ("FrozenLake-v1", {"desc": MAP}),
    ("FrozenLake-v1", {"success_rate": 0.7, "reward_schedule": (5, -2.5, -0.1)}),
    ("FrozenLake-v1", {"success_rate": 1.0}),
    (CLIFF, {}),
    (CLIFF, {"is_slippery": True}),
    (TAXI, {}),
    (TAXI, {"is_rainy": True}),
]


def options_exist(id, options):
    """Whether the installed Gymnasium knows these options."""
    known = inspect.signature(type(gymnasium.make(id).unwrapped).__init__).parameters
    return set(options) <= set(known)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def known_case(request):
    """An environment and its task."""
    id, options = request.param
    if not options_exist(id, options):
        pytest.skip("this Gymnasium does not have the option")
    return gymnasium.make(id, **options).unwrapped, from_gymnasium(id, discount=0.9, **options)


def values_of_table(table, discount):
    """Optimal values by value iteration on the raw table; an outcome that ends is worth no more."""
    rows = [row for state in range(len(table)) for row in table[state].values()]
    outcomes = [outcome for row in rows for outcome in row]
    chances, successors, rewards, ends = map(np.array, zip(*outcomes, strict=True))
    first = np.cumsum([0, *map(len, rows[:-1])])
    values = np.zeros(len(table))
    while True:
        worth = chances * (rewards + discount * np.where(ends, 0, values[successors]))
        backed_up = np.add.reduceat(worth, first).reshape(len(table), -1).max(axis=1)
        if np.abs(backed_up - values).max() < 1e-12:
            return backed_up
        values = backed_up


def values_of_task(task):
    """Optimal values by value iteration on the task's own arrays."""
    mdp = task.mdp
    matrix = mdp.transitions.matrix()
    rewards = mdp.features.floats @ task.weights
    if rewards.ndim == 1:
        rewards = np.repeat(rewards[:, None], mdp.n_actions, axis=1)
    values = np.zeros(mdp.n_states)
    while True:
        actions = rewards + mdp.discount * (matrix @ values).reshape(rewards.shape)
        if np.abs(actions.max(axis=1) - values).max() < 1e-12:
            return actions.max(axis=1)
        values = actions.max(axis=1)


def reached(mdp):
    """States that go on and that the start can lead to, by a search of its own."""
    moves, found = mdp.transitions, set(np.flatnonzero(mdp.start.floats).tolist())
    waiting = list(found)
    while waiting:
        state = waiting.pop()
        row = state * mdp.n_actions
        low, high = moves.offsets[row], moves.offsets[row + mdp.n_actions]
        fresh = set(moves.successors[low:high].tolist()) - found
        found |= fresh
        waiting += fresh
    return sorted(state for state in found if not mdp.terminal[state])


def test_values_agree_with_the_raw_table(known_case):
    env, task = known_case
    raw, converted = values_of_table(env.P, 0.9), values_of_task(task)
    for state in reached(task.mdp):
        assert converted[state] == pytest.approx(raw[state], abs=1e-9)
    assert (converted[task.mdp.terminal] == 0).all()


def test_sampled_steps_agree_with_the_model(known_case):
    """Setting the environment's state and stepping: support, frequencies and rewards."""
    env, task = known_case
    env.reset(seed=1)
    mdp, rng = task.mdp, np.random.default_rng(2)
    assert mdp.n_states == env.observation_space.n
    matrix = mdp.transitions.matrix().tocsr()
    pairs = [(s, a) for s in reached(mdp) for a in range(mdp.n_actions)]
    most = number(80, 200)
    if len(pairs) > most:
        pairs = [pairs[i] for i in rng.choice(len(pairs), most, replace=False)]
    chi_square, freedom, n = 0.0, 0, 60
    for state, action in pairs:
        row = matrix[[state * mdp.n_actions + action], :].toarray()[0]
        seen, rewards = np.zeros(mdp.n_states), set()
        for _ in range(n):
            env.s = state
            successor, reward, ended, truncated, _ = env.step(action)
            assert not truncated
            assert bool(mdp.terminal[successor]) == bool(ended)
            seen[successor] += 1
            rewards.add(float(reward))
        possible = row > 0
        assert not seen[~possible].any()
        expected = n * row[possible]
        chi_square += ((seen[possible] - expected) ** 2 / expected).sum()
        freedom += int(possible.sum()) - 1
        paid = mdp.features.floats[state, action] > 0
        assert rewards <= set(task.weights[paid].tolist())
    if freedom:
        assert 1e-4 < stats.chi2.sf(chi_square, freedom) < 1 - 1e-6
    else:
        assert chi_square == 0


def test_starts_are_the_environments(known_case):
    env, task = known_case
    assert task.mdp.start.floats == pytest.approx(env.initial_state_distrib)


def test_taxi_has_its_reachable_states_its_starts_and_names():
    task = from_gymnasium(TAXI)
    mdp = task.mdp
    assert mdp.n_states == 500
    assert len(reached(mdp)) == 400
    assert np.flatnonzero(mdp.terminal).tolist() == [0, 85, 410, 475]
    assert idle_states(mdp).sum() == 96
    env = gymnasium.make(TAXI).unwrapped
    for state in range(500):
        row, column, passenger, to = env.decode(state)
        where = [*"RGYB", "in taxi"][passenger]
        place = f"row {row + 1}, column {column + 1}"
        assert mdp.state_names[state] == f"{place}; passenger {where}; to {'RGYB'[to]}"
    assert (mdp.start.floats > 0).sum() == 300
    assert set(mdp.start.fractions()) == {0, Fraction(1, 300)}
    assert mdp.action_names == ("south", "north", "east", "west", "pickup", "dropoff")
    assert mdp.feature_names == ("reward -10", "reward -1", "reward 20")
    assert task.true_weights.fractions() == [-10, -1, 20]
    assert task.layout["kind"] == "taxi"


def test_cliff_walking_ends_at_the_goal_and_nothing_stands_on_the_cliff():
    task = from_gymnasium(CLIFF)
    assert task.mdp.n_states == 48
    assert task.layout == {"kind": "grid", "rows": 4, "columns": 12}
    assert np.flatnonzero(idle_states(task.mdp)).tolist() == list(range(37, 47))
    assert states_by_cell(task)[3].tolist() == [36, *[-1] * 10, 47]
    assert [task.mdp.state_names[s] for s in np.flatnonzero(task.mdp.terminal)] == ["47"]
    assert task.mdp.action_names == ("up", "right", "down", "left")
    assert values_of_task(task)[36] == pytest.approx(-sum(0.95**i for i in range(13)))


def test_frozen_lake_is_drawn_with_exact_thirds():
    task = from_gymnasium("FrozenLake-v1")
    assert task.layout == {"kind": "grid", "rows": 4, "columns": 4}
    assert np.flatnonzero(task.mdp.terminal).tolist() == [5, 7, 11, 12, 15]
    thirds = {Fraction(1, 3), Fraction(2, 3), Fraction(1)}
    assert set(task.mdp.transitions.probabilities.fractions()) <= thirds
    assert task.mdp.feature_names == ("reward 0", "reward 1")
    assert set(task.mdp.features.fractions()) <= {0, Fraction(1, 3), Fraction(2, 3), 1}
    deterministic = from_gymnasium("FrozenLake-v1", is_slippery=False)
    assert deterministic.mdp.is_deterministic()


def test_an_unreachable_part_of_a_map_keeps_its_numbers_and_says_nothing():
    task = from_gymnasium("FrozenLake-v1", desc=["SFHF", "FGHF"], is_slippery=False)
    assert task.mdp.state_names == tuple(map(str, range(8)))
    assert np.flatnonzero(idle_states(task.mdp)).tolist() == [3, 6, 7]
    assert reached(task.mdp) == [0, 1, 4]
    for scope in ("reachable", "all"):
        assert teach(task, scope=scope).status == "complete"
        assert np.flatnonzero(scope_states(task.mdp, scope)).tolist() == [0, 1, 4]


def test_either_version_of_a_name_is_the_installed_one():
    documents = [task_document(from_gymnasium(f"Taxi-v{i}")) for i in (3, 4)]
    assert documents[0] == documents[1]
    assert documents[0]["name"] == TAXI
    assert from_gymnasium("CliffWalking-v0").name == from_gymnasium("CliffWalking-v1").name == CLIFF


def test_an_environment_itself_is_as_good_as_its_id():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    by_env = from_gymnasium(env)
    by_id = from_gymnasium("FrozenLake-v1", is_slippery=False)
    assert task_document(by_env) == task_document(by_id)
    assert task_document(from_gymnasium(env.unwrapped)) == task_document(by_id)
    assert task_document(make("gymnasium", is_slippery=False)) == task_document(by_id)
    with pytest.raises(InvalidParameter, match=r"'is_slippery' can only be given with an .* id"):
        from_gymnasium(env, is_slippery=True)


def table(P, **attributes):
    return SimpleNamespace(
        P=P, **({"initial_state_distrib": [1] + [0] * (len(P) - 1)} | attributes)
    )


def exact_row(mdp, state, action):
    names = mdp.state_names
    palette, codes = mdp.transitions.exact()
    row = names.index(state) * mdp.n_actions + action
    span = range(int(mdp.transitions.offsets[row]), int(mdp.transitions.offsets[row + 1]))
    return {names[mdp.transitions.successors[i]]: palette[codes[i]] for i in span}


def test_repeated_outcomes_add_up_and_rewards_keep_their_shares():
    P = {
        0: {
            0: [
                (0.25, 1, 2.0, False),
                (0.25, 1, 2.0, False),
                (0.25, 1, 0.5, False),
                (0.25, 0, 2, 0),
            ]
        },
        1: {0: [(1.0, 0, 0, True)]},
    }
    task = from_gymnasium(table(P))
    assert exact_row(task.mdp, "0", 0) == {"0": Fraction(1, 4), "1": Fraction(3, 4)}
    assert task.mdp.feature_names == ("reward 0", "reward 0.5", "reward 2")
    assert task.mdp.features.floats[0, 0].tolist() == [0, 0.25, 0.75]


def test_a_state_entered_both_ways_gets_a_terminal_copy():
    P = {
        0: {0: [(0.5, 1, 1, True), (0.5, 1, 2, False)]},
        1: {0: [(1.0, 0, 3, True)]},
        2: {0: [(1.0, 2, 0, False)]},
    }
    task = from_gymnasium(table(P))
    mdp = task.mdp
    assert mdp.state_names == ("0", "1", "2", "0 (end)", "1 (end)")
    assert mdp.terminal.tolist() == [False, False, False, True, True]
    half = Fraction(1, 2)
    assert exact_row(mdp, "0", 0) == {"1": half, "1 (end)": half}
    assert exact_row(mdp, "1", 0) == {"0 (end)": 1}
    assert values_of_task(task)[0] == pytest.approx(1.5 + 0.95 * 0.5 * 3)


def test_a_copy_on_a_grid_leaves_no_layout():
    task = from_gymnasium(CLIFF, start=47)
    assert {"47", "47 (end)"} <= set(task.mdp.state_names)
    assert task.layout is None


def test_impossible_outcomes_reach_nothing():
    P = {0: {0: [(1.0, 0, 0, False), (0.0, 1, 7, True)]}, 1: {0: [(1.0, 1, 0, True)]}}
    task = from_gymnasium(table(P))
    assert task.mdp.state_names == ("0", "1")
    assert reached(task.mdp) == [0]
    assert task.mdp.feature_names == ("reward 0",)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.33333333333333337, "1/3"),
        (0.09999999999999998, "1/10"),
        (0.1 + 0.2, "3/10"),
        (np.float64(0.8), "4/5"),
        (1, "1"),
        (0.1234567, "1234567/10000000"),
        (np.float32(0.1), "1/10"),
        (0.333333333, "333333333/1000000000"),
    ],
)
def test_probabilities_are_cleaned_to_simple_fractions(value, exact):
    assert clean_probability(value, "p") == Fraction(exact)


def test_starts_may_be_given_in_the_environments_numbers():
    lake = {"is_slippery": False}
    one = from_gymnasium("FrozenLake-v1", start=14, **lake).mdp
    assert one.start.fractions()[one.state_names.index("14")] == 1
    two = from_gymnasium("FrozenLake-v1", start={14: "1/3", 10: "2/3"}, **lake).mdp
    assert two.start.fractions()[two.state_names.index("10")] == Fraction(2, 3)
    pairs = from_gymnasium("FrozenLake-v1", start=[(14, "1/3"), (10, "2/3")], **lake).mdp
    assert pairs.start.fractions() == two.start.fractions()
    array = np.zeros(16)
    array[[0, 1, 2]] = 1 / 3
    three = from_gymnasium("FrozenLake-v1", start=array, **lake).mdp
    assert three.start.fractions()[:3] == [Fraction(1, 3)] * 3


def test_many_equal_starts_stay_equal_exactly():
    n = 1500
    P = {s: {0: [(1.0, s, 0, False)]} for s in range(n)}
    mdp = from_gymnasium(SimpleNamespace(P=P, initial_state_distrib=np.full(n, 1 / n))).mdp
    assert set(mdp.start.fractions()) == {Fraction(1, n)}


def test_a_start_index_serves_when_there_is_no_distribution():
    P = {0: {0: [(1.0, 1, 0, True)]}, 1: {0: [(1.0, 0, 0, False)]}}
    mdp = from_gymnasium(SimpleNamespace(P=P, start_state_index=np.int64(1))).mdp
    assert mdp.start.fractions() == [0, 1, 0]
    mdp = from_gymnasium(SimpleNamespace(P=P, start_state_indices=[0, 1])).mdp
    assert mdp.start.fractions()[mdp.state_names.index("1")] == Fraction(1, 2)
    with pytest.raises(InvalidParameter, match="does not say where it starts; pass start="):
        from_gymnasium(SimpleNamespace(P=P))


def test_state_features_from_an_array_or_a_function():
    array = np.arange(32).reshape(16, 2) / 10
    by_array = from_gymnasium("FrozenLake-v1", features=array, weights=[1, "-0.5"])
    by_function = from_gymnasium("FrozenLake-v1", features=lambda s: array[s], weights=[1, "-0.5"])
    assert by_array.mdp.features.floats.tolist() == array.tolist()
    assert task_document(by_array) == task_document(by_function)
    assert by_array.true_weights.fractions() == [1, Fraction(-1, 2)]
    kept = from_gymnasium(CLIFF, features=np.eye(48), weights=np.arange(48))
    assert kept.mdp.features.floats.argmax(axis=1).tolist() == list(range(48))


def test_outcome_features_are_taken_in_expectation():
    def features(state, action, successor, reward):
        return [1, successor == state, reward]

    task = from_gymnasium("FrozenLake-v1", features=features, weights=[0, -1, 1], discount=0.9)
    stay = Fraction(2, 3)
    flat = task.mdp.features.fractions()
    assert flat[:3] == [1, stay, 0]
    plain = from_gymnasium("FrozenLake-v1", discount=0.9)
    same = from_gymnasium("FrozenLake-v1", features=features, weights=[0, 0, 1], discount=0.9)
    assert values_of_task(same) == pytest.approx(values_of_task(plain), abs=1e-9)


def test_weights_without_features_are_those_of_the_rewards():
    task = from_gymnasium("FrozenLake-v1", weights=[-1, 5])
    assert task.weights.tolist() == [-1, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": np.eye(16)}, "weights must be given with features of your own"),
        ({"features": np.eye(5), "weights": [1] * 5}, r"the shape \(16, k\)"),
        ({"features": lambda s, a: [1], "weights": [1]}, "it takes 2 arguments"),
        (
            {"features": lambda s: [1] * (s + 1), "weights": [1]},
            r"features\(1\) must have 1 numbers",
        ),
        ({"features": lambda s: s, "weights": [1]}, r"features\(0\) must be a vector"),
        ({"features": lambda s: ["x"], "weights": [1]}, r"features\(0\)\[0\] must be"),
        (
            {"features": lambda s, a, t, r: [1] * (t + 1), "weights": [1]},
            "must have [0-9]+ numbers, as for the other",
        ),
        ({"weights": [1, 2, 3]}, "weights must have one entry for each of the 2 features"),
        ({"start": 16}, "start.* must be from 0 to 15; it is 16"),
        ({"start": [1, 0]}, "start must be a state"),
        ({"start": {0: 0.5}}, "start must be a distribution over states; it sums to 0.5"),
        ({"start": {0: -1, 1: 2}}, "must not be negative"),
        ({"start": "S"}, "start must be a state"),
        ({"discount": 1}, "discount must be"),
        ({"desc": ["FF", "FG"]}, "start.* must be a finite number; it is nan; pass another start"),
        ({"map_name": "5x5"}, "failed: KeyError: '5x5'"),
        ({"no_such": 1}, "failed: TypeError"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_bad_arguments_are_one_line(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        from_gymnasium("FrozenLake-v1", **arguments)


GOOD = [(1.0, 0, 0, False)]


@pytest.mark.parametrize(
    ("P", "message"),
    [
        ({0: {0: GOOD, 1: GOOD}, 1: {0: GOOD}}, r"P\[1\]\[1\] must list outcomes"),
        ({0: {0: [(0.5, 0, 0, False)]}}, r"P\[0\]\[0\] must be a distribution.* sum to 0.5"),
        ({0: {0: []}}, r"P\[0\]\[0\] must be a distribution.* sum to 0"),
        ({0: {0: [(-1.0, 0, 0, False), (2.0, 0, 0, False)]}}, r"must not be negative; it is -1"),
        (
            {0: {0: [(1.0, 5, 0, False)]}},
            r"P\[0\]\[0\]\[0\]: next state must be from 0 to 0; it is 5",
        ),
        ({0: {0: [(1.0, 0.5, 0, False)]}}, "next state must be a whole number"),
        ({0: {0: [(1.0, 0, float("nan"), False)]}}, "reward must be a finite number; it is nan"),
        ({0: {0: [(float("inf"), 0, 0, False)]}}, "probability must be a finite number"),
        ({0: {0: [(1.0, 0, 0)]}}, r"must be \(probability, next state, reward, terminated\)"),
        ({0: {0: [1.0]}}, "must be .probability"),
        ({0: {0: 1.0}}, "must be .probability"),
        ({0: 3}, r"P\[0\] must be a table of actions"),
        ({}, "P must be a table"),
        (np.ones((1, 1, 1)), "P must be a table"),
    ],
)
def test_bad_tables_are_one_line(P, message):
    if isinstance(P, dict) and len(P) == 2:
        P[0][0] = [(1.0, 1, 0, False)]
    with pytest.raises(InvalidInput, match=message):
        from_gymnasium(SimpleNamespace(P=P), start=0)


def test_a_hole_in_what_nothing_reaches_is_no_matter():
    task = from_gymnasium(table({0: {0: GOOD}, 1: {0: [(0.1, 9, 0, False)]}}))
    assert (task.mdp.n_states, reached(task.mdp)) == (2, [0])


def test_lists_are_tables_too():
    P = [[[(1.0, 1, -1, False)]], [[(1.0, 1, 0, True)]]]
    task = from_gymnasium(SimpleNamespace(P=P, start_state_index=0))
    assert task.mdp.state_names == ("0", "1", "1 (end)")


def test_what_no_table_describes_is_refused_with_the_reason():
    with pytest.raises(Unsupported, match="Blackjack-v1 has no table P"):
        from_gymnasium("Blackjack-v1")
    if options_exist(TAXI, {"fickle_passenger": True}):
        with pytest.raises(Unsupported, match=r"fickle_passenger=True .* not its dynamics"):
            from_gymnasium(TAXI, fickle_passenger=True)
    with pytest.raises(Unsupported, match="fickle"):
        from_gymnasium(table({0: {0: GOOD}}, fickle_passenger=True))


def test_wrappers_that_change_the_task_are_refused_and_others_are_not():
    env = gymnasium.make("FrozenLake-v1")
    changed = gymnasium.wrappers.TransformReward(env, lambda reward: -reward)
    with pytest.raises(Unsupported, match=r"TransformReward changes .* pass env.unwrapped"):
        from_gymnasium(changed)
    with pytest.raises(Unsupported, match="TransformReward"):
        from_gymnasium(gymnasium.wrappers.RecordEpisodeStatistics(changed))
    assert from_gymnasium(gymnasium.wrappers.RecordEpisodeStatistics(env)).mdp.n_states == 16


def test_an_unknown_id_is_one_line_with_the_nearest_spelling():
    with pytest.raises(InvalidParameter, match=r"no environment 'FrozenLake-v9' \(did you mean"):
        from_gymnasium("FrozenLake-v9")
    with pytest.raises(InvalidParameter):
        from_gymnasium("no_such_module:Thing-v0")


def test_taking_no_action_is_an_invalid_table():
    with pytest.raises(InvalidModel):
        from_gymnasium(SimpleNamespace(P={0: {}}), start=0)
