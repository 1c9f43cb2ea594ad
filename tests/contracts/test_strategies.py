"""One contract for every registered strategy, on several worlds and kinds of answers."""

from __future__ import annotations

import json
import re
from importlib import metadata

import numpy as np
import pytest

from didact.active import Situation, ask, askable_states, register_strategy, strategies
from didact.active.strategies import Query, highest, next_query
from didact.errors import InvalidParameter
from didact.learners import register_learner
from didact.mdp import Demonstration, Task
from didact.planning import solve
from didact.worlds import gridworld
from tests.active.beliefs import situation_of
from tests.active.weighing import NAME, weighing
from tests.effort import crossed
from tests.models import WORLDS, small_world

BUILT_IN = ("random", "max-entropy", "max-infogain", "max-var", "scot", "exact")
BENCHMARKS = ("scot", "exact")


@pytest.fixture(autouse=True)
def registries(own_registries):
    """The learner of these tests, and registries put back afterwards."""
    register_learner(NAME)(weighing)


def run_of(task, strategy, **settings):
    given = {"n_queries": 3, "horizon": 3, "learner": NAME, "n_points": 80, **settings}
    return ask(task, strategy=strategy, **given)


@pytest.mark.parametrize(
    ("strategy", "name", "horizon"), crossed(BUILT_IN, WORLDS, [1, 3], one_in=2)
)
def test_contract(strategy, name, horizon):
    assert_contract(small_world(name), strategy, horizon=horizon)


def assert_contract(task: Task, strategy: str, **settings) -> None:
    run = run_of(task, strategy, **settings)
    open_states = askable_states(task).tolist()
    optimal = solve(task.mdp, task.true_weights).optimal
    assert set(run.states) <= set(open_states)
    if strategy not in BENCHMARKS:
        assert len(set(run.states)) == len(run.states)
        assert run.n_queries == min(3, len(open_states))
    assert run.ended in ("queries", "done")
    for state, demonstration in zip(run.states, run.demonstrations, strict=True):
        assert demonstration[0][0] == state
        assert len(demonstration) <= settings.get("horizon", 3)
        assert all(optimal[s, a] for s, a in demonstration)
    covered = [step.covered for step in run.steps]
    assert covered == sorted(covered)
    assert covered[-1] <= run.steps[-1].n_elements
    document = json.dumps(run.document(), allow_nan=False)
    assert json.dumps(run_of(task, strategy, **settings).document(), allow_nan=False) == document


def test_the_contract_covers_every_built_in_strategy():
    assert set(BUILT_IN) <= set(strategies())
    assert all(strategies()[name].__module__.startswith("didact.") for name in BUILT_IN)


@pytest.mark.parametrize("strategy", BUILT_IN)
def test_a_world_of_one_choice_is_no_trouble(strategy):
    """One state that loops: whatever it scores, it can only be asked once."""
    task = gridworld(["a"], weights={"a": 1}, discount="0.5")
    run = run_of(task, strategy)
    assert run.n_queries <= 1
    assert run.ended == "done"
    assert run.steps[-1].policy_loss == 0.0


# How a question comes from scores


def scored(scores, open_states=None) -> Query | None:
    task = small_world("random")
    found = situation_of(task, [task.weights])
    if open_states is not None:
        found = Situation(task, found.belief, found.draws, np.array(open_states))
    values = np.zeros(16)
    values[: len(scores)] = scores
    return highest(found, values)


def test_the_highest_open_score_is_asked():
    assert scored([1, 3, 2]) == Query(1, 3.0)
    assert scored([1, 3, 2], open_states=[0, 2]) == Query(2, 2.0)
    assert scored([-5, -3, -4], open_states=[0, 1, 2]) == Query(1, -3.0)


def test_equal_scores_go_to_the_lowest_state():
    assert scored([1, 3, 3]).state == 1
    assert scored([0, 0, 0]).state == 0
    assert scored([1, 3, 3 + 1e-13]).state == 1  # equal up to 1e-12 of the best
    assert scored([1, 3, 3 + 1e-9]).state == 2
    assert scored([1e9, 1e9 + 1e-4]).state == 0
    assert scored([1e-20, 3e-20]).state == 1  # relative to the best, however small


def test_a_score_of_minus_infinity_is_never_asked():
    assert scored([-np.inf] * 16) is None
    assert scored([-np.inf, -7.0], open_states=[0, 1]).state == 1


# Strategies of one's own

OWN = {
    "scores": lambda situation, rng: -np.arange(situation.mdp.n_states),
    "a list": lambda situation, rng: [0.0] * situation.mdp.n_states,
    "whole numbers": lambda situation, rng: np.arange(situation.mdp.n_states),
    "a state": lambda situation, rng: situation.open_states[-1],
    "an int": lambda situation, rng: int(situation.open_states[0]),
    "rng": lambda situation, rng: int(rng.choice(situation.open_states)),
    "losses": lambda situation, rng: situation.losses.mean(axis=0),
    "disagreement": lambda situation, rng: 1.0 - situation.agreement,
}


@pytest.mark.parametrize(
    ("kind", "name"), crossed(OWN, ["random", "slippery", "one-start"], one_in=3)
)
def test_a_strategy_of_ones_own_registers_in_one_line(kind, name):
    register_strategy("mine")(OWN[kind])
    assert strategies()["mine"] is OWN[kind]
    assert_contract(small_world(name), "mine")


def test_own_options_and_memory():
    @register_strategy("round")
    def around(situation, rng, *, step=1):
        place = situation.memory.setdefault("place", -step) + step
        situation.memory["place"] = place
        return place if place in situation.open_states else None

    run = run_of(small_world("random"), "round", strategy_options={"step": 5}, n_queries=9)
    assert (run.states, run.ended) == ((0, 5, 10, 15), "done")
    assert run.settings["step"] == 5
    with pytest.raises(InvalidParameter, match="strategy 'round' has no option 'stride'"):
        run_of(small_world("random"), "round", strategy_options={"stride": 5})


def test_own_demonstrations_are_checked_and_taken():
    register_strategy("told")(lambda situation, rng: Demonstration([(3, 0)]))
    run = run_of(small_world("random"), "told", n_queries=2)
    assert [d.pairs for d in run.demonstrations] == [((3, 0),)] * 2
    register_strategy("wrong")(lambda situation, rng: Demonstration([(99, 0)]))
    with pytest.raises(ValueError, match="state must be from 0 to 15"):
        run_of(small_world("random"), "wrong")


def fails(situation, rng):
    raise RuntimeError("no\nidea")


BAD = {
    "text": (lambda s, rng: "3", "must return 16 scores, a state, a Demonstration or None"),
    "too few": (lambda s, rng: [1.0, 2.0], "must return 16 scores"),
    "truth": (lambda s, rng: True, "must return 16 scores"),
    "nan": (lambda s, rng: np.full(16, np.nan), "the score of state 0 is nan"),
    "inf": (lambda s, rng: np.eye(16)[3] * np.inf, "the score of state"),
    "closed": (lambda s, rng: 99, "must ask an open state"),
    "negative": (lambda s, rng: -1, "must ask an open state"),
    "fraction": (lambda s, rng: 1.5, "must return 16 scores"),
    "fails": (fails, "strategy 'bad' failed: RuntimeError: no idea"),
    "one argument": (lambda s: 0, "strategy 'bad' failed: TypeError"),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("kind", BAD)
def test_bad_strategies_fail_with_one_readable_line(kind):
    function, message = BAD[kind]
    register_strategy("bad")(function)
    with pytest.raises(InvalidParameter, match=re.escape(message)):
        run_of(small_world("random"), "bad")


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_strategys_name_must_be_text(name):
    with pytest.raises(InvalidParameter, match="name must be text"):
        register_strategy(name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_strategies_stay_what_they_are(name):
    with pytest.raises(InvalidParameter, match=f"the strategy '{name}' is built in"):
        register_strategy(name)(lambda situation, rng: None)


def test_installed_strategies_are_found(monkeypatch):
    class Entry:
        name = "installed"

        def load(self):
            return OWN["scores"]

    found = {"didact.strategies": [Entry()]}
    monkeypatch.setattr(metadata, "entry_points", lambda group: found[group])
    assert run_of(small_world("random"), "installed").states == (0, 1, 2)


def test_scores_of_a_finite_posterior_decide_the_question():
    """Two draws that differ in one corner: every informed strategy asks there."""
    task = gridworld(["..", "ab"], weights={".": 0, "a": 1, "b": 0}, discount="0.5")
    found = situation_of(task, [[0.0, 1.0, 0.9], [0.0, 1.0, 1.1]], confidence=100.0)
    differing = np.flatnonzero((found.optimal[0] != found.optimal[1]).any(axis=1))
    for name in ("max-entropy", "max-infogain", "max-var"):
        query = next_query(name, found, np.random.default_rng(0), {})
        assert query.state in differing
        assert query.score > 0.0
