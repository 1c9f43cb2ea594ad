"""Finding, asking and trusting learners; a user's own learner.

Learning from clips: the posterior by direct integration, the margin by a linear program."""

import subprocess
import sys
import warnings
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import didact
from didact.errors import InvalidInput, InvalidModel, InvalidParameter, NotMixed
from didact.learners import Belief, learn, learners, point_belief, register_learner
from didact.learners import learn as learn_module_function
from didact.learners.learn import decisions_of
from didact.random import stream
from didact.worlds import make
from tests.bec.observed.test_observe import watch
from tests.effort import number
from tests.teaching.clips.robots import planned

learn_module = sys.modules[learn_module_function.__module__]


pytestmark = pytest.mark.usefixtures("own_registries")


@pytest.fixture
def mdp():
    return make("six-cell").mdp


SHOWN = [[(2, 2)], [(5, 0), (2, 2)]]


def test_own_weights_become_the_belief_of_a_point(mdp):
    @register_learner("own")
    def own(evidence, rng, *, scale=1.0):
        return [-1.0 * scale, -10.0]

    belief = learn(mdp, SHOWN, learner="own", scale=2.0, seed=3)
    assert isinstance(belief, Belief)
    assert belief.is_point
    assert belief.map_weights.tolist() == [-2.0, -10.0]
    assert belief.learner == "own"
    assert [list(d) for d in belief.demonstrations] == SHOWN
    assert dict(belief.settings) == {"scale": 2.0, "seed": 3}
    assert "own" in learners()
    assert learners()["own"] is own


def test_weights_may_be_whole_numbers_or_texts(mdp):
    register_learner("own")(lambda evidence, rng: [-1, "-1/2"])
    assert learn(mdp, SHOWN, learner="own").map_weights.tolist() == [-1.0, -0.5]


def test_the_learner_gets_evidence_and_the_stream_learn(mdp):
    met = []

    @register_learner("own")
    def own(evidence, rng):
        met.append((evidence, rng.integers(2**60)))
        return np.zeros(2)

    learn(mdp, SHOWN, learner="own", seed=5)
    evidence, number = met[0]
    assert evidence.mdp is mdp
    assert evidence.n_pairs == 3
    assert number == stream(5, "learn").integers(2**60)
    rng = np.random.default_rng(0)
    learn(mdp, SHOWN, learner="own", seed=rng)
    assert met[1][1] == np.random.default_rng(0).integers(2**60)


def test_a_seed_that_is_no_number_is_kept_as_none(mdp):
    register_learner("own")(lambda evidence, rng: np.zeros(2))
    assert learn(mdp, [], learner="own", seed=None).settings["seed"] is None
    with pytest.raises(InvalidParameter, match="seed must be"):
        learn(mdp, [], learner="own", seed=-1)


def test_warnings_are_issued_where_the_caller_stands(mdp):
    register_learner("own")(
        lambda evidence, rng: point_belief(mdp, "own", (), [1.0, 0.0], notes=("one", "two"))
    )
    with pytest.warns(NotMixed) as caught:
        learn(mdp, SHOWN, learner="own")
    assert [str(warning.message) for warning in caught] == ["one", "two"]
    assert {warning.filename for warning in caught} == {__file__}


def test_a_belief_without_problems_is_silent(mdp):
    register_learner("own")(lambda evidence, rng: np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(mdp, SHOWN, learner="own")


def test_options_are_checked_against_the_signature(mdp):
    register_learner("own")(lambda evidence, rng, *, depth=1, width=2: np.zeros(2))
    with pytest.raises(
        InvalidParameter,
        match=r"'own' has no option 'dpeth' \(did you mean 'depth'\?\); it takes depth",
    ):
        learn(mdp, SHOWN, learner="own", dpeth=3)
    register_learner("plain")(lambda evidence, rng: np.zeros(2))
    with pytest.raises(InvalidParameter, match="has no option 'depth'; it takes none"):
        learn(mdp, SHOWN, learner="plain", depth=3)
    register_learner("any")(lambda evidence, rng, **rest: [len(rest), 0])
    assert learn(mdp, SHOWN, learner="any", a=1, b=[2]).map_weights.tolist() == [2.0, 0.0]


def test_options_are_looked_at_before_demonstrations(mdp):
    with pytest.raises(
        InvalidParameter, match="no learner is called 'nobody'; there are birl, bio"
    ):
        learn(mdp, "nonsense", learner="nobody")
    with pytest.raises(InvalidParameter, match="no learner is called 3"):
        learn(mdp, [], learner=3)


def test_failures_of_an_own_learner_are_told_in_one_line(mdp):
    @register_learner("own")
    def own(evidence, rng):
        raise KeyError("a\nb")

    with pytest.raises(InvalidParameter, match="learner 'own' failed: KeyError") as caught:
        learn(mdp, SHOWN, learner="own")
    assert isinstance(caught.value.__cause__, KeyError)

    @register_learner("strict")
    def strict(evidence, rng):
        raise InvalidModel("its own words")

    with pytest.raises(InvalidModel, match=r"^its own words$"):
        learn(mdp, SHOWN, learner="strict")


def test_bugs_of_built_in_learners_are_not_hidden(mdp, monkeypatch):
    def broken(evidence, rng):
        raise ZeroDivisionError

    monkeypatch.setitem(learn_module._learners._loaded, "birl", broken)
    monkeypatch.setattr(learn_module._learners, "_known_options", {})
    with pytest.raises(ZeroDivisionError):
        learn(mdp, SHOWN)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1.0, 2.0, 3.0], "one entry for each of the 2 features"),
        ([1.0, float("nan")], "must be a finite number"),
        (None, "learner 'own' must return a Belief or weights"),
        ("ab", "learner 'own' must return a Belief or weights"),
        ([[1.0], [2.0, 3.0]], "regular array"),
    ],
)
def test_what_is_no_belief_is_refused(mdp, returned, message):
    register_learner("own")(lambda evidence, rng: returned)
    with pytest.raises(InvalidParameter, match=message):
        learn(mdp, SHOWN, learner="own")


def test_a_belief_about_another_model_is_refused(mdp):
    other = make("six-cell").mdp
    register_learner("own")(lambda evidence, rng: point_belief(other, "own", (), [0.0, 0.0]))
    with pytest.raises(InvalidParameter, match="its belief is about another MDP"):
        learn(mdp, SHOWN, learner="own")


def test_names(mdp):
    for bad in ("", 3, None):
        with pytest.raises(InvalidParameter, match="a learner's name must be text"):
            register_learner(bad)
    with pytest.raises(InvalidParameter, match="'birl' is built in"):
        register_learner("birl")(lambda evidence, rng: None)


def test_a_task_stands_for_its_mdp():
    task = make("six-cell")
    options = {"learner": "ml-irl", "n_starts": 1}
    of_task, of_mdp = (learn(given, [[(4, 2)]], **options) for given in (task, task.mdp))
    assert of_task.mdp is task.mdp
    assert (of_task.map_weights == of_mdp.map_weights).all()
    with pytest.raises(InvalidParameter, match="mdp must be an MDP, or a Task; it is 5"):
        learn(5, [[(4, 2)]])


@pytest.mark.parametrize("bad", [[[(0, 1)]], [[(99, 0)]], [[(2, 9)]], [[(2, 2), (5, 0)]], 3, [[]]])
def test_demonstrations_that_cannot_be_are_refused(mdp, bad):
    register_learner("own")(lambda evidence, rng: np.zeros(2))
    with pytest.raises(InvalidInput):
        learn(mdp, bad, learner="own")


def test_installed_learners_are_found(mdp, monkeypatch):
    entry = SimpleNamespace(name="installed", load=lambda: lambda evidence, rng: np.ones(2))
    monkeypatch.setattr(
        metadata, "entry_points", lambda *, group: [entry] if group == "didact.learners" else []
    )
    assert learn(mdp, SHOWN, learner="installed").learner == "installed"
    assert "installed" in learners()


def test_learners_are_loaded_when_they_are_asked():
    """Importing the room loads no learner, and no compiler."""
    code = (
        "import sys, didact.learners\n"
        "names = [n for n in sys.modules if n.startswith('didact.learners.')]\n"
        "assert not {'numba', 'scipy.stats', 'arviz', 'xarray'} & set(sys.modules)\n"
        "assert not any(n.endswith(('.birl', '.ml_irl', '.max_entropy')) for n in names), names\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="module")
def robot():
    world, policy = planned(3, seed=1)
    seen = watch(world, policy, discount=0.95, n_rollouts=8, length=20)
    return world, policy, seen, didact.teach(seen)


def _log_likelihoods(points, lesson, confidence):
    """Of weights (n, k): softmaxes of what each shown situation offers, one after the other."""
    truth, total = lesson.seen.setting.truth, np.zeros(len(points))
    for clip in lesson.clips:
        for rows in clip.rows:
            moved = [row - min(row @ truth, 0.0) * truth for row in rows]
            total -= np.log1p(sum(np.exp(-confidence * (points @ row)) for row in moved))
    return total


def test_draws_have_the_mean_of_the_posterior_by_integration(robot):
    *_, seen, lesson = robot
    confidence = 0.3 / seen.setting.tolerance
    n = number(3000, 6000)
    points = np.random.default_rng(0).normal(size=(40_000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    logs = _log_likelihoods(points[:n], lesson, confidence)
    shares = np.exp(logs - logs.max())
    expected = shares @ points[:n] / shares.sum()
    told = didact.learn(seen, lesson, confidence=confidence, seed=3)
    found = told.belief.samples_flat.mean(axis=0)
    effective = shares.sum() ** 2 / (shares**2).sum()
    assert effective > 100
    np.testing.assert_allclose(found, expected, atol=5 / np.sqrt(effective))


def test_the_centre_has_the_widest_margin(robot):
    *_, seen, lesson = robot
    rows = lesson.cone / np.linalg.norm(lesson.cone, axis=1)[:, None]
    own = didact.learn(seen, lesson, learner="max-margin").centre * seen.setting.scale
    margin = (rows @ (own / np.linalg.norm(own))).min()
    bound = minimize(
        lambda v: -v[-1],
        np.append(own / np.linalg.norm(own), margin),
        constraints=[
            {"type": "ineq", "fun": lambda v: rows @ v[:-1] - v[-1]},
            {"type": "ineq", "fun": lambda v: 1.0 - v[:-1] @ v[:-1]},
        ],
    )
    assert margin == pytest.approx(-bound.fun, abs=1e-6)


def test_planning_for_what_was_learnt_loses_little_by_rows_and_by_returns(robot):
    *_, seen, lesson = robot
    told = didact.learn(seen, lesson)
    assert not told.warnings

    def planner(weights):
        return planned(3, seed=1, weights=tuple(weights))[1]

    good = didact.evaluate(seen, told, planner=planner, n_states=200)
    assert abs(good.loss.mean) < 0.01 * abs(good.own_return.mean)
    bad = didact.evaluate(seen, -told.weights, planner=planner, n_states=200)
    assert bad.loss.mean > 0.1 * abs(bad.own_return.mean)
    error = np.hypot(bad.loss.error, bad.return_loss.error)
    assert abs(bad.loss.mean - bad.return_loss.mean) < 4 * error + seen.setting.tolerance


def test_situations_are_decisions_that_pay_minus_their_rows(robot):
    *_, seen, lesson = robot
    model = decisions_of(lesson)
    assert model.n_states == lesson.n_steps + 1
    paid = model.features.floats @ seen.setting.truth
    assert paid.max() < 1e-12  # the truth fits what is shown
    rows = np.concatenate([clip.rows for clip in lesson.clips])
    fits = rows @ seen.setting.truth >= 0
    np.testing.assert_array_equal(-model.features.floats[:-1, 1:][fits], rows[fits])


def test_more_confidence_leaves_less_open(robot):
    *_, seen, lesson = robot
    loose = didact.learn(seen, lesson, confidence=0.1 / seen.setting.tolerance)
    tight = didact.learn(seen, lesson, confidence=10 / seen.setting.tolerance)
    assert tight.spread.max() < loose.spread.max()
    assert "feature 0" in repr(tight)


def test_nothing_shown_leaves_the_prior(robot):
    *_, seen, lesson = robot
    told = didact.learn(seen, type(lesson)(seen, (), ()))
    assert np.abs(told.belief.samples_flat.mean(axis=0)).max() < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learner": "ml-irl"}, "learner must be"),
        ({"learner": "max-margin", "confidence": 3.0}, "has no option 'confidence'"),
        ({"nonsense": 3}, "nonsense"),
    ],
)
def test_options_that_do_not_apply_are_refused(robot, change, message):
    *_, seen, lesson = robot
    with pytest.raises(InvalidParameter, match=message):
        didact.learn(seen, lesson, **change)


def test_a_lesson_of_another_observation_is_refused(robot):
    world, policy, seen, lesson = robot
    with pytest.raises(InvalidParameter, match="another observation"):
        didact.learn(watch(world, policy), lesson)
    with pytest.raises(InvalidParameter, match="demonstrations must be"):
        didact.learn(seen, [[(0, 1)]])
