"""`didact explain` as a person or a script meets it."""

import json
import re
import shlex
import sys

import numpy as np
import pytest

from didact import MDP, solve
from didact.mdp import Task
from didact.worlds import from_gymnasium, make
from tests.command_line import refused

pytestmark = pytest.mark.usefixtures("in_own_folder")


def contradicting() -> Task:
    """Two cells and a policy that changes cells all the time, which no reward in them explains."""
    moves = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    mdp = MDP(moves, [[1, 0], [0, 1]], "0.9", feature_names=["sand", "grass"])
    return Task(mdp, [1, 2], name="two cells")


# The page


@pytest.mark.parametrize(
    ("world", "verdict", "code"),
    [
        ("Taxi-v4", "1 demonstration (18 state-action pairs) is enough. Proof verified.", 0),
        (
            "CliffWalking-v1",
            "1 demonstration (13 state-action pairs) is enough.",
            0,
        ),
        (
            "FrozenLake-v1",
            "NOT taught: 1 demonstration (7 state-action pairs) leaves",
            3,
        ),
        ("six-cell", "1 demonstration (4 state-action pairs) is enough. Proof verified.", 0),
    ],
)
def test_a_page_is_written_and_the_verdict_printed(didact, tmp_path, world, verdict, code):
    answer = didact("explain", world, "-n", 5, "-o", "page.html")
    assert (answer.code, answer.err) == (code, "")
    assert verdict in answer.told
    assert re.fullmatch(r"  saved as page\.html \(\d+ kB\)", answer.out.splitlines()[-1])
    page = (tmp_path / "page.html").read_text()
    assert "✓ Proof verified" in page
    assert f"didact explain {world} -n 5 -o page.html" in page
    assert len(page.encode()) < 300_000


def test_the_page_goes_to_lesson_html_by_default(didact, tmp_path):
    assert didact("explain", "six-cell").code == 0
    assert (tmp_path / "lesson.html").exists()


def test_the_command_on_the_page_makes_the_same_page(didact, tmp_path):
    given = ("explain", "random-grid", "-p", "size=4", "-p", "n_features=3", "--seed", 7,
             "--horizon", 1, "-n", 2, "--pair", "0,2", "-o", "a b.html")  # fmt: skip
    assert didact(*given).code == 0
    page = (tmp_path / "a b.html").read_text()
    command = re.search(r"<pre[^>]*><code>(.*?)</code>", page)[1].replace("&#x27;", "'")
    program, *arguments = shlex.split(command)
    assert program == "didact"
    (tmp_path / "a b.html").unlink()
    didact(*arguments)
    assert (tmp_path / "a b.html").read_text() == page


def test_the_budget_leaves_something_open(didact):
    answer = didact("explain", "random-grid", "-p", "size=9", "-n", 1, "--json")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert document["page"] == "lesson.html"
    assert document["lesson"]["status"] == "partial"
    assert document["lesson"]["n_demonstrations"] == 1
    assert {m["reason"] for m in document["lesson"]["uncovered"]} == {"budget"}
    assert document["policy"] is None


def test_large_worlds_are_numerical_and_small_ones_proved(didact, tmp_path):
    assert "Decided in floats" in didact("explain", "random-grid", "-p", "size=60", "-n", 2).out
    assert "Proof verified" in didact("explain", "random-grid", "-p", "size=6").out


# Policies


def test_a_policy_in_a_file_is_explained(didact, tmp_path):
    task = make("six-cell")
    plan = solve(task.mdp, task.true_weights)
    actions = plan.optimal.argmax(axis=1)
    np.save(tmp_path / "actions.npy", actions)
    np.save(tmp_path / "shares.npy", plan.policy)
    (tmp_path / "actions.json").write_text(json.dumps(actions.tolist()))
    pages = []
    for name in ("actions.npy", "shares.npy", "actions.json"):
        answer = didact("explain", "six-cell", "--policy", name)
        assert (answer.code, answer.err) == (0, "")
        assert f"The policy {name} is optimal for a reward in these features" in answer.out
        pages.append((tmp_path / "lesson.html").read_text().replace(name, "policy"))
    assert len(set(pages)) == 1
    assert "The policy policy is optimal for a reward" in pages[0]


def test_taxis_policy_by_the_environments_numbers_is_explained(didact, tmp_path):
    task = from_gymnasium("Taxi-v4")
    plan = solve(task.mdp, task.true_weights)
    shares = np.full((500, 6), 1 / 6)
    shares[[task.observation(state) for state in range(task.mdp.n_states)]] = plan.policy
    np.save(tmp_path / "all.npy", shares)
    answer = didact("explain", "Taxi-v4", "--policy", "all.npy", "--json")
    assert answer.code == 0
    found = json.loads(answer.out)
    assert found["policy"]["kind"] == "unique"
    weights = found["policy"]["weights"]
    assert np.array_equal(solve(task.mdp, weights).optimal, plan.optimal)


def test_a_function_and_an_agent_are_explained(didact, tmp_path):
    (tmp_path / "my_policies.py").write_text(
        "def act(state):\n    return {1: 2, 2: 1, 3: 0}.get(state, 2)\n"
        "class Agent:\n    def predict(self, observation, deterministic=False):\n"
        "        return act(int(observation)) if deterministic else 3, None\n"
        "agent = Agent()\n"
    )
    for name in ("act", "agent"):
        answer = didact("explain", "six-cell", "--policy", f"my_policies:{name}", "--json")
        assert answer.err == ""
        assert json.loads(answer.out)["policy"]["kind"] in ("unique", "tied")
    sys.modules.pop("my_policies")


def test_a_policy_that_no_reward_explains_stops_with_the_proof(didact, tmp_path):
    contradicting().save(tmp_path / "cells.json")
    (tmp_path / "swap.json").write_text("[1, 1]")
    answer = didact("explain", "cells.json", "--policy", "swap.json")
    assert (answer.code, answer.err) == (3, "")
    lines = answer.out.splitlines()
    assert lines[0] == "The policy swap.json is not optimal for any reward in these features."
    assert "one step on sand is worth at least one step on grass" in answer.told
    assert "one step on grass is worth at least one step on sand" in answer.told
    assert lines[-1].startswith("Nothing was written")
    assert not (tmp_path / "lesson.html").exists()
    document = json.loads(didact("explain", "cells.json", "--policy", "swap.json", "--json").out)
    assert document["lesson"] is None
    assert document["page"] is None
    assert document["policy"]["kind"] == "none"
    assert len(document["policy"]["certificate"]) == 2


def test_the_nearest_is_taught_when_asked_for(didact, tmp_path):
    task = make("random-grid", size=4, n_features=3, seed=0)
    plan = solve(task.mdp, task.true_weights)
    odd = plan.optimal.argmax(axis=1)
    odd[5] = int(plan.action_values[5].argmin())
    np.save(tmp_path / "odd.npy", odd)
    given = ("explain", "random-grid", "-p", "size=4", "-p", "n_features=3", "--seed", 0,
             "--policy", "odd.npy")  # fmt: skip
    assert didact(*given).code == 3
    answer = didact(*given, "--if-not-optimal", "nearest", "--json")
    document = json.loads(answer.out)
    assert answer.code == 0
    assert document["policy"]["kind"] == "none"
    assert 0 < document["nearest"]["kept"] < 1
    assert "What is taught instead is the nearest reward" in (tmp_path / "lesson.html").read_text()


# Bad input


def test_a_pickled_array_is_not_opened(didact, tmp_path):
    np.save(tmp_path / "evil.npy", np.array([print], dtype=object), allow_pickle=True)
    refused(didact("explain", "six-cell", "--policy", "evil.npy"), "must hold plain numbers")


def test_people_get_plain_words_and_the_mathematics_folded(didact, tmp_path):
    out = tmp_path / "page.html"
    assert didact("explain", "CliffWalking-v1", "--for", "people", "-o", out).code == 0
    page = out.read_text()
    seen, folded = page.split("<details><summary>The mathematics behind it</summary>")
    assert "Watch one demonstration of 13 steps." in seen
    assert "It would rather take any number of steps than falling off the cliff" in seen
    assert "half-space" not in seen.split("<body>")[1]
    assert "all optimal actions" not in seen
    assert "Rewards that still fit" in folded
    assert "An independent checker accepted the proof" in folded
    assert "Make it again" not in page


def test_people_are_told_of_slips_and_of_what_stays_open(didact, tmp_path):
    out = tmp_path / "page.html"
    assert didact("explain", "FrozenLake-v1", "--for", "people", "-o", out).code == 3
    page = out.read_text()
    assert "It slips: of its moves 1 in 3 go where it wants" in page
    assert "Where one may still guess wrongly" in page


def test_a_lesson_in_python_reports_to_people_too(tmp_path):
    from didact import make, teach
    from didact.errors import InvalidParameter

    lesson = teach(make("six-cell"))
    lesson.report(tmp_path / "page.html", audience="people")
    assert "It would rather take two steps on white" in (tmp_path / "page.html").read_text()
    with pytest.raises(InvalidParameter, match="audience must be 'experts' or 'people'"):
        lesson.report(tmp_path / "page.html", audience="cats")


def test_every_step_under_a_policy_is_its_own_and_ties_are_told(didact, tmp_path):
    """A detour round the cliff: the reward that explains it ties most actions."""
    task = from_gymnasium("CliffWalking-v1")
    safe = [2 if s % 12 == 11 else 0 if s >= 12 else 1 for s in range(48)]
    (tmp_path / "safe.json").write_text(json.dumps(safe))
    answer = didact("explain", "CliffWalking-v1", "--policy", "safe.json", "--json")
    assert answer.code == 0
    lesson = json.loads(answer.out)["lesson"]
    pairs = [tuple(pair) for shown in lesson["demonstrations"] for pair in shown]
    assert len(pairs) == 17
    assert all(safe[state] == action for state, action in pairs)
    assert pairs[0][0] == int(task.mdp.start.floats.argmax())
    page = (tmp_path / "lesson.html").read_text()
    assert "other actions are exactly as good in 37 states" in page
    assert "Every step that is shown is the policy" in page


def test_a_lesson_that_covers_no_facet_shows_what_there_is(didact, tmp_path):
    grid = ("-p", "rows=S.G./..#./ww.F", "-p", "weights=S=-1,.=-1,G=10,w=-4,F=-20",
            "-p", "terminal=GF", "-p", "start=S", "-p", "discount=0.9")  # fmt: skip
    answer = didact("explain", "grid", *grid, "--for", "people")
    assert answer.code == 3
    page = (tmp_path / "lesson.html").read_text()
    assert "There is nothing to watch" not in page
    assert "Watch one demonstration of 2 steps." in page
    assert "Where one may still guess wrongly" in page
    world = page[page.index('id="world-title"') : page.index('id="shown"')]
    assert "10" not in re.sub("<[^>]*>", " ", world)
