"""Every result shows itself: in a line of Python, in a notebook, and as rows of a table."""

import copy
import json
import pickle
from functools import cache

import numpy as np
import pytest

import didact
from didact.active.compare import compare
from didact.bec.rationalise import nearest_reward, rationalise
from tests.report.drawn import WORLDS

LONGEST = 300
pytestmark = pytest.mark.filterwarnings("ignore::didact.errors.NotMixed")


@cache
def results(world: str) -> dict[str, object]:
    """One of every result that a user can come by, of a world."""
    task = WORLDS[world]()
    plan = didact.solve(task)
    bec = didact.equivalence_class(task)
    lesson = didact.teach(task, bec=bec, trim=False)
    belief = didact.learn(task, lesson.demonstrations, n_steps=200, n_chains=2)
    run = didact.ask(task, n_queries=1, n_steps=200, n_chains=2)
    first = lesson.demonstrations[:1]
    going = int(np.flatnonzero(~task.mdp.terminal)[0])
    wrong = [[(going, int(np.flatnonzero(~plan.optimal[going])[0]))]]
    policy = np.eye(task.mdp.n_actions)[plan.optimal.argmax(axis=1)]
    return {
        "task": task,
        "mdp": task.mdp,
        "transitions": task.mdp.transitions,
        "demonstration": lesson.demonstrations[0],
        "recording": didact.Recording(lesson.demonstrations, task=task),
        "plan": plan,
        "evaluation": didact.evaluate(task, policy),
        "counts": didact.successor_features(task.mdp, plan),
        "class": bec,
        "cone": bec.cone,
        "rows": bec.rows,
        "proof": didact.prove(bec, first),
        "lesson": lesson,
        "part": didact.teach(task, bec=bec, budget=1, horizon=1),
        "verdict": didact.check(task, first, bec=bec),
        "wrong": didact.check(task, wrong, bec=bec, scope="all"),
        "exam": didact.exam(task, bec=bec),
        "audit": didact.audit(task, task.true_weights.floats.tolist(), bec=bec),
        "astray": didact.audit(task, (-task.weights).tolist(), bec=bec),
        "mix": didact.teach_mixed(task, feedback=["comparisons"], bec=bec),
        "mixed": didact.check(
            task, didact.teach_mixed(task, feedback=["comparisons"], bec=bec), bec=bec
        ),
        "said": didact.Comparison(going, *np.argsort(-plan.action_values[going])[:2].tolist()),
        "selection": didact.select(task, [*first, *first], bec=bec),
        "difficulty": didact.rank([task], exact=False)[0],
        "failed": didact.rank(["no-such-world"])[0],
        "belief": belief,
        "point": didact.learn(task, lesson.demonstrations, learner="ml-irl"),
        "risk": belief.risk(),
        "frontier": didact.frontier(didact.make("six-cell"), losses=["10%"], time_limit=1.0),
        "family": didact.Family([task], name=task.name),
        "class of a family": didact.equivalence_class(didact.Family([task], name=task.name)),
        "attack": didact.attack(
            task,
            [*lesson.demonstrations] * 2,
            bec=didact.equivalence_class(task, arithmetic="exact"),
        ),
        "identified": didact.identify(task, ["discount=1/2"]),
        "demonstrator": didact.informativeness(
            task, lesson.demonstrations[:2], rewards=task.weights, n_draws=10
        ),
        "run": run,
        "step": run.steps[1],
        "comparison": compare([task], ["random"], n_queries=1, n_steps=200, n_chains=2),
        "rationalisation": rationalise(task.mdp, policy),
        "nearest": nearest_reward(task.mdp, policy),
    }


@pytest.mark.parametrize("world", ["grid", "six-cell", "hostile"])
def test_a_result_shows_itself_in_one_short_line(world):
    for name, result in results(world).items():
        text = repr(result)
        assert len(text) <= LONGEST, (name, text)
        assert text.isprintable(), (name, text)
        assert text.startswith(f"{type(result).__name__}("), (name, text)


@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
@pytest.mark.parametrize("world", ["grid", "six-cell", "hostile"])
def test_a_result_can_be_pickled_and_copied(world, way):
    for name, result in (results(world) | observed()).items():
        twin = copy.deepcopy(result) if way == "deepcopy" else pickle.loads(pickle.dumps(result))
        assert type(twin) is type(result), name
        assert repr(twin) == repr(result), name
        if hasattr(result, "to_dict"):
            assert twin.to_dict() == result.to_dict(), name
    belief = pickle.loads(pickle.dumps(results(world)["belief"]))
    assert belief.samples.tobytes() == results(world)["belief"].samples.tobytes()
    assert not belief.samples.flags.writeable
    assert belief.settings == results(world)["belief"].settings
    with pytest.raises(TypeError):
        belief.settings["seed"] = 1
    assert type(belief.where) is type(results(world)["belief"].where)


@cache
def observed() -> dict[str, object]:
    """A policy in a simulator, and clips of it."""
    seen = didact.observe("lqr", n_rollouts=2, length=2, discount=0.8)
    return {"observed": seen, "clips": didact.teach(seen)}


def test_the_line_says_what_matters():
    found = results("grid")
    assert repr(found["class"]) == (
        "EquivalenceClass('random-grid 9x9, seed 0', reachable, "
        "Cone(13 facets, 0 equality rows, rank 7 of 8, exact))"
    )
    assert repr(found["plan"]).startswith("Plan(81 states, 4 actions, float")
    lesson = found["lesson"]
    assert repr(lesson) == (
        f"Lesson('random-grid 9x9, seed 0', complete: {len(lesson.demonstrations)} demonstrations, "
        f"{sum(map(len, lesson.demonstrations))} steps, with a proof)"
    )
    assert "of 13 constraints open" in repr(found["part"])
    assert repr(found["wrong"]).startswith("Verdict(does not teach: ")
    assert "1 wrong step" in repr(found["wrong"])


TABLES = {
    "plan": ["state", "value", "optimal"],
    "evaluation": ["state", "loss", "worst_loss", "wrong"],
    "class": ["kind", "words", "state", "action", "other", "normal"],
    "lesson": ["demonstration", "step", "state", "action", "state_name", "action_name"],
    "selection": ["episode", "verdict", "new_constraints", "n_wrong", "wrong_share"],
}
IN_NOTEBOOKS = (
    "task", "mdp", "plan", "evaluation", "class", "lesson", "part", "verdict", "wrong", "selection",
    "difficulty", "failed", "belief", "point", "run", "comparison", "exam", "audit",
    "astray", "mix", "risk", "frontier", "family", "class of a family", "attack", "identified",
    "demonstrator",
)  # fmt: skip


@pytest.mark.parametrize("name", IN_NOTEBOOKS)
def test_a_notebook_shows_it_and_names_stay_text(name):
    for world in ("grid", "hostile"):
        html = results(world)[name]._repr_html_()
        assert html.startswith("<")
        assert "<script>hacked" not in html
        assert "<img" not in html
        assert "0x7f" not in html
        assert len(html) < 1_000_000
    if not html.startswith("<iframe"):
        assert len(html) < 30_000
        assert html.count("<section") == html.count("</section>") == 1


def test_a_belief_names_states_as_its_task_does():
    belief = results("grid")["belief"]
    assert "row " in belief._repr_html_()
    assert "state " not in belief._repr_html_().replace(">state<", "><").replace("states ", "")
    assert belief.where is results("grid")["task"]


def test_a_belief_is_evaluated_by_its_most_likely_weights():
    task, belief = results("grid")["task"], results("grid")["belief"]
    found = didact.evaluate(task, belief)
    assert found.policy_loss == didact.evaluate(task, belief.map_weights).policy_loss


def test_a_belief_shows_its_intervals():
    html = results("grid")["belief"]._repr_html_()
    assert html.count("<svg") == html.count("90% from") == 8
    assert results("grid")["point"]._repr_html_().count("90% from") == 0


@pytest.mark.parametrize("name", ["plan", "evaluation", "class", "lesson", "wrong", "selection",
                                  "belief", "point", "run", "comparison"])  # fmt: skip
def test_records_make_a_table(name):
    pandas = pytest.importorskip("pandas")
    result = results("grid")[name]
    records = result.to_records()
    frame = pandas.DataFrame(records)
    assert len(frame) == len(records) > 0
    assert list(frame.columns) == TABLES.get(name, list(records[0]))


def test_rows_of_tables_are_what_the_results_hold():
    found = results("grid")
    lesson, bec, plan = found["lesson"], found["class"], found["plan"]
    pairs = [(row["state"], row["action"]) for row in lesson.to_records()]
    assert pairs == [pair for d in lesson.demonstrations for pair in d]
    assert [row["demonstration"] for row in lesson.to_records()][-1] == len(lesson.gains) - 1
    rows = bec.to_records()
    assert [row["words"] for row in rows] == didact.describe(
        bec.cone, [bec.task.mdp.feature_name(i) for i in range(8)]
    )
    for row in rows:
        weights = bec.task.true_weights.fractions()
        worth = sum(a * w for a, w in zip(row["normal"], weights, strict=True))
        assert worth >= 0
        state, action, other = row["state"], row["action"], row["other"]
        assert plan.action_values[state, action] >= plan.action_values[state, other] - 1e-9
    assert found["evaluation"].to_records()[3]["loss"] == found["evaluation"].loss_by_state[3]
    (wrong,) = found["wrong"].to_records()
    assert plan.optimal[wrong["state"], wrong["better"]]
    assert not plan.optimal[wrong["state"], wrong["action"]]
    chosen = [row for row in found["selection"].to_records() if row["verdict"] == "chosen"]
    assert [row["episode"] for row in chosen] == sorted(found["selection"].chosen)


def test_difficulties_make_a_table():
    pandas = pytest.importorskip("pandas")
    rows = didact.rank(["six-cell", "chain"], exact=False)
    frame = pandas.DataFrame([row.to_dict() for row in rows])
    assert list(frame["n_pairs"]) == [row.n_pairs for row in rows]


@pytest.mark.parametrize("name", ["lesson", "wrong", "verdict", "selection", "difficulty", "belief",
                                  "point", "run", "comparison"])  # fmt: skip
def test_dictionaries_are_json(name):
    document = results("grid")[name].to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) is not None


def test_a_lesson_from_a_file_shows_its_steps(tmp_path):
    lesson = results("grid")["lesson"]
    lesson.save(tmp_path / "lesson.json")
    loaded = didact.load_lesson(tmp_path / "lesson.json")
    names = ("demonstration", "step", "state", "action")
    plain = [{name: row[name] for name in names} for row in lesson.to_records()]
    assert loaded.to_records() == plain
    assert loaded._repr_html_().count("<tr>") == 1 + 20
    assert f"and {lesson.n_pairs - 20} more" in loaded._repr_html_()
