"""The paper's worked example, as fractions: 2.539 w0 - w1 >= 0 and -w0 >= 0."""

from fractions import Fraction

import pytest

from didact.mdp import MDP, Task, Transitions
from didact.planning import evaluate, solve, successor_features
from didact.worlds import make

UP, DOWN, LEFT, RIGHT = range(4)
G = Fraction(9, 10)


def counts_of(task):
    plan = solve(task.mdp, task.true_weights, arithmetic="exact")
    pairs = successor_features(task.mdp, plan, arithmetic="exact").pairs
    return plan, [[[Fraction(int(c.p), int(c.q)) for c in a] for a in s] for s in pairs]


def test_optimal_policy_walks_around_the_grey_cell():
    plan, _ = counts_of(make("six-cell"))
    assert [plan.optimal_actions(s) for s in range(6)] == [[], [LEFT], [DOWN], [UP], [LEFT], [LEFT]]


def test_counts_and_values_are_these_fractions():
    plan, mu = counts_of(make("six-cell"))
    assert mu[3][UP] == [1 + G, 0]
    assert mu[1][LEFT] == [G, 1]
    assert mu[2][DOWN] == [1 + G + G**2 + G**3 + G**4, 0]
    assert mu[2][LEFT] == [1 + G**2, G]
    assert plan.exact_values[2] == -(1 + G + G**2 + G**3 + G**4) == Fraction(-40951, 10000)
    assert plan.exact_values[1] == -10 - G
    assert plan.exact_values[0] == -1


def test_the_printed_constraints():
    """Down instead of left in the top right: (1 + g^2 + g^3) w0 >= w1, which is 2.539."""
    _, mu = counts_of(make("six-cell"))
    row = [a - b for a, b in zip(mu[2][DOWN], mu[2][LEFT], strict=True)]
    assert row[0] / -row[1] == 1 + G**2 + G**3 == Fraction(2539, 1000)
    stay = [a - b for a, b in zip(mu[3][UP], mu[3][LEFT], strict=True)]
    assert stay[1] == 0
    assert stay[0] < 0


@pytest.mark.parametrize(
    ("convention", "ratio"),
    [("once", Fraction(2539, 1000)), ("silent", Fraction(271, 100)), ("self-loop", Fraction(1))],
)
def test_three_terminal_conventions_give_three_constraints(convention, ratio):
    """What w0 must be worth in w1 for the top right cell to go around, by each convention."""
    task = make("six-cell", terminal=convention)
    _, mu = counts_of(task)
    row = [a - b for a, b in zip(mu[2][DOWN], mu[2][LEFT], strict=True)]
    assert row[0] / -row[1] == ratio


@pytest.mark.parametrize(
    ("weights", "uniform", "worst"),
    [((0, -1), 3.607, 5.993), ((-1, "-2.539"), 0.560, None), ((-1, -3), 0.0, 0.0)],
)
def test_losses_on_and_inside_the_boundary(weights, uniform, worst):
    """Proposition 1 fails on the boundary of the class; inside it the loss is zero."""
    result = evaluate(make("six-cell"), list(weights))
    assert result.policy_loss == pytest.approx(uniform, abs=5e-4)
    if worst is not None:
        assert result.worst_policy_loss == pytest.approx(worst, abs=5e-4)


def test_on_path_rows_alone_are_unsafe():
    """s0: a -> (1,0), b -> s1; s1: c -> 0, d -> (0,1); w* = (1,-1): (.1, 5) loses 1.71."""
    start, fork, good, nothing, bad = range(5)
    rows = [(start, 0, good, 1), (start, 1, fork, 1), (fork, 0, nothing, 1), (fork, 1, bad, 1)]
    features = [[0, 0], [0, 0], [1, 0], [0, 0], [0, 1]]
    mdp = MDP(
        Transitions.from_rows(rows, 5, 2), features, "0.9", start=0, terminal=[good, nothing, bad]
    )
    result = evaluate(Task(mdp, [1, -1]), ["0.1", 5])
    assert result.policy_loss == pytest.approx(1.71, abs=1e-12)
