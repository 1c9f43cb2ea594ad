"""What is invisible, against all policies by brute force; changes, against all sets of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest

import didact
from didact.errors import DidactError
from didact.mdp import MDP, Task
from didact.teaching import identify
from tests.effort import number


def solved(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Reduced row echelon form in fractions."""
    rows, done = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = [x / lead for x in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                factor = row[column]
                rows[i] = [x - factor * y for x, y in zip(row, rows[done], strict=True)]
        done += 1
    return rows[:done]


def seen_by_all_policies(task: Task) -> list[list[Fraction]]:
    """The span of every deterministic policy's rows, in reachable states."""
    mdp = task.mdp
    n, m, k = mdp.n_states, mdp.n_actions, mdp.n_features
    g, phi = mdp.exact_discount, mdp.features.fractions()
    dense = [[[Fraction(0)] * n for _ in range(m)] for _ in range(n)]
    palette, codes = mdp.transitions.exact()
    for row in range(n * m):
        for entry in range(mdp.transitions.offsets[row], mdp.transitions.offsets[row + 1]):
            target = int(mdp.transitions.successors[entry])
            dense[row // m][row % m][target] = palette[codes[entry]]
    live = [s for s in range(n) if not mdp.terminal[s]]
    reached = didact.reachable_states(mdp)
    rows: list[list[Fraction]] = []
    for policy in product(range(m), repeat=len(live)):
        take = dict(zip(live, policy, strict=True))
        system = []
        for s in range(n):
            move = dense[s][take[s]] if s in take else [Fraction(0)] * n
            left = [Fraction(int(s == t)) - g * move[t] for t in range(n)]
            system.append(left + [phi[s * k + i] for i in range(k)])
        mu = [row[n:] for row in solved(system)]
        for s in live:
            if reached[s]:
                each = [
                    [sum(dense[s][a][t] * mu[t][i] for t in range(n)) for i in range(k)]
                    for a in range(m)
                ]
                rows += [[g * (x - y) for x, y in zip(each[0], e, strict=True)] for e in each[1:]]
        rows = solved(rows)
    return rows


def small_worlds() -> list[Task]:
    found = [
        didact.gridworld(["ab", "cd"], dict(zip("abcd", (1, 2, -1, 3), strict=True))),
        didact.gridworld(["ab", "ba"], {"a": 1, "b": -1}, discount="1/2"),
        didact.gridworld(["abg"], {"a": -1, "b": 2, "g": 5}, terminal="g"),
    ]
    return found + [
        didact.make("garnet", n_states=4, n_actions=2, n_features=3, branching=2, seed=seed)
        for seed in range(number(2, 10))
    ]


def test_what_is_invisible_is_so_to_every_policy() -> None:
    for task in small_worlds():
        rows = seen_by_all_policies(task)
        found = identify(task, ["discount=1/3"])
        assert len(found.invisible) == task.mdp.n_features - len(rows)
        for direction in found.invisible:
            for row in rows:
                assert sum(x * y for x, y in zip(direction, row, strict=True)) == 0


def full(discount: str, moves: list[list[int]]) -> Task:
    """A feature for every state: rewards of every kind."""
    n = len(moves)
    dense = [[[int(t == target) for t in range(n)] for target in row] for row in moves]
    features = [[int(s == i) for i in range(n)] for s in range(n)]
    return Task(MDP(dense, features, discount), list(range(1, n + 1)))


def test_two_discounts_identify_up_to_a_constant_exactly_under_the_rank_condition() -> None:
    # Every state leads to every state: shaping by any potential is invisible at one discount, and
    # two discounts leave constants alone. Two cycles that never meet leave a constant for each.
    complete = full("9/10", [[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    found = identify(complete, ["discount=1/2"])
    assert len(found.invisible) == 1 or found.left == ((1, 1, 1),)
    ring = full("9/10", [[1, 2], [2, 0], [0, 1]])
    found = identify(ring, ["discount=1/2"])
    assert found.left == ((1, 1, 1),)
    stuck = full("9/10", [[1, 1], [0, 0], [2, 2]])  # both actions do the same: nothing shows
    found = identify(stuck, ["discount=1/2"])
    assert len(found.invisible) == 3
    assert found.changes is None


def test_the_cheapest_changes_are_those_of_all_sets() -> None:
    for task in small_worlds():
        offered = ["discount=1/3:2", "discount=3/4", "end=1:3", "wall=1", "slip=1/5:2", "start=0:5"]
        found = identify(task, offered)
        if found.changes is None:
            continue
        known = {text: identify(task, [text]) for text in offered}
        others = {text: each.changes for text, each in known.items() if each.changes}
        best = None
        for size in range(1, len(others) + 1):
            for chosen in combinations(others, size):
                family = didact.Family([task, *(others[text][0].task for text in chosen)])
                bec = didact.equivalence_class(family, arithmetic="exact")
                cost = sum(others[text][0].price for text in chosen)
                if len(bec.cone.unidentifiable) == len(found.left) and (
                    best is None or cost < best
                ):
                    best = cost
        assert found.cost == best
        assert found.is_cheapest
        assert found.confirmed


STOCK = ("six-cell", "Taxi-v4", "FrozenLake-v1", "CliffWalking-v1", "random-grid", "garnet")


@pytest.mark.parametrize(
    "name", [*STOCK[:1], *(pytest.param(x, marks=pytest.mark.slow) for x in STOCK[1:])]
)
def test_stock_environments(name: str) -> None:
    task = didact.make(name)
    found = identify(task)
    bec = didact.equivalence_class(task, arithmetic="exact")
    lesson = didact.teach(task, starts="all", bec=bec, horizon=1)
    told = didact.demonstration_class(bec, lesson.demonstrations)
    assert len(told.unidentifiable) >= len(found.invisible)
    assert found.confirmed
    lines = found.lines()
    assert len(lines) <= 25


def test_features_that_never_differ_cannot_be_told_apart() -> None:
    mdp = didact.make("six-cell").mdp
    twice = [[row[0], row[1], row[1]] for row in mdp.features.floats.astype(int).tolist()]
    task = Task(
        MDP(mdp.transitions, twice, mdp.exact_discount, start=mdp.start, terminal=mdp.terminal),
        [-1, -5, -5],
    )
    found = identify(task, goal=(1, 2))
    assert "feature 1 and feature 2 cannot be told apart" in found.told[0]
    assert found.changes is None
    assert found.bounds[0][1].is_proved
    assert "None of" in found.lines()[-1]


def test_bad_input_is_one_line() -> None:
    task = didact.make("random-grid", size=3, n_features=3, seed=0)
    for changes, goal in (
        (["wall"], None),
        (["wall=99"], None),
        (["discount=1/2:0"], None),
        ({"other": 3}, None),
        (["slip=2"], None),
        (None, (0, 9)),
        (None, (1, 1)),
        (None, [0, 0, 0]),
    ):
        with pytest.raises(DidactError) as raised:
            identify(task, changes, goal=goal)
        assert "\n" not in str(raised.value)
