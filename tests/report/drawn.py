"""Worlds to draw: of every kind, with names that would break a careless page."""

import numpy as np

from didact import MDP, Task, from_gymnasium, make

HOSTILE = '<script>hacked=1</script><img src=x onerror="hacked=1">&amp;"\'</title>'


def one_state(n_actions: int = 1, name: str = "one") -> Task:
    features = [np.eye(max(n_actions, 1))[:n_actions].tolist()]
    mdp = MDP([[[1.0]] * n_actions], features, 0.5)
    return Task(mdp, [1] + [-1] * (mdp.n_features - 1), name=name)


def hostile() -> Task:
    long = HOSTILE + "long " * 2000
    mdp = MDP(
        [[[0, 1], [1, 0]], [[1, 0], [0, 1]]],
        [[1, 0], [0, 1]],
        "0.9",
        state_names=[long, HOSTILE + "2"],
        action_names=[HOSTILE + "a", long],
        feature_names=[long, HOSTILE + "f"],
    )
    return Task(mdp, [1, 2], name=long)


WORLDS = {
    "six-cell": lambda: make("six-cell"),
    "grid": lambda: make("random-grid", size=9, n_features=8, seed=0),
    "walls": lambda: make("random-grid", size=6, n_features=3, seed=1, walls="0.2"),
    "slippery": lambda: make("random-grid", size=5, n_features=3, seed=2, slip="0.2"),
    "taxi": lambda: from_gymnasium("Taxi-v4"),
    "cliff": lambda: from_gymnasium("CliffWalking-v1"),
    "lake": lambda: from_gymnasium("FrozenLake-v1"),
    "chain": lambda: make("chain"),
    "garnet": lambda: make("garnet"),
    "balls": lambda: make("ball-sorting"),
    "uvm": lambda: make("uvm-failure"),
    "one": one_state,
    "two-choices": lambda: one_state(2),
    "hostile": hostile,
}
