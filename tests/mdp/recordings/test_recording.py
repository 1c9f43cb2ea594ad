"""Recordings in JSON and JSON lines, and what all formats share."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidFile, InvalidInput, InvalidParameter
from didact.mdp import Demonstration, Task
from didact.mdp.files import task_document
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.formats import format_of_name, load_recording
from didact.mdp.recordings.recording import Recording, steps_of
from didact.planning import rollout
from didact.teaching import teach
from didact.worlds import make
from tests.models import tasks

FORMATS = ("json", "jsonl", "minari", "imitation")
NAME = {"json": "x.json", "jsonl": "x.jsonl", "minari": "x-v0", "imitation": "x"}


def recording_of(task: Task) -> Recording:
    lesson = teach(task)
    return Recording(lesson.demonstrations, task=task, lesson=lesson.document())


WORLDS = {
    "six-cell": lambda: make("six-cell", weights=["-1/3", "-0.1"]),
    "slippery": lambda: make("random-grid", size=4, n_features=3, slip="1/3", terminals=2),
    "garnet": lambda: make("garnet", n_states=8, terminals=1),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("format", FORMATS)
def test_a_lesson_reads_back_equal(format, world, tmp_path):
    given = recording_of(WORLDS[world]())
    path = given.save(f"{tmp_path}/{NAME[format]}")
    back = load_recording(path)
    assert back.demonstrations == given.demonstrations
    assert back.episodes == given.episodes
    assert back.lesson == given.lesson
    assert list(back.lesson) == list(given.lesson)
    if format != "json":
        assert task_document(back.task) == task_document(given.task)
        assert not back.foreign


@pytest.mark.parametrize("format", FORMATS)
def test_demonstrations_that_are_no_lesson_read_back_with_their_task(format, tmp_path):
    task = make("six-cell")
    given = Recording((Demonstration([(5, 2), (4, 2)]), Demonstration([(1, 3)])), task=task)
    back = load_recording(given.save(f"{tmp_path}/{NAME[format]}"))
    assert (back.demonstrations, back.lesson) == (given.demonstrations, None)
    assert task_document(back.task) == task_document(task)


@pytest.mark.parametrize("format", FORMATS)
def test_a_target_that_exists_is_kept_unless_it_is_to_be_replaced(format, tmp_path):
    given = recording_of(make("six-cell"))
    target = f"{tmp_path}/{NAME[format]}"
    given.save(target)
    other = Recording((Demonstration([(1, 2)]),), task=given.task)
    with pytest.raises(InvalidFile, match="exists already"):
        other.save(target)
    assert load_recording(target).demonstrations == given.demonstrations
    other.save(target, replace=True)
    assert load_recording(target).demonstrations == other.demonstrations
    assert [p.name for p in tmp_path.iterdir()] == [NAME[format]]


@pytest.mark.parametrize("format", ["minari", "imitation"])
def test_other_folders_are_never_replaced(format, tmp_path):
    target = tmp_path / NAME[format]
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidFile, match="is not replaced"):
        recording_of(make("six-cell")).save(str(target), replace=True)
    assert (target / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_half_written_is_left(format, tmp_path, monkeypatch):
    given = recording_of(make("six-cell"))

    def broken(*arguments, **options):
        raise OSError(28, "No space left on device")

    where = {
        "json": "didact.mdp.recordings.text.write_json",
        "jsonl": "didact.mdp.recordings.text.write_text",
        "minari": "didact.mdp.recordings.minari._write_episode",
        "imitation": "didact.mdp.recordings.imitation._write_descriptions",
    }
    monkeypatch.setattr(where[format], broken)
    with pytest.raises((InvalidFile, OSError), match="No space left"):
        given.save(f"{tmp_path}/{NAME[format]}")
    assert list(tmp_path.iterdir()) == []


@given(tasks(), st.integers(0, 2**31))
def test_steps_follow_the_model_and_their_rewards_sum_to_the_return(task, seed):
    rng = np.random.default_rng(seed)
    mdp = task.mdp
    policy = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    shown = rollout(mdp, policy, horizon=4, seed=rng)
    steps = steps_of(task, shown)
    assert list(zip(steps.observations[:-1].tolist(), steps.actions.tolist(), strict=True)) == list(
        shown
    )
    moves = mdp.transitions.matrix().toarray()
    last = moves[steps.observations[-2] * mdp.n_actions + steps.actions[-1]]
    assert last[steps.observations[-1]] == last.max()
    assert steps.ended == bool(mdp.terminal[steps.observations[-1]])
    visited = [*shown, *([(int(steps.observations[-1]), 0)] if steps.ended else [])]
    pays = [
        float(mdp.features.floats[s, a] @ task.weights)
        if mdp.has_action_features
        else float(mdp.features.floats[s] @ task.weights)
        for s, a in visited
    ]
    returns = sum(mdp.discount**t * pay for t, pay in enumerate(pays))
    discounted = sum(mdp.discount**t * r for t, r in enumerate(steps.rewards.tolist()))
    assert discounted == pytest.approx(returns, abs=1e-9)


def test_a_part_keeps_its_numbers_and_is_no_lesson_any_more(tmp_path):
    given = recording_of(make("random-grid"))
    assert len(given.demonstrations) > 1
    part = given.part([1])
    assert (part.episodes, part.demonstrations) == ((1,), given.demonstrations[1:2])
    assert part.lesson is None
    back = load_recording(part.save(tmp_path / "part.jsonl"))
    assert back.episodes == (1,)
    with pytest.raises(InvalidParameter, match="there is no episode 99"):
        given.part([99])


def test_a_lesson_whose_demonstrations_were_changed_is_none(tmp_path):
    recording_of(make("six-cell")).save(tmp_path / "x.jsonl")
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    lines.append(json.dumps({"episode": 7, "pairs": [[1, 3]]}))
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    back = load_recording(tmp_path / "x.jsonl")
    assert (back.lesson, back.episodes) == (None, (0, 7))


def test_lines_that_others_wrote(tmp_path):
    (tmp_path / "x.jsonl").write_text('[[0, 1], [2, 0]]\n\n{"pairs": [[4, 4]]}\n')
    back = load_recording(tmp_path / "x.jsonl")
    assert [list(d) for d in back.demonstrations] == [[(0, 1), (2, 0)], [(4, 4)]]
    assert (back.task, back.episodes) == (None, (0, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[0, 1]]\n{", "line 2 must be one JSON value"),
        ("[[0, 1.5]]", "line 1: step 1: action must be"),
        ("[[0, -1]]", "line 1: step 1: action must be"),
        ("[]", "at least one"),
        ('{"episode": -1, "pairs": [[0, 0]]}', "episode must be a whole number"),
        ('{"pairs": [[0, 0]], "pairs": []}', "must stand once"),
        ('{"format": "didact.demonstrations/9"}', "format must be 'didact.demonstrations/1'"),
        ('{"format": "didact.demonstrations/1", "task": 3}', "task must be an object"),
        ('{"format": "didact.demonstrations/1", "task": {}}', "format must be 'didact.task/1'"),
        ("[[NaN, 0]]", "must be finite"),
        ("[[0,0]]\n" + '{"episode": 0, "pairs": [[0, 0]]}', "a number of its own"),
        ("[" * 100_000, "must be one JSON value"),
    ],
)
def test_damaged_lines_are_refused_in_one_line(text, message, tmp_path):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(InvalidFile) as refused:
        load_recording(tmp_path / "x.jsonl")
    assert message in str(refused.value)
    assert "x.jsonl" in str(refused.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"demonstrations": 3}, "must hold a list of demonstrations"),
        ({"demonstrations": [[[0]]]}, "demonstration 1: step 1 must be"),
        ({"demonstrations": [[[0, 0]]], "episodes": [1, 2]}, "a number of its own"),
        ({"demonstrations": [[[0, 0]]], "episodes": "x"}, "episodes must be a list"),
        ({"demonstrations": [], "task": {"format": "x"}}, "format must be 'didact.task/1'"),
    ],
)
def test_damaged_json_is_refused_in_one_line(document, message, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(InvalidFile, match=re.escape(message)):
        load_recording(tmp_path / "x.json")


def test_demonstrations_must_fit_their_task():
    with pytest.raises(InvalidInput, match=r"state 3 .*cannot follow .* in "):
        Recording((Demonstration([(0, 1), (3, 1)]),), task=make("six-cell", terminal="self-loop"))


def test_what_is_no_recording_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "x.txt").write_text("?")
    for name in ("folder", "x.txt"):
        with pytest.raises(InvalidFile, match="neither JSON"):
            load_recording(tmp_path / name)
    with pytest.raises(InvalidFile, match="No such file"):
        load_recording(tmp_path / "missing")
    with pytest.raises(InvalidParameter, match="format must be one of"):
        load_recording(tmp_path / "folder", format="hdf4")


def test_names_ask_for_formats():
    names = ("a.json", "b/a.jsonl", "a.csv", "a-v0", "x/y-v12", "./folder", "a-v", "a.JSON")
    assert [format_of_name(name) for name in names] == [
        "json", "jsonl", "csv", "minari", "minari", "imitation", "imitation", "imitation",
    ]  # fmt: skip


def test_states_of_another_numbering_are_renumbered():
    task = make("six-cell")
    foreign = Recording((Demonstration([(50, 2), (40, 2)]),), foreign=True)
    own = foreign.of_task(task, {50: 5, 40: 4})
    assert list(own.demonstrations[0]) == [(5, 2), (4, 2)]
    assert not own.foreign
    with pytest.raises(InvalidFile, match="episode 0, step 2: six-cell has no state 40"):
        foreign.of_task(task, {50: 5})


SCALARS = st.one_of(
    st.integers(-5, 50),
    st.integers(2**61, 2**66),
    st.booleans(),
    st.text(max_size=4),
    st.floats(allow_nan=False, width=32),
).filter(lambda value: value not in (float("inf"), float("-inf")))
OBSERVATIONS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    pairs=st.lists(st.tuples(OBSERVATIONS, st.integers(0, 5)), min_size=1, max_size=4),
    foreign=st.booleans(),
)
@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_whatever_was_observed_reads_back_equal(name, pairs, foreign, tmp_path_factory):
    seen = ObservedDemonstration.of(pairs)
    path = tmp_path_factory.mktemp("observed") / name
    Recording((seen,), foreign=foreign).save(path)
    (back,) = load_recording(path).demonstrations
    assert back == seen or back.pairs == tuple(seen.numbers())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (([[(0, 1)]], make("six-cell")), "episodes must be a list of whole numbers; it is Task"),
        ((make("six-cell"), [[(0, 1)]]), "demonstrations must be a list of demonstrations; it is"),
        ((None,), "demonstrations must be a list of demonstrations; it is None"),
        (("abc",), "demonstrations must be a list of demonstrations; it is 'abc'"),
        (([5],), r"a demonstration must be \[state, action\] pairs; it is 5"),
        (([[(0, 1)]], 7), "episodes must be a list of whole numbers; it is 7"),
        (([[(0, 1)]], ["a"]), r"episodes\[0\] must be a whole number from 0; it is 'a'"),
        (([[(0, 1)]], (), 5), "task must be a Task, given by its name; it is 5"),
        (([[(0, 1)]], (), None, 3), "lesson must be a Mapping, given by its name; it is 3"),
        (([[(0, 1)]], (), None, None, "x"), "foreign must be True or False; it is 'x'"),
        (([[(0, 1)]], (), None, None, True, 4), "environment must be an Environment"),
    ],
)
def test_arguments_in_the_wrong_place_are_told_in_one_line(given, words):
    with pytest.raises(InvalidInput, match=words):
        Recording(*given)
