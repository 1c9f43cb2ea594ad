"""Whatever a command writes to: files of others, and its own input, are never replaced."""

import re
import shutil
from pathlib import Path

import click
import pytest

from didact.cli import cli
from tests.command_line import refused
from tests.faults import contents

ROBOT = "observe point-robot --discount 0.5 --n-rollouts 2 --length 3 --n-states 2"
WRITERS = {
    ("teach", "--out"): ("teach task.json --out", "task.json"),
    ("teach --feedback", "--out"): ("teach task.json --feedback comparisons --out", "task.json"),
    ("frontier", "--out"): ("frontier task.json --out", "task.json"),
    ("attack", "--out"): ("attack task.json lesson.json --out", "lesson.json"),
    ("identify", "--out"): ("identify task.json --change discount=1/2 --out", "task.json"),
    ("informativeness", "--out"): (
        "informativeness task.json lesson.json --n-draws 10 --out", "lesson.json",
    ),
    ("show", "--out"): ("show task.json --out", "task.json"),
    ("explain", "--out"): ("explain task.json --out", "task.json"),
    ("learn", "--out"): ("learn task.json lesson.json --n-steps 50 --out", "lesson.json"),
    ("ask", "--out"): (
        "ask task.json --n-queries 1 --n-steps 50 --demonstrations run.json --out", "run.json",
    ),
    ("transfer", "--out"): ("transfer lesson.json task.json --out", "lesson.json"),
    ("exam", "--out"): ("exam task.json --out", "task.json"),
    ("exam", "--html"): ("exam task.json --html", "task.json"),
    ("rank", "--out"): ("rank task.json --out", "task.json"),
    ("rank", "--svg"): ("rank task.json --svg", "task.json"),
    ("select", "--out"): ("select demos.jsonl --task task.json --replace --out", "demos.jsonl"),
    ("convert", "target"): ("convert demos.jsonl --replace", "demos.jsonl"),
    ("observe", "--out"): (
        f"{ROBOT} --out", "model.zip",
    ),
    ("observe", "--html"): (
        f"{ROBOT} --html", "model.zip",
    ),
}  # fmt: skip
"""A command for each option that names what is written, and a file that it reads."""

ELSEWHERE = {
    ("observe", "--checkpoint"): "is continued; one of another run is refused when it is read",
    ("observe", "--minari"): "a folder, as convert writes it",
    ("reproduce", "--out"): "a folder, tested below",
    ("study export", "--out"): "a folder, tested below",
    ("study preregister", "--out"): "a folder, tested below",
    ("studio", "--export"): "a folder, tested with the static site",
    ("study init", "study"): "never replaces anything",
}
OUTPUTS = {"out", "html", "svg", "export", "target", "checkpoint", "minari", "study"}
SUFFIXES = {"--html": ".html", "--svg": ".svg"}
OWN_NAMES = {
    "select": "out.jsonl",
    "convert": "out.jsonl",
    "learn": "out.npz",
    "observe": "out.npz",
}


def commands(command: click.Command, name: str = ""):
    """All commands by their words."""
    if not isinstance(command, click.Group):
        yield name, command
        return
    context = click.Context(command)
    for word in command.list_commands(context):
        yield from commands(command.get_command(context, word), f"{name} {word}".strip())


def test_every_option_that_names_an_output_is_tried():
    found = set()
    for name, command in commands(cli):
        for parameter in command.params:
            told = getattr(parameter, "help", None) or ""
            writes = re.search(r"\b([Ww]rite\b|Where .* goes\b)", told) and "write it" not in told
            assert not writes or parameter.name in OUTPUTS, (name, parameter.name, told)
            if parameter.name in OUTPUTS:
                option = max((o for o in parameter.opts), key=len)
                is_read = parameter.name == "study" and name != "study init"
                is_share = (name, option) == ("observe", "--target")
                if not is_read and not is_share:
                    found.add((name, option))
    tried = {(name.partition(" --")[0], option) for name, option in WRITERS}
    assert found == tried | set(ELSEWHERE)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Files that commands read."""
    import didact

    folder = tmp_path_factory.mktemp("inputs")
    task = didact.make("six-cell")
    task.save(folder / "task.json")
    didact.teach(task).save(folder / "lesson.json")
    didact.ask(task, n_queries=1, n_steps=50, seed=1).save(folder / "run.json")
    (folder / "demos.jsonl").write_text("[[2, 1], [5, 2], [4, 2], [3, 0]]\n")
    (folder / "model.zip").write_bytes(b"PK not a model")
    return folder


@pytest.fixture
def here(inputs, in_own_folder):
    shutil.copytree(inputs, in_own_folder, dirs_exist_ok=True)
    return in_own_folder


FOREIGN = {
    "sqlite": b"SQLite format 3\0" + b"x" * 100,
    "text": b"my thesis\n",
    "json": b'{"format": "somebody.else/1"}\n',
    "page": b"<!doctype html><title>My own page</title>",
}


@pytest.mark.parametrize(("name", "option"), WRITERS)
def test_files_of_others_and_inputs_stay_as_they_are(didact, here, name, option):
    words, own_input = WRITERS[name, option]
    for number, content in enumerate(FOREIGN.values()):
        suffix = Path(OWN_NAMES.get(name, "out.json")).suffix
        target = here / f"foreign{number}{SUFFIXES.get(option, suffix)}"
        target.write_bytes(content)
        refused(didact(*words.split(), target.name), target.name, "not replaced; take another")
        assert target.read_bytes() == content
    before = (here / own_input).read_bytes()
    linked = here / f"linked{Path(own_input).suffix}"
    linked.hardlink_to(here / own_input)
    for target in (own_input, linked.name, f"./{own_input}"):
        refused(didact(*words.split(), target), "not replaced; take another")
        assert (here / own_input).read_bytes() == before
    assert not list(here.glob(".*didact*"))


@pytest.mark.parametrize(("name", "option"), WRITERS)
def test_what_the_same_command_wrote_is_replaced(didact, here, name, option):
    words = WRITERS[name, option][0]
    target = SUFFIXES.get(option) and f"out{SUFFIXES[option]}"
    target = target or OWN_NAMES.get(name.partition(" --")[0], "out.json")
    for _ in range(2):
        answer = didact(*words.split(), target)
        assert answer.code in (0, 3), answer
    (here / target).write_bytes(b"")
    assert didact(*words.split(), target).code in (0, 3)
    assert (here / target).stat().st_size


def test_an_export_replaces_no_report_of_others(didact, here):
    made = didact("study", "init", "s.sqlite", "random-grid", "-p", "size=5", "--questions", "2")
    assert made.code == 0, made
    names = ("answers.csv", "participants.csv", "codebook.md", "report.md")
    for name in names:
        (here / name).write_text("mine\n")
        refused(didact("study", "export", "s.sqlite"), name, "not replaced")
        assert (here / name).read_text() == "mine\n"
        assert not any((here / other).exists() for other in names if other != name)
        (here / name).unlink()
    for _ in range(2):
        assert didact("study", "export", "s.sqlite").code == 0
    (here / "s").mkdir()
    (here / "s" / "report.md").symlink_to(here / "s.sqlite")
    refused(didact("study", "export", "s.sqlite", "--out", "s"), "not replaced")


def test_a_filled_in_preregistration_and_changed_scripts_stay(didact, here):
    made = didact("study", "init", "s.sqlite", "random-grid", "-p", "size=5", "--questions", "2")
    assert made.code == 0, made
    command = ("study", "preregister", "s.sqlite", "-n", "4", "--out", "plan")
    for _ in range(2):  # the same again
        assert didact(*command).code == 0
    for name in ("preregistration.md", "analysis.py", "analysis.R"):
        place = here / "plan" / name
        draft = place.read_text()
        place.write_text(draft.replace("[names]", "Ada") + "# by hand\n")
        before = contents(here)
        refused(didact(*command), name, "is there with another text, so it is not replaced")
        assert contents(here) == before
        place.write_text(draft)


@pytest.mark.slow
def test_a_reproduction_replaces_no_file_of_others(didact, here):
    (here / "out").mkdir()
    for name in ("example.md", "index.html"):
        (here / "out" / name).write_text("mine\n")
        answer = didact("reproduce", "example", "--quick", "--out", "out")
        assert answer.code == 2, answer
        assert f"{name}: is not" in answer.err
        assert (here / "out" / name).read_text() == "mine\n"
        (here / "out" / name).unlink()
