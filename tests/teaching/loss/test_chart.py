"""What learners that plan may lose, against every policy at every direction of weights."""

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import didact
from didact.planning import evaluate, solve
from didact.teaching.loss.chart import Chart, chart_in_sight, exact_weights
from didact.teaching.loss.fan import fan_of
from tests.beyond.test_loss_by_angles import model


def every_direction(counts):
    """Where two policies are worth the same from a state, and one direction between any two."""
    apart = (counts[:, None] - counts[None]).reshape(-1, 2)
    apart = apart[np.linalg.norm(apart, axis=1) > 1e-9]
    angles = np.arctan2(apart[:, 1], apart[:, 0]) + np.pi / 2
    angles = np.unique(np.round(np.concatenate([angles, angles + np.pi]) % (2 * np.pi), 10))
    following = np.append(angles[1:], angles[:1] + 2 * np.pi)
    turns = np.concatenate([angles, ((angles + following) / 2)[following - angles > 1e-6]])
    return np.column_stack([np.cos(turns), np.sin(turns)])


@cache
def brute(seed):
    """For each direction which pairs are optimal (n, S, A), and the least that is then lost."""
    task = model(seed)
    mdp = task.mdp
    moves = np.zeros((mdp.n_states * mdp.n_actions, mdp.n_states))
    for row in range(len(moves)):
        span = slice(*mdp.transitions.offsets[row : row + 2])
        np.add.at(
            moves[row], mdp.transitions.successors[span], mdp.transitions.probabilities.floats[span]
        )
    moves = moves.reshape(mdp.n_states, mdp.n_actions, mdp.n_states)
    phi, states = mdp.features.floats, np.arange(mdp.n_states)
    policies = np.array(list(product(range(mdp.n_actions), repeat=mdp.n_states)))
    sums = [
        np.linalg.solve(np.eye(len(states)) - mdp.discount * moves[states, p], phi)
        for p in policies
    ]
    sums = np.array(sums)
    directions = every_direction(sums.reshape(-1, 2))
    values = np.einsum("psk,nk->nps", sums, directions).max(axis=1)
    ahead = np.einsum("sat,nt->nsa", moves, values)
    gaps = values[:, :, None] - (directions @ phi.T)[:, :, None] - mdp.discount * ahead
    start = np.einsum("psk,s->pk", sums, mdp.start.floats)
    true = start @ task.weights
    returns = directions @ start.T
    best = returns >= returns.max(axis=1)[:, None] - 1e-8
    return gaps <= 1e-8, np.where(best, true.max() - true, np.inf).min(axis=1)


@pytest.mark.parametrize("seed", range(16))
def test_the_most_that_planners_lose_is_that_of_every_direction(seed):
    known = didact.equivalence_class(model(seed))
    optimal, losses = brute(seed)
    chart = Chart(fan_of(known))
    assert chart.finish()
    pairs = list(product(*map(range, known.plan.optimal.shape)))
    for size in range(3):
        for chosen in combinations(pairs, size):
            shown = np.zeros_like(known.plan.optimal)
            for pair in chosen:
                shown[pair] = True
            fits = (optimal | ~shown).all(axis=(1, 2))
            most = losses[fits].max(initial=0.0)
            assert chart.worst(shown).loss == pytest.approx(most, abs=1e-7)


@pytest.mark.parametrize(
    ("size", "k", "slip"),
    [(4, 4, "0"), (3, 4, "0.2"), pytest.param(4, 5, "0", marks=pytest.mark.slow)],
)
def test_no_draw_loses_more_and_what_is_found_holds_in_fractions(size, k, slip):
    task = didact.make("random-grid", size=size, n_features=k, seed=3, slip=slip)
    known = didact.equivalence_class(task)
    fan = fan_of(known)
    chart = chart_in_sight(fan)
    assert chart.finish()
    rng = np.random.default_rng(0)
    drawn = fan.losses.of(rng.standard_normal((2000, fan.dimension)) @ fan.basis)
    pairs = np.argwhere(known.plan.optimal)
    for n in (1, 2, 4, 6):
        shown = np.zeros_like(known.plan.optimal)
        shown[tuple(rng.permutation(pairs)[:n].T)] = True
        worst = chart.worst(shown)
        fits = (drawn.optimal | ~shown).all(axis=(1, 2))
        assert drawn.losses[fits].max(initial=0.0) <= worst.loss + 1e-9
        if worst.loss > 0.0:
            plan = solve(task.mdp, list(map(str, exact_weights(fan, worst))), arithmetic="exact")
            assert (plan.optimal | ~shown).all()
            assert evaluate(task, plan, plan=known.plan).policy_loss >= worst.loss - 1e-9


def test_lessons_for_planners_of_small_worlds_are_enumerated_and_lower_bounds_meet_them():
    task = didact.make("random-grid", size=4, n_features=5, seed=0)
    lesson = didact.teach_within(task, teacher="exact", horizon=1, loss="1%", learner="planner")
    assert lesson.loss_status == "enumerated"
    assert len(lesson.demonstrations) == lesson.lower_bound == 3
    both = didact.teach_within(task, teacher="exact", horizon=1, loss="1%")
    assert dict(both.within.statuses) == {"half-spaces": "enumerated", "planner": "enumerated"}
    assert both.cost == both.lower_bound == 4


def test_a_chart_that_is_stopped_says_nothing_and_goes_on():
    fan = fan_of(didact.equivalence_class(didact.make("random-grid", size=4, seed=0, n_features=4)))
    chart = Chart(fan)
    assert not chart.finish(0.0)
    assert chart.finish()
    assert len(chart.cells) == len(chart.walk.seen) == 87


def test_large_worlds_are_out_of_sight():
    known = didact.equivalence_class(didact.make("random-grid", size=9, seed=0))
    assert chart_in_sight(fan_of(known)) is None
