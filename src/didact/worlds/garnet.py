"""Garnet: random sparse MDPs (Archibald, McKinnon and Thomas 1995), with exact probabilities."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidParameter
from didact.inputs import choice, whole_number
from didact.mdp import MDP, Task, Transitions
from didact.mdp.transitions import MAX_ROWS
from didact.numerics.exact import Numbers
from didact.random import Seed, as_generator
from didact.worlds.grids import MAX_FEATURE_ENTRIES, draw_unit_weights, one_hot

PARTS = 100
"""Probabilities are multiples of 1/PARTS, so that exact arithmetic stays cheap."""

LARGEST_FEATURE = 5


def garnet(
    n_states: int = 30,
    n_actions: int = 4,
    branching: int = 3,
    n_features: int = 5,
    features: str = "one-hot",
    discount: Any = 0.95,
    terminals: int = 0,
    starts: int | None = None,
    seed: Seed = 0,
) -> Task:
    """A random sparse MDP: every action leads to `branching` random states with random shares.

    Successors are a uniform set of distinct states, their probabilities a uniform composition of
    100 parts, each at least 1/100. Features are "one-hot", or "dense" whole numbers from -5 to 5.
    `terminals` random states end; `starts` random others begin (None: all of them). Weights are
    uniform on the signed L1 unit sphere.
    """
    n_states = whole_number(n_states, "n_states", 2, MAX_ROWS)
    n_actions = whole_number(n_actions, "n_actions", 1, MAX_ROWS // n_states)
    branching = whole_number(branching, "branching", 1, min(n_states, PARTS))
    n_features = whole_number(n_features, "n_features", 1, MAX_FEATURE_ENTRIES // n_states)
    n_terminals = whole_number(terminals, "terminals", 0, n_states - 1)
    if n_states * n_actions * branching > 4 * MAX_ROWS:
        raise InvalidParameter(
            f"n_states * n_actions * branching must be at most {4 * MAX_ROWS}; make one smaller"
        )
    choice(features, "features", ("one-hot", "dense"))
    rng = as_generator(seed, "garnet")
    weights = draw_unit_weights(n_features, rng)
    phi = _draw_features(features, n_states, n_features, rng)
    n_rows = n_states * n_actions
    successors = draw_subsets(n_states, branching, n_rows, rng)
    shares = draw_compositions(PARTS, branching, n_rows, rng)
    order = rng.permutation(n_states)
    terminal = np.zeros(n_states, dtype=np.bool_)
    terminal[order[:n_terminals]] = True
    mdp = MDP(
        _transitions(successors, shares, np.repeat(~terminal, n_actions), n_states),
        phi,
        discount,
        start=_start(order[n_terminals:], starts),
        terminal=terminal,
        action_names=[f"action {i}" for i in range(n_actions)],
        feature_names=[f"feature {i}" for i in range(n_features)],
    )
    return Task(mdp, weights, name="garnet" + (f", seed {seed}" if isinstance(seed, int) else ""))


def draw_subsets(n: int, size: int, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Shape (n_rows, size): in each row a uniform subset of range(n), by Floyd's algorithm."""
    chosen = np.empty((n_rows, size), dtype=np.int64)
    for i, last in enumerate(range(n - size, n)):
        drawn = rng.integers(last + 1, size=n_rows)
        taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, last, drawn)
    return chosen


def draw_compositions(
    total: int, parts: int, n_rows: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Shape (n_rows, parts): positive whole numbers with the sum `total`, each way equally likely.

    They are the gaps between parts - 1 distinct cuts in 1 .. total - 1.
    """
    cuts = np.sort(draw_subsets(total - 1, parts - 1, n_rows, rng) + 1, axis=1)
    ends = np.full((n_rows, 1), total)
    return np.diff(np.hstack((np.zeros((n_rows, 1), dtype=np.int64), cuts, ends)), axis=1)


def _draw_features(kind: str, n_states: int, n_features: int, rng: np.random.Generator) -> Numbers:
    if kind == "one-hot":
        return one_hot(rng.integers(n_features, size=n_states), n_features)
    drawn = rng.integers(-LARGEST_FEATURE, LARGEST_FEATURE + 1, size=(n_states, n_features))
    return Numbers(drawn.astype(np.float64))


def _transitions(
    successors: NDArray[np.int64],
    shares: NDArray[np.int64],
    kept: NDArray[np.bool_],
    n_states: int,
) -> Transitions:
    """CSR rows of the kept states; floats of hundredths mean exactly these hundredths."""
    n_rows, branching = successors.shape
    offsets = np.concatenate(([0], np.cumsum(np.where(kept, branching, 0))))
    return Transitions.from_arrays(
        n_states,
        n_rows // n_states,
        offsets,
        successors[kept].ravel(),
        (shares[kept] / PARTS).ravel(),
    )


def _start(others: NDArray[np.int64], starts: int | None) -> Any:
    if starts is None:
        return "uniform"
    count = whole_number(starts, "starts", 1, others.size)
    return [(state, Fraction(1, count)) for state in sorted(others[:count].tolist())]
