"""Presets and the deterministic teacher of `teach`."""

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.planning import solve
from didact.teaching import check, teach
from didact.worlds import make


def optimal_path(task, start: int, horizon: int) -> list[tuple[int, int]]:
    """The first optimal action in each state, from dense value iteration."""
    mdp = task.mdp
    moves = mdp.transitions.matrix().toarray().reshape(mdp.n_states, mdp.n_actions, -1)
    reward = mdp.features.floats @ task.weights
    values = np.zeros(mdp.n_states)
    for _ in range(2000):
        action_values = reward[:, None] + mdp.discount * moves @ values
        values = np.where(mdp.terminal, reward, action_values.max(axis=1))
    best = action_values.max(axis=1, keepdims=True)
    first = (action_values > best - 1e-9).argmax(axis=1)
    path, state = [], start
    while len(path) < horizon and not mdp.terminal[state]:
        path.append((state, int(first[state])))
        state = int(moves[state, first[state]].argmax())
    return path


@pytest.mark.parametrize("seed", range(4))
def test_a_deterministic_teacher_shows_the_first_optimal_action_of_each_state(seed):
    task = make("random-grid", size=4, n_features=3, seed=seed)
    lesson = teach(task, teacher="scot", deterministic=True, horizon=5, trim=False)
    assert lesson.candidates == "all"  # one trajectory from each start
    for demonstration in lesson.demonstrations:
        start = demonstration.pairs[0][0]
        assert list(demonstration.pairs) == optimal_path(task, start, 5)
    assert lesson.settings["deterministic"] is True
    assert check(task, lesson.demonstrations).teaches == lesson.is_complete


def test_what_a_deterministic_teacher_refuses():
    task = make("six-cell")
    for given in ({"teacher": "exact"}, {"teacher": "scot", "closed": True}):
        with pytest.raises(InvalidParameter, match="deterministic is for"):
            teach(task, deterministic=True, **given)


def test_the_preset_is_algorithm_1_as_printed():
    """m rollouts from each start, H steps each, half-spaces of all states, nothing cut."""
    task = make("random-grid", size=4, n_features=3, seed=0)
    lesson = teach(task, preset="paper", horizon=6, rollouts=2)
    wanted = {"teacher": "scot", "scope": "all", "trim": False, "rollouts": 2}
    assert {name: lesson.settings[name] for name in wanted} == wanted
    assert {len(demonstration) for demonstration in lesson.demonstrations} == {6}
    assert int(lesson.candidates.split()[1]) <= 2 * task.mdp.n_states
    optimal = solve(task.mdp, task.true_weights).optimal
    assert all(optimal[pair] for d in lesson.demonstrations for pair in d.pairs)
    assert list(lesson.gains) == sorted(lesson.gains, reverse=True)  # greedy gains never grow
    assert teach(task, preset="paper", horizon=6).settings["rollouts"] == 20
    with pytest.raises(InvalidParameter, match="must be 'paper'"):
        teach(task, preset="aaai")


def test_the_teacher_auto_is_exact_where_that_is_affordable(caplog):
    small = teach(make("six-cell"), teacher="auto", time_limit=60)
    assert (small.settings["teacher"], small.is_fewest) == ("exact", True)
    large = make("random-grid", size=16, n_features=8, seed=0)  # 2,048 states times features
    with caplog.at_level("INFO", logger="didact"):
        assert teach(large, teacher="auto", horizon=1).settings["teacher"] == "scot"
    assert "2048 states times features" in caplog.text
    sampled = teach(make("six-cell"), teacher="auto", rollouts=2)
    assert sampled.settings["teacher"] == "scot"
    with pytest.raises(InvalidParameter, match="has no option 'n'"):
        teach(make("six-cell"), teacher="auto", n=3)
