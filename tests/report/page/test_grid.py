"""What cells of a grid mean; MiniGrid's rooms as pictures, against the environment's own grid."""

from functools import cache

import gymnasium
import pytest

import didact
from didact import from_gymnasium, make, solve, teach
from didact.planning.paths import kinds_of_ends
from didact.report.page.grid import falls, room_scene
from didact.report.page.lesson import task_fragment
from didact.report.page.scene import scene_of
from tests.report.drawn import WORLDS, hostile

ROOMS = ("MiniGrid-DoorKey-5x5-v0", "MiniGrid-LavaGapS5-v0", "MiniGrid-Empty-5x5-v0")


@pytest.mark.parametrize("slippery", [False, True])
@pytest.mark.parametrize("map_name", ["4x4", "8x8"])
def test_the_lake_has_its_goal_and_its_holes(map_name, slippery):
    options = {"map_name": map_name, "is_slippery": slippery}
    task = from_gymnasium("FrozenLake-v1", **options)
    letters = gymnasium.make("FrozenLake-v1", **options).unwrapped.desc.ravel().tolist()
    kinds = kinds_of_ends(task)
    assert kinds == {
        i: {b"H": "worse", b"G": "goal"}[letter]
        for i, letter in enumerate(letters)
        if letter in (b"H", b"G") and i in kinds
    }
    assert kinds[len(letters) - 1] == "goal"
    assert falls(task) == set()


def test_the_cliff_is_a_fall_and_no_wall():
    task = from_gymnasium("CliffWalking-v1")
    assert falls(task) == {(3, column) for column in range(1, 11)}
    assert kinds_of_ends(task) == {47: "end"}
    assert kinds_of_ends(task, solve(task)) == {47: "goal"}
    assert scene_of(task, solve(task)).signs == {"goal", "fall"}


def test_walls_are_no_falls():
    task = make("random-grid", size=6, n_features=3, seed=1, walls="0.2")
    assert falls(task) == set()


def test_a_notebook_draws_them_apart():
    html = task_fragment(from_gymnasium("FrozenLake-v1"))
    assert html.count("class=&quot;hole&quot;") == 4
    assert html.count("class=&quot;flag&quot;") == 1


def opened(name: str):
    pytest.importorskip("minigrid")
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    return task_of(name), env


@cache
def task_of(name: str):
    pytest.importorskip("minigrid")
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
    signs = {(int(y // 20), int(x // 20)): kind for x, y, kind in ground["signs"]}
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
    scene = scene_of(WORLDS[name]() if name != "hostile" else hostile())
    assert scene is None or scene.kind != "room"


def test_pictures_do_not_depend_on_what_states_are_called():
    pytest.importorskip("minigrid")
    own = didact.from_minigrid(ROOMS[0], state_names=lambda key: f"at {key}")
    drawn, other = (scene_of(each, None) for each in (own, task_of(ROOMS[0])))
    assert [drawn.in_words(s) for s in range(9)] == [other.in_words(s) for s in range(9)]
    taxi = didact.from_gymnasium("Taxi-v4", state_names=[f"s{i}" for i in range(500)])
    scene, env = scene_of(taxi), gymnasium.make("Taxi-v4").unwrapped
    ground = scene.ground([(0, 0, 5, 5)])
    assert {(name, y // 20, x // 20) for name, x, y in ground["stands"]} == {
        ("R", 0, 0), ("G", 0, 4), ("Y", 4, 0), ("B", 4, 3)
    }  # fmt: skip
    text = ["".join(sign.decode() for sign in line) for line in env.desc[1:-1]]
    walls = [(r, c) for r, line in enumerate(text) for c in range(4) if line[2 * c + 2] == "|"]
    assert ground["bars"].count("M") == len(walls)
    assert all(f"M{20 * (c + 1)} {20 * r}v20" in ground["bars"] for r, c in walls)
    waiting = env.encode(2, 3, 1, 0)
    assert scene.in_words(waiting) == "row 3, column 4, passenger waiting at G, to R"
    assert scene.in_words(env.encode(2, 3, 4, 3)) == "row 3, column 4, passenger in the taxi, to B"


def test_a_room_of_a_file_looks_as_before(tmp_path):
    task = task_of(ROOMS[0])
    task.save(tmp_path / "room.json")
    again = didact.load_task(tmp_path / "room.json")
    assert again.layout == task.layout
    assert scene_of(again).in_words(40) == scene_of(task).in_words(40)
