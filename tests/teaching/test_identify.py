"""What is invisible, against all policies by brute force; changes, against all sets of them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import didact
from didact.bec.classes import EquivalenceClass
from didact.errors import DidactError
from didact.mdp import MDP, Family, Task
from didact.report.words.beliefs import open_lines
from didact.teaching import identify
from didact.teaching.identify import _parsed, _proposed, invisible_words
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
        offered += [f"restart={s}" for s in np.flatnonzero(task.mdp.terminal)]
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


def rays_of(rows: Sequence[Sequence[int]]) -> list[list[Fraction]] | None:
    """Extreme rays of what fits all rows, where k - 1 of them meet; None where it holds a line."""
    k, found = len(rows[0]), []
    if len(solved([[Fraction(x) for x in row] for row in rows])) < k:
        return None
    for meeting in combinations(rows, k - 1):
        basis = solved([[Fraction(x) for x in row] for row in meeting])
        if len(basis) < k - 1:
            continue
        pivots = [next(i for i, x in enumerate(row) if x) for row in basis]
        (free,) = set(range(k)) - set(pivots)
        ray = [Fraction(int(i == free)) for i in range(k)]
        for row, pivot in zip(basis, pivots, strict=True):
            ray[pivot] = -row[free]
        for way in (ray, [-x for x in ray]):
            if all(sum(x * y for x, y in zip(row, way, strict=True)) >= 0 for row in rows):
                found.append(way)
    return found


def reaches(task: Task, rows: Sequence[Sequence[int]], goal: str) -> bool:
    """Whether all rewards that fit the rows are as the goal asks, by LP or extreme rays."""
    kind, value = goal.split("=")
    true = np.array(task.true_weights.floats) / np.linalg.norm(task.true_weights.floats)
    if kind == "order":
        first, second = (int(i) for i in value.split(","))
        normals = np.array([[x / max(map(abs, row)) for x in row] for row in rows], dtype=float)
        known, bounds = np.sign(true[first] - true[second]), []
        for sign in (1, -1):
            objective = np.zeros(len(true))
            objective[[first, second]] = sign, -sign
            zeros = np.zeros(len(normals))
            bounds.append(linprog(objective, -normals, zeros, bounds=(-1, 1)).fun > -1e-7)
        return all(bounds) if not known else bounds[0] if known > 0 else bounds[1]
    rays = rays_of(rows)
    units = [
        np.array(r, dtype=float) / np.linalg.norm(np.array(r, dtype=float)) for r in rays or ()
    ]
    return rays is not None and max(np.degrees(np.arccos(u @ true)) for u in units) <= float(value)


@cache
def worlds_with_changes() -> list[tuple[Task, dict[str, Any]]]:
    """Worlds of three features, and what may be changed in each."""
    worlds = []
    for task in [*small_worlds()[1:], didact.make("random-grid", size=3, n_features=3, seed=4)]:
        given: dict[str, Any] = {}
        for text in (
            "discount=1/3:2",
            "discount=3/4",
            "end=1:3",
            "wall=1",
            "slip=1/5:2",
            "end=2:2",
        ):
            with suppress(DidactError):
                given[text.partition(":")[0]] = _parsed(task, text)
        if task.mdp.n_features == 3:
            worlds.append((task, given))
    return worlds


@cache
def rows_after(place: int, changes: tuple[str, ...]) -> Any:
    """The exact half-spaces of a world and its changed ones, which all goals are judged by."""
    task, given = worlds_with_changes()[place]
    family = Family([task, *(given[name].task for name in changes)])
    return didact.equivalence_class(family, arithmetic="exact").rows.exact


@pytest.mark.parametrize("goal", ["order=0,1", "order=2,0", "angle=60", "angle=80"])
def test_the_cheapest_changes_order_a_pair_or_narrow_the_class(goal: str) -> None:
    """Against all sets of changes, judged by LP or the extreme rays of the family's class."""
    kinds = set()
    for place, (task, given) in enumerate(worlds_with_changes()):
        found = identify(task, {n: (c.task, c.price) for n, c in given.items()}, goal=goal)
        best = None
        for size in range(len(given) + 1):
            for chosen in combinations(given, size):
                cost = sum(given[name].price for name in chosen)
                if best is None or cost < best:
                    rows = rows_after(place, chosen)
                    best = cost if rows and reaches(task, rows, goal) else best
        kinds.add("none" if best is None else "some" if best else "needless")
        assert found.confirmed == (best is not None)
        assert (found.cost or 0) == (best or 0)
        assert bool(best) == bool(found.changes) == found.is_cheapest
        for change in found.tried:
            rows = rows_after(place, (change.name,))
            assert change.is_enough == bool(rows and reaches(task, rows, goal))
    assert len(kinds) > 1


STOCK: tuple[tuple[str, dict[str, Any]], ...] = (
    ("six-cell", {}),
    ("chain", {}),
    ("uvm-failure", {}),
    ("ball-sorting", {}),
    ("random-grid", {}),
    ("random-grid", {"size": 6, "n_features": 4, "slip": "1/10"}),
    ("random-grid", {"size": 5, "n_features": 6, "seed": 3}),
    ("garnet", {}),
    ("garnet", {"n_states": 8, "n_actions": 2, "n_features": 8, "branching": 1, "seed": 1}),
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"map_name": "8x8"}),
    ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}),
    ("CliffWalking-v1", {}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
    ("MiniGrid-Empty-5x5-v0", {}),
    ("MiniGrid-LavaGapS5-v0", {}),
    ("MiniGrid-DoorKey-5x5-v0", {}),
)


def differences(task: Task, direction: Sequence[int]) -> np.ndarray:
    """Of actions' returns in reachable states (n, A) under a direction, for a drawn policy."""
    mdp, rng = task.mdp, np.random.default_rng(0)
    n, m = mdp.n_states, mdp.n_actions
    moves = np.zeros((n * m, n))
    offsets, targets = mdp.transitions.offsets, mdp.transitions.successors
    palette, codes = mdp.transitions.exact()
    for row in range(n * m):
        for entry in range(offsets[row], offsets[row + 1]):
            moves[row, targets[entry]] += float(palette[codes[entry]])
    paid = np.array(mdp.features.floats, dtype=float).reshape(n, -1, mdp.n_features) @ direction
    policy = rng.dirichlet(np.ones(m), size=n)
    ends = np.asarray(mdp.terminal)
    own = np.where(ends[:, None], 0.0, policy)
    chain = np.einsum("sa,sat->st", own, moves.reshape(n, m, n))
    mean = np.where(ends, paid[:, 0], (policy * paid).sum(axis=1))
    discount = float(mdp.exact_discount)
    values = np.linalg.solve(np.eye(n) - discount * chain, mean)
    returns = paid + discount * (moves @ values).reshape(n, m)
    live = didact.reachable_states(mdp) & ~ends
    size = 1 + np.abs(values).max()
    return (returns[live] - returns[live][:, :1]) / size


def spread(task: Task, direction: Sequence[int]) -> float:
    """How much actions differ in return under one direction of the weights, for a drawn policy."""
    return float(np.ptp(differences(task, direction), axis=1).max(initial=0.0))


def n_seen(task: Task, directions: Sequence[Sequence[int]]) -> int:
    """How many of some directions differ in return, and combinations of them."""
    scaled = [np.divide(u, np.abs(np.array(u, dtype=float)).max()) for u in directions]
    seen = np.array([differences(task, u).ravel() for u in scaled])
    return int(np.linalg.matrix_rank(seen, tol=1e-7))


def confirm_all_proposals(task: Task, bec: EquivalenceClass) -> int:
    """Each change that `identify` would propose reveals what it says; how many reveal something.

    Both by floats of another policy, and by a lesson of the task and the change from all starts.
    """
    proposed = {}
    for change in _proposed(task):
        with suppress(DidactError):  # a wall in the only start
            proposed[change.name] = change.task
    found = identify(task, proposed, bec=bec)
    n = len(found.invisible)
    assert found.tried or not n
    for change in found.tried:
        assert n_seen(proposed[change.name], found.invisible) == change.n_revealed, change
        if change.n_revealed:
            family = Family([task, proposed[change.name]], name="one change")
            both = didact.equivalence_class(family, arithmetic="exact")
            lesson = didact.teach(family, teacher="scot", bec=both, horizon=1, starts="all")
            assert lesson.is_complete
            told = didact.demonstration_class(both, lesson.demonstrations)
            hidden = solved([[Fraction(x) for x in row] for row in told.rows.exact])
            assert len(hidden) >= task.mdp.n_features - n + change.n_revealed
    return sum(change.n_revealed > 0 for change in found.tried)


@pytest.mark.parametrize(
    ("name", "settings"),
    [*STOCK[:2], *(pytest.param(*each, marks=pytest.mark.slow) for each in STOCK[2:])],
)
def test_stock_environments(name: str, settings: dict[str, Any]) -> None:
    task = didact.make(name, **settings)
    found = identify(task)
    bec = didact.equivalence_class(task, arithmetic="exact")
    shown = didact.teach(task, starts="all", bec=bec, horizon=1).demonstrations
    told = didact.demonstration_class(bec, shown)
    for direction in found.invisible:  # no demonstration from any start closes a gap
        for row in told.rows.exact:
            assert sum(x * y for x, y in zip(row, direction, strict=True)) == 0
        assert spread(task, direction) < 1e-9
    for direction in found.left:
        for change in found.changes or ():
            assert spread(change.task, direction) < 1e-9
    if found.changes:
        assert len(found.left) < len(found.invisible)
    if found.changes and not found.left:  # some change sees each gap
        for direction in found.invisible:
            assert max(spread(change.task, direction) for change in found.changes) > 1e-6
    assert found.confirmed == (found.changes is not None or not found.invisible)
    if found.invisible:
        assert (confirm_all_proposals(task, bec) > 0) == (found.changes is not None)
    assert len(found.lines()) <= 25


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


def test_an_end_that_leads_back_begins_the_world_again() -> None:
    task = didact.gridworld(["abg"], {"a": -1, "b": 2, "g": 5}, terminal="g")
    found = identify(task, ["restart=2:3"])
    assert found.invisible == ((1, 1, 20),)  # an end pays once what 20 = 1 / (1 - 0.95) steps do
    assert (found.cost, found.left, found.confirmed) == (3, (), True)
    (change,) = found.changes or ()
    mdp, moves = change.task.mdp, change.task.mdp.transitions
    assert not mdp.terminal.any()
    for target, p in enumerate(mdp.start.fractions()):
        for row in range(2 * mdp.n_actions, 3 * mdp.n_actions):
            entries = slice(*moves.offsets[row : row + 2])
            reached = dict(
                zip(
                    moves.successors[entries], moves.probabilities.fractions()[entries], strict=True
                )
            )
            assert reached.get(target, 0) == p
    with pytest.raises(DidactError, match="that ends"):
        identify(task, ["restart=0"])


def test_another_world_is_a_change(tmp_path: Any) -> None:
    task = didact.make("random-grid", size=3, n_features=3, seed=0)
    other = didact.gridworld(["abc"], {"a": 1, "b": 1, "c": 0}, terminal="c")
    other.save(tmp_path / "other.json")
    found = identify(task, [f"world={tmp_path / 'other.json'}:3/2", "discount=1/2"])
    assert (found.cost, found.is_cheapest, found.confirmed) == (Fraction(3, 2), True, True)
    assert (found.changes or ())[0].task.true_weights.fractions() == task.true_weights.fractions()
    same = identify(task, {"other": Task(other.mdp, task.true_weights)})
    assert same.left == found.left == ()
    with pytest.raises(DidactError, match="must have 3 features"):
        identify(task, ["world=six-cell"])


def test_what_cannot_be_narrowed_is_told_where_somebody_learns() -> None:
    for task in small_worlds():
        assert invisible_words(task.mdp) == identify(task, ["discount=1/3"]).told
    grid, six = didact.make("random-grid", size=3, n_features=3, seed=0), didact.make("six-cell")
    for task, told in ((grid, "adding the same amount to every weight changes nothing"), (six, "")):
        lesson = didact.teach(task, horizon=1)
        belief = didact.learn(task, lesson, n_steps=50, n_chains=2)
        assert told in " ".join(open_lines(belief))
        assert bool(open_lines(belief)) == bool(told)
        assert ("didact identify" in belief._repr_html_()) == bool(told)
        assert open_lines(didact.learn(task, lesson, learner="ml-irl")) == []


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
        (None, "order=1,1"),
        (None, "order=0,9"),
        (None, "angle=90"),
        (None, "angle=wide"),
        (None, "order"),
        (None, "0,x"),
    ):
        with pytest.raises(DidactError):
            identify(task, changes, goal=goal)


def test_in_a_family_stays_invisible_what_no_member_shows() -> None:
    first = didact.make("random-grid", size=3, n_features=3, seed=0)
    ended = didact.gridworld(["abc", "aba", "cbt"][:2], dict(zip("abc", (1, 2, -1), strict=True)))
    ended = Task(ended.mdp, first.true_weights, name="rows")
    family = didact.Family([first, ended])
    alone = [identify(task, ["discount=1/2"]).invisible for task in family]
    found = identify(family, ["wall=4", "rows/end=1:2", "1/discount=1/2"])
    assert all(each == ((1, 1, 1),) for each in (*alone, found.invisible))
    assert [change.name for change in found.changes or ()] == ["rows/end=1"]
    assert (found.cost, found.is_cheapest, found.confirmed) == (2, True, True)
    assert [change.n_revealed for change in found.tried] == [0, 1, 0]
    proposed = identify(family)
    assert proposed.confirmed
    assert proposed.left == ()
    odd = didact.Family(family.members, names=("slip=1/2", "slip=1/2/a: b"))
    found = identify(odd, ["slip=1/2/wall=4:2", "slip=1/2/a: b/end=1"])
    assert [change.name for change in found.tried] == ["slip=1/2/wall=4", "slip=1/2/a: b/end=1"]
    assert [change.n_revealed for change in found.tried] == [0, 1]
    for text, words in (("2/wall=1", "member of"), ("other/wall=1", "member of")):
        with pytest.raises(DidactError, match=words):
            identify(family, [text])
    with pytest.raises(DidactError, match="only changes of a family name a member"):
        identify(first, ["0/wall=1"])
