"""One contract for every registered learner, on several worlds and demonstrations."""

from __future__ import annotations

import functools
import json
import math
import re
import warnings

import numpy as np
import pytest

from didact.errors import DidactWarning, InvalidInput
from didact.learners import Belief, learn, learners, load_belief
from didact.learners.files import plain_settings
from didact.learners.learn import option_names
from didact.mdp import MDP, Task
from didact.planning import rollout, solve
from didact.planning.policies import as_policy
from didact.teaching import teach
from tests.effort import crossed
from tests.models import small_world

BUILT_IN = ("birl", "bio-irl", "ml-irl", "policy-matching", "max-entropy")
CHAINS = ("birl", "bio-irl")
QUICK = {
    "birl": {"n_steps": 300, "n_chains": 2},
    "bio-irl": {"n_steps": 60, "n_chains": 2},
    "ml-irl": {"n_starts": 2},
    "policy-matching": {"n_starts": 2},
}


@functools.cache
def world(name: str) -> Task:
    """Small worlds: ends and no ends, slippery, tied, one start, pair features, one feature."""
    if name == "pairs":
        rng = np.random.default_rng(0)
        moves = rng.dirichlet(np.ones(4), size=(4, 3))
        return Task(MDP(moves, rng.normal(size=(4, 3, 3)).round(2), "0.9", start=0), [1, -1, 2])
    if name == "one-feature":
        return one_feature()
    return small_world(name)


def one_feature() -> Task:
    """Four states in a row, the last one pays: k = 1, and its sign is all there is to learn."""
    moves = np.zeros((4, 2, 4))
    for state in range(4):
        moves[state, 0, max(state - 1, 0)] = moves[state, 1, min(state + 1, 3)] = 1.0
    return Task(MDP(moves, [[0], [0], [0], [1]], "0.9"), [1], name="one feature")


WORLDS = ("six-cell", "random", "slippery", "tied", "pairs", "one-feature")


def optimal_pairs(task: Task) -> list[list[tuple[int, int]]]:
    plan = solve(task.mdp, task.true_weights)
    return [
        [(state, plan.optimal_actions(state)[0])]
        for state in np.flatnonzero(~task.mdp.terminal).tolist()
    ][:5]


def trajectories(task: Task) -> list[list[tuple[int, int]]]:
    plan = solve(task.mdp, task.true_weights)
    starts = np.flatnonzero((task.mdp.start.floats > 0) & ~task.mdp.terminal)[:3].tolist()
    return [
        list(rollout(task.mdp, plan, horizon=4, seed=np.random.default_rng(s), start=s))
        for s in starts
    ]


def contradictory(task: Task) -> list[list[tuple[int, int]]]:
    """Every action of one state, and a second time some."""
    state = int(np.flatnonzero(~task.mdp.terminal)[0])
    every = [[(state, action)] for action in range(task.mdp.n_actions)]
    return [*every, *every[:1]]


def suboptimal(task: Task) -> list[list[tuple[int, int]]]:
    plan = solve(task.mdp, task.true_weights)
    values = np.where(task.mdp.terminal[:, None], np.nan, plan.action_values)
    going = np.flatnonzero(~task.mdp.terminal)[:4].tolist()
    return [[(state, int(np.nanargmin(values[state])))] for state in going]


SHOWN = {
    "pairs": optimal_pairs,
    "trajectories": trajectories,
    "repeated": lambda task: optimal_pairs(task)[:2] * 6,
    "suboptimal": suboptimal,
    "contradictory": contradictory,
    "nothing": lambda task: [],
}


@functools.cache
def asked(learner: str, name: str, shown: str, seed: int = 0) -> Belief:
    task = world(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DidactWarning)
        return learn(
            task.mdp, SHOWN[shown](task), learner=learner, seed=seed, **QUICK.get(learner, {})
        )


def test_the_contract_covers_every_built_in_learner():
    assert set(BUILT_IN) <= set(learners())
    assert all(learners()[name].__module__.startswith("didact.") for name in BUILT_IN)


def test_the_worlds_are_of_every_kind():
    mdps = [world(name).mdp for name in WORLDS]
    assert {mdp.is_deterministic() for mdp in mdps} == {True, False}
    assert {mdp.has_action_features for mdp in mdps} == {True, False}
    assert {bool(mdp.terminal.any()) for mdp in mdps} == {True, False}
    assert 1 in {mdp.n_features for mdp in mdps}
    plans = [solve(world(name).mdp, world(name).true_weights) for name in WORLDS]
    assert any((plan.optimal.sum(axis=1) > 1).any() for plan in plans)


@pytest.mark.parametrize(("learner", "name", "shown"), crossed(BUILT_IN, WORLDS, SHOWN, one_in=5))
def test_contract(learner, name, shown, tmp_path):
    belief = asked(learner, name, shown)
    assert_valid(world(name), belief, learner, SHOWN[shown](world(name)))
    assert_tells(belief, learner)
    assert_policy(belief)
    assert_kept(belief, tmp_path)


def assert_valid(task: Task, belief: Belief, learner: str, shown) -> None:
    k = task.mdp.n_features
    assert isinstance(belief, Belief)
    assert belief.mdp is task.mdp
    assert belief.learner == learner
    assert [list(d) for d in belief.demonstrations] == [[tuple(p) for p in d] for d in shown]
    assert belief.samples.shape == (belief.n_chains, belief.n_draws, k)
    assert belief.log_posterior.shape == (belief.n_chains, belief.n_draws)
    assert belief.map_weights.shape == (k,)
    for numbers in (belief.samples, belief.log_posterior, belief.best_by_chain):
        assert np.isfinite(numbers).all()
    assert np.isfinite(belief.map_log_posterior)
    assert belief.map_log_posterior >= belief.log_posterior.max() - 1e-9
    assert belief.map_log_posterior == pytest.approx(belief.best_by_chain.max(), abs=1e-9)
    assert (belief.best_by_chain >= belief.log_posterior.max(axis=1) - 1e-9).all()
    assert belief.is_point is (learner not in CHAINS)
    assert np.isnan(belief.acceptance).all() == belief.is_point


def assert_tells(belief: Belief, learner: str) -> None:
    assert all(isinstance(line, str) and line and "\n" not in line for line in belief.warnings)
    assert str(belief).startswith(f"{learner}: ")
    assert "<table>" in belief._repr_html_()
    assert len(belief.summary()) == belief.mdp.n_features
    assert belief.settings["seed"] == 0
    json.dumps(plain_settings(belief), allow_nan=False)
    assert json.loads(json.dumps(dict(belief.settings), allow_nan=False)) is not None
    if belief.certificate is not None:
        assert belief.certificate.holds in (True, False, None)


def assert_policy(belief: Belief) -> None:
    for of in ("map", "mean"):
        policy = belief.policy(of)
        assert np.array_equal(as_policy(belief.mdp, policy), policy)
    risk = belief.risk()
    assert 0.0 <= risk.var <= risk.worst
    assert math.isfinite(risk.cvar)


def assert_kept(belief: Belief, tmp_path) -> None:
    belief.save(tmp_path / "belief.npz")
    loaded = load_belief(tmp_path / "belief.npz", belief.mdp)
    assert_same(loaded, belief)
    assert loaded.certificate == belief.certificate
    assert loaded.notes == belief.notes
    assert loaded.demonstrations == belief.demonstrations
    assert dict(loaded.settings) == json.loads(json.dumps(dict(belief.settings)))


def assert_same(one: Belief, two: Belief) -> None:
    for name in ("samples", "log_posterior", "map_weights", "best_by_chain", "acceptance"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
    assert one.map_log_posterior == two.map_log_posterior
    assert one.confidence == two.confidence


@pytest.mark.parametrize(("learner", "name"), crossed(BUILT_IN, ["random", "slippery"], one_in=2))
def test_the_same_seed_gives_the_same_belief(learner, name):
    asked_again = asked.__wrapped__
    assert_same(asked_again(learner, name, "pairs"), asked(learner, name, "pairs"))
    if learner in CHAINS:
        other = asked_again(learner, name, "pairs", seed=1)
        assert not np.array_equal(other.samples, asked(learner, name, "pairs").samples)


@pytest.mark.parametrize("learner", BUILT_IN)
def test_the_order_of_demonstrations_changes_nothing(learner):
    """The evidence is how often each pair was shown; BIO-IRL too compares sets of half-spaces."""
    task = world("random")
    shown = optimal_pairs(task)
    options = QUICK.get(learner, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DidactWarning)
        one = learn(task.mdp, shown, learner=learner, **options)
        two = learn(task.mdp, shown[::-1], learner=learner, **options)
    assert np.array_equal(one.samples, two.samples)
    assert np.array_equal(one.log_posterior, two.log_posterior)


@pytest.mark.parametrize("learner", BUILT_IN)
def test_good_demonstrations_teach_a_good_policy(learner):
    """A lesson that is complete and closed: the learned policy is close to the true one."""
    from didact.planning import evaluate

    task = world("six-cell")
    shown = teach(task, closed=True).demonstrations
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DidactWarning)
        belief = learn(task.mdp, shown, learner=learner, **QUICK.get(learner, {}))
    nothing = evaluate(task, np.full((6, 4), 0.25)).policy_loss
    assert evaluate(task, belief.map_weights).policy_loss < 0.05 * nothing


@pytest.mark.parametrize("learner", BUILT_IN)
@pytest.mark.parametrize(
    "bad", [[[(99, 0)]], [[(0, 99)]], [[(-1, 0)]], [[(0, -1)]], [[(0.5, 0)]], [[]], 7, "abc"]
)
def test_demonstrations_that_cannot_be_are_refused(learner, bad):
    refused(learner, bad)


@pytest.mark.parametrize("learner", BUILT_IN)
def test_actions_after_the_end_are_refused(learner):
    task = world("six-cell")
    end = int(np.flatnonzero(task.mdp.terminal)[0])
    refused(learner, [[(end, 0)]], mdp=task.mdp, message="terminal")


CONFIDENT = ("birl", "bio-irl", "ml-irl", "policy-matching")
COUNTS = (
    ("birl", "n_steps"), ("birl", "n_chains"), ("bio-irl", "n_steps"), ("bio-irl", "n_chains"),
    ("ml-irl", "n_starts"), ("policy-matching", "n_starts"),
)  # fmt: skip


def test_the_options_are_those_that_there_are():
    taken = {name: option_names(name) for name in BUILT_IN}
    assert {name for name in BUILT_IN if "confidence" in taken[name]} == set(CONFIDENT)
    counts = ("n_steps", "n_chains", "n_starts")
    assert {(n, o) for n in BUILT_IN for o in taken[n] if o in counts} == set(COUNTS)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "high", None])
@pytest.mark.parametrize("learner", CONFIDENT)
def test_a_confidence_that_is_none_is_refused(learner, bad):
    refused(learner, [[(0, 0)]], confidence=bad, message="confidence")


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, "many", True])
@pytest.mark.parametrize(("learner", "option"), COUNTS)
def test_counts_that_are_none_are_refused(learner, option, bad):
    refused(learner, [[(0, 0)]], **{option: bad}, message=option)


@pytest.mark.parametrize("learner", BUILT_IN)
def test_unknown_options_are_refused(learner):
    refused(learner, [[(0, 0)]], speed=3, message=f"learner '{learner}' has no option 'speed'")


def refused(learner: str, shown, *, mdp: MDP | None = None, message: str = " ", **options) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        learn(mdp or world("random").mdp, shown, learner=learner, **options)
