"""A robot on a floor, Pendulum, MountainCar and a linear-quadratic regulator as array simulators.

The robot walks on a square floor in eight directions or rests, and the ground is its reward. The
features of a place are how much it belongs to each of k kinds of ground: soft patches around
centres that a seed decides, and what no patch takes is plain ground. All numbers are functions of
the place, so lessons can be told on a map.

The pendulum and the car have Gymnasium's equations, for many copies at once. The pendulum has five
torques. The car pays for every step and for pushing, so that there is more than one thing to learn.
All three bring a nearly best policy by value iteration on a grid over a box: between its points
values are bilinear, and outside of it those of the nearest point. The policy looks one step ahead
from where it really is.

The regulator is the one continuous world with a closed form: x' = A x + B u, and the reward of a
step is -sum_i w_i x_i^2 - sum_j w_(d+j) u_j^2, linear in the weights, with the squares as features.
The best policy of a discounted problem is u = -K x."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import whole_number
from didact.numerics.compiled import kernel
from didact.random import stream
from didact.worlds.simulators.batches import as_weights

Floats = NDArray[np.float64]


class GridPlan:
    """A policy that takes the action whose reward and next value are worth most.

    simulator: with `step` and `features` of arrays. state_of: states from observations, where they
    are not the same. settled: change of values, against the largest possible one, at which
    iteration stops.
    """

    def __init__(
        self,
        simulator: Any,
        weights: Floats,
        discount: float,
        *,
        low: Any,
        high: Any,
        sides: tuple[int, int],
        state_of: Callable[[Any], Floats] = np.atleast_2d,
        settled: float = 1e-6,
    ):
        self._simulator, self._weights, self._discount = simulator, weights, discount
        self._low, self._high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self._sides, self._state_of = sides, state_of
        self.values = self._iterated(settled)

    def __call__(self, observations: Any) -> NDArray[np.int64]:
        """The action in each observation."""
        states = self._state_of(observations)
        worth = [
            reward + self._discount * np.where(ended, 0.0, self._worth(after))
            for reward, after, ended in (self._ahead(states, action) for action in self._actions())
        ]
        return np.asarray(np.argmax(worth, axis=0))

    def _actions(self) -> range:
        return range(int(self._simulator.action_space.n))

    def _ahead(self, states: Floats, action: int) -> tuple[Floats, Floats, Any]:
        actions = np.full(len(states), action)
        after, _, ended = self._simulator.step(states, actions)
        look = getattr(self._simulator, "observe", lambda given: given)
        phi = self._simulator.features(look(states), actions, look(after), ended)
        return phi @ self._weights, after, ended

    def _iterated(self, settled: float) -> Floats:
        ends = zip(self._low, self._high, self._sides, strict=True)
        lines = [np.linspace(low, high, side) for low, high, side in ends]
        places = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 2)
        steps = [self._ahead(places, action) for action in self._actions()]
        moves = [self._between(after) * ~ended[:, None] for _, after, ended in steps]
        rewards = [reward for reward, _, _ in steps]
        most = max(float(np.abs(reward).max()) for reward in rewards) / (1 - self._discount)
        values = np.zeros(len(places))
        while True:
            ahead = zip(rewards, moves, strict=True)
            better = np.max([r + self._discount * (m @ values) for r, m in ahead], axis=0)
            change = float(np.abs(better - values).max())
            values = better
            if change <= settled * max(most, 1e-300):
                return np.asarray(values)

    def _worth(self, states: Floats) -> Floats:
        """The value of each state."""
        corners, shares = self._corners(states)
        first, second, third, fourth = shares * self.values[corners]
        return np.asarray(first + second + third + fourth)

    def _between(self, states: Floats) -> Any:
        """A matrix whose product with values is the value of each state."""
        from scipy.sparse import csr_array

        corners, shares = self._corners(states)
        rows = np.tile(np.arange(len(states)), 4)
        shape = (len(states), self._sides[0] * self._sides[1])
        return csr_array((shares.ravel(), (rows, corners.ravel())), shape=shape)

    def _corners(self, states: Floats) -> tuple[NDArray[np.int64], Floats]:
        """The four places of the grid around each state, and how much each counts, (4, n)."""
        top = np.array(self._sides) - 1
        at = np.clip((states - self._low) / (self._high - self._low), 0.0, 1.0) * top
        low = np.minimum(at.astype(np.int64), top - 1)
        (x, y), corner = (at - low).T, low[:, 0] * self._sides[1] + low[:, 1]
        next_row = self._sides[1]
        corners = np.stack([corner, corner + 1, corner + next_row, corner + next_row + 1])
        return corners, np.stack([(1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y])


TORQUES = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


class Pendulum:
    """Array simulator: states (n, 2) are angle and speed, actions 0 to 4 are TORQUES."""

    feature_names = ("-angle^2", "-speed^2", "-torque^2")
    action_names = tuple(f"torque {torque:g}" for torque in TORQUES)
    axis_names = ("cosine of the angle", "sine of the angle", "speed")

    def __init__(self, weights: Any = None):
        from gymnasium import spaces

        self.weights = as_weights([1.0, 0.1, 0.001] if weights is None else weights, 3)
        self.action_space = spaces.Discrete(len(TORQUES))
        self.observation_space = spaces.Box(-8.0, 8.0, (3,), np.float64)

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Any angle, slow."""
        return np.stack([rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.0, 1.0, n)], axis=1)

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """A twentieth of a second."""
        angle, speed = states.T
        torque = TORQUES[np.asarray(actions, dtype=np.int64)]
        faster = np.clip(speed + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05, -8.0, 8.0)
        turned = (angle + faster * 0.05 + np.pi) % (2 * np.pi) - np.pi  # between -pi and pi
        after = np.stack([turned, faster], axis=1)
        rewards = self._features(states, torque) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def observe(self, states: Floats) -> Floats:
        """Cosine and sine of the angle, and the speed."""
        return np.stack([np.cos(states[:, 0]), np.sin(states[:, 0]), states[:, 1]], axis=1)

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus the squares of angle, speed and torque, (n, 3)."""
        torque = TORQUES[np.asarray(action, dtype=np.int64)]
        return self._features(self.state_of(observation), torque)

    def _features(self, states: Floats, torque: Floats) -> Floats:
        return -np.stack([states[:, 0] ** 2, states[:, 1] ** 2, torque**2], axis=1)

    @staticmethod
    def state_of(observations: Any) -> Floats:
        """Angle and speed of what is seen."""
        seen = np.atleast_2d(observations)
        return np.stack([np.arctan2(seen[:, 1], seen[:, 0]), seen[:, 2]], axis=1)

    def best_policy(self, discount: float, weights: Any = None) -> GridPlan:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, 3)
        box = {"low": (-np.pi, -8.0), "high": (np.pi, 8.0), "sides": (81, 81)}
        return GridPlan(self, own, discount, **box, state_of=self.state_of)  # type: ignore[arg-type]


class MountainCar:
    """Array simulator: states (n, 2) are place and speed, actions 0 left, 1 rest, 2 right."""

    feature_names = ("-step", "-push", "-speed")
    action_names = ("push left", "coast", "push right")
    axis_names = ("place", "speed")
    marks = (("flag", 0.5, 0.0, 0.0),)

    def __init__(self, weights: Any = None):
        from gymnasium import spaces

        self.weights = as_weights([1.0, 0.3, 0.0] if weights is None else weights, 3)
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(-1.2, 0.6, (2,), np.float64)

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """At rest at the lowest point."""
        return np.stack([rng.uniform(-0.6, -0.4, n), np.zeros(n)], axis=1)

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """One step; the episode ends at the flag."""
        place, speed = states.T
        push = np.asarray(actions) - 1
        faster = np.clip(speed + push * 0.001 - np.cos(3 * place) * 0.0025, -0.07, 0.07)
        there = np.clip(place + faster, -1.2, 0.6)
        faster = np.where((there <= -1.2) & (faster < 0), 0.0, faster)
        rewards = self.features(states, actions, None, None) @ self.weights
        return np.stack([there, faster], axis=1), rewards, there >= 0.5

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus 1, minus whether it pushes, minus how quick it is (as a share), (n, 3)."""
        states = np.atleast_2d(observation)
        pushes = (np.asarray(action) != 1).astype(float)
        return -np.stack([np.ones(len(states)), pushes, np.abs(states[:, 1]) / 0.07], axis=1)

    def best_policy(self, discount: float, weights: Any = None) -> GridPlan:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, 3)
        box = {"low": (-1.2, -0.07), "high": (0.6, 0.07), "sides": (121, 121)}
        return GridPlan(self, own, discount, **box)  # type: ignore[arg-type]


LARGEST = 10.0
"""Actions are between -LARGEST and LARGEST."""


class LQR:
    """Array simulator: states (n, d) and actions (n, m) are vectors.

    moves: A, (d, d). pushes: B, (d, m). weights: of the squares of states and then of actions, all
    positive. By default a mass on a line: its place and speed, pushed by a force.
    """

    def __init__(self, moves: Any = None, pushes: Any = None, weights: Any = None):
        from gymnasium import spaces

        self.moves = np.array([[1.0, 0.1], [0.0, 1.0]] if moves is None else moves, dtype=float)
        self.pushes = np.array([[0.0], [0.1]] if pushes is None else pushes, dtype=float)
        n_places, n_forces = self.pushes.shape
        if self.moves.shape != (n_places, n_places):
            raise InvalidParameter(
                f"moves must be ({n_places}, {n_places}), as pushes have {n_places} rows; the "
                f"shape is {self.moves.shape}"
            )
        k = n_places + n_forces
        self.weights = as_weights([1.0] * n_places + [0.1] * n_forces if weights is None
                                  else weights, k)  # fmt: skip
        self.action_space = spaces.Box(-LARGEST, LARGEST, (n_forces,), np.float64)
        self.observation_space = spaces.Box(-np.inf, np.inf, (n_places,), np.float64)
        self.feature_names = (
            *(f"-x{i}^2" for i in range(n_places)),
            *(f"-u{j}^2" for j in range(n_forces)),
        )

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Standard normal states."""
        return rng.normal(size=(n, len(self.moves)))

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The linear step, and the costs of where it began."""
        forces = np.clip(np.reshape(actions, (len(states), -1)), -LARGEST, LARGEST)
        after = states @ self.moves.T + forces @ self.pushes.T
        rewards = self.features(states, forces, after, None) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def features(self, observation: Any, action: Any, after: Any, ended: Any) -> Floats:
        """Minus the squares of the state and of the action, (n, k)."""
        states = np.atleast_2d(observation)
        forces = np.clip(np.reshape(action, (len(states), -1)), -LARGEST, LARGEST)
        return np.concatenate([-(states**2), -(forces**2)], axis=1)

    def gain(self, discount: float, weights: Any = None) -> Floats:
        """K of the best policy u = -K x, (m, d), for these weights or the world's own."""
        own = self.weights if weights is None else as_weights(weights, len(self.weights))
        from scipy.linalg import solve_discrete_are

        d, root = len(self.moves), np.sqrt(discount)
        moves, pushes = root * self.moves, root * self.pushes
        places, forces = np.diag(own[:d]), np.diag(own[d:])
        worth = solve_discrete_are(moves, pushes, places, forces)
        return np.linalg.solve(forces + pushes.T @ worth @ pushes, pushes.T @ worth @ moves)

    def best_policy(self, discount: float, weights: Any = None) -> Callable[[Any], Floats]:
        """u = -K x with the gain for these weights, or for the world's own."""
        gain = self.gain(discount, weights)
        return partial(_pushed, gain)


def _pushed(gain: Floats, states: Any) -> Floats:
    found: Floats = -np.atleast_2d(states) @ gain.T
    return found


STRIDE = 0.05
"""Side lengths that a step takes."""
PATCHES = 3
"""Of each kind of ground but the plain one."""
WIDTH = 0.12
"""Of a patch: its standard deviation."""

SIDE = 61
"""Places along each side of the grid."""

MOVES = np.array(
    [(0.0, 0.0), *((math.cos(turn), math.sin(turn)) for turn in np.arange(8) * math.pi / 4)]
)
"""Rest, then the eight directions, counter-clockwise from the right."""


class PointRobot:
    """Array simulator: states (n, 2) are places in the unit square, actions 0 to 8.

    n_features: kinds of ground, plain ground last. seed: of the patches' places, and of the
    weights where none are given.
    """

    action_names = ("rest", "right", "up and right", "up", "up and left", "left",
                    "down and left", "down", "down and right")  # fmt: skip
    axis_names = ("across", "up")

    def __init__(self, n_features: int = 4, seed: int = 0, weights: Any = None):
        from gymnasium import spaces

        self.n_features = whole_number(n_features, "n_features", 2)
        rng = stream(seed, "point-robot", self.n_features)
        self.centres: Floats = rng.random(((self.n_features - 1) * PATCHES, 2))
        drawn = rng.normal(size=self.n_features)
        self.weights: Floats = (
            drawn / np.linalg.norm(drawn)
            if weights is None
            else as_weights(weights, self.n_features)
        )
        self.action_space = spaces.Discrete(len(MOVES))
        self.observation_space = spaces.Box(0.0, 1.0, (2,), np.float64)
        names = [f"patch {kind}" for kind in range(self.n_features - 1)]
        self.feature_names = (*names, "plain ground")

    @property
    def marks(self) -> list[tuple[str, float, float, float]]:
        """Name, place and radius of every patch, for pictures."""
        kinds = np.repeat(self.feature_names[:-1], PATCHES).tolist()
        return [
            (name, x, y, WIDTH) for name, (x, y) in zip(kinds, self.centres.tolist(), strict=True)
        ]

    def best_policy(self, discount: float, weights: Any = None) -> GridPolicy:
        """A policy that is nearly best for these weights, or for the world's own."""
        own = self.weights if weights is None else as_weights(weights, self.n_features)
        plan = GridPlan(self, own, discount, low=(0.0, 0.0), high=(1.0, 1.0), sides=(SIDE, SIDE),
                        settled=1e-9)  # fmt: skip
        return GridPolicy(plan.values.reshape(SIDE, SIDE), STRIDE * MOVES)

    def start(self, n: int, rng: np.random.Generator) -> Floats:
        """Places where episodes begin: anywhere."""
        return rng.random((n, 2))

    def step(self, states: Floats, actions: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """The places after a step, and what the ground before it was worth; nothing ever ends."""
        after = np.empty_like(states)
        chosen = np.ascontiguousarray(actions, dtype=np.int64)
        walk.run(states.size * 4, np.ascontiguousarray(states).ravel(), chosen, MOVES.ravel(),
                 after.ravel())  # fmt: skip
        rewards = self.features(states, chosen, after, None) @ self.weights
        return after, rewards, np.zeros(len(states), dtype=np.bool_)

    def features(self, observation: Floats, action: Any, after: Floats, ended: Any) -> Floats:
        """How much the place before a step belongs to each kind of ground, (n, k)."""
        places = np.atleast_2d(observation)
        found = np.empty((len(places), self.n_features))
        ground.run(found.size * PATCHES * 8, np.ascontiguousarray(places).ravel(),
                   self.centres.ravel(), found.ravel())  # fmt: skip
        return found


@kernel
def walk(states: Any, actions: Any, moves: Any, after: Any) -> None:
    """One stride of each robot; walls stop it."""
    for i in range(len(actions)):
        for axis in range(2):
            place = states[2 * i + axis] + STRIDE * moves[2 * actions[i] + axis]
            after[2 * i + axis] = min(max(place, 0.0), 1.0)


@kernel
def ground(places: Any, centres: Any, found: Any) -> None:
    """Shares of the kinds of ground: the nearest patch of each kind, and what is left."""
    n_places = len(places) // 2
    k = len(found) // max(n_places, 1)
    for i in range(n_places):
        left = 1.0
        for kind in range(k - 1):
            nearest = 8.0
            for patch in range(PATCHES):
                at = 2 * (kind * PATCHES + patch)
                across = places[2 * i] - centres[at]
                along = places[2 * i + 1] - centres[at + 1]
                nearest = min(nearest, across * across + along * along)
            share = left * math.exp(-nearest / (2.0 * WIDTH * WIDTH))
            found[i * k + kind] = share
            left -= share
        found[i * k + k - 1] = left


class GridPolicy:
    """In every place the move whose end is worth most, by values (SIDE, SIDE) between 0 and 1."""

    def __init__(self, values: Floats, moves: Floats):
        self.values, self.moves = np.ascontiguousarray(values), np.ascontiguousarray(moves)

    def __call__(self, places: Any) -> NDArray[np.int64]:
        """Actions (n,) in places (n, 2)."""
        here = np.ascontiguousarray(np.atleast_2d(places), dtype=np.float64)
        actions = np.zeros(len(here), dtype=np.int64)
        best_moves.run(
            here.size * len(self.moves) * 8,
            here.ravel(),
            self.moves.ravel(),
            self.values.ravel(),
            actions,
        )
        return actions


@kernel
def value_at(values: Any, across: Any, along: Any) -> Any:
    """Bilinear interpolation at one place."""
    i = min(int(across * (SIDE - 1)), SIDE - 2)
    j = min(int(along * (SIDE - 1)), SIDE - 2)
    x, y = across * (SIDE - 1) - i, along * (SIDE - 1) - j
    corner = i * SIDE + j
    low = values[corner] * (1.0 - y) + values[corner + 1] * y
    high = values[corner + SIDE] * (1.0 - y) + values[corner + SIDE + 1] * y
    return low * (1.0 - x) + high * x


@kernel
def best_moves(places: Any, moves: Any, values: Any, actions: Any) -> None:
    """The first of the best moves in each place."""
    n_moves = len(moves) // 2
    for i in range(len(actions)):
        best, chosen = 0.0, 0
        for move in range(n_moves):
            across = min(max(places[2 * i] + moves[2 * move], 0.0), 1.0)
            along = min(max(places[2 * i + 1] + moves[2 * move + 1], 0.0), 1.0)
            worth = value_at(values, across, along)
            if move == 0 or worth > best:
                best, chosen = worth, move
        actions[i] = chosen
