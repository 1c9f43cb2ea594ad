"""A task keeps its weights exactly and its layout frozen."""

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from didact import gridworld, make
from didact.errors import InvalidInput
from didact.mdp import MDP, Task
from didact.mdp.task import (
    action_directions,
    active_feature,
    feature_letters,
    marked_starts,
    states_by_cell,
)

GRID = {"kind": "grid", "rows": 1, "columns": 2}
DEEP: Any = [1]
for _ in range(500):
    DEEP = [DEEP]


def two_cells() -> MDP:
    return MDP([[[0, 1.0]], [[0, 0]]], [[1, 0], [0, 1]], 0.5, terminal=[1])


def test_weights_stay_as_given() -> None:
    task = Task(two_cells(), ["-1/3", 0.1], name="two", layout=GRID)
    assert task.true_weights.fractions() == [Fraction(-1, 3), Fraction(1, 10)]
    assert task.weights.tolist() == [-1 / 3, 0.1]
    assert task.name == "two"
    assert dict(task.layout or {}) == GRID
    assert "'two'" in repr(task)
    assert Task(two_cells(), [0, 0]).name == "task"
    assert Task(two_cells(), [0, 0]).layout is None


def test_nothing_is_shared_and_nothing_can_be_changed() -> None:
    weights, cells = np.array([1.0, 2.0]), [4, 2]
    layout = {"kind": "grid", "rows": 2, "columns": 3, "cells": cells}
    task = Task(two_cells(), weights, layout=layout)
    weights[:], layout["rows"], cells[0] = 9, 9, 9
    assert task.weights.tolist() == [1, 2]
    assert task.layout == {"kind": "grid", "rows": 2, "columns": 3, "cells": (4, 2)}
    with pytest.raises(TypeError):
        task.layout["rows"] = 3  # type: ignore[index]
    with pytest.raises(ValueError, match="read-only"):
        task.weights[0] = 0
    with pytest.raises(AttributeError):
        task.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("layout", [None, GRID, {**GRID, "rows": 2, "cells": [3, 0]}], ids=repr)
def test_a_task_travels_to_other_processes(layout: dict[str, Any] | None) -> None:
    task = Task(two_cells(), ["-1/3", 0.1], name="two", layout=layout)
    for other in (pickle.loads(pickle.dumps(task)), copy.deepcopy(task)):
        assert other.true_weights.fractions() == task.true_weights.fractions()
        assert (other.name, other.layout) == (task.name, task.layout)
        assert not other.weights.flags.writeable


def test_numbers_of_numpy_are_numbers_in_a_layout() -> None:
    layout = {
        "kind": "grid",
        "rows": np.int64(2),
        "columns": np.int32(2),
        "cells": (np.int64(3), np.int64(0)),
    }
    task = Task(two_cells(), [1, 1], layout=layout)
    assert task.layout == {"kind": "grid", "rows": 2, "columns": 2, "cells": (3, 0)}
    assert all(type(value) in (str, int, tuple) for value in (task.layout or {}).values())


ROOM: dict[str, Any] = {"kind": "room", "rows": 1, "columns": 2, "cells": [0, 0]}
TAXI = {**ROOM, "kind": "taxi", "things": [[], [["riding", 0]]], "signs": [["R", 0], ["wall", 0]]}


def test_states_of_a_taxi_share_cells() -> None:
    layout = Task(two_cells(), [1, 1], layout=TAXI).layout or {}
    assert (layout["cells"], layout["things"]) == ((0, 0), ((), (("riding", 0),)))
    assert layout["signs"] == (("R", 0), ("wall", 0))


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "weights short": ({"weights": [1]}, "weights", "(1,)"),
    "weights long": ({"weights": [1, 2, 3]}, "weights", "(3,)"),
    "weights scalar": ({"weights": 1}, "weights", "()"),
    "weights nan": ({"weights": [1, float("nan")]}, "weights[1]", "nan"),
    "weights none": ({"weights": None}, "weights", "None"),
    "weights bool": ({"weights": [1, True]}, "weights[1]", "True"),
    "weights text": ({"weights": ["½", 1]}, "weights[0]", "'½'"),
    "weights ragged": ({"weights": [[1], [1, 2]]}, "weights", "different lengths"),
    "name number": ({"name": 3}, "name", "3"),
    "name none": ({"name": None}, "name", "None"),
    "name surrogate": ({"name": "\udc80"}, "name", "udc80"),
    "mdp": ({"mdp": "six-cell"}, "mdp", "'six-cell'"),
    "layout text": ({"layout": "grid"}, "layout", "'grid'"),
    "layout list": ({"layout": [1, 2]}, "layout", "[1, 2]"),
    "layout deep": ({"layout": DEEP}, "layout", "[[["),
    "layout empty": ({"layout": {}}, "layout", "{}"),
    "layout kind": ({"layout": {**GRID, "kind": "hexagon"}}, "kind", "hexagon"),
    "layout deep kind": ({"layout": {**GRID, "kind": DEEP}}, "kind", "[[["),
    "layout unknown": ({"layout": {**GRID, "colour": 1}}, "layout has no entry", "'colour'"),
    "layout unknown number": ({"layout": {**GRID, 7: 1, "a": 2}}, "layout has no entry", "7"),
    "rows missing": ({"layout": {"kind": "grid", "columns": 2}}, "layout.rows", "None"),
    "rows zero": ({"layout": {**GRID, "rows": 0}}, "layout.rows", "0"),
    "rows negative": ({"layout": {**GRID, "rows": -1, "columns": -2}}, "layout.rows", "-1"),
    "rows float": ({"layout": {**GRID, "rows": 1.0}}, "layout.rows", "1.0"),
    "rows bool": ({"layout": {**GRID, "rows": True}}, "layout.rows", "True"),
    "columns text": ({"layout": {**GRID, "columns": "2"}}, "layout.columns", "'2'"),
    "too few cells": ({"layout": {**GRID, "columns": 1}}, "layout has 1 * 1 cells", "2 states"),
    "huge": (
        {"layout": {"kind": "grid", "rows": 10**6, "columns": 10**6, "cells": [0, 1]}},
        "layout must have at most",
        "1000000 * 1000000",
    ),
    "endless": ({"layout": {**GRID, "rows": 10**10_000}}, "layout must have at most", "cells"),
    "cells short": ({"layout": {**GRID, "cells": [0]}}, "layout.cells", "[0]"),
    "cells text": ({"layout": {**GRID, "cells": "01"}}, "layout.cells", "'01'"),
    "cells object": ({"layout": {**GRID, "cells": {"0": 1, "1": 0}}}, "layout.cells", "{"),
    "cells outside": ({"layout": {**GRID, "cells": [0, 2]}}, "layout.cells[1]", "2"),
    "cells negative": ({"layout": {**GRID, "cells": [0, -1]}}, "layout.cells[1]", "-1"),
    "cells bool": ({"layout": {**GRID, "cells": [False, 1]}}, "layout.cells[0]", "False"),
    "cells nested": ({"layout": {**GRID, "cells": [[0], 1]}}, "layout.cells[0]", "[0]"),
    "room without cells": ({"layout": {**TAXI, "cells": None}}, "layout.cells", "None"),
    "room without things": ({"layout": ROOM}, "layout.things", "None"),
    "things of another kind": (
        {"layout": {**TAXI, "kind": "room"}},
        "layout.things[1][0]",
        "riding",
    ),
    "things outside": ({"layout": {**TAXI, "things": [[], [["riding", 2]]]}}, "things[1][0]", "2"),
    "things nested": ({"layout": {**TAXI, "things": [[], [[[], 0]]]}}, "things[1][0]", "[[], 0]"),
    "things number": ({"layout": {**TAXI, "things": [[], 7]}}, "layout.things[1]", "7"),
    "signs long": ({"layout": {**TAXI, "signs": [["x" * 9, 0]]}}, "layout.signs[0]", "xxxxxxxxx"),
    "signs text": ({"layout": {**TAXI, "signs": "R0"}}, "layout.signs", "'R0'"),
    "grid with things": ({"layout": {**GRID, "things": []}}, "layout has no entry", "'things'"),
    "cells shared": ({"layout": {**GRID, "cells": [1, 1]}}, "layout.cells", "share"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_tasks_are_refused_in_one_line(name: str) -> None:
    changes, place, value = BAD[name]
    parts: dict[str, Any] = {"mdp": two_cells(), "weights": [1, 1], "name": "two", **changes}
    with pytest.raises(InvalidInput) as caught:
        Task(parts.pop("mdp"), parts.pop("weights"), **parts)
    message = str(caught.value)
    assert place in message
    assert value in message
    assert "\n" not in message
    assert len(message) < 250


def test_every_state_stands_in_its_cell():
    whole = make("random-grid", size=4, seed=0)
    assert states_by_cell(whole).tolist() == np.arange(16).reshape(4, 4).tolist()
    walled = gridworld(["a#b", "aab"], {"a": -1, "b": 1})
    cells = states_by_cell(walled)
    assert cells[0, 1] == -1
    assert sorted(cells[cells >= 0].tolist()) == list(range(walled.mdp.n_states))
    for state, cell in enumerate(walled.layout["cells"]):
        assert cells[divmod(cell, 3)] == state


def test_actions_point_where_they_lead_in_the_middle_of_a_grid():
    task = make("random-grid", size=3, seed=0)
    cells, middle = states_by_cell(task), 4
    following = np.asarray(task.mdp.transitions.successors).reshape(9, 4)
    for action, (right, down) in enumerate(action_directions(task.mdp)):
        assert cells[1 + down, 1 + right] == following[middle, action]


def test_a_cell_shows_the_one_feature_that_is_on():
    task = make("six-cell")
    for state in range(6):
        feature = active_feature(task.mdp, state)
        on = np.flatnonzero(task.mdp.features.floats[state])
        assert ([] if feature is None else [feature]) == on.tolist()[: len(on) == 1]
    assert feature_letters(task.mdp) == ["w", "g"]
    drawn = gridworld(["..#", "S.G"], {".": -1, "S": -1, "G": 10}, terminal="G")
    assert feature_letters(drawn.mdp) == [".", "S", "G"]
    wide = gridworld([".界"], {".": -1, "界": 1})
    assert feature_letters(wide.mdp) == ["a", "b"]


def test_starts_are_marked_where_they_say_something():
    assert not marked_starts(make("random-grid", size=3, seed=0).mdp).any()
    one = gridworld(["ab"], {"a": -1, "b": 1}, start="a")
    assert marked_starts(one.mdp).tolist() == [True, False]
