"""One contract for every registered world."""

import numpy as np
import pytest

from didact.errors import InvalidParameter
from didact.mdp import Task, load_task
from didact.mdp.files import task_document
from didact.teaching import frontier, teach_within
from didact.worlds import make, worlds

SMALL = {
    "garnet": [
        {"n_states": 7, "branching": 3},
        {"n_states": 6, "features": "dense", "terminals": 2, "starts": 3},
    ],
    "grid": [{"rows": "..#/S.G", "weights": ".=-1,S=0,G=10", "terminal": "G", "start": "S"}],
    "gymnasium": [{}, {"id": "CliffWalking-v1"}, {"is_slippery": False, "map_name": "8x8"}],
    "random-grid": [
        {"size": 3, "n_features": 2},
        {"size": (4, 5), "n_features": 3, "slip": "1/3", "walls": 5, "terminals": 2},
    ],
    "six-cell": [{}, {"terminal": "silent"}, {"terminal": "self-loop"}],
    "ball-sorting": [{}, {"starts": 25}],
    "chain": [{}, {"length": 8}],
}
CASES = [(name, parameters) for name in worlds() for parameters in SMALL.get(name, [{}])]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request):
    return request.param


def test_the_same_parameters_make_the_same_task(case):
    name, parameters = case
    assert task_document(make(name, **parameters)) == task_document(make(name, **parameters))


def test_the_seed_matters_and_may_be_a_generator(case):
    name, parameters = case
    if "seed" not in worlds()[name].parameters:
        return
    one, two = (task_document(make(name, **parameters, seed=seed)) for seed in (1, 2))
    assert one["weights"] != two["weights"]
    drawn = [
        task_document(make(name, **parameters, seed=np.random.default_rng(4))) for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    make(name, **parameters, seed=None)


def test_a_saved_task_is_the_same_task(case, tmp_path):
    name, parameters = case
    task = make(name, **parameters)
    task.save(tmp_path / "task.json")
    assert task_document(load_task(tmp_path / "task.json")) == task_document(task)


def test_the_model_holds_together(case):
    name, parameters = case
    task = make(name, **parameters)
    mdp = task.mdp
    assert isinstance(task, Task)
    assert task.name
    assert len(mdp.action_names) == mdp.n_actions
    assert len(mdp.feature_names) == len(set(mdp.feature_names)) == mdp.n_features
    assert len(set(mdp.action_names)) == mdp.n_actions
    if mdp.state_names is not None:
        assert len(set(mdp.state_names)) == mdp.n_states
    assert (mdp.start.floats[~mdp.terminal] > 0).any()
    assert sum(mdp.start.fractions()) == 1
    sums = mdp.transitions.matrix() @ np.ones(mdp.n_states)
    assert sums.reshape(mdp.n_states, -1)[~mdp.terminal] == pytest.approx(1.0, abs=1e-14)
    assert task.weights.any()


def test_the_layout_fits(case):
    name, parameters = case
    task = make(name, **parameters)
    if task.layout is None:
        assert name == "garnet"
        return
    n_cells = task.layout["rows"] * task.layout["columns"]
    cells = task.layout.get("cells", range(n_cells))
    assert len(cells) == task.mdp.n_states
    assert set(cells) <= set(range(n_cells))


def test_a_world_says_what_it_is(case):
    info = worlds()[case[0]]
    assert info.summary.endswith(".")
    assert 20 < len(info.summary) < 100


@pytest.mark.parametrize("weights", ["own", "zero"])
def test_lessons_within_a_loss_and_frontiers_are_found_in_every_world(case, weights):
    """Also where nothing is to be lost, and where the starts cannot show enough."""
    name, parameters = case
    task = make(name, **parameters)
    if weights == "zero":
        task = Task(task.mdp, [0] * task.mdp.n_features)
    settings = {"teacher": "scot", "horizon": 6, "rollouts": 20, "learner_model": "half-spaces"}
    found = frontier(task, losses=["20%", "1%"], time_limit=600, **settings)
    assert [point.loss for point in found.points] == ["20%", "1%", None]
    for point in found.points[:-1]:
        within = point.lesson.within
        assert within.bound >= 0 <= within.spread
        assert point.mean >= 0 <= point.worst
        if weights == "zero":
            assert (within.bound, point.lesson.demonstrations) == (0, ())
        if within.status == "enumerated":
            assert within.worst is None or within.worst <= within.limit
    try:
        lesson = teach_within(task, loss="1%", time_limit=600, **settings)
    except InvalidParameter as error:
        assert str(error).startswith("no demonstrations ")  # noqa: PT017
        assert found.points[1].status == "exceeded"
    else:
        assert lesson.within.status in ("enumerated", "tested")
