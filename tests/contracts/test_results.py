"""Every result shows itself: in a line of Python, in a notebook, and as rows of a table."""

from functools import cache

import numpy as np
import pytest

import didact
from didact.active.compare import compare
from didact.bec.nearest_reward import nearest_reward
from didact.bec.rationalise import rationalise
from tests.report.drawn import WORLDS

LONGEST = 300
pytestmark = pytest.mark.filterwarnings("ignore::didact.errors.NotMixed")


@cache
def results(world: str) -> dict[str, object]:
    """One of every result that a user can come by, of a world."""
    task = WORLDS[world]()
    plan = didact.solve(task)
    known = didact.equivalence_class(task)
    lesson = didact.teach(task, known=known)
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
        "class": known,
        "cone": known.cone,
        "rows": known.rows,
        "proof": didact.prove(known, first),
        "lesson": lesson,
        "part": didact.teach(task, known=known, budget=1, horizon=1),
        "verdict": didact.check(task, first, known=known),
        "wrong": didact.check(task, wrong, known=known, scope="all"),
        "selection": didact.select(task, [*first, *first], known=known),
        "difficulty": didact.rank([task], exact=False)[0],
        "failed": didact.rank(["no-such-world"])[0],
        "belief": belief,
        "point": didact.learn(task, lesson.demonstrations, learner="ml-irl"),
        "risk": belief.risk(),
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
