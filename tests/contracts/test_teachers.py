"""One contract for every registered teacher, on several worlds and options."""

from __future__ import annotations

import itertools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from didact.errors import InvalidInput, InvalidParameter
from didact.mdp import MDP, Task, Transitions
from didact.mdp.files import task_document
from didact.planning import solve
from didact.proofcheck import check_proof
from didact.teaching import (
    Lesson,
    Picks,
    Problem,
    check,
    load_lesson,
    register_teacher,
    teach,
    teachers,
)
from didact.teaching.lesson import LESSON_FORMAT, verify
from tests.effort import crossed
from tests.models import WORLDS, small_world

BUILT_IN = ("scot", "scot-redundant", "exact", "uvm", "random")
OWN_OPTIONS = {"uvm": {"n_samples": 500}, "random": {"n": 4}}
SETTINGS = {
    "teacher", "horizon", "cost", "scope", "arithmetic", "rollouts", "starts", "budget", "closed",
    "min_probability", "trim", "seed",
}  # fmt: skip


def half_a_pair_more(demonstration) -> Fraction:
    return Fraction(1, 2) + len(demonstration)


def starts_of(task: Task) -> list[int]:
    return np.flatnonzero((task.mdp.start.floats > 0) & ~task.mdp.terminal).tolist()


OPTIONS = {
    "default": lambda task: {},
    "single pairs": lambda task: {"horizon": 1},
    "horizon 3, exact": lambda task: {"horizon": 3, "arithmetic": "exact"},
    "rollouts": lambda task: {"rollouts": 3, "horizon": 4, "seed": 7},
    "budget": lambda task: {"budget": 2, "horizon": 1},
    "cost pairs": lambda task: {"cost": "pairs", "horizon": 2},
    "cost function": lambda task: {"cost": half_a_pair_more},
    "cost table": lambda task: {"cost": {s: "0.1" if s % 2 else 3 for s in starts_of(task)}},
    "one start": lambda task: {"starts": starts_of(task)[-1:], "horizon": 2},
    "closed": lambda task: {"closed": True, "horizon": 1},
    "closed within a budget": lambda task: {"closed": True, "budget": 3},
    "all states, floats": lambda task: {"scope": "all", "arithmetic": "float", "horizon": 1},
}


@pytest.mark.parametrize(
    ("teacher", "name", "options"), crossed(BUILT_IN, WORLDS, OPTIONS, one_in=5)
)
def test_contract(teacher, name, options, tmp_path):
    assert_contract(small_world(name), teacher, OPTIONS[options](small_world(name)), tmp_path)


def test_the_contract_covers_every_built_in_teacher():
    assert set(BUILT_IN) <= set(teachers())
    assert all(teachers()[name].__module__.startswith("didact.") for name in BUILT_IN)


def test_the_worlds_are_of_every_kind():
    classes = [teach(small_world(name), horizon=1) for name in WORLDS]
    assert any(lesson.n_equalities for lesson in classes)
    assert {lesson.status for lesson in classes} == {"complete", "partial"}
    assert not small_world("slippery").mdp.is_deterministic()


def assert_contract(task: Task, teacher: str, options: dict, tmp_path) -> Lesson:
    own = OWN_OPTIONS.get(teacher, {})
    lesson = teach(task, teacher=teacher, **options, **own)
    assert_valid(task, lesson, options)
    assert_judged(task, lesson, options)
    assert_counted(lesson, options)
    if teacher == "exact" and lesson.is_complete and not options.get("closed"):
        assert lesson.lower_bound == (lesson.cost if lesson.candidates == "all" else None)
    assert set(lesson.settings) == SETTINGS | set(own)
    assert lesson.settings["teacher"] == teacher
    document = lesson.document()
    assert document["format"] == LESSON_FORMAT
    again = teach(task, teacher=teacher, **options, **own)
    assert again.document() == document
    lesson.save(tmp_path / "lesson.json")
    loaded = load_lesson(tmp_path / "lesson.json")
    assert loaded.document() == document
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "lesson.json").read_bytes()
    for number in range(len(lesson.demonstrations)):
        assert_readable(lesson.why(number))
        assert loaded.why(number) == lesson.why(number)
    return lesson


def assert_valid(task: Task, lesson: Lesson, options: dict) -> None:
    """Optimal, possible, from the starts, within horizon and budget, each shown once."""
    mdp, optimal = task.mdp, solve(task.mdp, task.true_weights).optimal
    starts = options.get("starts", starts_of(task))
    moves = mdp.transitions
    for demonstration in lesson.demonstrations:
        assert demonstration[0][0] in starts
        assert len(demonstration) <= options.get("horizon", math.inf)
        for state, action in demonstration:
            assert optimal[state, action]
            assert not mdp.terminal[state]
        pairs = demonstration.pairs
        for (state, action), (following, _) in itertools.pairwise(pairs):
            row = state * mdp.n_actions + action
            assert following in moves.successors[moves.offsets[row] : moves.offsets[row + 1]]
    assert len(set(lesson.demonstrations)) == len(lesson.demonstrations)
    assert len(lesson.demonstrations) <= (options.get("budget") or math.inf)


def assert_judged(task: Task, lesson: Lesson, options: dict) -> None:
    """Status, check and proof tell one story; a partial lesson has a witness and its loss."""
    verdict = check(
        task,
        lesson.demonstrations,
        scope=options.get("scope", "reachable"),
        arithmetic=options.get("arithmetic", "auto"),
    )
    assert verdict.teaches == lesson.is_complete
    assert verdict.closed == lesson.closed
    assert verdict.n_open == len(lesson.uncovered)
    assert (verdict.witness, verdict.loss) == (lesson.witness, lesson.loss)
    nothing_open = lesson.status != "partial"
    assert (lesson.witness is None) == nothing_open
    assert lesson.loss == 0 if lesson.is_complete else nothing_open or lesson.loss >= 0
    assert nothing_open == (not lesson.uncovered)
    assert (lesson.status == "undecided") == (nothing_open and lesson.n_close_calls > 0)
    if options.get("arithmetic") == "float":
        assert lesson.proof is None
        return
    read = json.loads(json.dumps(lesson.document()), parse_float=str)
    line = check_proof(json.loads(json.dumps(task_document(task)), parse_float=str), read)
    assert line.startswith("proved: " if lesson.is_complete else "proved open: ")
    assert verify(task, lesson.document()) == line


def assert_counted(lesson: Lesson, options: dict) -> None:
    """Gains, facets, cost and bounds add up."""
    n_elements = lesson.n_facets + lesson.n_equalities
    assert len(lesson.gains) == len(lesson.demonstrations)
    assert min(lesson.gains, default=0) >= 0
    assert sum(lesson.gains) == n_elements - len(lesson.uncovered)
    covering = [facet["covered_by"] for facet in lesson.facets]
    assert len(covering) == n_elements
    assert sum(facet["equality"] for facet in lesson.facets) == lesson.n_equalities
    for number, gain in enumerate(lesson.gains):
        assert covering.count(number) == gain
    assert covering.count(None) == len(lesson.uncovered)
    shown = lesson.demonstrations
    cost = options.get("cost", "demonstrations")
    price = {
        "demonstrations": lambda d: 1,
        "pairs": len,
    }.get(cost) if isinstance(cost, str) else cost  # fmt: skip
    if isinstance(price, dict):
        price = {s: Fraction(c) for s, c in price.items()}
        assert lesson.cost == sum(price[d[0][0]] for d in shown)
    else:
        assert lesson.cost == sum(price(d) for d in shown)
    assert lesson.n_pairs == sum(map(len, shown))
    if lesson.is_complete and lesson.lower_bound is not None:
        assert 0 <= lesson.lower_bound <= lesson.cost
    for missing in lesson.uncovered:
        assert missing.reason in ("budget", "left out", "not sampled", "not reachable")
        assert missing.words


def assert_readable(sentence: str) -> None:
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert len(sentence) > 20
    assert not any(odd in sentence for odd in ("nan", "Fraction", "[", "{", "\n"))


# Teachers of one's own


def in_order(problem: Problem, rng: np.random.Generator) -> list[int]:
    """All candidates, first to last."""
    return list(range(len(problem.candidates)))[: problem.budget]


def shuffled(problem: Problem, rng: np.random.Generator, most: int = 5) -> Picks:
    """Any five, as Picks."""
    chosen = rng.permutation(len(problem.candidates))[:most].tolist()
    return Picks(tuple(chosen[: problem.budget]), ())


@pytest.mark.parametrize(
    ("name", "options", "function"),
    crossed(
        ["random", "tied", "slippery"],
        ["single pairs", "budget", "cost table", "closed"],
        [in_order, shuffled],
        one_in=2,
    ),
)
@pytest.mark.usefixtures("own_registries")
def test_a_teacher_of_ones_own_registers_in_one_line(function, options, name, tmp_path):
    register_teacher("mine")(function)
    assert_contract(small_world(name), "mine", OPTIONS[options](small_world(name)), tmp_path)


@pytest.mark.usefixtures("own_registries")
def test_a_registered_function_stays_what_it_is():
    assert register_teacher("mine")(in_order) is in_order
    assert teachers()["mine"] is in_order


@pytest.mark.usefixtures("own_registries")
def test_claimed_gains_are_not_taken_on_trust():
    register_teacher("boaster")(lambda problem, rng: Picks((0,), (1000,)))
    lesson = teach(small_world("random"), teacher="boaster", horizon=1)
    assert lesson.gains[0] < 100


def fails(problem: Problem, rng: np.random.Generator) -> list[int]:
    raise RuntimeError("the robot is\nunplugged")


BAD = {
    "text": (lambda p, rng: "0 1 2", "must return candidate numbers; it returned '0 1 2'"),
    "texts": (lambda p, rng: ["0"], "pick 0 is '0'"),
    "nothing": (lambda p, rng: None, "must return candidate numbers; it returned None"),
    "too large": (lambda p, rng: [0, 10**6], "from 0 to 20; pick 1 is 1000000"),
    "negative": (lambda p, rng: [-1], "from 0 to 20; pick 0 is -1"),
    "fractions": (lambda p, rng: [0.0], "pick 0 is 0.0"),
    "truth": (lambda p, rng: [True], "pick 0 is True"),
    "twice": (lambda p, rng: [3, 3], "must pick each candidate once"),
    "over budget": (lambda p, rng: [0, 1, 2], "must keep to the budget of 2; it picked 3"),
    "fails": (fails, "teacher 'bad' failed: RuntimeError: the robot is unplugged"),
    "one argument": (lambda p: [0], "teacher 'bad' failed: TypeError"),
    "a set": (lambda p, rng: {0, 1}, "must return candidate numbers"),
    "demonstrations": (lambda p, rng: [p.candidates[0]], "pick 0 is"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.usefixtures("own_registries")
def test_bad_teachers_fail_with_one_readable_line(kind):
    function, message = BAD[kind]
    register_teacher("bad")(function)
    with pytest.raises(InvalidParameter) as raised:
        teach(small_world("random"), teacher="bad", horizon=1, budget=2)
    line = str(raised.value)
    assert message in line
    assert "\n" not in line
    assert len(line) < 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"teacher": "scott"},
            "no teacher is called 'scott' (did you mean 'scot'?); there are",
        ),
        ({"n": 3}, "teacher 'exact' has no option 'n'; it takes time_limit"),
        (
            {"teacher": "random", "m": 3},
            "teacher 'random' has no option 'm' (did you mean 'rollouts'?); it takes n",
        ),
        ({"teacher": "random", "n": 0}, "n must be a whole number from 1; it is 0"),
        ({"teacher": "uvm", "n_samples": 0}, "n_samples must be"),
        ({"teacher": "uvm", "region": "ball"}, "region must be"),
        ({"teacher": "exact", "time_limit": 0}, "time_limit must be positive"),
        ({"teacher": "exact", "time_limit": "soon"}, "time_limit must be positive"),
        ({"horizon": 0}, "horizon must be a whole number from 1; it is 0"),
        ({"horizon": 1.5}, "horizon must be a whole number from 1; it is 1.5"),
        ({"budget": 0}, "budget must be a whole number from 1; it is 0"),
        ({"budget": True}, "budget must be a whole number from 1; it is True"),
        ({"budget": 2.5}, "budget must be a whole number from 1; it is 2.5"),
        ({"budget": "two"}, "budget must be a whole number from 1; it is 'two'"),
        ({"rollouts": 0}, "rollouts must be a whole number from 1; it is 0"),
        ({"rollouts": "3"}, "rollouts must be a whole number from 1; it is '3'"),
        ({"rollouts": 2.5}, "rollouts must be a whole number from 1; it is 2.5"),
        ({"starts": []}, "starts must name at least one state"),
        ({"starts": 3}, "starts must be a list of states; it is 3"),
        ({"starts": [99]}, "starts must be from 0 to 15; it is 99"),
        ({"cost": "time"}, "cost must be"),
        ({"cost": {0: 1}}, "the cost table must have every start; 1 is missing"),
        ({"cost": lambda d: 0}, "costs must be positive; candidate 0 costs 0"),
        ({"cost": lambda d: float("nan")}, "cost of candidate 0"),
        ({"scope": "some"}, "scope must be"),
        ({"arithmetic": "fast"}, "arithmetic must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_options_are_told_in_one_line(options, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        teach(small_world("random"), **options)


def test_starts_that_are_terminal_or_out_of_scope_are_refused():
    task = small_world("one-start")
    goal = int(np.flatnonzero(task.mdp.terminal)[0])
    with pytest.raises(InvalidParameter, match="starts must not be terminal"):
        teach(task, starts=[goal])
    rows = [(0, 0, 0, 1), (0, 1, 1, 1), (2, 0, 1, 1), (2, 1, 2, 1)]
    moves = Transitions.from_rows(rows, 3, 2)
    far = Task(MDP(moves, [[0], [1], [2]], "0.5", start=0, terminal=[1]), [1])
    for arithmetic in ("exact", "float"):
        with pytest.raises(InvalidParameter, match="starts must be in scope 'reachable'; state 2"):
            teach(far, starts=[2], arithmetic=arithmetic)
        assert teach(far, starts=[0, 2], scope="all", arithmetic=arithmetic).is_complete


def test_a_start_that_never_comes_up_is_refused_without_the_wrong_remedy():
    alone = MDP([[[1, 0], [1, 0]], [[0, 1], [0, 1]]], [[1, 0], [0, 1]], "0.9", start=0)
    with pytest.raises(InvalidParameter, match=r"state 1 never comes up.* Leave it out$"):
        teach(Task(alone, [1, 2]), starts=[1], scope="all")


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_teachers_name_must_be_text(name):
    with pytest.raises(InvalidParameter, match="name must be text"):
        register_teacher(name)


@pytest.mark.usefixtures("own_registries")
def test_built_in_teachers_stay():
    with pytest.raises(InvalidParameter, match="'scot' is built in"):
        register_teacher("scot")(in_order)


@pytest.mark.parametrize("teacher", BUILT_IN)
def test_a_generator_is_a_seed(teacher):
    options = {"teacher": teacher, "rollouts": 2, "horizon": 3, **OWN_OPTIONS.get(teacher, {})}
    one, two = (
        teach(small_world("slippery"), seed=np.random.default_rng(3), **options).document()
        for _ in range(2)
    )
    assert one == two
    assert one["settings"]["seed"] is None
    assert teach(small_world("slippery"), seed=np.int64(3), **options).settings["seed"] == 3
    teach(small_world("slippery"), seed=None, **options)


@pytest.mark.usefixtures("own_registries")
def test_options_that_no_file_can_hold_are_written_as_text(tmp_path):
    register_teacher("mine")(lambda problem, rng, rank=None, share=0.5: [0])
    lesson = teach(small_world("random"), teacher="mine", horizon=1, rank={1, 2}, share=0.1)
    assert (lesson.settings["rank"], lesson.settings["share"]) == ("{1, 2}", 0.1)
    lesson.save(tmp_path / "lesson.json")
    assert load_lesson(tmp_path / "lesson.json").document() == lesson.document()


WRONG_VALUES = (None, 3, -1, "x", [], {}, [[]], 1.5, True, "1/0", 10**400, [1], {"a": 1})


def test_a_damaged_lesson_file_is_told_in_one_line(tmp_path):
    """Each field replaced by each wrong value, or left out: refused, or still a whole lesson."""
    document, path = teach(small_world("six-cell"), starts=[4]).document(), tmp_path / "lesson.json"
    damaged = [
        {k: v for k, v in document.items() if k != gone} for gone in document
    ]  # fmt: skip
    for name, value in document.items():
        damaged += [{**document, name: wrong} for wrong in WRONG_VALUES]
        if isinstance(value, list):
            damaged += [{**document, name: [wrong]} for wrong in WRONG_VALUES]
    for name in ("facets", "uncovered"):
        entry = document[name][0]
        damaged += [
            {**document, name: [{**entry, key: wrong}]} for key in entry for wrong in WRONG_VALUES
        ]
    messages = []
    for attempt in damaged:
        path.write_text(json.dumps(attempt))
        try:
            lesson = load_lesson(path)
        except InvalidInput as error:
            messages.append(str(error))
        else:
            lesson.save(path)
            assert all(lesson.why(i) for i in range(len(lesson.demonstrations)))
    assert len(messages) > len(damaged) / 2
    assert not any("\n" in message for message in messages)
