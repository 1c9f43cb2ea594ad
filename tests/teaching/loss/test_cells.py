"""Visiting cells against all policies: each is asked, by a linear program, whether it fits."""

import random
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.planning import evaluate, solve
from didact.teaching.loss.cells import PolicyCells, affordable_cells, exact_weights
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.space import weight_space
from tests.all_policies import EveryPolicy, counts_and_losses, largest_loss
from tests.beyond.test_loss_by_angles import model
from tests.decisions import decisions
from tests.effort import chunks, number


def rows_of(bec, pairs):
    shown = shown_pairs(bec.members, [didact.Demonstration([pair]) for pair in pairs])
    return bec.rows.normals[bec.rows.stated_by(shown)]


@pytest.mark.parametrize("seed", chunks(3, 12))
def test_the_worst_cell_is_the_worst_of_all_policies_that_fit(seed):
    rng = np.random.default_rng(seed)
    task = didact.make("garnet", n_states=4, n_actions=3, n_features=3, branching=2, seed=seed)
    bec = didact.equivalence_class(task)
    space = weight_space(bec)
    counts, losses = counts_and_losses(task)
    optimal = np.argwhere(bec.plan.optimal)
    for size in range(4):
        pairs = [tuple(optimal[i]) for i in rng.permutation(len(optimal))[:size]]
        rows = rows_of(bec, pairs)
        found = worst_cell(region_of(space, rows))
        assert found.is_proved
        worst = 0.0 if found.worst is None else found.worst.loss
        assert worst == pytest.approx(largest_loss(counts, losses, rows), abs=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_no_draw_loses_more_and_the_worst_fits(seed):
    task = didact.make("random-grid", size=4, n_features=4, seed=seed)
    bec = didact.equivalence_class(task)
    space = weight_space(bec)
    optimal = np.argwhere(bec.plan.optimal)
    rng = np.random.default_rng(seed)
    rows = rows_of(bec, [tuple(optimal[i]) for i in rng.permutation(len(optimal))[:3]])
    found = worst_cell(region_of(space, rows))
    assert found.is_proved
    drawn = rng.standard_normal((number(4000, 20000), 4))
    fitting = drawn[(drawn @ rows.T >= 0).all(axis=1)] if len(rows) else drawn
    assert space.losses.of(fitting).losses.max(initial=0.0) <= found.worst.loss + 1e-9
    weights = found.worst.weights
    assert not len(rows) or (rows @ weights).min() > -1e-9
    plan = solve(task.mdp, weights + 1e-7 * space.truth)
    loss = evaluate(task, plan, plan=bec.plan).policy_loss
    assert loss == pytest.approx(found.worst.loss, abs=1e-9)


def test_a_walk_stops_at_enough_and_can_be_cut_short():
    task = didact.make("random-grid", size=4, n_features=4, seed=1)
    bec = didact.equivalence_class(task)
    region = region_of(weight_space(bec), rows_of(bec, [tuple(np.argwhere(bec.plan.optimal)[0])]))
    whole, part = worst_cell(region), worst_cell(region, most_cells=2)
    assert not part.finished
    assert not part.is_proved
    assert part.n_cells < whole.n_cells
    assert worst_cell(region, 0.5 * whole.worst.loss).worst.loss > 0.5 * whole.worst.loss


def on_a_sphere(rng, n):
    """So many different rational points, each the best for some weights."""
    found = {}
    while len(found) < n:
        u, v = (Fraction(rng.randint(-30, 30), 10) for _ in range(2))
        size = 1 + u * u + v * v
        found[u, v] = [2 * u / size, 2 * v / size, 1 - 2 / size]
    return list(found.values())


@pytest.mark.parametrize("seed", chunks(3, 40))
def test_renumbering_more_than_256_actions_changes_no_loss(seed):
    """Keys of one byte took actions 0 and 256 for the same, so that cells stayed unvisited."""
    rng = random.Random(f"actions {seed}")
    outcomes, shown = on_a_sphere(rng, rng.choice([520, 600, 700])), on_a_sphere(rng, 3)
    weights = [rng.choice([1, 2, 3]) for _ in range(3)]
    others = rng.sample(outcomes, len(outcomes))
    found = []
    for actions in (outcomes, others):
        bec = didact.equivalence_class(decisions([actions, shown], weights))
        best = (1, bec.plan.optimal_actions(1)[0])
        found.append(worst_cell(region_of(weight_space(bec), rows_of(bec, [best]))))
    assert all(outcome.is_proved for outcome in found)
    assert found[0].n_cells == found[1].n_cells > 20
    assert found[0].worst.loss == pytest.approx(found[1].worst.loss, abs=1e-9)


def extreme_world(seed):
    """Features up to 1e13, chances from 1e-13 on, discounts of 1e-9 and 1 - 1e-12, tiny weights."""
    rng = random.Random(f"extreme {seed}")
    n, m, k = rng.randint(2, 4), rng.randint(2, 3), rng.randint(1, 3)
    ends = [s for s in range(1, n) if rng.random() < 0.35]
    rows = []
    for s in set(range(n)) - set(ends):
        for a in range(m):
            first, other = rng.randrange(n), rng.randrange(n)
            chance = rng.choice(
                [1, 1, 1, Fraction(1, 2), Fraction(1, 10 ** rng.choice([3, 6, 13]))]
            )
            rows += [(s, a, first, chance), (s, a, other, 1 - chance)]
    entries = [0, 0, 1, 1, -1, 2, rng.choice([1, 1, 1, 10**4, 10**8, 10**13])]
    paid = [[rng.choice(entries) for _ in range(k)] for _ in range(n)]
    if seed % 3 == 0:
        drawn = [[[rng.choice(entries) for _ in range(k)] for _ in range(m)] for _ in range(n)]
        paid = [[paid[s]] * m if s in ends else drawn[s] for s in range(n)]
    discounts = ["1/2", "9/10", "0", "1e-9", "0.01", "0.9999", "0.999999", "0.999999999999"]
    mdp = didact.MDP(
        didact.Transitions.from_rows([row for row in rows if row[3]], n, m),
        paid,
        rng.choice(discounts),
        start=rng.choice(["uniform", {0: 1}, {0: 1}]),
        terminal=ends,
    )
    weights = [-2, -1, 0, 1, 1, 3, Fraction(1, 10**6), Fraction(1, 10**12)]
    return didact.Task(mdp, [rng.choice(weights) for _ in range(k)])


def test_what_is_called_the_worst_is_the_worst_at_every_scale():
    """Else close calls are counted: nothing is proved, and nothing fails."""
    n_proved = {True: 0, False: 0}
    for seed in range(number(50, 3000)):
        task = extreme_world(seed)
        bec, every = didact.equivalence_class(task, arithmetic="exact"), EveryPolicy(task)
        space = weight_space(bec)
        optimal = [tuple(pair) for pair in np.argwhere(bec.plan.optimal & space.states[:, None])]
        random.Random(seed).shuffle(optimal)
        most = float(every.policies[0][0])
        for size in range(3):
            shown = shown_pairs(bec.members, [didact.Demonstration([p]) for p in optimal[:size]])
            stated = bec.rows.stated_by(shown)
            found = worst_cell(region_of(space, bec.rows.normals[stated]))
            n_proved[found.is_proved] += 1
            if found.is_proved:
                worst = 0.0 if found.worst is None else found.worst.loss
                true = every.most_within([bec.rows.exact[row] for row in stated])
                near = 1e-6 * max(float(true), space.spread)
                assert worst == pytest.approx(float(true), abs=near), (seed, optimal[:size])
        chart = affordable_cells(space)
        if chart is not None and chart.finish() and chart.cells:
            worst = max(cell.loss for cell in chart.cells)
            assert worst == pytest.approx(most, abs=1e-6 * max(most, space.spread)), seed
    assert min(n_proved.values()) > 20


def with_unreachable(task, paid):
    """The task and one more state, which pays so much of every feature; nothing leads to it."""
    mdp, n = task.mdp, task.mdp.n_states
    moves = mdp.transitions
    sources = np.repeat(np.arange(n * mdp.n_actions), np.diff(moves.offsets))
    rows = [
        (*divmod(source, mdp.n_actions), target, chance)
        for source, target, chance in zip(
            sources.tolist(),
            moves.successors.tolist(),
            moves.probabilities.fractions(),
            strict=True,
        )
    ]
    rows += [(n, action, n if action else 0, 1) for action in range(mdp.n_actions)]
    exact, k = mdp.features.fractions(), mdp.n_features
    larger = didact.MDP(
        didact.Transitions.from_rows(rows, n + 1, mdp.n_actions),
        [*(exact[s * k : s * k + k] for s in range(n)), [paid] * k],
        mdp.exact_discount,
        start=[*mdp.start.fractions(), 0],
        terminal=np.flatnonzero(mdp.terminal).tolist(),
    )
    return didact.Task(larger, task.true_weights.fractions())


@pytest.mark.parametrize("paid", [1, 10**6, 10**13, 10**16])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("six-cell", {}),
        ("random-grid", {"size": 3, "n_features": 3, "seed": 1}),
        ("random-grid", {"size": 3, "n_features": 3, "seed": 1, "slip": "0.2"}),
        ("garnet", {"n_states": 5, "n_features": 3, "seed": 1}),
    ],
)
def test_a_state_that_nothing_leads_to_changes_no_loss(name, settings, paid):
    """An empty lesson was called enough where it loses everything: 1e13 hid all other rewards."""
    task = didact.make(name, **settings)
    larger = with_unreachable(task, paid)
    asked = {"teacher": "exact", "horizon": 1, "loss": "1%", "learner_model": "half-spaces"}
    starts = np.flatnonzero(~task.mdp.terminal).tolist()
    wanted, found = (didact.teach_within(t, **asked, starts=starts) for t in (task, larger))
    assert found.loss_status == wanted.loss_status == "enumerated"
    assert found.demonstrations == wanted.demonstrations
    assert found.within.worst == pytest.approx(wanted.within.worst, abs=1e-12)
    away = [-x for x in task.true_weights.fractions()]
    lost = [evaluate(t, away).worst_policy_loss for t in (task, larger)]
    assert lost[1] == pytest.approx(lost[0], rel=1e-9)
    if paid == 10**13:
        space = weight_space(didact.equivalence_class(larger, scope="all"))
        assert space.n_close


def test_what_is_never_worth_anything_hides_nothing_without_a_close_call():
    """At discount 0 the end that pays 1e13 is worth nothing, and ties are shares of values."""
    moves = np.zeros((2, 2, 2))
    moves[0, :, 1] = 1
    paid = [[[1], [0]], [[10**13], [10**13]]]
    mdp = didact.MDP(moves, paid, 0, start={0: 1}, terminal=[1])
    space = weight_space(didact.equivalence_class(didact.Task(mdp, [1])))
    assert space.worst == 1.0
    chart = affordable_cells(space)
    assert not chart.finish() or max(cell.loss for cell in chart.cells) == 1.0


def test_gaps_that_floats_do_not_see_are_taken_from_exact_counts():
    """At a discount of 1e-9 the second step is worth 1e-18 beside 1: 0 in floats."""
    moves = np.zeros((4, 2, 4))
    moves[0, :, 1] = moves[1, 0, 2] = moves[1, 1, 3] = moves[2, :, 2] = moves[3, :, 3] = 1
    mdp = didact.MDP(moves, [[1], [1], [1], [0]], "1e-9", start={0: 1})
    space = weight_space(didact.equivalence_class(didact.Task(mdp, [1])))
    assert space.worst == pytest.approx(1e-18, rel=1e-6)
    assert space.spread == pytest.approx(5e-19, rel=1e-6)
    assert space.n_close


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
    bec = didact.equivalence_class(model(seed))
    optimal, losses = brute(seed)
    chart = PolicyCells(weight_space(bec))
    assert chart.finish()
    pairs = list(product(*map(range, bec.plan.optimal.shape)))
    for size in range(3):
        for chosen in combinations(pairs, size):
            shown = np.zeros_like(bec.plan.optimal)
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
    bec = didact.equivalence_class(task)
    space = weight_space(bec)
    chart = affordable_cells(space)
    assert chart.finish()
    rng = np.random.default_rng(0)
    drawn = space.losses.of(rng.standard_normal((2000, space.dimension)) @ space.basis)
    pairs = np.argwhere(bec.plan.optimal)
    for n in (1, 2, 4, 6):
        shown = np.zeros_like(bec.plan.optimal)
        shown[tuple(rng.permutation(pairs)[:n].T)] = True
        worst = chart.worst(shown)
        fits = (drawn.optimal | ~shown).all(axis=(1, 2))
        assert drawn.losses[fits].max(initial=0.0) <= worst.loss + 1e-9
        if worst.loss > 0.0:
            plan = solve(task.mdp, list(map(str, exact_weights(space, worst))), arithmetic="exact")
            assert (plan.optimal | ~shown).all()
            assert evaluate(task, plan, plan=bec.plan).policy_loss >= worst.loss - 1e-9


def test_lessons_for_planners_of_small_worlds_are_enumerated_and_lower_bounds_meet_them():
    task = didact.make("random-grid", size=4, n_features=5, seed=0)
    lesson = didact.teach_within(
        task, teacher="exact", horizon=1, loss="1%", learner_model="planner"
    )
    assert lesson.loss_status == "enumerated"
    assert len(lesson.demonstrations) == lesson.lower_bound == 3
    both = didact.teach_within(task, teacher="exact", horizon=1, loss="1%")
    assert dict(both.within.statuses) == {"half-spaces": "enumerated", "planner": "enumerated"}
    assert both.cost == both.lower_bound == 4


def test_a_chart_that_is_stopped_says_nothing_and_goes_on():
    space = weight_space(
        didact.equivalence_class(didact.make("random-grid", size=4, seed=0, n_features=4))
    )
    chart = PolicyCells(space)
    assert not chart.finish(0.0)
    assert chart.finish()
    assert len(chart.cells) == len(chart.walk.seen) == 87


def test_large_worlds_are_out_of_sight():
    bec = didact.equivalence_class(didact.make("random-grid", size=9, seed=0))
    assert affordable_cells(weight_space(bec)) is None
