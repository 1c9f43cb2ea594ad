"""What the pages show is true: Python examples run, commands print what stands below them."""

import doctest
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import didact
from tests import effort
from tests.studies.here import Here

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```([^`\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BOUND = re.compile(r"right to \S+e-\d+")
"""Error bounds hold on every machine, but the last bits of sums differ, and with them the bound."""

UNTESTED = (
    "$ make test",
    "$ make check",
    "$ make bench",
    "$ pip ",
    "$ python docs/",
    "$ didact studio",
    "$ didact study serve",
)
"""What takes minutes, changes the machine, or prints other numbers on another one."""

SLOW = (
    "$ python examples/rounding_noise.py",
    "$ python examples/which_entropy.py",
    "$ python examples/policies_in_simulators.py",
)
"""What runs with the slow tests only."""


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Line number and text of each block in the language."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(2)), match[2])
        for match in BLOCK.finditer(text)
        if match[1] == language
    ]


def commands(page: Path) -> list[tuple[str, str, str]]:
    """Every `$ command` of a page that is tested: place, command, the lines that stand below it."""
    found = []
    for line, text in blocks(page, "console"):
        for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
            if part.strip() and not part.startswith(UNTESTED):
                command, _, output = part.partition("\n")
                found.append((f"{page.name}:{line + 1} {command}", command[2:], output))
    return found


EVERYWHERE = Counter(command for page in PAGES for _, command, _ in commands(page))
WRITTEN: dict[str, tuple[str, bytes]] = {}
"""Pages of worlds that several of our pages explain: what was printed, and what was written."""


def printed(command: str, folder: Path, didact, demo) -> str:
    """What a command prints, errors too; `make demo` is what the Makefile says it is."""
    if command == "make demo":
        recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
        (step,) = (line.strip().lstrip("@").replace("$(BIN)/", "") for line in recipe.splitlines())
        made, text = demo(step)
        shutil.copytree(made, folder, dirs_exist_ok=True)
        return text
    program, *arguments = shlex.split(command)
    if program == "echo":
        *words, sign, file = arguments
        assert sign == ">", f"no test knows how to run {command!r}"
        (folder / file).write_text(" ".join(words) + "\n")
        return ""
    if program == "cat":
        return "".join((folder / name).read_text() for name in arguments)
    if program == "didact":
        if command in WRITTEN:
            text, page = WRITTEN[command]
            (folder / arguments[-1]).write_bytes(page)
            return text
        with redirect_stderr(sys.stdout), warnings.catch_warnings():
            warnings.simplefilter("default")
            text = didact(*arguments).out
        if arguments[0] == "explain" and EVERYWHERE[command] > 1:
            WRITTEN[command] = text, (folder / arguments[-1]).read_bytes()
        return text
    if arguments[0].startswith("examples/"):
        return by_example(command, folder)
    return in_own_process(command, folder)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What the demo writes, and what it prints: two pages run it, and it takes a while."""

    @cache
    def run(command: str) -> tuple[Path, str]:
        made = tmp_path_factory.mktemp("demo")
        return made, by_example(command, made)

    return run


def by_example(command: str, folder: Path) -> str:
    """What an example prints; to import didact, and in workers too, takes most of its time."""
    if effort.takes_all():
        return in_own_process(command, folder)
    program, file, *arguments = shlex.split(command)
    assert program == "python", f"no test knows how to run {command!r}"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(folder), redirect_stdout(printed):
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "argv", [file, *arguments])
        runpy.run_path(str(ROOT / file), run_name="__main__")
    return printed.getvalue()


def in_own_process(command: str, folder: Path) -> str:
    """What a Python program prints."""
    program, *arguments = shlex.split(command)
    assert program == "python", f"no test knows how to run {command!r}"
    if arguments[0].startswith("examples/"):
        arguments[0] = str(ROOT / arguments[0])
    answer = subprocess.run(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    return answer.stdout.decode("utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch, own_registries):
    """A folder of its own, and registries that forget what the page registers."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


GOES_ON = ROOT / "docs" / "tutorial.md"
"""The page whose commands go on with the files that its examples write: one test runs both."""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", [p for p in PAGES if p != GOES_ON], ids=lambda page: page.name)
def test_python_examples_print_what_they_show(page):
    run_examples(page)


def run_examples(page: Path) -> dict[str, object]:
    """The Python blocks of a page, one after the other, as a reader types them; their names."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    names: dict[str, object] = {"__name__": "__main__"}
    for line, text in blocks(page, "python"):
        assert ">>> " in text, f"{page.name}:{line}: an example that is not run may be wrong"
        example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), line)
        report: list[str] = []
        runner.run(example, out=report.append, clear_globs=False)
        names = example.globs
        assert not runner.summarize(verbose=False).failed, "".join(report)
    return names


PAPER = ROOT / "docs" / "paper.md"


def calls_in_tables(page: Path) -> list[tuple[str, str, str]]:
    """Item, call and value of every row of five cells."""
    rows = [line[2:-2].split(" | ") for line in page.read_text(encoding="utf-8").splitlines()
            if line.startswith("| ") and line.endswith(" |")]  # fmt: skip
    assert {len(row) for row in rows} == {5}
    found = [row for row in rows if row[2].startswith("`")]
    return [(row[0], row[2].strip("`"), row[3].strip("`")) for row in found]


@pytest.mark.usefixtures("folder")
def test_the_calls_of_the_papers_page_give_what_stands_beside_them(monkeypatch):
    monkeypatch.setattr("didact.studies.workers.LocalWorkers", Here)
    names = run_examples(PAPER)
    for item, call, value in calls_in_tables(PAPER):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert repr(eval(call, names)) == value, f"{item}: {call}"


def test_the_papers_page_has_every_numbered_item():
    """A row for each; the paper has so many."""
    items = " ".join(item for item, _, _ in calls_in_tables(PAPER))
    numbered = {"Theorem": 2, "Corollary": 4, "Proposition": 3, "Algorithm": 3, "Table": 2,
                "Definition": 1, "Lemma": 1, "Figure": 4}  # fmt: skip
    for kind, most in numbered.items():
        assert all(f"{kind} {number}" in items for number in range(1, most + 1)), kind
    assert "Figures 5 and 6" in items
    assert "Figure 7" in items


def compare(place: str, output: str, found: str) -> None:
    """A command prints what stands below it; spaces at the ends of lines do not count."""
    texts = [BOUND.sub("right to a bound", text) for text in (output, found)]
    wanted, got = (re.sub(r" +$", "", text, flags=re.MULTILINE) for text in texts)
    assert doctest.OutputChecker().check_output(wanted, got, doctest.ELLIPSIS), f"{place}\n{got}"


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda page: page.name)
def test_commands_print_what_stands_below_them(page, folder, didact, demo, monkeypatch):
    """The commands of a page run one after the other in one folder, as a reader runs them."""
    monkeypatch.setattr("didact.studies.workers.LocalWorkers", Here)  # to start some takes seconds
    monkeypatch.setattr("didact.plots.studies.KINDS", ("svg",))  # no page opens another kind
    if page.name == "files.md":
        (folder / "two-cells.json").write_text(blocks(page, "json")[0][1])
    if page == GOES_ON:
        run_examples(page)
    for place, command, output in commands(page):
        if not f"$ {command}".startswith(SLOW):
            compare(place, output, printed(command, folder, didact, demo))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_slow_commands_print_what_stands_below_them(page, folder, didact, demo):
    for place, command, output in commands(page):
        if f"$ {command}".startswith(SLOW):
            compare(place, output, printed(command, folder, didact, demo))


def test_there_is_something_to_test():
    everything = [command for page in PAGES for _, command, _ in commands(page)]
    assert len(everything) >= 8
    assert "make demo" in everything
    assert any(f"$ {command}".startswith(SLOW) for command in everything)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language in ("python", "console", "json"):
            assert len(blocks(page, language)) == text.count(f"\n```{language}\n"), page.name
    assert blocks(ROOT / "README.md", "python")
    assert GOES_ON in PAGES
    assert blocks(GOES_ON, "python")
    assert commands(GOES_ON)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def notation() -> list[tuple[str, str]]:
    """Code and file of each row of the table of symbols that names a file."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    named = [(row[1], row[3].strip(" `")) for row in rows if len(row) == 4]
    return [(code, file) for code, file in named if file.endswith(".py")]


@pytest.mark.parametrize(("code", "file"), notation())
def test_what_the_notation_names_exists(code, file):
    source = (ROOT / "src" / "didact" / file).read_text(encoding="utf-8")
    names = re.findall(r"`([\w.]+)`", code)
    assert names
    for name in names:
        for part in name.split("."):
            assert re.search(rf"\b{part}\b", source), f"{file} does not name {part}"


def test_the_notation_has_rows():
    assert len(notation()) > 30


@pytest.mark.parametrize(("heading", "written"), [("## Lessons", "lesson"), ("## Proofs", "proof")])
def test_files_lists_every_field_that_is_written(heading, written):
    text = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    part = text[text.index(heading) :].split("\n## ")[0]
    listed = {
        name
        for line in part.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    lesson = didact.teach(didact.make("six-cell"))
    fields = {*lesson.document(), "n_close_calls", "loss_error"}  # the last two where there are any
    if written == "proof":
        bec = didact.equivalence_class(didact.make("six-cell"))
        fields = set(lesson.proof) | set(didact.prove(bec, []).document)
    assert listed == fields


def test_files_that_pages_name_exist():
    named = set()
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        named |= set(re.findall(r"`([\w./]+/\w+\.(?:py|md))`", page.read_text(encoding="utf-8")))
    assert len(named) > 20
    for file in sorted(named):
        assert (ROOT / file).exists() or (ROOT / "src" / "didact" / file).exists(), file


def test_modules_that_pages_name_exist():
    """A dotted name is a module or what is in one; formats (`didact.task/1`) and groups are not."""
    groups = {f"didact.{kind}" for kind in ("worlds", "teachers", "learners", "strategies")}
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        for name in set(re.findall(r"\bdidact(?:\.[a-zA-Z_]\w*)+(?!/\d)\b", text)) - groups:
            assert resolves(name), f"{page.name}: {name}"


def resolves(name: str) -> bool:
    value = didact
    for number, part in enumerate(name.split(".")[1:], 2):
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = import_module(".".join(name.split(".")[:number]))
            except ImportError:
                return False
    return True


def test_contributing_names_every_package():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text[text.index("| package | holds |") :].split("\n\n")[0]
    cells = [line.split("|")[1] for line in part.splitlines()[2:]]
    named = [name.strip() for cell in cells for name in cell.split(",")]
    folder = ROOT / "src" / "didact"
    packages = {path.stem for path in folder.glob("*.py")}
    packages |= {path.parent.name for path in folder.glob("*/__init__.py")}
    assert sorted(named) == sorted(packages - {"__init__", "__main__", "proofcheck"})
