"""What demonstrations leave open, as the studio tells it, against `check` and exact rewards."""

from fractions import Fraction

import numpy as np
import pytest

from didact import check, make, rollout, solve, teach
from didact.app.fitting import fitted, read_demonstrations, rolled
from didact.errors import DidactError

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
