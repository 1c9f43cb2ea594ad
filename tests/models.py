"""Random small models for property tests: ties, near-ties, stochastic moves, terminals, restricted
starts, features of states or of pairs, zero, duplicate and dependent features."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from hypothesis import strategies as st

from didact.mdp import MDP, Task, Transitions
from didact.worlds import gridworld, make

DISCOUNTS = ["0", "1/2", "0.9", "0.95", "0.99", "9999/10000"]
WEIGHTS = ["0", "1", "-1", "2", "-1/2", "1/3", "-10", "1.00000000000000001", "0.1", "0.3"]


@st.composite
def tasks(
    draw: st.DrawFn,
    max_states: int = 5,
    max_actions: int = 3,
    max_features: int = 3,
    discounts: tuple[str, ...] = tuple(DISCOUNTS),
    terminals: bool = True,
) -> Task:
    n_states = draw(st.integers(1, max_states))
    n_actions = draw(st.integers(1, max_actions))
    k = draw(st.integers(1, max_features))
    terminal = draw(st.lists(st.booleans(), min_size=n_states, max_size=n_states))
    terminal[draw(st.integers(0, n_states - 1))] = False
    if not terminals:
        terminal = [False] * n_states
    deterministic = draw(st.booleans())
    rows = []
    for state in range(n_states):
        for action in range(n_actions) if not terminal[state] else ():
            n_targets = 1 if deterministic else draw(st.integers(1, 3))
            targets = [draw(st.integers(0, n_states - 1)) for _ in range(n_targets)]
            shares = [draw(st.integers(1, 4)) for _ in targets]
            rows += [
                (state, action, t, Fraction(share, sum(shares)))
                for t, share in zip(targets, shares, strict=True)
            ]
    entry = st.sampled_from([0, 0, 1, 1, -1, 2, "0.1", "1/3"])
    row = st.lists(entry, min_size=k, max_size=k)
    features: list[object] = [draw(row) for _ in range(n_states)]
    if draw(st.integers(0, 3)) == 0:
        features = [
            [features[s]] * n_actions if terminal[s] else [draw(row) for _ in range(n_actions)]
            for s in range(n_states)
        ]
    alive = [s for s in range(n_states) if not terminal[s]]
    start = draw(st.sampled_from(["uniform", *({s: 1} for s in alive)]))
    mdp = MDP(
        Transitions.from_rows(rows, n_states, n_actions),
        features,
        draw(st.sampled_from(discounts)),
        start=start,
        terminal=terminal_states(terminal),
    )
    weights = draw(st.lists(st.sampled_from(WEIGHTS), min_size=k, max_size=k))
    return Task(mdp, weights)


def terminal_states(mask: list[bool]) -> list[int]:
    return [state for state, ends in enumerate(mask) if ends]


WORLDS = ("six-cell", "random", "slippery", "garnet", "chain", "tied", "one-start")
"""Of `small_world`."""


@cache
def small_world(name: str) -> Task:
    """Ends and no ends, slippery, tied (equalities), one start, one feature: by their names."""
    if name == "tied":
        return gridworld(
            [".a.", "b.a", "..b"], weights={".": 0, "a": 1, "b": -1}, discount="0.9", name="tied"
        )
    if name == "one-start":
        return gridworld(
            ["S..#", ".#.b", "...G"],
            weights={"S": -1, ".": "-1", "b": -3, "G": 0},
            terminal="G", start="S", discount="0.9", name="one start",
        )  # fmt: skip
    made = {
        "six-cell": ("six-cell", {}),
        "random": ("random-grid", {"size": 4, "n_features": 3, "seed": 5}),
        "slippery": (
            "random-grid",
            {"size": 3, "n_features": 3, "slip": "1/4", "terminals": 1, "seed": 1},
        ),
        "garnet": ("garnet", {"n_states": 6, "branching": 2, "terminals": 1, "seed": 2}),
        "chain": ("chain", {}),
    }
    kind, parameters = made[name]
    return make(kind, **parameters)
