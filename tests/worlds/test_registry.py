import pickle

import pytest

from didact.errors import InvalidModel, InvalidParameter
from didact.mdp import MDP, Task
from didact.worlds import REQUIRED, make, register_world, six_cell, worlds


def two_cells(discount=0.5, seed=0):
    """Two cells and nothing to do."""
    return Task(MDP([[[0, 1]], [[0, 1]]], [[1], [0]], discount), [1], name="two cells")


def test_the_built_in_worlds_are_listed_in_order_with_parameters():
    listed = worlds()
    assert list(listed) == sorted(listed)
    assert {
        "ball-sorting",
        "chain",
        "garnet",
        "grid",
        "gymnasium",
        "random-grid",
        "six-cell",
        "uvm-failure",
    } <= set(listed)
    assert listed["random-grid"].parameters["size"] == 9
    assert listed["grid"].parameters["rows"] is REQUIRED
    assert repr(REQUIRED) == "required"
    with pytest.raises(TypeError):
        listed["other"] = listed["grid"]


@pytest.mark.usefixtures("own_registries")
def test_a_users_maker_is_one_line_away():
    register_world("two-cells")(two_cells)
    assert make("two-cells", discount="0.25").mdp.discount == 0.25
    info = worlds()["two-cells"]
    assert info.summary == "Two cells and nothing to do."
    assert dict(info.parameters) == {"discount": 0.5, "seed": 0}
    assert two_cells().name == "two cells"


@pytest.mark.usefixtures("own_registries")
def test_a_name_belongs_to_one_function_that_may_be_defined_again():
    register_world("two-cells")(two_cells)
    register_world("two-cells")(two_cells)
    with pytest.raises(InvalidParameter, match=r"'two-cells' is already made by .*two_cells"):
        register_world("two-cells")(six_cell)
    assert worlds()["two-cells"].maker is two_cells


@pytest.mark.parametrize("name", ["", "Six", "a_b", "a b", "-a", 3])
def test_names_are_lower_case_words(name):
    with pytest.raises(InvalidParameter, match="lower-case words"):
        register_world(name)


@pytest.mark.usefixtures("own_registries")
def test_makers_take_their_parameters_by_name_and_return_tasks():
    with pytest.raises(InvalidParameter, match="'rest' cannot be given so"):
        register_world("star")(lambda *rest: two_cells())
    with pytest.raises(InvalidParameter, match="must be a function"):
        register_world("nothing")(3)
    register_world("number")(lambda: 3)
    with pytest.raises(InvalidModel, match="world 'number' must return a Task; it returned 3"):
        make("number")


def test_an_unknown_world_or_parameter_is_one_line_with_the_nearest_spelling():
    with pytest.raises(InvalidParameter) as raised:
        make("random-gird")
    message = str(raised.value)
    assert "'random-grid'?" in message
    assert "ball-sorting, chain, garnet" in message
    assert "\n" not in message
    with pytest.raises(InvalidParameter, match=r"no parameter 'sise' \(did you mean 'size'\?\)"):
        make("random-grid", sise=3)
    with pytest.raises(InvalidParameter, match="it takes weights, discount, terminal"):
        make("six-cell", zzz=3)
    with pytest.raises(InvalidParameter, match="needs the parameter 'rows'"):
        make("grid")
    with pytest.raises(InvalidParameter, match="a world must be a name"):
        make(6)


def test_tasks_travel_between_processes():
    task = make("random-grid", size=3, n_features=2, slip="1/3")
    copy = pickle.loads(pickle.dumps(task.mdp.transitions.probabilities))
    assert copy.fractions() == task.mdp.transitions.probabilities.fractions()
