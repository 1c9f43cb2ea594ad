"""Families by a name: drawn worlds share a reward, maps are Gymnasium's, variations are listed."""

from fractions import Fraction

import gymnasium
import pytest

from didact import Family, Task, from_gymnasium, save_family
from didact.errors import InvalidInput
from didact.mdp.files import task_document
from didact.worlds import make, register_world
from didact.worlds.members import open_task_or_family


def test_drawn_members_are_the_worlds_of_their_seeds_with_one_reward():
    family = make("random-grid", size=4, n_features=3, seed=5, members=3)
    assert isinstance(family, Family)
    assert len(family) == 3
    assert family.name == "random-grid, 3 members"
    for number, member in enumerate(family):
        alone = make("random-grid", size=4, n_features=3, seed=5 + number)
        assert (member.mdp.features.floats == alone.mdp.features.floats).all()
        assert member.true_weights.fractions() == family[0].true_weights.fractions()
        assert member.name == alone.name == family.names[number]
    assert family[0].weights.tolist() == make("random-grid", n_features=3, seed=5).weights.tolist()


def test_a_family_of_one_is_its_world():
    (only,) = make("random-grid", size=3, members=1)
    assert task_document(only) == task_document(make("random-grid", size=3))


@pytest.mark.parametrize(("id", "size"), [("FrozenLake-v1", 4), ("FrozenLake8x8-v1", 8)])
def test_frozen_lakes_are_gymnasiums_random_maps(id, size):
    from gymnasium.envs.toy_text.frozen_lake import generate_random_map

    family = make(id, members=2, seed=7, is_slippery=False)
    for number, member in enumerate(family):
        env = gymnasium.make(
            "FrozenLake-v1", desc=generate_random_map(size, seed=7 + number), is_slippery=False
        )
        assert task_document(member) == task_document(from_gymnasium(env, name=member.name))
    assert [float(w) for w in family.weights] == [0.0, 1.0]


def test_members_may_list_what_changes():
    family = make("random-grid", members=[{"discount": "0.9"}, {"slip": "1/10"}], size=3)
    assert [task.mdp.exact_discount for task in family] == [Fraction(9, 10), Fraction(19, 20)]
    assert family.names == ("0", "1")
    desc = [["SF", "FG"], ["SFF", "FHG"]]
    lakes = make("FrozenLake-v1", members=[{"desc": d} for d in desc])
    assert [task.mdp.n_states for task in lakes] == [4, 6]


def test_a_list_of_sources_is_a_family():
    family = make(["FrozenLake-v1", ("FrozenLake-v1", {"map_name": "8x8"})], discount="0.9")
    assert [task.mdp.n_states for task in family] == [16, 64]
    assert {task.mdp.exact_discount for task in family} == {Fraction(9, 10)}
    tasks = list(make("random-grid", size=2, members=2))
    assert list(make(tasks)) == tasks


@pytest.mark.parametrize(
    ("source", "parameters", "words"),
    [
        ("random-grid", {"members": 0}, "members must be"),
        ("random-grid", {"members": 2, "seed": None}, "seed of a family"),
        ("random-grid", {"members": [3]}, r"members\[0\] must be a table of parameters"),
        ("random-grid", {"members": []}, "at least one member"),
        ("random-grid", {"members": [{"seed": 0}, {"seed": 1}]}, "exactly the same weights"),
        ("random-grid", {"members": "many"}, "members must"),
        ("chain", {"members": 2}, "not drawn by a seed"),
        ("Taxi-v3", {"members": 2}, "not drawn by a seed"),
        (["random-grid"], {"members": 2}, "leave 'members' out"),
        ([("random-grid", {1: 2})], {}, r"worlds\[0\] must be a table"),
        ([], {}, "at least one member"),
    ],
)
def test_refusals_are_one_line(source, parameters, words):
    with pytest.raises(InvalidInput, match=words) as refused:
        make(source, **parameters)
    assert "\n" not in str(refused.value)


def test_own_worlds_that_take_a_seed_can_be_drawn():
    @register_world("two-sizes")
    def two_sizes(seed: int = 0) -> Task:
        return make("random-grid", size=2 + seed % 2, n_features=2, seed=seed)

    assert [task.mdp.n_states for task in make("two-sizes", members=4)] == [4, 9, 4, 9]


def test_texts_of_the_command_line_mean_the_same(tmp_path):
    family = open_task_or_family("random-grid", {"size": 3, "members": 2, "seed": 4})
    assert isinstance(family, Family)
    path = tmp_path / "family.json"
    save_family(family, path)
    assert [task_document(task) for task in open_task_or_family(str(path))] == [
        task_document(task) for task in family
    ]


def test_teach_draws_members_on_the_command_line(didact, tmp_path):
    lesson = tmp_path / "lesson.json"
    world = ["random-grid", "-p", "size=3", "-p", "n_features=3", "--members", "4", "--seed", "2"]
    taught = didact("teach", *world, "--out", lesson)
    assert taught.code == 0, taught
    assert "of 4 members: enough for all of them. Proof verified." in taught.verdict
    checked = didact("check", *world, lesson, "--proof")
    assert checked.code == 0, checked
    assert "teach 4 members. Proof verified." in checked.verdict
