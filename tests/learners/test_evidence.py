"""Answers as choices: their likelihoods and slopes against brute force and finite differences."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import didact
from didact.errors import InvalidModel, Unsupported
from didact.learners import load_belief
from didact.learners.certificate import certify
from didact.learners.chains.scores import Scorer, score, shown_in
from didact.learners.evidence import as_answers, as_evidence, trajectory_features
from didact.learners.likelihood import Likelihood
from didact.learners.points.max_entropy import Dual, SoftPlan
from didact.mdp import Comparison, Demonstration, Preference, Ranking, Stop
from didact.mdp.items import as_items
from didact.planning import solve
from tests.effort import examples, number
from tests.models import tasks
from tests.oracles import Plain, optimal_sets

CONFIDENCE = 3.0


def walk(mdp, rng, start: int, length: int) -> Demonstration:
    """A random walk of so many steps, or until it ends."""
    pairs, state = [], start
    for _ in range(length):
        action = int(rng.integers(mdp.n_actions))
        pairs.append((state, action))
        row = state * mdp.n_actions + action
        moves = mdp.transitions
        state = int(rng.choice(moves.successors[moves.offsets[row] : moves.offsets[row + 1]]))
        if mdp.terminal[state]:
            break
    return Demonstration(pairs)


def some_items(mdp, seed: int) -> list:
    """A few items of all kinds that a model takes."""
    rng = np.random.default_rng(seed)
    alive = np.flatnonzero(~mdp.terminal)
    found: list = []
    for _ in range(3):
        start = int(rng.choice(alive))
        if mdp.n_actions > 1:
            found.append(Comparison(start, *rng.permutation(mdp.n_actions)[:2].tolist()))
        ways = [walk(mdp, rng, start, 2) for _ in range(3)]
        found.append(Stop(ways[0], 1 if len(ways[0]) > 1 else 0, off_is_worth_nothing=True))
        for item in (Ranking(ways), Preference(ways[0], ways[1], bool(seed % 2))):
            try:
                as_items([item], mdp)
            except InvalidModel:
                continue
            found.append(item)
    return found


def plain_worth(mdp, way: Demonstration, weights, first: int = 0) -> float:
    """What a trajectory counts times the weights, by its definition and in fractions."""
    exact, plain = [Fraction(repr(float(w))) for w in weights], Plain(mdp)
    total = Fraction(0)
    for step, (state, action) in enumerate(way):
        if step >= first:
            total += plain.discount**step * plain.reward(state, action, exact)
    ends = plain.row(*way[-1])
    if all(mdp.terminal[target] for target in ends):
        for target, share in ends.items():
            total += plain.discount ** len(way) * share * plain.reward(target, 0, exact)
    return float(total)


def plain_log_likelihood(mdp, items, weights, confidence: float) -> float:
    """The sum over items of the log of what somebody of that confidence says, by definition."""
    q, _ = optimal_sets(Plain(mdp), [Fraction(repr(float(w))) for w in weights])
    total = 0.0
    for item in items:
        if isinstance(item, Comparison):
            worths = [float(q[item.state][item.better]), float(q[item.state][item.other])]
        elif isinstance(item, Stop):
            worths = [0.0, plain_worth(mdp, item.way, weights, item.after)]
        else:
            ways = item.ways if isinstance(item, Ranking) else (item.better, item.other)
            worths = [plain_worth(mdp, way, weights) for way in ways]
        for i in range(len(worths) - 1):
            total += confidence * worths[i]
            total -= math.log(sum(math.exp(confidence * worth) for worth in worths[i:]))
    return total


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
@examples(12, 120)
def test_likelihoods_are_those_of_the_definition(task, seed):
    items = some_items(task.mdp, seed)
    evidence = as_evidence(task.mdp, items)
    wanted = plain_log_likelihood(task.mdp, items, task.weights, CONFIDENCE)
    value, slope = Likelihood(evidence, CONFIDENCE)(task.weights)
    assert value == pytest.approx(wanted, abs=1e-9)
    assert np.isfinite(slope).all()
    kernel = Scorer(evidence)
    for run in (score, score.compiled):
        scored = run(
            kernel.model, kernel.workspace(), shown_in(evidence, CONFIDENCE), task.weights.copy()
        )
        assert scored == pytest.approx(wanted, abs=1e-9)


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
@examples(12, 120)
def test_slopes_are_those_of_finite_differences(task, seed):
    mdp = task.mdp
    evidence = as_evidence(mdp, [*some_items(mdp, seed), [(int((~mdp.terminal).argmax()), 0)]])
    weights = np.random.default_rng(seed).standard_normal(mdp.n_features)
    function = Likelihood(evidence, CONFIDENCE)
    value, slope = function(weights)
    for i, unit in enumerate(np.eye(weights.size)):
        up, down = function(weights + 1e-6 * unit), function(weights - 1e-6 * unit)
        assume(np.allclose(up[1], down[1], atol=1e-2))
        assert slope[i] == pytest.approx((up[0] - down[0]) / 2e-6, abs=1e-4)
    kernel = Scorer(evidence)
    at = score(kernel.model, kernel.workspace(), shown_in(evidence, CONFIDENCE), weights)
    assert at == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("slip", ["0", "1/4"])
def test_the_kernel_gives_the_same_likelihood(slip):
    task = didact.make("random-grid", size=4, n_features=3, seed=1, slip=slip)
    evidence = as_evidence(task.mdp, some_items(task.mdp, 3))
    kernel = Scorer(evidence)
    weights = np.array([0.3, -0.5, 0.8])
    found = score(kernel.model, kernel.workspace(), shown_in(evidence, CONFIDENCE), weights)
    assert found == pytest.approx(Likelihood(evidence, CONFIDENCE)(weights)[0], abs=1e-9)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_orders_of_some_trajectories_are_all_that_can_be_said(m):
    """Their probabilities sum to 1, so that rankings have a likelihood and no mere score."""
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    rng = np.random.default_rng(0)
    ways = [walk(task.mdp, rng, 5, 3) for _ in range(m)]
    total = sum(
        math.exp(Likelihood(as_evidence(task.mdp, [Ranking(order)]), 2.0)(task.weights)[0])
        for order in itertools.permutations(ways)
    )
    assert total == pytest.approx(1.0)


def test_corrections_say_what_preferences_say_and_rankings_of_two_too():
    task = didact.make("random-grid", size=4, n_features=3, seed=1)
    ways = [(5, 1), (9, 3)], [(5, 3), (6, 1)]
    said = [Preference(*ways), Preference(*ways, correction=True), Ranking(ways)]
    values = [Likelihood(as_evidence(task.mdp, [item]), 2.0)(task.weights)[0] for item in said]
    assert values == [values[0]] * 3


def test_a_terminal_state_counts_once():
    task = didact.make("six-cell")
    mdp = task.mdp
    ending = next(
        (s, a)
        for s in range(mdp.n_states)
        for a in range(mdp.n_actions)
        if not mdp.terminal[s] and Plain(mdp).row(s, a).keys() <= {int(mdp.terminal.argmax())}
    )
    features, end = mdp.features.floats, int(mdp.terminal.argmax())
    wanted = features[ending[0]] + mdp.discount * features[end]
    assert trajectory_features(mdp, Demonstration([ending])) == pytest.approx(wanted)


@given(tasks(discounts=("0", "1/2", "0.9")), st.integers(0, 99))
@examples(12, 80)
def test_maximum_entropy_compares_actions_by_its_own_policy(task, seed):
    """P(a rather than b) = p(a) / (p(a) + p(b)), and the slope is that of finite differences."""
    mdp, items = task.mdp, some_items(task.mdp, seed)
    weights = np.random.default_rng(seed).standard_normal(mdp.n_features)
    compared = [item for item in items if isinstance(item, Comparison)]
    policy = SoftPlan(mdp, weights).policy
    wanted = sum(
        math.log(policy[c.state, c.better] / policy[c.state, [c.better, c.other]].sum())
        for c in compared
    )
    assert Dual(as_evidence(mdp, compared))(weights)[0] == pytest.approx(wanted, abs=1e-8)
    function = Dual(as_evidence(mdp, items), penalty=0.1)
    _, slope = function(weights)
    for i, unit in enumerate(np.eye(weights.size)):
        rise = function(weights + 1e-5 * unit)[0] - function(weights - 1e-5 * unit)[0]
        assert slope[i] == pytest.approx(rise / 2e-5, abs=1e-4)


@pytest.mark.parametrize("learner", ["ml-irl", "max-entropy", "birl"])
def test_noisy_comparisons_lead_to_the_weights(learner):
    """Somebody who errs as often as they should compares many pairs of actions.

    On such grids w + t 1 has the same differences for every t, so weights are seen less their mean.
    """
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    mdp, confidence, truth = task.mdp, 4.0, np.array([0.6, -0.64, 0.48])
    soft = learner == "max-entropy"
    values = (
        SoftPlan(mdp, confidence * truth).action_values
        if soft
        else confidence * solve(mdp, truth).action_values
    )
    rng = np.random.default_rng(0)
    said = []
    for _ in range(number(500, 1000)):
        state, (a, b) = int(rng.integers(mdp.n_states)), rng.permutation(4)[:2].tolist()
        right = rng.random() < 1.0 / (1.0 + math.exp(values[state, b] - values[state, a]))
        said.append(Comparison(state, *((a, b) if right else (b, a))))
    options = {"ml-irl": {"confidence": 4.0, "n_starts": 2}, "birl": {"confidence": 4.0}}
    belief = didact.learn(task, said, learner=learner, **options.get(learner, {}))
    found = belief.map_weights - belief.map_weights.mean()
    wanted = (confidence if soft else 1.0) * (truth - truth.mean())
    assert found == pytest.approx(wanted, abs=0.15 * np.linalg.norm(wanted))
    assert belief.feedback == tuple(said)


def test_preferences_beside_demonstrations_narrow_a_belief(tmp_path):
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    rng = np.random.default_rng(0)
    ways = walk(task.mdp, rng, 5, 4), walk(task.mdp, rng, 5, 4)
    better = max(ways, key=lambda way: plain_worth(task.mdp, way, task.weights))
    other = next(way for way in ways if way is not better)
    alone = didact.learn(task, [[(0, 1)]], confidence=20.0)
    both = didact.learn(task, [[(0, 1)], Preference(better, other)], confidence=20.0)
    row = trajectory_features(task.mdp, better) - trajectory_features(task.mdp, other)
    assert (both.samples_flat @ row < 0).mean() < (alone.samples_flat @ row < 0).mean()
    assert both.is_mixed
    path = tmp_path / "belief.npz"
    both.save(path)
    again = load_belief(path, task.mdp)
    assert again.feedback == both.feedback
    assert again.fit().log_likelihood == both.fit().log_likelihood
    assert "1 answer" in str(both)


def test_a_certificate_needs_answers_that_are_true():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    plan = solve(task)
    state = next(s for s in range(16) if plan.optimal[s].sum() == 1)
    best = int(plan.optimal[state].argmax())
    other = (best + 1) % 4
    right, wrong = Comparison(state, best, other), Comparison(state, other, best)
    assert certify(as_evidence(task.mdp, [right] * 9), task.weights, 1e-3).holds is True
    judged = certify(as_evidence(task.mdp, [right, wrong]), task.weights, 1.0)
    assert judged.holds is False
    assert "not true" in judged.reason
    same = Preference([(5, 1)], [(5, 1)])
    assert certify(as_evidence(task.mdp, [same] * 3), task.weights, 1.0).holds is True


def test_only_wrong_is_refused_with_the_reason():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    with pytest.raises(InvalidModel, match="Say which action is better"):
        didact.learn(task, [{"kind": "wrong", "state": 3, "action": 1}])


@pytest.mark.parametrize("learner", ["policy-matching", "bio-irl"])
def test_learners_from_demonstrations_alone_say_so(learner):
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    with pytest.raises(Unsupported, match="birl, ml-irl or max-entropy"):
        didact.learn(task, [Comparison(0, 1, 2)], learner=learner)


def test_own_learners_are_given_answers_where_they_ask_for_them():
    def counting(evidence, rng):
        return np.full(evidence.mdp.n_features, float(len(evidence.answers)))

    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    didact.register_learner("counts-answers")(counting)
    with pytest.raises(Unsupported):
        didact.learn(task, [Comparison(0, 1, 2)], learner="counts-answers")
    counting.takes_feedback = True
    belief = didact.learn(task, [Comparison(0, 1, 2)], learner="counts-answers")
    assert belief.map_weights.tolist() == [1.0, 1.0, 1.0]
    assert belief.feedback == (Comparison(0, 1, 2),)


def test_nothing_said_is_nothing():
    task = didact.make("random-grid", size=4, n_features=3, seed=2)
    assert len(as_answers(task.mdp, [])) == 0
    assert as_evidence(task.mdp, []).is_empty
