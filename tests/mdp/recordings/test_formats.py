"""Lessons of tasks whose states had other numbers are recognised."""

from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import didact
from didact.errors import InvalidInput
from didact.files import json as json_files
from didact.files.json import parse_json
from didact.mdp import Transitions
from didact.mdp.model import idle_states
from didact.mdp.recordings import formats
from didact.mdp.recordings import text as text_formats


def without_idle_states(task):
    """The task as it was once made: only states that can come up, numbered anew."""
    mdp = task.mdp
    used = np.flatnonzero(~idle_states(mdp)).tolist()
    number = {state: i for i, state in enumerate(used)}
    moves = mdp.transitions
    rows = [
        (number[s], a, number[int(moves.successors[i])], moves.probabilities.fractions()[i])
        for s in used
        for a in range(mdp.n_actions)
        for i in range(*moves.offsets[s * mdp.n_actions + a :][:2].tolist())
    ]
    old = didact.MDP(
        Transitions.from_rows(rows, len(used), mdp.n_actions),
        mdp.features.floats[used].tolist(),
        mdp.exact_discount,
        start=[float(mdp.start.floats[s]) for s in used],
        terminal=[number[s] for s in np.flatnonzero(mdp.terminal).tolist()],
    )
    return didact.Task(old, task.true_weights, name=task.name)


class Stairs(gymnasium.Env):
    """Six numbers, of which the even ones come up: a table whose states were once numbered anew."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)
    initial_state_distrib = np.eye(6)[0]
    P: ClassVar = {
        state: {
            0: [(1.0, state, -1.0, False)],
            1: [(1.0, min(state + 2, 4), 5.0 if state == 2 else -1.0, state == 2)],
        }
        for state in range(6)
    }


def test_a_lesson_of_other_states_says_what_happened_and_what_to_do(tmp_path):
    task = didact.make(Stairs())
    old = without_idle_states(task)
    assert (old.mdp.n_states, task.mdp.n_states) == (3, 6)
    lesson = didact.teach(old, arithmetic="exact")
    assert lesson.proof is not None
    lesson.save(tmp_path / "lesson.json")
    told = (
        "lesson for a task of 3 states, and this one has 6; give the task that it was made for, or "
        "make a lesson for this one with `didact teach`"
    )
    loaded = didact.load_lesson(tmp_path / "lesson.json")
    for given in (tmp_path / "lesson.json", loaded):
        with pytest.raises(InvalidInput, match=told):
            didact.check(task, given)
    assert didact.check(old, tmp_path / "lesson.json").teaches is lesson.is_complete


@pytest.mark.parametrize("name", ["long.jsonl", "long.json"])
def test_a_recording_is_parsed_once(tmp_path, monkeypatch, name):
    task = didact.make("six-cell")
    shown = [[(state, 0)] for state in (1, 2, 3)]
    path = didact.Recording(shown, task=task).save(tmp_path / name)
    parsed = []

    def counted(text):
        parsed.append(text)
        return parse_json(text)

    for module in (formats, text_formats, json_files):
        monkeypatch.setattr(module, "parse_json", counted)
    assert [d.pairs for d in formats.given_items(path, task)] == [tuple(s) for s in shown]
    assert len(parsed) == (4 if name.endswith("l") else 1)


@pytest.mark.parametrize("key", ['"kind"', '"\\u006bind"'])
@pytest.mark.parametrize("name", ["items.jsonl", "items.json"])
def test_feedback_is_found_however_its_kind_is_spelled(tmp_path, name, key):
    item = f'{{{key}: "stop", "pairs": [[0, 1]]}}'
    text = item if name.endswith("l") else f"\n [{item}]"
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert formats.has_feedback(tmp_path / name)
