"""What demonstrations leave open, as the studio tells it, against `check` and exact rewards.

Bounds of weights against all corners, in fractions.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

from didact import check, make, rollout, solve, teach
from didact.app.fitting import fitted, read_demonstrations, rolled, weight_bounds
from didact.errors import DidactError
from tests.effort import chunks

TASK = make("random-grid", size=4, n_features=3, seed=3)
LESSON = teach(TASK, teacher="exact")
SHOWN = [[list(pair) for pair in each] for each in LESSON.demonstrations]


@pytest.mark.parametrize("n", range(len(SHOWN) + 1))
def test_verdict_bounds_and_half_spaces_follow_the_demonstrations(n):
    told = fitted(TASK, {"demonstrations": SHOWN[:n], "unit": 0, "pair": [1, 2]})
    verdict = check(TASK, LESSON.demonstrations[:n])
    assert (told["teaches"], told["n_open"]) == (verdict.teaches, verdict.n_open)
    assert (told["believer"] is None) == verdict.teaches
    scaled = [Fraction(w) / abs(TASK.true_weights.fractions()[0])
              for w in TASK.true_weights.fractions()]  # fmt: skip
    for weight, bar in zip(scaled, told["bounds"], strict=True):
        assert bar["proved"]
        assert bar["low"] is None or bar["low"] <= float(weight) + 1e-12
        assert bar["high"] is None or bar["high"] >= float(weight) - 1e-12
    assert (np.array(told["normals"]).reshape(-1, 3) @ TASK.weights >= -1e-12).all()
    assert told["picture"].lstrip().startswith("<svg")


def test_bars_close_in_as_more_is_shown():
    widths = []
    for n in range(len(SHOWN) + 1):
        bars = fitted(TASK, {"demonstrations": SHOWN[:n], "unit": 0})["bounds"]
        ends = [(bar["low"], bar["high"]) for bar in bars]
        widths.append([-np.inf if low is None else low for low, _ in ends])
    assert all((np.array(a) <= np.array(b) + 1e-9).all() for a, b in zip(widths, widths[1:]))  # noqa: B905, RUF007


def test_wrong_steps_are_named():
    plan = solve(TASK.mdp, TASK.true_weights)
    state = int(np.flatnonzero(~plan.optimal.all(axis=1))[0])
    action = int(np.flatnonzero(~plan.optimal[state])[0])
    told = fitted(TASK, {"demonstrations": [[[state, action]]]})
    assert not told["teaches"]
    assert told["wrong"][0]["state"] == state


def test_a_teacher_walks_on_as_rollouts_do():
    plan = solve(TASK.mdp, TASK.true_weights)
    told = rolled(TASK, {"state": 5, "length": 7})["demonstration"]
    rng = np.random.default_rng(1)
    walk = rollout(TASK.mdp, plan.optimal.argmax(axis=1), horizon=7, rng=rng, start=5)
    assert told == [list(pair) for pair in walk]


@pytest.mark.parametrize(
    "given",
    [None, 3, [3], [[]], [[[0]]], [[[0, 9]]], [[[99, 0]]], [[["0", 0]]], [[[0, 0]]] * 61,
     [[[0, 0]] * 2001]],
)  # fmt: skip
def test_demonstrations_are_checked(given):
    with pytest.raises(DidactError):
        read_demonstrations(given, TASK)


@pytest.mark.parametrize(
    "choice", [{"unit": 9}, {"unit": "x"}, {"pair": [0]}, {"pair": [1, 1]}, {"pair": [0, 9]}]
)
def test_choices_are_checked(choice):
    with pytest.raises(DidactError):
        fitted(TASK, {"demonstrations": [], **choice})


def test_families_have_no_one_picture():
    with pytest.raises(DidactError, match="one world"):
        fitted(make("random-grid", size=2, members=2), {"demonstrations": []})


def corners(rows, k: int, unit: int, sign: int) -> list[list[Fraction]]:
    """Every point with w[unit] = sign where k - 1 rows are tight and none is broken."""
    axis = [int(i == unit) for i in range(k)]
    all_rows = fmpq_mat(len(rows), k, [fmpq(x) for row in rows for x in row])
    found = []
    for tight in combinations(rows, k - 1):
        system = fmpq_mat(k, k, [fmpq(x) for row in (axis, *tight) for x in row])
        if system.det() == 0:
            continue
        point = system.solve(fmpq_mat(k, 1, [fmpq(sign), *[fmpq(0)] * (k - 1)]))
        kept = all_rows * point
        if all(kept[i, 0] >= 0 for i in range(len(rows))):
            found.append([Fraction(int(point[i, 0].p), int(point[i, 0].q)) for i in range(k)])
    return found


@pytest.mark.parametrize("seed", chunks(8, 12))
@pytest.mark.parametrize("k", [2, 3, 4])
def test_bounds_are_those_of_the_corners(seed, k):
    rng = np.random.default_rng([seed, k])
    inside = rng.integers(-5, 6, size=k)
    unit = int(rng.integers(k))
    inside[unit] = sign = int(rng.choice([-1, 1]))
    drawn = [tuple(int(x) for x in row) for row in rng.integers(-9, 10, size=(12, k))]
    rows = [row if np.dot(row, inside) >= 0 else tuple(-x for x in row) for row in drawn]
    rows = [row for row in rows if any(row)]
    found, points = weight_bounds(rows, k, unit, sign), corners(rows, k, unit, sign)
    assert points
    for i, (low, high) in enumerate(found):
        assert low.is_proved
        assert high.is_proved
        values = [point[i] for point in points]
        assert low.value is None or low.value == min(values)
        assert high.value is None or high.value == max(values)


def test_what_nothing_bounds_has_no_bound():
    (low, high), unit = weight_bounds([(1, 0)], 2, 1, -1)
    assert (low.value, high.value) == (0, None)
    assert (unit[0].value, unit[1].value) == (-1, -1)
    assert [bound.value for bound in weight_bounds([], 2, 1, 1)[0]] == [None, None]


def test_an_equality_is_a_bound_on_both_sides():
    (low, high), _ = weight_bounds([(3, -1), (-3, 1)], 2, 1, 1)
    assert low.value == high.value == Fraction(1, 3)
