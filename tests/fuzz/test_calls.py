"""Wrong calls from Python: every parameter of every public function, given what it does not take.

Each answers, or refuses in one line of a `DidactError`; nothing raw comes through.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import gymnasium
import numpy as np
import pytest

import didact
from tests.effort import takes_all


@dataclass(frozen=True)
class Settings:
    trials: int = 1
    seed: int = 0


class Unwritable:
    """Its own repr fails."""

    def __repr__(self):
        raise RuntimeError("no repr")


class Unreadable:
    """It looks like a list, and fails when it is gone through."""

    def __len__(self):
        raise RuntimeError("no len")

    def __iter__(self):
        raise RuntimeError("no iter")


def fails(*_):
    return 1 / 0


def mdp():
    return didact.make("six-cell").mdp


@cache
def seen():
    return didact.observe("point-robot", discount=0.5, n_rollouts=2, length=2)


MOVES = [[[1, 0], [0, 1]], [[0, 0], [0, 0]]]
SHOWN = [[(4, 2)]]
STRANGE = {
    "nothing": None,
    "a list of nothing": [None],
    "true": True,
    "negative": -1,
    "enormous": 10**400,
    "nan": float("nan"),
    "infinite": float("inf"),
    "a word": "x",
    "escapes": "\x1b[31m",
    "an empty list": [],
    "ragged": [[1, 2], [3]],
    "a mapping": {"a": 1},
    "an object": object(),
    "unwritable": Unwritable(),
    "unreadable": Unreadable(),
    "a failing function": fails,
    "an empty array": np.zeros(0),
    "an array of words": np.array(["reachable", "all"]),
    "records": np.zeros(2, dtype=[("a", int)]),
    "a task": didact.make("six-cell"),
    "an mdp": mdp(),
}
MORE = {
    "false": False,
    "zero": 0,
    "one": 1,
    "enormously negative": -(10**400),
    "a share": 0.5,
    "complex": 1j,
    "no letters": "",
    "bytes": b"x",
    "a list of lists": [[]],
    "a list": [1],
    "words": ["a"],
    "no entries": (),
    "an empty mapping": {},
    "numbers by numbers": {1: 2},
    "a set": set(),
    "a type": int,
    "a matrix": np.zeros((2, 2)),
    "a lone word": np.array("x"),
    "objects": np.array([1, "a"], dtype=object),
    "truths": np.zeros(3, dtype=bool),
    "complex numbers": np.zeros(3, dtype=complex),
    "a lone number": np.array(5),
    "a whole number": np.int64(3),
    "a short float": np.float32(0.5),
    "a fraction": Fraction(1, 3),
    "no number": Decimal("NaN"),
    "beyond floats": Decimal("1e9999"),
    "a range": range(3),
    "pairs": [(0, 1)],
    "demonstrations": [[(0, 1)]],
    "far away": [[(0, 10**30)]],
    "half a state": [[(0.5, 1)]],
    "64 bits": 2**63,
    "divided by zero": "1/0",
}


@cache
def bec():
    return didact.equivalence_class(didact.make("six-cell"))


@cache
def belief():
    return didact.learn(mdp(), SHOWN, n_steps=20, n_chains=1)


@cache
def lesson():
    return didact.teach(didact.make("six-cell"))


def risk(**given):
    return belief().risk(**given)


def contains(**given):
    return bec().cone.contains(**given)


CALLS = {
    "MDP": lambda: dict(
        transitions=MOVES, features=[[1, 0], [0, 1]], discount=0.9, start="uniform", terminal=[1],
        state_names=["a", "b"], action_names=["c", "d"], feature_names=["e", "f"],
    ),
    "Task": lambda: dict(mdp=mdp(), weights=[-1, -10], name="n", layout=None),
    "Family": lambda: dict(members=[didact.make("six-cell")], names=["a"], name="n"),
    "Demonstration": lambda: dict(pairs=[(0, 1)]),
    "gridworld": lambda: dict(rows="ab/ba", weights={"a": 1, "b": 2}, discount=0.9),
    "solve": lambda: dict(mdp=mdp(), weights=[-1, -10], arithmetic="auto"),
    "evaluate": lambda: dict(task=didact.make("six-cell"), policy=[-1.0, -2.0], plan=None),
    "successor_features": lambda: dict(mdp=mdp(), policy=[0] * 6, arithmetic="float"),
    "reachable_states": lambda: dict(mdp=mdp(), allowed=None),
    "reachable_pairs": lambda: dict(mdp=mdp(), allowed=bec().plan.optimal, horizon=2),
    "rollout": lambda: dict(
        mdp=mdp(), policy=[0] * 6, horizon=3, seed=np.random.default_rng(0), start=4
    ),
    "equivalence_class": lambda: dict(
        task=didact.make("six-cell"), scope="all", arithmetic="auto", plan=None
    ),
    "describe": lambda: dict(cone=bec().cone, names=None, kind="state"),
    "prove": lambda: dict(bec=bec(), demonstrations=SHOWN),
    "teach": lambda: dict(
        task=didact.make("six-cell"), teacher="scot", horizon=2, cost="pairs", scope="all",
        arithmetic="auto", rollouts=2, starts=[1, 4], budget=3, closed=False, trim=True,
        seed=0, bec=None,
    ),
    "check": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, scope="all", arithmetic="auto",
        bec=None,
    ),
    "mix": lambda: dict(
        task=didact.make("six-cell"), feedback=["comparisons"], cost={"comparisons": 2}, budget=1,
    ),
    "Comparison": lambda: dict(state=2, better=1, other=2),
    "Preference": lambda: dict(better=[(2, 1)], other=[(2, 2)], correction=False),
    "RankedTrajectories": lambda: dict(ways=[[(2, 1)], [(2, 2)]]),
    "Stop": lambda: dict(way=[(2, 1)], after=0, off_is_worth_nothing=True),
    "exam": lambda: dict(
        task=didact.make("six-cell"), ask="actions", closed=True, scope="all", arithmetic="auto",
        bec=None,
    ),
    "audit": lambda: dict(
        task=didact.make("six-cell"), agent=[-1, -2], within=0, exam=None, ask="comparisons",
        scope="all", arithmetic="auto", bec=None,
    ),
    "grade": lambda: dict(answers=["second", "second"]),
    "answers_of": lambda: dict(weights=[-1, -2]),
    "load_exam": lambda: dict(path="none.json"),
    "rank": lambda: dict(  # without tasks, as with the slow tests, it ranks all of our own
        exact=False, tasks=[didact.make("six-cell")], arithmetic="auto", time_limit=1.0, seed=0
    ),
    "select": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, method="greedy", cost="pairs"
    ),
    "learn": lambda: dict(
        mdp=mdp(), demonstrations=SHOWN, learner="birl", seed=0, n_steps=10, n_chains=1,
        confidence=1.0, prior="box",
    ),
    "ask": lambda: dict(
        task=didact.make("six-cell"), strategy="random", n_queries=1, seed=0, n_steps=10,
        n_chains=1, settings=didact.AskSettings(truth=False),
    ),
    "load_task": lambda: dict(path="none.json"),
    "load_family": lambda: dict(path="none.json"),
    "load_lesson": lambda: dict(path="none.json"),
    "load_recording": lambda: dict(source="none.json"),
    "load_belief": lambda: dict(path="none.npz", mdp=mdp()),
    "observe": lambda: dict(
        env="point-robot", policy=None, features=None, weights=None, discount=0.5,
        feature_names=None, n_rollouts=1, length=2, tolerance=0.1, settings={"horizon": 5},
        workers=None, seed=0,
    ),
    "ObserveSettings": lambda: dict(
        starts=None, recorded=None, actions=None, held=1, horizon=5, repeats=None, restore="auto",
        reward_range=None,
    ),
    "ObserveWorkers": lambda: dict(jobs=1, cluster=None, checkpoint=None, progress=None),
    "certify": lambda: dict(
        seen=seen(), lesson=didact.teach(seen()), n_states=3, level=0.9, target=0.5,
        extend=False, seed=1,
    ),
    "evaluate clips": lambda: dict(
        task=seen(), policy=[1, 0, 0, 0], plan=None, planner=None, n_states=3, seed=0
    ),
    "learn clips": lambda: dict(
        mdp=seen(), demonstrations=didact.teach(seen()), learner="max-margin", seed=0
    ),
    "teach clips": lambda: dict(task=seen(), demonstrations="clips"),
    "load_observed": lambda: dict(path="none.npz", env=None, policy=None, features=None),
    "save task": lambda: dict(path="six.json"),
    "save family": lambda: dict(path="family.json"),
    "register_teacher": lambda: dict(name="mine"),
    "risk": lambda: dict(policy=None, level=0.95, delta=0.05),
    "contains": lambda: dict(weights=[1, 2]),
    "AskSettings": lambda: dict(
        states=[0], asked=[1], repeat=False, truth=False, n_samples=10, on_step=None,
    ),
    "angular_similarity": lambda: dict(normals=[[1, 0]], reference=[[0, 1]], matching="greedy"),
    "attack": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, loss="1%", flip=True, time_limit=1.0,
        bec=None,
    ),
    "demonstrate": lambda: dict(
        task=didact.make("six-cell"), kind="noisy", n=2, horizon=2, confidence=1.0, trust=1.0,
        seed=0,
    ),
    "demonstration_class": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, scope="all"
    ),
    "from_environment": lambda: dict(
        limit=100, features=None, weights=None, discount=0.9, start=None, seed=0,
    ),
    "frontier": lambda: dict(
        task=didact.make("six-cell"), losses=["10%"], learner_model="half-spaces", teacher="scot",
        time_limit=1.0, bec=None, horizon=2,
    ),
    "identify": lambda: dict(
        task=didact.make("six-cell"), changes=None, goal=None, horizon=2,
        scope="reachable", bec=None,
    ),
    "information_gap": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, weights=[-1, -2], horizon=2,
        matching="greedy", scope="all",
    ),
    "informativeness": lambda: dict(
        task=didact.make("six-cell"), demonstrations=SHOWN, rewards=[[-1, -2], [-2, -1]],
        confidence=1.0, measure="information-gap", true=0, level=0.9, n_draws=10, starts="same",
        matching="greedy", horizon=2, seed=0,
    ),
    "load_agent": lambda: dict(path="none.zip", env=None, trust_pickle=False),
    "make": lambda: dict(source="random-grid", size=3, n_features=2, seed=0),
    "reward_terms": lambda: dict(env="point-robot", policy=None, n_steps=10, seed=0),
    "ng_russell": lambda: dict(task=didact.make("six-cell"), policy=[0] * 6),
    "register_learner": lambda: dict(name="mine"),
    "register_strategy": lambda: dict(name="mine"),
    "register_study": lambda: dict(name="mine", settings=Settings(), trial=print, quick=None),
    "register_world": lambda: dict(name="mine"),
    "run_study": lambda: dict(
        study="example", quick=True, jobs=1, cluster=None, store=None, retry=False, progress=False,
    ),
    "teach_mixed": lambda: dict(
        task=didact.make("six-cell"), feedback=["demonstrations"], cost=None, member_cost=None,
        over_teach=False, margin=None, horizon=2, starts=[1], scope="all", arithmetic="auto",
        budget=2, bec=None,
    ),
    "teach_robust": lambda: dict(
        task=didact.make("six-cell"), lies=1, detect=True, repeats=True, time_limit=1.0, horizon=2,
        starts=None, cost="pairs", scope="all", bec=None,
    ),
    "teach_within": lambda: dict(
        task=didact.make("six-cell"), loss="10%", learner_model="half-spaces", teacher="scot",
        time_limit=1.0, horizon=2, starts=None, cost="pairs", budget=2, seed=0, bec=None,
    ),
    "transfer": lambda: dict(
        lesson=lesson(), unseen=[didact.make("six-cell")], of=None, arithmetic="auto", drawn=False
    ),
}  # fmt: skip
OWN = {
    "risk": risk,
    "contains": contains,
    "make": lambda source, **given: didact.make(source, **given),
    "from_environment": lambda **given: didact.from_environment(
        gymnasium.make("FrozenLake-v1"), **given
    ),
    "save task": lambda **given: didact.make("six-cell").save(**given),
    "save family": lambda **given: didact.Family([didact.make("six-cell")]).save(**given),
    "mix": lambda **given: didact.teach_mixed(**given),
    "evaluate clips": lambda **given: didact.evaluate(**given),
    "learn clips": lambda **given: didact.learn(**given),
    "teach clips": lambda **given: didact.teach(**given),
    "grade": lambda **given: didact.exam(didact.make("six-cell"), bec=bec()).grade(**given),
    "answers_of": lambda **given: didact.exam(didact.make("six-cell"), bec=bec()).answers_of(
        **given
    ),
}


def some_of(strange: dict[str, object], place: int) -> list[tuple[str, object]]:
    """One in three strange things for each parameter, others for the next; all with slow tests."""
    return [*strange.items()] if takes_all() else [*strange.items()][place % 3 :: 3]


def refused_in_one_line(name: str, strange: dict[str, object]) -> None:
    function = OWN.get(name) or getattr(didact, name)
    for place, parameter in enumerate(CALLS[name]()):
        for what, value in some_of(strange, place):
            given = CALLS[name]() | {parameter: value}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**given)
            except didact.DidactError as error:
                text = str(error)
                assert text.isprintable(), (parameter, what, text)
                assert len(text) < 400, (parameter, what, text)
            except Exception as error:
                raise AssertionError(f"{name}({parameter}={what}) raised {error!r:.200}") from error


def test_every_public_function_is_called():
    functions = {name for name in didact.__all__ if inspect.isfunction(getattr(didact, name))}
    assert functions <= {*CALLS, "from_gymnasium", "from_minigrid"}  # as from_environment


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused_in_one_line(name, STRANGE)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_more_wrong_calls_are_refused_in_one_line(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused_in_one_line(name, MORE)
