"""Boards of worlds that cannot be painted: every state has its cell and its situation."""

import random

import pytest

from didact import make, solve
from didact.errors import InvalidInput
from didact.mdp import Task
from didact.studio.boards import viewed
from didact.studio.questions import QUESTIONS

TAXI = {"world": "Taxi-v4", "parameters": {}}
FAMILY = {"world": "random-grid", "parameters": {"size": "3", "members": "2"}}


def ask(kind, question):
    return QUESTIONS[kind](question)


def test_taxi_has_a_map_and_choosers_of_passenger_and_destination():
    told, task = ask("view", TAXI), make("Taxi-v4")
    assert (told["rows"], told["columns"]) == (5, 5)
    passenger, to = told["parts"]
    assert {*passenger} == {f"passenger {each}" for each in ("R", "G", "Y", "B", "in taxi")}
    assert {*to} == {f"to {each}" for each in "RGYB"}
    names = task.mdp.state_names
    for state, place in enumerate(told["states"]):
        if place:
            row, column = divmod(place[0], 5)
            assert names[state] == "; ".join([f"row {row + 1}, column {column + 1}", *place[1:]])
    places = [tuple(place) for place in told["states"] if place]
    assert len(places) == len({*places})


@pytest.mark.parametrize("world", ["FrozenLake-v1", "CliffWalking-v1", "ball-sorting"])
def test_grids_have_a_cell_for_each_state_and_the_optimal_actions(world):
    told, task = ask("view", {"world": world, "parameters": {}}), make(world)
    plan = solve(task.mdp, task.true_weights)
    assert told["parts"] == []
    for state, place in enumerate(told["states"]):
        if place:
            assert place == [state]
            assert len(told["best"][str(state)]) == len(plan.optimal_actions(state))
    assert 'class="policy"' in told["picture"]


def test_in_a_game_nothing_depends_on_the_reward():
    task, rng = make("FrozenLake-v1"), random.Random(0)
    seen = set()
    for _ in range(5):
        weights = [rng.randint(-9, 9) for _ in range(task.mdp.n_features)]
        other = Task(task.mdp, weights, name=task.name, layout=task.layout)
        seen.add(str(viewed(other, {"secret": True, "at": 4})))
    assert len(seen) == 1


def test_members_of_a_family_are_seen_and_opened_alone():
    told = ask("view", {**FAMILY, "member": 1})
    assert len(told["members"]) == 2
    assert told["rows"] == 3
    assert "painting" in ask("member", {**FAMILY, "member": 1})["subject"]


def test_a_world_without_a_map_says_so():
    told = ask("view", {"world": "garnet", "parameters": {"n_states": "5"}})
    assert (told["rows"], told["picture"]) == (0, None)


@pytest.mark.parametrize("given", [{"at": 500}, {"at": "x"}, {"at": -1}])
def test_states_are_checked(given):
    with pytest.raises(InvalidInput, match="at must be"):
        ask("view", {**TAXI, **given})
    with pytest.raises(InvalidInput, match="member"):
        ask("member", {**FAMILY, "member": 7})


def test_a_believer_is_drawn_on_taxis_map():
    told = ask("fit", {**TAXI, "demonstrations": []})
    assert "<svg" in told["believer"]["picture"]


def test_a_familys_file_is_loaded_as_what_it_is():
    from didact.mdp.files import family_document

    code = ask("export", {"task": family_document(make("random-grid", size=3, members=2))})
    assert 'didact.load_family("task.json")' in code["python"]
