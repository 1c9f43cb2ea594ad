"""Pictures for people who do not know the reward: nothing in them depends on it."""

import random
import re

import pytest

from didact import Demonstration, Task, from_gymnasium, make
from didact.report.page.lesson import demonstrations_piece
from didact.report.page.neutral import neutral_world
from didact.worlds import gridworld

WORLDS = {
    "two ends": lambda: gridworld(
        ["S.n", ".#.", "m.d"],
        {"S": -1, ".": -1, "n": 4, "m": -3, "d": 10},
        names={"n": "snack", "d": "dock", "m": "mud"},
        terminal="nd",
    ),
    "lake": lambda: from_gymnasium("FrozenLake-v1"),
    "cliff": lambda: from_gymnasium("CliffWalking-v1"),
    "taxi": lambda: from_gymnasium("Taxi-v4"),
    "balls": lambda: make("ball-sorting"),
}


def rewarded(task: Task, rng: random.Random) -> Task:
    """The same world with another reward."""
    weights = [rng.randint(-20, 20) for _ in range(task.mdp.n_features)]
    return Task(task.mdp, weights, name=task.name, layout=task.layout)


@pytest.mark.parametrize("name", WORLDS)
def test_no_reward_changes_what_is_shown(name):
    rng, task = random.Random(0), WORLDS[name]()
    state = next(s for s in range(task.mdp.n_states) if not task.mdp.terminal[s])
    shown = [Demonstration([(state, 0)])]
    seen = set()
    for _ in range(10):
        world = neutral_world(rewarded(task, rng))
        piece = demonstrations_piece(world.task, shown)
        seen.add((world.picture(), world.picture(state), world.legend, world.rules, piece))
    assert len(seen) == 1


def test_the_legend_names_each_ground_and_no_weight():
    legend = neutral_world(WORLDS["two ends"]()).legend
    for name in ("snack", "dock", "mud", "the episode ends"):
        assert name in legend
    words = re.sub("<[^>]*>", " ", legend)
    assert not re.search("[0-9]", words)


def test_a_ground_that_is_named_after_its_reward_is_not():
    names = {"S": "reward -1", "n": "reward 4", "m": "reward -3", "d": "reward 10"}
    task = gridworld(["Sn", "md"], {"S": -1, "n": 4, "m": -3, "d": 10}, names=names, terminal="d")
    legend = neutral_world(task).legend
    assert "reward" not in legend
    assert "ground a" in legend


def test_a_slippery_world_says_so():
    assert "1 in 3 go where it wants" in neutral_world(WORLDS["lake"]()).rules
    assert neutral_world(WORLDS["cliff"]()).rules == ""


def test_what_moves_is_where_the_state_says():
    taxi = WORLDS["taxi"]()
    first, other = (neutral_world(taxi).picture(state) for state in (0, 1))
    assert first != other
    assert neutral_world(taxi).picture().count("agent") == 0
