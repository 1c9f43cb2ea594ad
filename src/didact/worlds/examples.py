"""The paper's own worlds: the worked example, false certainty, the Markov chain, ball sorting."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import choice, whole_number
from didact.mdp import MDP, Task, Transitions
from didact.numerics.exact import Numbers
from didact.random import Seed, as_generator
from didact.worlds.grids import (
    draw_unit_weights,
    grid_layout,
    grid_task,
    gridworld,
    neighbours,
    one_hot,
)

TERMINAL_CONVENTIONS = ("once", "self-loop", "silent")


def six_cell(weights: Any = (-1, -10), discount: Any = "0.9", terminal: str = "once") -> Task:
    """The paper's worked example: 2 x 3 cells, the goal in the upper left, one grey cell to avoid.

    With the goal paying once (the default, and the paper's) the cone is 2.539 w0 - w1 >= 0 and
    -w0 >= 0. Other conventions give other cones, so they are kept to be compared: "self-loop"
    never ends and gives w0 - w1 >= 0, "silent" ends without pay and gives 2.71 w0 - w1 >= 0.
    """
    choice(terminal, "terminal", TERMINAL_CONVENTIONS)
    free = np.ones((2, 3), dtype=np.bool_)
    features = one_hot(np.array([0, 1, 0, 0, 0, 0]), 2)
    if terminal == "silent":
        features = Numbers(np.where(np.arange(6)[:, None] == 0, 0.0, features.floats))
    ends = np.arange(6) == 0
    task = grid_task(
        free,
        features,
        weights,
        terminal=ends,
        discount=discount,
        feature_names=("white", "grey"),
        name="six-cell",
    )
    return _with_self_loop(task) if terminal == "self-loop" else task


def _with_self_loop(task: Task) -> Task:
    """The same grid, where the goal is a state like others that no action leaves."""
    mdp = task.mdp
    moves = neighbours(np.ones((2, 3), dtype=np.bool_))
    moves[0] = 0
    transitions = Transitions.from_arrays(6, 4, np.arange(25), moves.ravel(), np.ones(24))
    looping = MDP(
        transitions,
        mdp.features,
        mdp.exact_discount,
        action_names=mdp.action_names,
        feature_names=mdp.feature_names,
    )
    return Task(looping, task.true_weights, name="six-cell, self-loop", layout=task.layout)


def uvm_failure(discount: Any = "0.95") -> Task:
    """False certainty: two tied actions shown make the volume 0 while red against grey is open.

    The paper shows such a world only as a picture, so this one is our construction (3 x 3):

        white red   white       grey weighs the same as white, red much less; the star ends.
        star  white grey        From the lower right, up through grey and left through white tie
        white white white       with different counts: showing both says grey = white exactly,
                                a set without volume. Uncertainty volume minimisation stops there.

    Nothing then tells red from grey, and that decides what to do in the upper right.
    """
    return gridworld(
        ["wrw", "*wg", "www"],
        {"w": -1, "g": -1, "r": -5, "*": -1},
        names={"w": "white", "g": "grey", "r": "red", "*": "white"},
        terminal="*",
        discount=discount,
        name="uvm-failure",
    )


def chain(length: int = 5, weights: Any = (1, -1, 1), discount: Any = "0.95") -> Task:
    """The paper's Markov chain: orange left end, black right end, white between; left and right.

    The default weights prefer both ends equally over white, so every state moves to the nearer end
    (the paper's policy A) and the middle of an odd chain may move either way. A move off the chain
    stays. The paper gives neither the number of states nor the discount: both are parameters.
    """
    length = whole_number(length, "length", 3, 1_000_000)
    free = np.ones((1, length), dtype=np.bool_)
    moves = neighbours(free)[:, 2:]
    active = np.ones(length, dtype=np.int64)
    active[0], active[-1] = 0, 2
    mdp = MDP(
        Transitions.from_arrays(
            length, 2, np.arange(2 * length + 1), moves.ravel(), np.ones(2 * length)
        ),
        one_hot(active, 3),
        discount,
        action_names=("left", "right"),
        feature_names=("orange", "white", "black"),
    )
    return Task(mdp, weights, name=f"chain of {length}", layout=grid_layout(free))


FEATURE_NAMES = ("table", "bin 1", "bin 2", "bin 3", "bin 4")


def ball_sorting(
    size: int = 6,
    starts: int | None = None,
    weights: Any = None,
    discount: Any = 0.95,
    seed: Seed = 0,
) -> Task:
    """The paper's ball-sorting table: four bins in the corners end the episode; five features.

    Bins 1 to 4 are the corners row by row. `starts` is how many positions the ball may start from,
    a square number n*n: n evenly spaced rows times n evenly spaced columns, without the bins, where
    there is nothing to show. None is all of them; the paper has 36 on its 6 x 6 table in a caption
    and the appendix, and 25 in the text. Without `weights` they are drawn by `seed`, uniform on the
    signed L1 unit sphere.
    """
    size = whole_number(size, "size", 3, 3000)
    per_side = _starts_per_side(size, starts)
    active = np.zeros((size, size), dtype=np.int64)
    active[0, 0], active[0, -1], active[-1, 0], active[-1, -1] = 1, 2, 3, 4
    terminal = (active > 0).ravel()
    spaced = np.round(np.linspace(0, size - 1, per_side)).astype(np.int64)
    positions = (spaced[:, None] * size + spaced).ravel()
    positions = positions[~terminal[positions]]
    if weights is None:
        weights = draw_unit_weights(len(FEATURE_NAMES), as_generator(seed, "ball-sorting"))
    return grid_task(
        np.ones((size, size), dtype=np.bool_),
        one_hot(active.ravel(), len(FEATURE_NAMES)),
        weights,
        terminal=terminal,
        discount=discount,
        start=[(position, Fraction(1, positions.size)) for position in positions.tolist()],
        feature_names=FEATURE_NAMES,
        name="ball-sorting",
    )


def _starts_per_side(size: int, starts: int | None) -> int:
    if starts is None:
        return size
    starts = whole_number(starts, "starts", 9, size * size)
    root = math.isqrt(starts)
    if root * root != starts:
        raise InvalidParameter(
            f"starts must be a square number, since starts are n rows times n columns; "
            f"it is {starts}. Take {root * root} or {min(root + 1, size) ** 2}"
        )
    return root
