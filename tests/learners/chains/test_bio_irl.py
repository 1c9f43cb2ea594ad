"""The information gap against its definition, and what BIO-IRL makes of it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import nnls

from didact.errors import InvalidParameter
from didact.learners import learn
from didact.learners.chains.information_gap import InformationGap, information_gap
from didact.learners.evidence import as_evidence, softmax_log_likelihood
from didact.mdp import Task
from didact.planning import evaluate, exact_successor_features, rollouts, solve
from didact.planning.batch import action_values_of
from didact.teaching import teach
from didact.worlds import make
from tests.effort import number


def irredundant(rows: list[np.ndarray]) -> list[np.ndarray]:
    """Distinct directions, each in the cone of the others dropped in turn (scipy's NNLS)."""
    units: list[np.ndarray] = []
    for row in rows:
        unit = row / np.linalg.norm(row)
        if not any(np.linalg.norm(unit - other) < 1e-9 for other in units):
            units.append(unit)
    kept = list(units)
    for unit in units:
        rest = [other for other in kept if other is not unit]
        if rest and nnls(np.array(rest).T, unit)[1] < 1e-9:
            kept = rest
    return kept


def similarity(normals: list[np.ndarray], reference: list[np.ndarray]) -> float:
    """The best one-to-one matching, by trying all of them."""
    if not reference:
        return 1.0
    if not normals:
        return 0.0
    table = np.array(
        [[1 - math.acos(max(-1.0, min(1.0, float(x @ y)))) / math.pi for y in reference]
         for x in normals]
    )  # fmt: skip
    if len(table) > table.shape[1]:
        table = table.T
    columns = range(table.shape[1])
    best = max(
        sum(table[i, c] for i, c in enumerate(chosen))
        for chosen in itertools.permutations(columns, len(table))
    )
    return best / len(reference)


def gap_by_definition(task: Task, demonstrations: list, horizon: int) -> float:
    """Algorithm 2 from exact counts, for deterministic moves: one path from each start."""
    mdp = task.mdp
    plan = solve(mdp, task.true_weights, arithmetic="exact")
    mu = np.vectorize(lambda q: int(q.p) / int(q.q))(exact_successor_features(mdp, plan).pairs)

    def rows(pairs) -> list[np.ndarray]:
        found = [mu[s, a] - mu[s, b] for s, a in pairs for b in range(mdp.n_actions) if b != a]
        return [row for row in found if np.abs(row).max() > 1e-12]

    reached = set(np.flatnonzero(mdp.start.floats > 0))
    for _ in range(mdp.n_states):
        for s, a in itertools.product(sorted(reached), range(mdp.n_actions)):
            offsets = mdp.transitions.offsets
            reached.update(
                mdp.transitions.successors[
                    offsets[s * mdp.n_actions + a] : offsets[s * mdp.n_actions + a + 1]
                ].tolist()
            )
    alive = [s for s in sorted(reached) if not mdp.terminal[s]]
    reference = irredundant(rows((s, a) for s in alive for a in np.flatnonzero(plan.optimal[s])))
    starts = [s for s in np.flatnonzero(mdp.start.floats > 0) if not mdp.terminal[s]]
    if horizon == 1:
        paths = [[(s, a)] for s in starts for a in np.flatnonzero(plan.optimal[s])]
    else:
        paths = []
        for s in starts:
            path = []
            while len(path) < horizon and not mdp.terminal[s]:
                a = int(np.argmax(plan.optimal[s]))
                path.append((s, a))
                s = int(mdp.transitions.successors[mdp.transitions.offsets[s * mdp.n_actions + a]])
            paths.append(path)

    def facets_of(path) -> set[int]:
        units = [row / np.linalg.norm(row) for row in rows(path)]
        return {
            i for i, facet in enumerate(reference)
            if any(np.linalg.norm(facet - unit) < 1e-9 for unit in units)
        }  # fmt: skip

    covered: set[int] = set()
    lesson: list = []
    for _ in demonstrations:
        gains = [len(facets_of(path) - covered) for path in paths]
        if max(gains) == 0:
            break
        pick = int(np.argmax(gains))
        covered |= facets_of(paths[pick])
        lesson += paths[pick]
    shown = {pair for demonstration in demonstrations for pair in demonstration}
    told = similarity(irredundant(rows(sorted(shown))), reference)
    could = similarity(irredundant(rows(sorted(set(lesson)))), reference)
    return abs(told - could)


@pytest.mark.parametrize("seed", range(8))
def test_the_gap_of_trajectories_is_that_of_a_second_implementation(seed):
    task = make("random-grid", size=4, n_features=4, seed=seed)
    plan = solve(task.mdp, task.true_weights)
    rng = np.random.default_rng(seed)
    shown = rollouts(task.mdp, plan, horizon=6, rng=rng, starts=[0, 5])
    gap = InformationGap(as_evidence(task.mdp, shown))
    assert gap.horizon == 6
    expected = gap_by_definition(task, [d.pairs for d in shown], 6)
    assert gap.of(task.weights) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_scots_own_lesson_has_no_gap(seed):
    from didact.teaching import teach

    task = make("random-grid", size=4, n_features=3, seed=seed)
    lesson = teach(task, horizon=1)
    gap = InformationGap(as_evidence(task.mdp, lesson.demonstrations))
    assert gap.of(task.weights) == pytest.approx(0.0, abs=1e-12)


def chain_gaps(length: int, first: int, matching: str) -> dict[str, tuple[float, float]]:
    """For each policy that the demonstration fits, its gap and likelihood under BIRL."""
    mdp = make("chain", length=length).mdp
    demonstration = [(state, 1) for state in range(first, length - 1)]
    evidence = as_evidence(mdp, [demonstration])
    gap = InformationGap(evidence, matching=matching)
    found: dict[str, tuple[float, float]] = {}
    angles = np.linspace(0.03, np.pi, number(20, 40))
    for theta, phi in itertools.product(angles, 2 * angles):
        weights = np.array(
            [np.sin(theta) * np.cos(phi), np.cos(theta), np.sin(theta) * np.sin(phi)]
        )
        plan = solve(mdp, weights)
        if all(plan.optimal[s, a] for s, a in demonstration):
            name = "".join("L" if row[0] else "R" for row in plan.optimal)
            likelihood = softmax_log_likelihood(evidence, plan.action_values, 100.0)
            if matching == "optimal" and name not in found:
                expected = gap_by_definition(
                    Task(mdp, weights.tolist()), [demonstration], len(demonstration)
                )
                assert gap.of(weights) == pytest.approx(expected, abs=1e-7)
            known = found.setdefault(name, (gap(weights, plan.action_values), likelihood))
            assert known[0] == gap.of(weights)
            found[name] = (known[0], max(known[1], likelihood))
    return found


@pytest.mark.parametrize(
    ("length", "first", "nearer_end"),
    [
        (6, 3, "LLLRRR"),
        (5, 2, "LLRRR"),
        pytest.param(8, 4, "LLLLRRRR", marks=pytest.mark.slow),
        pytest.param(7, 3, "LLLRRRR", marks=pytest.mark.slow),
    ],
)
def test_policy_a_of_the_chain_wins_and_more_so_with_trust(length, first, nearer_end):
    found = chain_gaps(length, first, "optimal")
    assert len(found) >= 3
    gaps = {name: gap for name, (gap, _) in found.items()}
    assert min(gaps, key=gaps.__getitem__) == nearer_end
    birl = [likelihood for _, likelihood in found.values()]
    assert min(birl) > math.log(0.99)  # BIRL cannot tell them apart
    shares = []
    for trust in (0, 1, 10, 100):
        density = {n: math.exp(like - trust * gap) for n, (gap, like) in found.items()}
        assert trust == 0 or max(density, key=density.__getitem__) == nearer_end
        shares.append(density[nearer_end] / sum(density.values()))
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(1 / len(found), abs=0.01)
    assert shares[-1] > 0.9


def test_greedy_matching_does_not_find_policy_a():
    """The paper's matching depends on the order of normals; here it costs policy A its place."""
    found = chain_gaps(6, 3, "greedy")
    assert min(found, key=lambda name: found[name][0]) != "LLLRRR"


def test_it_is_remembered_by_optimal_actions():
    mdp = make("chain", length=6).mdp
    gap = InformationGap(as_evidence(mdp, [[(3, 1), (4, 1)]]))
    rng = np.random.default_rng(0)
    policies = set()
    for weights in rng.normal(size=(200, 3)):
        plan = solve(mdp, weights)
        gap(weights, plan.action_values)
        policies.add(plan.optimal.tobytes())
    assert len(gap._known) == len(policies)


def test_empty_and_suboptimal_demonstrations_are_defined():
    task = make("random-grid", size=3, n_features=3, seed=2)
    plan = solve(task.mdp, task.weights)
    empty = InformationGap(as_evidence(task.mdp, []))
    assert empty.of(task.weights) == 0.0  # nothing shown, nothing could have been
    wrong = [[(s, int(np.argmin(plan.action_values[s])))] for s in range(9)]
    gap = InformationGap(as_evidence(task.mdp, wrong)).of(task.weights)
    assert 0.0 < gap <= 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"matching": "best"}, "matching must be 'optimal' or 'greedy'"),
        ({"horizon": 0}, "horizon must be a whole number from 1"),
        ({"scope": "some"}, "scope must be 'reachable' or 'all'"),
    ],
)
def test_bad_options_get_one_line(options, words):
    evidence = as_evidence(make("six-cell").mdp, [])
    with pytest.raises(InvalidParameter, match=words):
        InformationGap(evidence, **options)


WORLDS = {
    "chain": (make("chain", length=6), [[(3, 1), (4, 1)]]),
    "six-cell": (make("six-cell"), [[(4, 2), (3, 0)]]),
    "slippery": (make("random-grid", size=3, n_features=3, slip="1/4", seed=1), [[(4, 0)]]),
    "empty": (make("chain", length=5), []),
}
SHORT = {"n_steps": 400, "n_chains": 2, "seed": 3}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("options", [{}, {"prior": "l1-sphere"}, {"step_size": 0.05, "thin": 3}])
def test_without_trust_it_is_birl_bit_for_bit(name, options):
    task, shown = WORLDS[name]
    birl = learn(task.mdp, shown, learner="birl", **SHORT, **options)
    bio = learn(task.mdp, shown, learner="bio-irl", trust=0, **SHORT, **options)
    assert bio.samples.tobytes() == birl.samples.tobytes()
    assert bio.log_posterior.tobytes() == birl.log_posterior.tobytes()
    assert bio.map_weights.tobytes() == birl.map_weights.tobytes()


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("trust", [1, 100])
def test_every_density_is_birls_less_trust_times_the_gap(name, trust):
    task, shown = WORLDS[name]
    belief = learn(task.mdp, shown, learner="bio-irl", trust=trust, confidence=20.0, **SHORT)
    evidence = as_evidence(task.mdp, shown)
    gap = InformationGap(evidence)
    densities = []
    for chain, logs in zip(belief.samples, belief.log_posterior, strict=True):
        for weights, log in list(zip(chain, logs, strict=True))[::40]:
            plan = solve(task.mdp, weights)
            likelihood = softmax_log_likelihood(evidence, plan.action_values, 20.0)
            densities.append((log, likelihood - trust * gap(weights, plan.action_values)))
    found, expected = np.array(densities).T
    constant = found[0] - expected[0]  # of the prior, which is uniform
    np.testing.assert_allclose(found, expected + constant, atol=1e-8)


def planned(mdp, weights):
    """Action values (n, S, A) under each of the weights (n, k), and the names of their policies."""
    values = action_values_of(mdp, weights)
    optimal = values >= values.max(axis=2, keepdims=True) - 1e-9
    return values, [policy.tobytes() for policy in optimal]


def test_the_chain_visits_policies_as_often_as_their_density_says():
    """Cells by enumeration: a fine grid on the sphere, weighted by the density."""
    task, shown = WORLDS["chain"]
    evidence = as_evidence(task.mdp, shown)
    gap = InformationGap(evidence)
    n = number(28, 60)
    cosines, turns = np.meshgrid(
        (np.arange(n) + 0.5) * 2 / n - 1, (np.arange(2 * n) + 0.5) * np.pi / n, indexing="ij"
    )
    flat = np.sqrt(1 - cosines**2)
    grid = np.stack([flat * np.cos(turns), flat * np.sin(turns), cosines], axis=-1).reshape(-1, 3)
    mass: dict[bytes, float] = {}
    for weights, values, key in zip(grid, *planned(task.mdp, grid), strict=True):
        log = softmax_log_likelihood(evidence, values, 5.0)
        mass[key] = mass.get(key, 0.0) + np.exp(log - 10 * gap(weights, values))
    total = sum(mass.values())
    belief = learn(
        task.mdp, shown, learner="bio-irl", trust=10, confidence=5.0, step_size=0.4, n_steps=8_000,
        n_chains=4, seed=0,
    )  # fmt: skip
    draws = belief.samples.reshape(-1, 3)[:: 12 // number(1, 3)]
    visits: dict[bytes, float] = {}
    for key in planned(task.mdp, draws)[1]:
        visits[key] = visits.get(key, 0.0) + 1 / len(draws)
    for key, share in mass.items():
        assert visits.get(key, 0.0) == pytest.approx(share / total, abs=0.03)


def test_a_lesson_teaches_more_to_a_learner_that_knows_it_is_one():
    """Ball sorting, the paper's chain length, the first demonstration alone: half the loss."""
    losses = {"birl": [], "bio-irl": []}
    for seed in range(number(5, 16)):
        task = make("ball-sorting", seed=seed)
        lesson = teach(task, teacher="scot", horizon=10, budget=1)
        for learner, found in losses.items():
            belief = learn(
                task.mdp, lesson.demonstrations, learner=learner, n_steps=1000, step_size=0.05,
                n_chains=1, seed=seed,
            )  # fmt: skip
            found.append(evaluate(task, belief.map_weights).policy_loss)
    assert np.mean(losses["bio-irl"]) < 0.5 * np.mean(losses["birl"])


@pytest.mark.parametrize("trust", [-1, np.nan, np.inf, "much", True])
def test_trust_must_be_a_finite_number_from_0(trust):
    task, shown = WORLDS["chain"]
    with pytest.raises(InvalidParameter, match="trust must be a finite number from 0"):
        learn(task.mdp, shown, learner="bio-irl", trust=trust)


def test_the_information_gap_of_a_task_by_name():
    """Algorithm 2: the task's weights are the hypothesis unless others are given."""
    task = make("chain", length=6, discount="0.95")
    shown = [[(3, 1), (4, 1)]]
    assert information_gap(task, shown) == InformationGap(as_evidence(task.mdp, shown)).of(
        task.weights
    )
    expected = gap_by_definition(Task(task.mdp, [1, -1, 1]), shown, 2)
    assert information_gap(task, shown, weights=[1, -1, 1]) == pytest.approx(expected, abs=1e-7)
    with pytest.raises(InvalidParameter, match="no weights"):
        information_gap(task.mdp, shown)
