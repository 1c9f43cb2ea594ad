"""Observations: one text for what compares equal, and episodes whose steps tell states apart."""

import json
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import didact
from didact.errors import InvalidFile, InvalidInput, InvalidModel
from didact.mdp.files import task_document, task_from_document
from didact.mdp.observations import (
    Observations,
    ObservedDemonstration,
    observation_of,
    observation_text,
    states_of_observed,
)

SAME = [
    [3, np.int64(3), np.array(3), 3.0, np.float32(3), Decimal(3), np.uint8(3)],
    [(1, 2), [1, 2], np.array([1, 2]), np.array([1.0, 2.0]), (np.int64(1), 2)],
    [0, -0.0, Decimal("-0e-9")],
    [7, Decimal("7.0000")],
    [0.5, np.float32(0.5), Decimal("0.5"), np.array(0.5)],
    [True, 1, np.bool_(True)],
    [{"b": (1,), "a": "x"}, {"a": "x", "b": np.array([1])}],
    ["go", np.str_("go")],
    [[[0, 1], [2, 3]], np.array([[0, 1], [2, 3]], dtype=np.uint8)],
]


@pytest.mark.parametrize("values", SAME, ids=str)
def test_what_compares_equal_has_one_text(values):
    (text,) = {observation_text(value) for value in values}
    assert observation_text(json.loads(text)) == text
    assert observation_text(observation_of(text)) == text
    others = {observation_text(alike[0]) for alike in SAME if alike is not values}
    assert text not in others - {"1"}


@pytest.mark.parametrize(
    "value",
    [None, object(), b"x", float("nan"), {1, 2}, [None], 1j, float("inf"), Decimal("1e99999999")],
)
def test_what_a_file_cannot_hold_is_refused(value):
    with pytest.raises(InvalidModel, match="observation must be numbers or texts"):
        observation_text(value)


@pytest.mark.parametrize("text", ["1e-9999", "-1e-400", "6.99999999999999999999999"])
def test_what_only_a_float_would_make_whole_is_refused(text):
    with pytest.raises(InvalidModel, match="observation must be a whole number, or differ"):
        observation_text(Decimal(text))


def ring(observations, start=0, n=6):
    """States in a ring: action 0 goes on, action 1 jumps over one; the last one ends."""
    moves = np.zeros((n, 2, n))
    for state in range(n - 1):
        moves[state, 0, (state + 1) % n] = moves[state, 1, (state + 2) % n] = 1
    mdp = didact.MDP(moves, np.eye(n), 0.9, start=start, terminal=[n - 1])
    return didact.Task(mdp, np.arange(n), observations=observations)


def test_a_task_translates_both_ways():
    task = ring([(0, 0), (0, 1), (1, 0), (1, 1), {"x": 2}, None])
    assert [task.observation(s) for s in range(6)] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        {"x": 2},
        None,
    ]
    assert task.state(np.array([1, 0])) == 2
    assert task.state({"x": np.int64(2)}) == 4
    with pytest.raises(InvalidModel, match=r"no state of the task shows the observation \[7,7\]"):
        task.state((7, 7))
    plain = didact.make("six-cell")
    assert (plain.state(np.array(4)), plain.observation(4)) == (4, 4)
    with pytest.raises(InvalidInput, match="observation must be from 0 to 5; it is 6"):
        plain.state(6)


def test_of_two_states_that_look_alike_the_one_that_goes_on_is_meant():
    task = ring(["a", "b", "b", "c", "d", "a"])
    assert task.state("a") == 0
    with pytest.raises(InvalidModel, match='2 states look like the observation "b"'):
        task.state("b")


def test_files_and_copies_keep_what_is_observed(tmp_path):
    task = ring([(0, 0.5), {"a": [1]}, "x", 7, [], None])
    task.save(tmp_path / "task.json")
    for again in (didact.load_task(tmp_path / "task.json"), pickle.loads(pickle.dumps(task))):
        assert again.observations == task.observations
        assert task_document(again) == task_document(task)
    plain = didact.make("six-cell")
    assert "observations" not in task_document(plain)
    assert task_from_document({**task_document(plain), "observations": None}).observations is None


@pytest.mark.parametrize("given", [[1, 2], 5, [1, 2, 3, 4, 5, {"a": None}], "abcdef"])
def test_observations_that_do_not_fit_are_refused(given):
    with pytest.raises(InvalidInput, match="observations"):
        ring(given)
    with (
        pytest.raises(InvalidFile, match="observations")
        if given == 5
        else pytest.raises(InvalidInput)
    ):
        task_from_document({**task_document(ring(None)), "observations": given})


def test_pairs_hold_observations_or_state_numbers():
    task = ring([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
    watched = [((0, 0), 0), (np.array([0, 1]), 1), ([1, 1], np.int64(0))]
    for given_as in (watched, [(0, 0), (1, 1), (3, 0)], np.array([(0, 0), (1, 1), (3, 0)])):
        verdict = didact.check(task, [given_as])
        assert verdict.closed == didact.check(task, [[(0, 0), (1, 1), (3, 0)]]).closed
        (shown,) = didact.learn(task, [given_as], n_steps=10, n_chains=1).demonstrations
        assert shown.pairs == ((0, 0), (1, 1), (3, 0))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([((9, 9), 0)], r"demonstration 1, step 1: no state of the task shows the .* \[9,9\]"),
        ([((2, 1), 0)], r"step 1: the episode has ended where \[2,1\] is observed"),
        (
            [((0, 0), 0), ((1, 1), 0)],
            r"step 2: observation \[1,1\] cannot follow \[0,0\] with",
        ),
        ([((0, 0), 7), ((0, 1), 0)], r"step 1: action must be from 0 to 1; it is 7"),
        ([((0, 0),)], r"step 1 must be "),
        ([((0, 0), "up")], "step 1: action must be a whole number"),
        ([(None, 0), ((0, 0), 0)], "step 1: observation must be numbers or texts"),
    ],
)
def test_what_cannot_have_been_observed_is_refused_in_one_line(pairs, message):
    task = ring([(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
    with pytest.raises(InvalidInput, match=message):
        didact.check(task, [pairs])


def test_observations_need_a_task_that_knows_them():
    with pytest.raises(InvalidInput, match="whole number"):
        didact.check(didact.make("six-cell"), [[((0, 0), 1)]])
    with pytest.raises(InvalidInput, match="does not say what its observations mean"):
        didact.check(didact.make("six-cell"), [ObservedDemonstration.of([((0, 0), 1)])])


def test_numbers_that_are_not_those_of_the_states_are_read_as_observed():
    task = ring([-3, 40, 50, 60, 70, 80])
    assert task.observations.are_renumbered
    verdict = didact.check(task, [[(-3, 0), (40, 1)]])
    assert verdict.wrong == didact.check(task, [didact.Demonstration([(0, 0), (1, 1)])]).wrong
    with pytest.raises(InvalidInput, match="no state of the task shows the observation 0"):
        didact.check(task, [[(0, 0)]])
    assert not Observations(("0", "1", "[5]", "0")).are_renumbered


@st.composite
def worlds(draw):
    """Deterministic moves of six states that show one of three things, and a start."""
    targets = [[draw(st.integers(0, 5)) for _ in range(2)] for _ in range(6)]
    seen = [draw(st.sampled_from("abc")) for _ in range(6)]
    actions = draw(st.lists(st.integers(0, 1), min_size=1, max_size=5))
    return targets, seen, draw(st.integers(0, 5)), draw(st.integers(0, 5)), actions


@given(worlds())
def test_an_episode_means_the_one_path_that_shows_it(given_world):
    """Against all paths, one after the other; from the start where several are left."""
    targets, seen, start, begin, actions = given_world
    moves = np.zeros((6, 2, 6))
    for state, row in enumerate(targets):
        for action, target in enumerate(row):
            moves[state, action, target] = 1
    mdp = didact.MDP(moves, np.eye(6), 0.9, start=start)

    def path_from(state):
        states = [state]
        for action in actions[:-1]:
            states.append(targets[states[-1]][action])
        return states

    watched = [seen[state] for state in path_from(begin)]
    fits = [p for p in map(path_from, range(6)) if [seen[s] for s in p] == watched]
    from_start = [p for p in fits if p[0] == start]
    wanted = fits if len({tuple(p) for p in fits}) == 1 else from_start
    shown = ObservedDemonstration.of(list(zip(watched, actions, strict=True)))
    observations = Observations.read(seen, 6)
    if not wanted:
        with pytest.raises(InvalidModel, match="states look like this"):
            states_of_observed(observations, mdp, shown, "here")
        return
    found = states_of_observed(observations, mdp, shown, "here")
    assert found == list(zip(wanted[0], actions, strict=True))
