"""Numbers as they are written: nothing is rounded to a state or an action, nothing is too long."""

import re

import click
import numpy as np
import pytest

import didact
from didact.cli import cli
from didact.cli.policies import read_policy
from didact.errors import DidactError
from didact.mdp.files import family_document, task_document
from didact.mdp.recordings.formats import given_items
from didact.numerics.exact import Numbers
from tests.command_line import refused
from tests.edges.test_outputs import commands

TASK = didact.make("six-cell")
NEARLY = ".000000000000000001"
NUMBER = re.compile(r"(?<![\w./-])[0-9]+(?![\w./])")
"""A whole number that is no part of a text, a decimal or a fraction."""

CSV = "episode,step,state,action\n7,0,0,1\n7,1,3,0\n"


def family():
    return didact.Family([TASK, didact.make("six-cell", discount="0.8")])


def read_run(path):
    items = given_items(str(path), TASK)
    return [item.document() for item in items]


def recording(path):
    found = didact.load_recording(path)
    return [list(found.episodes), [list(each) for each in found.demonstrations]]


FILES = {
    "task.json": (
        lambda path: TASK.save(path),
        lambda path: task_document(didact.load_task(path)),
    ),
    "family.json": (
        lambda path: family().save(path),
        lambda path: family_document(didact.load_family(path)),
    ),
    "lesson.json": (
        lambda path: didact.teach(TASK).save(path),
        lambda path: didact.load_lesson(path).document(),
    ),
    "exam.json": (
        lambda path: didact.exam(TASK).save(path),
        lambda path: didact.load_exam(path).document(),
    ),
    "run.json": (
        lambda path: didact.ask(
            TASK, n_queries=1, seed=1, settings=didact.AskSettings(n_samples=50)
        ).save(path),
        read_run,
    ),
    "demos.json": (lambda path: path.write_text("[[[0, 1], [3, 0]]]"), recording),
    "demos.jsonl": (lambda path: path.write_text("[[0, 1], [3, 0]]\n"), recording),
    "demos.csv": (lambda path: path.write_text(CSV), recording),
    "seen.csv": (lambda path: path.write_text(CSV.replace("state", "observation")), recording),
    "policy.json": (
        lambda path: path.write_text("[1, 0, 1, 0, 2, 1]"),
        lambda path: read_policy(str(path), TASK).tolist(),
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    for name, (write, _) in FILES.items():
        write(folder / name)
    return folder


def numbers_in(text: str) -> list[re.Match]:
    """Whole numbers outside of quoted texts, some of those in long files."""
    quoted = [match.span() for match in re.finditer(r'"(\\.|[^"\\])*"', text)]
    found = [
        match
        for match in NUMBER.finditer(text)
        if not any(first <= match.start() < last for first, last in quoted)
        and not _is_probability(text, match)
    ]
    return found if len(found) <= 60 else found[:: len(found) // 60]


def _is_probability(text: str, match: re.Match) -> bool:
    """Whether it stands at the end of an entry of `transitions` or `start`.

    Probabilities need not sum to exactly 1; they are divided by their sum.
    """
    part = text[: match.start()].rpartition('": [')[0].rpartition('"')[2]
    return part in ("transitions", "start") and text[match.end()] == "]"


def replaced(text: str, match: re.Match, number: str) -> str:
    return text[: match.start()] + number + text[match.end() :]


UNREAD = {"run.json": "what a run found is not read again, only what was answered"}


@pytest.mark.parametrize("name", FILES)
def test_what_is_nearly_whole_is_refused_or_read_as_it_is(written, tmp_path, name):
    text, read = (written / name).read_text(encoding="utf-8"), FILES[name][1]
    own, n_tried = read(written / name), 0
    for match in numbers_in(text):
        (tmp_path / name).write_text(replaced(text, match, match[0] + NEARLY), encoding="utf-8")
        n_tried += 1
        try:
            found = read(tmp_path / name)
        except DidactError:
            continue
        around = text[max(0, match.start() - 60) : match.end() + 10]
        assert found != own or name in UNREAD, around
    assert n_tried


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("number", ["9" * 1100, "3." + "0" * 1100, "0." + "3" * 1100, "1e1001"])
def test_very_long_numbers_are_refused_wherever_they_stand(written, tmp_path, name, number):
    text, read = (written / name).read_text(encoding="utf-8"), FILES[name][1]
    for match in numbers_in(text)[::3]:
        (tmp_path / name).write_text(replaced(text, match, number), encoding="utf-8")
        with pytest.raises(DidactError) as refusal:
            read(tmp_path / name)
        assert len(str(refusal.value)) < 500


def test_a_state_that_is_not_whole_is_refused_by_commands(didact, in_own_folder):
    (in_own_folder / "d.json").write_text("[[[2.000000000000000001, 0]]]")
    (in_own_folder / "z.json").write_text("[[[1e-400, 0]]]")
    for name in ("d.json", "z.json"):
        refused(didact("check", "six-cell", name), name, "whole number")
        refused(didact("ask", "six-cell", "--demonstrations", name), name, "whole number")


@pytest.mark.parametrize("number", ["9" * 5000, "1_0", "٣", "1.0", "", "0x1"])
def test_numbers_of_the_command_line_are_short_ascii_digits(didact, in_own_folder, number):
    refused(didact("ask", "six-cell", "--asked", number), "--asked")
    refused(didact("explain", "six-cell", "--pair", f"0,{number}"), "--pair")


def test_extended_floats_keep_their_digits(tmp_path):
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("extended floats are doubles here")
    nearly = np.array([1, 2], dtype=np.longdouble) + np.finfo(np.longdouble).eps
    assert Numbers.read(nearly, "x").fractions()[0] != 1
    np.save(tmp_path / "policy.npy", np.concatenate([nearly] * 3))
    with pytest.raises(DidactError, match="64 bits"):
        read_policy(str(tmp_path / "policy.npy"), TASK)


def whole_parameters():
    """Every command and its parameters that take a whole number."""
    for words, command in commands(cli):
        for parameter in command.params:
            if isinstance(parameter.type, click.types.IntParamType):
                yield words, parameter


def test_every_whole_number_of_a_command_has_the_same_limits():
    found = list(whole_parameters())
    assert len(found) > 30
    for words, parameter in found:
        for text in ("9" * 5000, "1_0", "٣", " 3", "3.0"):
            with pytest.raises(click.BadParameter, match="is not a valid integer") as refusal:
                parameter.type.convert(text, parameter, None)
            assert len(str(refusal.value)) < 200, (words, parameter.name)
