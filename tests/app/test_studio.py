"""Questions of the studio: every one takes what a page sends and answers with plain JSON."""

import json

import pytest

from didact import make
from didact.app.studio import MEADOW, QUESTIONS, first_world
from didact.app.subjects import read_subject
from didact.errors import InvalidInput
from didact.mdp.files import save_task, task_document


def test_the_first_world_is_what_was_named(tmp_path):
    assert first_world(None, None) == {"painting": dict(MEADOW)}
    path = tmp_path / "task.json"
    save_task(make("garnet", n_states=5), path)
    for source, parameters in ((str(path), {}), ("Taxi-v4", {}), ("random-grid", {"size": 4})):
        kept = json.loads(json.dumps(first_world(source, parameters)))
        wanted = task_document(make(source, **parameters))
        assert {**task_document(read_subject(kept)), "name": ""} == {**wanted, "name": ""}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("given", [None, 3, "x", [], {}, {"painting": None}, {"world": "x"}])
def test_nonsense_is_refused_in_one_line(question, given):
    with pytest.raises(InvalidInput) as refused:
        QUESTIONS[question](given)
    assert "\n" not in str(refused.value)
