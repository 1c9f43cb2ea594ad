"""MiniGrid's rooms as pictures, against the grid of the environment itself."""

from functools import cache

import gymnasium
import pytest

from didact import teach
from didact.report.page.rooms import room_scene
from tests.report.drawn import WORLDS, hostile

minigrid = pytest.importorskip("minigrid")

ROOMS = ("MiniGrid-DoorKey-5x5-v0", "MiniGrid-LavaGapS5-v0", "MiniGrid-Empty-5x5-v0")


def opened(name: str):
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    return task_of(name), env


@cache
def task_of(name: str):
    from didact import from_minigrid

    return from_minigrid(name)


@cache
def lesson_of(name: str):
    return teach(task_of(name))


@pytest.mark.parametrize("name", ROOMS)
def test_the_agent_stands_and_looks_where_the_environment_has_it(name):
    task, env = opened(name)
    scene = room_scene(task)
    start = int(task.mdp.start.floats.argmax())
    column, row = (int(x) - 1 for x in env.agent_pos)
    assert scene.cell(start) == (row, column)
    seen = [t.drawing for t in scene.tokens if t.place(start) and t.drawing.startswith("facing")]
    assert seen == [f"facing {90 * env.agent_dir}"]


@pytest.mark.parametrize("name", ROOMS)
def test_goal_lava_and_things_are_where_the_environment_has_them(name):
    task, env = opened(name)
    scene = room_scene(task, lesson_of(name).bec.plan)
    ground = scene.ground([(0, 0, scene.rows, scene.columns)])
    signs = {(int(y // 20), int(x // 20)): kind for x, y, kind in ground.signs}
    inside = range(1, env.grid.width - 1)
    cells = {
        (row - 1, column - 1): env.grid.get(column, row) for row in inside for column in inside
    }
    found = {cell: thing.type for cell, thing in cells.items() if thing is not None}
    assert [cell for cell, kind in signs.items() if kind == "goal"] == [
        cell for cell, kind in found.items() if kind == "goal"
    ]
    assert {cell for cell, kind in signs.items() if kind == "worse"} == {
        cell for cell, kind in found.items() if kind == "lava"
    }
    start = int(task.mdp.start.floats.argmax())
    drawn = {
        token.drawing: (int(place[1] // 20), int(place[0] // 20))
        for token in scene.tokens
        if (place := token.place(start)) is not None and not token.drawing.startswith("facing")
    }
    wanted = {
        (f"locked {thing.color}" if thing.type == "door" else f"{thing.type} {thing.color}"): cell
        for cell, thing in cells.items()
        if thing is not None and thing.type in ("key", "door", "ball", "box")
    }
    assert drawn == wanted


def test_a_carried_key_goes_with_the_agent_and_the_door_opens():
    task, _ = opened("MiniGrid-DoorKey-5x5-v0")
    scene = room_scene(task)
    (demonstration,) = lesson_of("MiniGrid-DoorKey-5x5-v0").demonstrations
    key = next(token for token in scene.tokens if token.drawing == "key yellow")
    picked = next(
        i for i, (_, a) in enumerate(demonstration) if task.mdp.action_name(a) == "pickup"
    )
    before, after = (demonstration[i][0] for i in (picked, picked + 1))
    assert key.place(before) != key.place(after)
    assert "carrying the yellow key" in scene.in_words(after)
    assert "door is locked" in scene.in_words(after)
    last = demonstration[-1][0]
    assert "door is open" in scene.in_words(last)
    looks = {t.drawing for t in scene.tokens if t.place(last) and "yellow" in t.drawing}
    assert "open yellow" in looks
    assert "locked yellow" not in looks


@pytest.mark.parametrize("name", ["taxi", "lake", "garnet", "hostile"])
def test_other_worlds_are_no_rooms(name):
    assert room_scene(WORLDS[name]() if name != "hostile" else hostile()) is None
