"""Tasks, lessons, proofs, recordings and policies in JSON, edited in every way."""

import json
import random
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import didact
from didact.cli.policies import read_policy
from didact.mdp.files import (
    family_document,
    load_family,
    load_task,
    load_task_or_family,
    task_document,
)
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.formats import feedback_in, load_recording
from didact.mdp.recordings.recording import Recording
from didact.proofcheck import STRICT, ProofError, check_proof
from didact.teaching import load_lesson
from tests.fuzz.contract import Files, Target, keeps_contract

TASK, FILE = "task.json", "given.json"


def text(document: object) -> bytes:
    return json.dumps(document).encode()


@cache
def tasks() -> tuple[didact.Task, ...]:
    return (
        didact.make("six-cell"),
        didact.make("random-grid", size=3, n_features=2, seed=1),
        didact.Task(
            didact.MDP(
                [[["1/3", "2/3"], [0, 1]], [[1, 0], ["0.5", "0.5"]]],
                [[["1/7", 0], [0, 1]], [[2, 0], [-1, "1e-6"]]],
                "0.99",
                start=[[0, 1]],
                state_names=["a", "b"],
                action_names=["stay", "go"],
                feature_names=["x", "\x1b[31mred\x07"],
            ),
            ["-1/3", "0.25"],
            name="of actions",
        ),
    )


@cache
def lessons() -> tuple[tuple[didact.Task, didact.Lesson], ...]:
    first, second, third = tasks()
    return (
        (first, didact.teach(first, horizon=2)),
        (first, didact.teach(first, horizon=2, budget=1)),
        (second, didact.teach(second, scope="all", cost="pairs")),
        (third, didact.teach(third, teacher="exact", horizon=1)),
    )


@cache
def family_lessons() -> tuple[tuple[didact.Family, didact.Lesson], ...]:
    first, second, _ = tasks()
    family = didact.Family([first, didact.Task(second.mdp, first.true_weights)], names=["a", "b"])
    return (
        (family, didact.teach(family, horizon=2)),
        (family, didact.teach(family, horizon=1, budget=1)),
    )


def task_files() -> list[Files]:
    return [{FILE: text(task_document(task))} for task in tasks()]


def family_files() -> list[Files]:
    first, second, _ = tasks()
    again = didact.Task(second.mdp, first.true_weights)
    document = family_document(didact.Family([first, again], names=["a", "b"]))
    paths = {**document, "members": [TASK, *document["members"]], "names": None}
    return [
        {FILE: text(document)},
        {FILE: text(paths), TASK: text(task_document(first))},
    ]


def lesson_files() -> list[Files]:
    return [
        {TASK: text(task_document(task)), FILE: text(lesson.document())}
        for task, lesson in lessons()
    ]


def proof_files() -> list[Files]:
    proofs = [
        {TASK: text(task_document(task)), FILE: text(lesson.proof)} for task, lesson in lessons()
    ]
    return proofs + lesson_files()


def family_proof_files() -> list[Files]:
    return [
        {TASK: text(family_document(family)), FILE: text(document)}
        for family, lesson in family_lessons()
        for document in (lesson.document(), lesson.proof)
    ]


def family_lesson_files() -> list[Files]:
    return [{FILE: text(lesson.document())} for _, lesson in family_lessons()]


def family_lesson_reads_back(lesson: didact.Lesson, folder: Path) -> None:
    lesson.save(folder.with_name("again.json"))
    assert load_lesson(folder.with_name("again.json")).document() == lesson.document()
    assert repr(lesson)


def exam_files() -> list[Files]:
    first, second, third = tasks()
    family, _ = family_lessons()[0]
    exams = [
        *(didact.exam(first, ask=ask) for ask in ("comparisons", "actions", "preferences")),
        didact.exam(second, arithmetic="float", scope="all"),
        didact.exam(third),
        didact.exam(family, ask="actions"),
    ]
    return [{FILE: text(exam.document())} for exam in exams]


def feedback_files() -> list[Files]:
    first = tasks()[0]
    mix = didact.teach_mixed(first, feedback=["comparisons", "preferences"])
    way = [[2, 1], [5, 2], [4, 2], [3, 0]]
    items = [
        way,
        {"kind": "comparison", "state": 2, "better": 1, "other": 2},
        {"kind": "correction", "better": way, "other": [[2, 2], [1, 2]]},
        {"kind": "ranking", "ways": [way, [[2, 2], [1, 2]]]},
        {"kind": "stop", "way": way, "after": 2, "off_is_worth_nothing": True},
    ]
    return [{FILE: text(items)}, {FILE: text(mix.document())}, {FILE: text({"items": items})}]


def read_feedback(path: Path) -> object:
    return feedback_in(path, tasks()[0])


def feedback_reads_back(items: object, folder: Path) -> None:
    if not items:
        return
    again = folder.with_name("again.json")
    again.write_text(json.dumps({"items": [item.document() for item in items]}))
    assert read_feedback(again) == items
    assert repr(didact.check(tasks()[0], list(items)))


def exam_reads_back(exam: didact.Exam, folder: Path) -> None:
    exam.save(folder.with_name("again.json"))
    assert didact.load_exam(folder.with_name("again.json")).document() == exam.document()
    right = exam.grade([question.key for question in exam.questions])
    assert right.passed == exam.can_pass
    assert repr(exam)


def recording_files() -> list[Files]:
    plain = [[list(pair) for pair in d] for d in lessons()[0][1].demonstrations]
    with_task = {
        "format": "didact.demonstrations/1",
        "task": task_document(tasks()[0]),
        "episodes": list(range(3, 3 + len(plain))),
        "demonstrations": plain,
    }
    return [{FILE: text(plain)}, {FILE: text(with_task)}, {FILE: lesson_files()[0][FILE]}]


def lines_files() -> list[Files]:
    plain = [[list(pair) for pair in d] for d in lessons()[0][1].demonstrations] * 2
    first = {"format": "didact.demonstrations/1", "task": task_document(tasks()[0]), "lesson": None}
    numbered = [{"episode": 2 * i, "pairs": pairs} for i, pairs in enumerate(plain)]
    whole = {**first, "lesson": lessons()[0][1].document()}
    once = numbered[: len(plain) // 2]
    return [
        {"given.jsonl": b"\n".join(map(text, lines))}
        for lines in (plain, [first, *numbered], [whole, *once])
    ]


def table_files() -> list[Files]:
    """Tables, which are no JSON but have it in cells."""
    rows = ["0,0,4,2", "0,1,1,2", "1,0,5,2", '"1",1,4.0,2', "7,0,1,1"]
    return [
        {"given.csv": "\n".join(["episode,step,state,action", *rows]).encode()},
        {"given.csv": "\r\n".join(["\ufeffepisode,step,observation,action", *rows]).encode()},
        {"given.csv": b'action,x,step,episode,state\n2,"a,""b\n",0,0,4\n1,[1],1,0,1\n'},
    ]


def edited_cells(rng: random.Random, files: Files) -> Files:
    """One cell is something else."""
    lines = files["given.csv"].split(b"\n")
    at = rng.randrange(len(lines))
    cells = lines[at].split(b",")
    cells[rng.randrange(len(cells))] = rng.choice(CELLS).encode("utf-8", "surrogatepass")
    lines[at] = b",".join(cells)
    return {"given.csv": b"\n".join(lines)}


CELLS = (
    *("", "-1", "1e5", "3.0", "3.5", "9" * 30, "x", "\x1b[31m", '"', '"a', "nan", "state", "٣"),
    *("[1]", '"[1, 2]"', "y" * 200_000, "step", "episode", "observation", " 1 ", "0", "1", ";"),
)


def policy_files() -> list[Files]:
    return [
        {FILE: text([0, 1, 2, 3, 0, 1])},
        {FILE: text([["1/4", "0.25", 0.25, 0.25]] * 6)},
    ]


def task_reads_back(task: didact.Task, folder: Path) -> None:
    task.save(folder.with_name("again.json"))
    again = load_task(folder.with_name("again.json"))
    assert task_document(again) == task_document(task)


def family_reads_back(family: didact.Family, folder: Path) -> None:
    family.save(folder.with_name("again.json"))
    assert family_document(load_family(folder.with_name("again.json"))) == family_document(family)


def lesson_reads_back(lesson: didact.Lesson, folder: Path) -> None:
    lesson.save(folder.with_name("again.json"))
    assert load_lesson(folder.with_name("again.json")).document() == lesson.document()
    assert repr(lesson)
    if len(repr(lesson)) % 16 == 0:
        with suppress(didact.DidactError):
            lesson.report(folder.with_name("page.html"), task=load_task(folder / TASK))


def recording_reads_back(recording: Recording, folder: Path) -> None:
    for name in ("again.json", "again.jsonl"):
        recording.save(folder.with_name(name), replace=True)
        again = load_recording(folder.with_name(name))
        assert [as_shown(d) for d in again.demonstrations] == [
            as_shown(d) for d in recording.demonstrations
        ]
        if recording.lesson is None:
            assert again.episodes == recording.episodes


def as_shown(given: didact.Demonstration | ObservedDemonstration) -> tuple[tuple[object, int], ...]:
    """The pairs; whole numbers that were watched are numbers of states until a task is known."""
    numbers = given.numbers() if isinstance(given, ObservedDemonstration) else None
    return given.pairs if numbers is None else tuple(numbers)


def proof_is_true(line: str, folder: Path) -> None:
    """What the checker calls proved, didact finds by itself, where it can read both."""
    given = json.loads((folder / FILE).read_text(), **STRICT)
    proof = given.get("proof") if given["format"].startswith("didact.lesson/") else given
    try:
        what = load_task_or_family(folder / TASK)
        found = didact.check(what, proof["demonstrations"], scope=proof["scope"])
    except didact.DidactError:
        return
    assert found.teaches == line.startswith("proved: "), (line, found)


def checked_by_proofcheck(path: Path) -> str:
    return check_proof(path.with_name(TASK), path)


def read_six_cell_policy(path: Path) -> object:
    return read_policy(str(path), tasks()[0])


def are_probabilities(policy: np.ndarray, folder: Path) -> None:
    assert policy.shape == (6, 4)
    assert (policy >= 0).all()
    assert np.allclose(policy.sum(axis=1), ~tasks()[0].mdp.terminal)


def converted(path: Path) -> list[str]:
    target = path.parent.with_name("converted.jsonl")
    return ["convert", str(path), str(target), "--task", "six-cell", "--replace"]


TARGETS = {
    "task": Target(task_files, FILE, load_task, task_reads_back, lambda path: ["show", str(path)]),
    "family": Target(family_files, FILE, load_family, family_reads_back),
    "lesson": Target(
        lesson_files,
        FILE,
        load_lesson,
        lesson_reads_back,
        lambda path: ["check", str(path.with_name(TASK)), str(path), "--proof"],
    ),
    "proof": Target(
        proof_files,
        FILE,
        checked_by_proofcheck,
        proof_is_true,
        lambda path: ["check", str(path.with_name(TASK)), str(path), "--proof", "--json"],
        refusals=(ProofError,),
    ),
    "family lesson": Target(family_lesson_files, FILE, load_lesson, family_lesson_reads_back),
    "family proof": Target(
        family_proof_files,
        FILE,
        checked_by_proofcheck,
        proof_is_true,
        refusals=(ProofError,),
    ),
    "exam": Target(exam_files, FILE, didact.load_exam, exam_reads_back),
    "feedback": Target(
        feedback_files,
        FILE,
        read_feedback,
        feedback_reads_back,
        lambda path: ["check", "six-cell", str(path)],
    ),
    "recording": Target(recording_files, FILE, load_recording, recording_reads_back, converted),
    "lines": Target(lines_files, "given.jsonl", load_recording, recording_reads_back, converted),
    "table": Target(
        table_files,
        "given.csv",
        load_recording,
        recording_reads_back,
        converted,
        edits=(edited_cells,),
    ),
    "policy": Target(
        policy_files,
        FILE,
        read_six_cell_policy,
        are_probabilities,
        lambda path: [
            *("explain", "six-cell", "--policy", str(path)),
            *("-o", str(path.parent.with_name("page.html"))),
        ],
    ),
}


@pytest.mark.parametrize("name", TARGETS)
def test_json_is_read_or_refused_in_one_line(name, tmp_path):
    told = keeps_contract(name, TARGETS[name], 80, tmp_path)
    assert min(told["read"], told["refused"]) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_much_json_is_read_or_refused_in_one_line(name, tmp_path):
    told = keeps_contract(name, TARGETS[name], 10_000, tmp_path)
    assert min(told["read"], told["refused"]) > 500
    print(f"{name}: {told}")


@pytest.mark.parametrize("changed", [{"task": {}}, {"demonstrations": [[[4.0, 2]]]}])
def test_a_lesson_that_is_none_is_not_kept_with_a_recording(changed, tmp_path):
    """It would be written in the place of the recording, and refused when it is read again."""
    lesson = {"format": "didact.lesson/1", "task": "x", "demonstrations": [[[4, 2]]]}
    kept = Recording(([(4, 2)],), task=tasks()[0], lesson=lesson)
    other = Recording(([(4, 2)],), task=tasks()[0], lesson={**lesson, **changed})
    assert (kept.lesson, other.lesson) == (lesson, None)
    other.save(tmp_path / "again.json")
    assert load_recording(tmp_path / "again.json").demonstrations == other.demonstrations
