"""Task files: exact both ways, refused in one line, written whole or not at all."""

import copy
import errno
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import didact
from didact.errors import InvalidFile, InvalidInput
from didact.files import json as jsonfiles
from didact.files import reading
from didact.mdp import MDP, Task, Transitions, load_demonstrations, load_task
from didact.mdp.files import (
    family_document,
    family_from_document,
    task_document,
    task_from_document,
)
from didact.numerics.exact import write_number
from tests.effort import number

TWO_CELLS: dict[str, Any] = {
    "format": "didact.task/1",
    "name": "two cells",
    "n_states": 2,
    "n_actions": 2,
    "transitions": [[0, 0, 0, 1], [0, 1, 1, "9/10"], [0, 1, 0, 0.1]],
    "features": [[1, 0], [0, 1]],
    "weights": ["-1", 0.5],
    "discount": 0.95,
    "start": [[0, 1]],
    "terminal": [1],
    "state_names": None,
    "action_names": None,
    "feature_names": ["grey", "goal"],
    "layout": {"kind": "grid", "rows": 1, "columns": 2},
}
SAME_PATH = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)


def text_of(document: Any) -> str:
    return json.dumps(document)


def refusal(path: Path, content: str | bytes) -> str:
    """The one line with which a file is refused."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InvalidFile) as caught:
        load_task(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 250
    return message.removeprefix(f"{path}: ")


def meaning(task: Task) -> tuple[Any, ...]:
    """All that a task says, exactly."""
    mdp = task.mdp
    palette, codes = mdp.transitions.exact()
    return (
        *(mdp.n_states, mdp.n_actions, mdp.transitions.offsets.tolist()),
        *(mdp.transitions.successors.tolist(), [palette[c] for c in codes]),
        *(mdp.features.floats.shape, mdp.features.fractions(), mdp.exact_discount),
        *(mdp.start.fractions(), mdp.terminal.tolist(), task.true_weights.fractions()),
        *(mdp.state_names, mdp.action_names, mdp.feature_names, task.name, task.layout),
    )


# ---------------------------------------------------------------- reading and writing


def test_the_example_of_the_format(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(text_of(TWO_CELLS))
    task = load_task(tmp_path / "task.json")
    assert task.name == "two cells"
    assert task.mdp.exact_discount == Fraction(19, 20)
    assert task.true_weights.fractions() == [-1, Fraction(1, 2)]
    palette, codes = task.mdp.transitions.exact()
    assert [palette[c] for c in codes] == [1, Fraction(1, 10), Fraction(9, 10)]
    assert task.mdp.terminal.tolist() == [False, True]
    assert task.mdp.feature_names == ("grey", "goal")


def test_names_layout_and_start_may_be_left_out(tmp_path: Path) -> None:
    for left_out in ("name", "start", "state_names", "action_names", "feature_names", "layout"):
        document = {k: v for k, v in TWO_CELLS.items() if k != left_out}
        (tmp_path / "task.json").write_text(text_of(document))
        load_task(str(tmp_path / "task.json"))
    uniform = {**TWO_CELLS, "start": "uniform"}
    half = Fraction(1, 2)
    assert task_from_document(uniform).mdp.start.fractions() == [half, half]


NUMBERS = st.sampled_from(
    ["1/3", "-2/7", 0.1, -0.3, 7, 10**20, "1e-30", "123456789/1000"]
) | st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: x if abs(x) > 1e-300 else 0.0),
    st.fractions(max_denominator=10**12).map(str),
    st.integers(-(10**40), 10**40).map(lambda n: f"0.{abs(n):040}"),
    st.integers(-(10**25), 10**25),
)
WORDS = st.text(max_size=8).filter(lambda t: not any("\ud800" <= c <= "\udfff" for c in t))


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Random tasks: thirds, decimals and rows to be divided; any text as names."""
    n_states, n_actions, k = (draw(st.integers(1, n)) for n in (4, 3, 3))
    terminal = draw(st.sets(st.integers(0, n_states - 1), max_size=n_states - 1))
    rows = []
    for state in set(range(n_states)) - terminal:
        for action in range(n_actions):
            weights = draw(st.lists(st.integers(1, 9), min_size=1, max_size=n_states))
            targets = draw(st.permutations(range(n_states)))
            total = sum(weights)
            as_floats = draw(st.booleans())
            for target, weight in zip(targets, weights, strict=False):
                share = Fraction(weight, total)
                rows.append((state, action, target, float(share) if as_floats else share))
    shape = draw(st.sampled_from([(n_states,), (n_states, n_actions)]))
    features: Any = [[draw(NUMBERS) for _ in range(k)] for _ in range(n_states)]
    if len(shape) == 2:
        features = [
            [f if s in terminal else [draw(NUMBERS) for _ in range(k)] for _ in range(n_actions)]
            for s, f in enumerate(features)
        ]
    starts = sorted(set(range(n_states)) - terminal)

    def names(size: int) -> list[str] | None:
        return draw(st.none() | st.lists(WORDS, min_size=size, max_size=size))

    mdp = MDP(
        Transitions.from_rows(rows, n_states, n_actions),
        features,
        draw(st.sampled_from([0, 0.95, "1/3", "0.99999999999999", 0.1])),
        start=draw(st.sampled_from(["uniform", [[starts[0], 0.3], [starts[-1], "7/10"]]])),
        terminal=terminal,
        state_names=names(n_states),
        action_names=names(n_actions),
        feature_names=names(k),
    )
    grid = {"kind": "grid", "rows": 1, "columns": n_states}
    holes = {**grid, "columns": 2 * n_states, "cells": list(range(1, 2 * n_states, 2))}
    layout = draw(st.sampled_from([None, grid, holes]))
    return Task(mdp, [draw(NUMBERS) for _ in range(k)], name=draw(WORDS), layout=layout)


@given(task=tasks())
@SAME_PATH
def test_a_task_reads_back_exactly(tmp_path: Path, task: Task) -> None:
    path = tmp_path / "task.json"
    task.save(path)
    again = load_task(path)
    assert meaning(again) == meaning(task)
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_long_numbers_read_back(tmp_path: Path) -> None:
    decimal = "0." + "7" * 900
    document = {**TWO_CELLS, "weights": [decimal, "1/" + "3" * 300], "discount": decimal}
    task = task_from_document(document)
    task.save(tmp_path / "task.json")
    again = load_task(tmp_path / "task.json")
    assert again.true_weights.fractions() == [Fraction(decimal), Fraction(1, int("3" * 300))]
    assert again.mdp.exact_discount == Fraction(decimal)


@given(st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_a_written_number_is_json_and_exact(value: Fraction) -> None:
    written = json.loads(json.dumps(write_number(value)), parse_float=str)
    assert Fraction(written) == value


def test_files_are_readable_json_by_anyone(tmp_path: Path) -> None:
    task = task_from_document({**TWO_CELLS, "name": 'a "b" \\ \n ü 猫 \x7f'})
    task.save(tmp_path / "task.json")
    document = json.loads((tmp_path / "task.json").read_text(encoding="utf-8"))
    assert document["name"] == 'a "b" \\ \n ü 猫 \x7f'
    assert document["discount"] == 0.95
    assert document["transitions"] == [[0, 0, 0, 1], [0, 1, 0, 0.1], [0, 1, 1, 0.9]]


# ---------------------------------------------------------------- refusals


def changed(**changes: Any) -> str:
    return text_of({**TWO_CELLS, **changes})


def raw(key: str, text: str) -> str:
    """The example with raw JSON text in place of one value."""
    return text_of({**TWO_CELLS, key: "@"}).replace('"@"', text)


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "line 1, column 1"),
    "blank": (" \n", "must be JSON"),
    "truncated": (text_of(TWO_CELLS)[:100], "must be JSON; line 1"),
    "two documents": (text_of(TWO_CELLS) * 2, "Extra data"),
    "binary": (bytes(range(256)) * 10, "it is binary"),
    "utf-16": (text_of(TWO_CELLS).encode("utf-16"), "it is binary"),
    "invalid utf-8": (text_of(TWO_CELLS).encode() + b"\xff", "it is binary"),
    "byte order mark": (text_of(TWO_CELLS).encode("utf-8-sig"), "byte order mark"),
    "zeros": (b"\0" * 100, "it is binary"),
    "list": ("[]", "one JSON object"),
    "null": ("null", "one JSON object"),
    "number": ("1e999", "one JSON object"),
    "long number": ("1" * 10_000, "at most 1000 digits"),
    "other format": (changed(format="didact.task/2"), "'didact.task/1', which this didact reads"),
    "format number": (changed(format=1), "format must be"),
    "format missing": ("{}", "it is None"),
    "unknown key": (changed(colour="red"), "'colour' is not part of didact.task/1; remove it"),
    "repeated key": ('{"a": 1, "a": 2}', "'a' must stand once"),
    "repeated nested key": (raw("layout", '{"kind": "grid", "rows": 1, "rows": 1}'), "'rows'"),
    "repeated key in a list": (raw("weights", '[{"x": 1, "x": 2}]'), "'x' must stand once"),
    "repeated escaped key": ('{"a": 1, "\\u0061": 2}', "'a' must stand once"),
    "nan": (raw("discount", "NaN"), "must be finite; NaN"),
    "infinity": (raw("weights", "[-Infinity, 1]"), "must be finite; -Infinity"),
    "nan text": (changed(discount="nan"), "discount must be a finite number"),
    "huge exponent": (raw("discount", "1e999999999"), "must have exponents from -1000 to 1000"),
    "huge exponent text": (changed(weights=["1e999999999", 1]), "weights[0] must be a finite"),
    "tiny exponent": (raw("weights", "[1, 1e-999999999]"), "must have exponents from"),
    "endless exponent": (raw("discount", "1e" + "9" * 30), "must have exponents from"),
    "long int": (raw("weights", f"[1, {'1' * 10_000}]"), "at most 1000 digits"),
    "longish int": (raw("weights", f"[1, {'1' * 4000}]"), "at most 1000 digits"),
    "longish state": (raw("terminal", f"[{'1' * 4000}]"), "at most 1000 digits"),
    "long decimal": (raw("weights", f"[1, 0.{'1' * 10_000}]"), "at most 1000 digits"),
    "overflow": (raw("weights", "[1, 1e400]"), "weights[1] must be smaller than 1e308"),
    "bool weight": (changed(weights=[True, 1]), "weights[0] must be a number; it is True"),
    "bool discount": (changed(discount=False), "discount must be a number; it is False"),
    "bool size": (changed(n_states=True), "n_states must be a whole number"),
    "bool terminal": (changed(terminal=[False, True]), "terminal[0] must be a whole number"),
    "bool probability": (changed(transitions=[[0, 0, 0, True]] * 2), "transitions[0]: probability"),
    "spaces": (changed(discount=" 0.5 "), "it is ' 0.5 '"),
    "half": (changed(discount="½"), "it is '½'"),
    "arabic digit": (changed(weights=["١", 1]), "weights[0] must be a finite number"),
    "division by zero": (changed(weights=["1/0", 1]), "weights[0] must not divide by zero"),
    "discount one": (changed(discount=1), "discount must be at least 0 and less than 1"),
    "discount negative": (changed(discount=-0.1), "less than 1; it is -0.1"),
    "discount rounds to one": (raw("discount", "0.99999999999999999999"), "0.99999999999999999999"),
    "discount null": (changed(discount=None), "discount must be a number"),
    "weights short": (changed(weights=[1]), "weights must have one entry for each of the 2"),
    "weights object": (changed(weights={"a": 1}), "weights must be a list"),
    "weights null": (changed(weights=None), "weights must be a list; it is None"),
    "features short": (
        changed(features=[[1, 0]]),
        "features must have 2 rows, one for each state; it has 1",
    ),
    "features ragged": (changed(features=[[1, 0], [1]]), "different lengths"),
    "features empty": (changed(features=[[], []]), "features must have the shape"),
    "features flat": (changed(features=[1, 2]), "features must have the shape"),
    "features text": (changed(features="ab"), "features must be a list; it is 'ab'"),
    "sum": (changed(transitions=[[0, 0, 0, 1], [0, 1, 0, 0.5]]), "transitions[0, 1] must be a"),
    "negative": (changed(transitions=[[0, 0, 0, 1], [0, 1, 0, -1]]), "must not be negative"),
    "row missing": (changed(transitions=[[0, 0, 0, 1], [0, 0, 0, 0]]), "transitions[0, 1]"),
    "rows few": (changed(transitions=[[0, 0, 0, 1]]), "at least 2 entries"),
    "row from terminal": (
        changed(transitions=[*TWO_CELLS["transitions"], [1, 0, 0, 1]]),
        "transitions[1, 0] must be empty",
    ),
    "row short": (changed(transitions=[[0, 0, 0], [1]]), "transitions[0] must be [state"),
    "row outside": (changed(transitions=[[0, 0, 2, 1]] * 2), "next state must be from 0 to 1"),
    "row decimal": (
        changed(transitions=[[0.0, 0, 0, 1]] * 2),
        "state must be a whole number; it is 0.0",
    ),
    "rows text": (changed(transitions=["ab", "cd"]), "transitions[0] must be"),
    "start on terminal": (changed(start=[[1, 1]]), "start must reach at least one state"),
    "start sum": (changed(start=[[0, 0.5]]), "start must be a distribution over states"),
    "start empty": (changed(start=[]), "start must be a distribution"),
    "start text": (changed(start="first"), "start must be 'uniform' or a list"),
    "start number": (changed(start=0), "start must be 'uniform' or a list"),
    "start nested": (changed(start=[[0, [1, 2]]]), "start[0]: probability"),
    "start short": (changed(start=[[0]]), "start must be 'uniform' or a list"),
    "all terminal": (changed(terminal=[0, 1], transitions=[]), "at least one state must not"),
    "terminal number": (changed(terminal=1), "terminal must be a list or null"),
    "terminal nested": (changed(terminal=[[1]]), "terminal[0] must be a whole number"),
    "names short": (changed(state_names=["a"]), "state_names must have 2 entries"),
    "names numbers": (
        raw("state_names", "[1.5, 2.5]"),
        "state_names[0] must be a string; it is 1.5",
    ),
    "names text": (changed(action_names="ab"), "action_names must be a list or null"),
    "names surrogate": (raw("state_names", '["a", "\\ud800"]'), "texts must hold whole signs"),
    "name number": (raw("name", "1.5"), "name must be a string; it is 1.5"),
    "name null": (changed(name=None), "name must be a string"),
    "layout text": (changed(layout="grid"), "layout must be null or an object"),
    "layout wrong": (changed(layout={"kind": "grid", "rows": 2, "columns": 2}), "2 * 2 cells"),
    "layout huge": (
        changed(layout={"kind": "grid", "rows": 10**9, "columns": 10**9, "cells": [0, 1]}),
        "layout must have at most",
    ),
    "deep list": ("[" * 100_000 + "]" * 100_000, "nested"),
    "deep open": ("[" * 100_000, "nested"),
    "deep object": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested"),
    **{f"deep {key}": (raw(key, "[" * 700 + "1" + "]" * 700), "must") for key in TWO_CELLS},
    **{
        f"{key} missing": (
            text_of({k: v for k, v in TWO_CELLS.items() if k != key}),
            f"{key} is missing",
        )
        for key in ("n_states", "n_actions", "transitions", "features", "weights", "discount")
    },
    **{
        f"{key} {value!r}": (changed(**{key: value}), f"{key} must be a whole number from 1")
        for key in ("n_states", "n_actions")
        for value in (0, -1, 2.0, "2", None, [2])
    },
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_in_one_line(name: str, tmp_path: Path) -> None:
    content, expected = BAD[name]
    assert expected in refusal(tmp_path / "task.json", content)


@pytest.mark.parametrize(
    ("n_states", "n_actions"),
    [(10**12, 2), (10**7, 2), (2, 10**12), (2, 10**7), (10**7, 1), (3, 2), (2, 4), (10**400, 1)],
)
def test_claimed_sizes_are_checked_before_memory_is_taken(
    n_states: int, n_actions: int, tmp_path: Path
) -> None:
    path = tmp_path / "task.json"
    path.write_text(changed(n_states=n_states, n_actions=n_actions))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=r"must (be at most|have|be a whole number from 1)"):
            load_task(path)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_a_file_beyond_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "task.json"
    with open(path, "wb") as file:
        file.truncate(reading.MAX_BYTES + 1)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match="must have at most 400000000 bytes"):
            load_task(path)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    path.write_text(text_of(TWO_CELLS))
    monkeypatch.setattr(reading, "MAX_BYTES", path.stat().st_size)
    load_task(path)
    monkeypatch.setattr(reading, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(InvalidFile, match="must have at most"):
        load_task(path)


def test_a_pipe_can_be_read_and_is_limited_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        pipe.write_text(text_of(TWO_CELLS))

    for limit, loads in ((10_000, True), (100, False)):
        monkeypatch.setattr(reading, "MAX_BYTES", limit)
        writer = threading.Thread(target=write)
        writer.start()
        if loads:
            assert load_task(pipe).name == "two cells"
        else:
            with pytest.raises(InvalidFile, match="must have at most 100 bytes"):
                load_task(pipe)
        writer.join()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/no/such/file.json", "No such file"),
        ("/", "Is a directory"),
        ("", "No such file"),
        ("a\0b", "null"),
        ("x" * 5000, "too long"),
        ("/dev/zero", "device"),
        ("new\nline.json", "No such file"),
        ("\udcff.json", "No such file"),
        (b"task.json", "a path must be a string"),
        (3.5, "a path must be a string"),
        (None, "a path must be a string"),
    ],
    ids=[
        "missing",
        "folder",
        "empty",
        "nul",
        "long",
        "device",
        "newline",
        "bytes",
        "b",
        "n",
        "none",
    ],
)
def test_bad_paths_are_refused_in_one_line(path: Any, reason: str) -> None:
    with pytest.raises(InvalidFile, match=re.escape(reason)):
        load_task(path)


# ---------------------------------------------------------------- fuzzing

POISON: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 3, 0.5, -0.0, 1e308, 1e-320, 10**12, 10**50, -(10**400)),
    *(
        "",
        "1/3",
        "1/0",
        "nan",
        "0.1",
        "uniform",
        "grid",
        "\ud800",
        "½",
        "9" * 5000,
        "didact.task/1",
    ),
    *(
        [],
        {},
        [[]],
        [0],
        [1, 1],
        [[0, 1]],
        [[0, 0, 0, 1]],
        {"kind": "grid"},
        [None, None],
        [[1], 2],
    ),
]


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all parts of a JSON value."""
    found = [here]
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += places(value[key], (*here, key))
    return found


def mutate(document: Any, rng: random.Random) -> Any:
    """A copy with one part removed, doubled, swapped, wrapped or replaced."""
    document = copy.deepcopy(document)
    *way, last = rng.choice(places(document)[1:])
    parent = document
    for step in way:
        parent = parent[step]
    match rng.randrange(6):
        case 0:
            del parent[last]
        case 1 if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
        case 2 if isinstance(parent, list):
            rng.shuffle(parent)
        case 3:
            parent[last] = [parent[last]]
        case 4:
            some = document
            for step in rng.choice(places(document)):
                some = some[step]
            parent[last] = copy.deepcopy(some)
        case _:
            parent[last] = rng.choice(POISON)
    return document


def loads_or_is_refused(path: Path) -> bool:
    """A file is refused in one line, or reads, writes and reads as the same task."""
    try:
        task = load_task(path)
    except InvalidInput as error:
        message = str(error)
        task = None
    if task is None:
        assert "\n" not in message
        assert len(message) < len(str(path)) + 250
        return False
    task.save(path)
    again = load_task(path)
    assert meaning(again) == meaning(task)
    assert task_document(again) == task_document(task)
    return True


def test_mutated_documents_load_or_are_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    tripled = copy.deepcopy(TWO_CELLS)
    tripled.update(features=[[[1], ["1/3"]], [[2], [2]]], weights=[0.1], feature_names=None)
    loaded, n_trials = 0, number(500, 1500)
    for trial in range(n_trials):
        document = rng.choice([TWO_CELLS, tripled])
        for _ in range(rng.randint(1, 3)):
            document = mutate(document, rng)
        path = tmp_path / "task.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        loaded += loads_or_is_refused(path)
        assert list(tmp_path.iterdir()) == [path], trial
    assert n_trials < 30 * loaded < 20 * n_trials


def test_mutated_bytes_load_or_are_refused(tmp_path: Path) -> None:
    rng = random.Random(1)
    content = text_of(TWO_CELLS).encode()
    path = tmp_path / "task.json"
    loaded, n_trials = 0, number(500, 1500)
    for _ in range(n_trials):
        changed_bytes = bytearray(content)
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(changed_bytes))
            match rng.randrange(4):
                case 0:
                    changed_bytes[place] = rng.randrange(256)
                case 1:
                    changed_bytes[place] = rng.choice(b'0123456789.eE+-/[]{}",:')
                case 2:
                    del changed_bytes[place : place + rng.randint(1, 5)]
                case _:
                    changed_bytes[place:place] = changed_bytes[rng.randrange(len(changed_bytes)) :][
                        :9
                    ]
        path.write_bytes(changed_bytes)
        loaded += loads_or_is_refused(path)
    assert n_trials < 75 * loaded < 50 * n_trials


# ---------------------------------------------------------------- writing


def two_cells() -> Task:
    return task_from_document(TWO_CELLS)


OLD = '{"format": "didact.task/1"}'


@pytest.mark.parametrize("step", ["fsync", "replace", "write", "chmod"])
def test_a_failing_disk_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "task.json"
    path.write_text(OLD)

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        limited = (
            "import resource, sys\n"
            "from didact.errors import InvalidFile\n"
            "from didact.files.json import write_text\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
            "try: write_text('x' * 100_000, sys.argv[1], kind=None)\n"
            "except InvalidFile as error: print(error)\n"
        )
        printed = subprocess.run(
            [sys.executable, "-B", "-c", limited, str(path)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        ).stdout
        assert printed == f"{path}: cannot be written: File too large\n"
    else:
        monkeypatch.setattr(os, step, fail)
        with pytest.raises(InvalidFile, match="cannot be written: No space left on device"):
            two_cells().save(path)
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    path = tmp_path / "task.json"
    path.write_text(OLD)
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        two_cells().save(path)
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_may_not_be_written_keeps_the_old_file() -> None:
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        (folder / "task.json").write_text(OLD)
        folder.chmod(0o555)
        if user == 0:  # who may write anywhere
            os.seteuid(65534)
        for name in ("task.json", "new.json"):
            with pytest.raises(InvalidFile, match="cannot be written: Permission denied"):
                two_cells().save(folder / name)
        assert [(p.name, p.read_text()) for p in folder.iterdir()] == [("task.json", OLD)]
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/no/such/folder/task.json", "No such file"),
        ("/proc/didact.json", "No such file"),
        ("/", "Is a directory"),
        ("/dev/full", "No space left"),
        ("a\0b", "null"),
        (None, "a path must be a string"),
    ],
)
def test_bad_targets_are_refused_in_one_line(path: Any, reason: str) -> None:
    with pytest.raises(InvalidFile, match=re.escape(reason)):
        two_cells().save(path)


def test_a_target_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="Is a directory"):
        two_cells().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_permissions_are_the_users_or_stay_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    before = os.umask(0o027)
    try:
        two_cells().save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        two_cells().save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text(OLD)
    link.symlink_to(real)
    two_cells().save(link)
    assert link.is_symlink()
    assert load_task(real).name == "two cells"


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    two_cells().save(path)
    assert load_task(path).name == "two cells"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=two_cells().save, args=(pipe,))
    writer.start()
    assert load_task(pipe).name == "two cells"
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_text_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match="cannot be written"):
        jsonfiles.write_text("\ud800", tmp_path / "page.html", kind=None)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- demonstrations


@pytest.mark.parametrize(
    "document",
    [[[[0, 1]], [[0, 0], [0, 1]]], {"demonstrations": [[[0, 1]], [[0, 0], [0, 1]]], "x": 1}],
)
def test_demonstrations_as_a_list_or_in_an_object(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "shown.json"
    path.write_text(json.dumps(document))
    shown = load_demonstrations(path, two_cells().mdp)
    assert [d.pairs for d in shown] == [((0, 1),), ((0, 0), (0, 1))]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "must hold a list of demonstrations"),
        ("5", "must hold a list of demonstrations"),
        ('{"demonstrations": "all"}', "must hold a list of demonstrations"),
        ('[{"a": 1}]', "demonstration 1: a demonstration must be [state, action] pairs"),
        ("[[[0, 1.0]]]", "demonstration 1: step 1: action must be a whole number; it is 1.0"),
        ("[[[0, true]]]", "demonstration 1: step 1: action"),
        ("[[[0, 2]]]", "demonstration 1, step 1: action must be from 0 to 1; it is 2"),
        ("[[[1, 0]]]", "state 1 is terminal"),
        ("[[]]", "at least one"),
        ("[" * 500 + "]" * 500, "demonstration 1: step 1"),
        ("[" * 100_000, "nested"),
        ("[[[0, NaN]]]", "finite"),
    ],
    ids=range(12),
)
def test_bad_demonstration_files_are_refused_in_one_line(
    text: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "shown.json"
    path.write_text(text)
    with pytest.raises(InvalidFile) as caught:
        load_demonstrations(path, two_cells().mdp)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def grid(seed, weights=("1/3", "-0.1")):
    world = didact.make("random-grid", size=2, n_features=2, seed=seed)
    return didact.Task(world.mdp, list(weights), name=world.name, layout=world.layout)


def family():
    return didact.Family(
        [grid(seed) for seed in range(3)],
        names=["a", "b", "c"],
        name="three",
    )


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def family_refusal(path, document):
    with pytest.raises(InvalidFile) as caught:
        didact.load_family(written(path, document))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_a_file_reads_back_exactly(tmp_path):
    given = family()
    given.save(tmp_path / "family.json")
    again = didact.load_family(tmp_path / "family.json")
    assert family_document(again) == family_document(given)
    assert again.names == ("a", "b", "c")
    assert [task_document(task) for task in again] == [task_document(task) for task in given]
    text = (tmp_path / "family.json").read_text()
    assert text.count("1/3") == 1, "the weights stand once"


def test_members_may_be_files_beside_it(tmp_path):
    given, document = family(), family_document(family())
    (tmp_path / "maps").mkdir()
    given[1].save(tmp_path / "maps" / "b.json")
    document["members"][1] = "maps/b.json"
    again = didact.load_family(written(tmp_path / "family.json", document))
    assert family_document(again) == family_document(given)


def test_defaults(tmp_path):
    document = family_document(family())
    del document["names"], document["name"]
    again = family_from_document(document)
    assert again.name == "family"
    assert again.names == tuple(task.name for task in family())


def test_what_is_wrong_is_told_with_its_place(tmp_path):
    path, right = tmp_path / "family.json", family_document(family())
    assert "format must be 'didact.family/1'" in family_refusal(
        path, {**right, "format": "didact.task/1"}
    )
    assert "with format 'didact.family/1'" in family_refusal(path, [])
    assert "members is missing" in family_refusal(
        path, {"format": "didact.family/1", "weights": []}
    )
    assert "'more' is not part of" in family_refusal(path, {**right, "more": 1})
    assert "members must be a list" in family_refusal(path, {**right, "members": {}})
    assert "at least one member" in family_refusal(path, {**right, "members": []})
    assert "names must have one for each" in family_refusal(path, {**right, "names": ["a"]})
    assert "weights" in family_refusal(path, {**right, "weights": [1, 2, 3]})
    first, *others = right["members"]
    changed = {**right, "members": [*others, {**first, "discount": 1}]}
    assert "members[2]: " in family_refusal(path, changed)
    changed = {**right, "members": [{**first, "weights": [1, 1]}, *others]}
    assert "members[0]: weights stands once in a family" in family_refusal(path, changed)
    assert "members[1]: a member must be" in family_refusal(path, {**right, "members": [first, 3]})
    message = family_refusal(path, {**right, "members": [first, str(tmp_path / "b.json")]})
    assert "members[1]: a path must be relative" in message
    message = family_refusal(path, {**right, "members": [first, "none.json"]})
    assert "members[1]: " in message
    assert "cannot be read" in message


@pytest.mark.parametrize("at", [0, 1])
def test_a_file_of_other_weights_is_no_member(tmp_path, at):
    document = family_document(family())
    grid(0, ["1/3", "-0.2"]).save(tmp_path / "other.json")
    document["members"][at] = "other.json"
    assert "exactly the" in family_refusal(tmp_path / "family.json", document)


def test_a_family_of_files_alone_has_their_weights(tmp_path):
    document = family_document(family())
    family()[0].save(tmp_path / "a.json")
    document |= {"members": ["a.json"], "names": ["a"]}
    assert len(didact.load_family(written(tmp_path / "family.json", document))) == 1
    assert "exactly the weights" in family_refusal(
        tmp_path / "family.json", {**document, "weights": ["1/3", 0.1]}
    )
