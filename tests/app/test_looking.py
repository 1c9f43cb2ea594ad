"""Pictures of painted worlds against plans in exact arithmetic."""

import re

import pytest

from didact import solve
from didact.app.looking import looked_at
from didact.app.painting import read_painting
from didact.app.studio import MEADOW


@pytest.mark.parametrize("slip", ["0", "0.2"])
def test_values_and_actions_stand_in_their_cells(slip):
    painting = read_painting({**MEADOW, "slip": slip})
    told = looked_at(painting)
    task = painting.task()
    exact = solve(task.mdp, task.true_weights, arithmetic="exact")
    signs = "".join(painting.rows)
    free = [cell for cell, sign in enumerate(signs) if sign != "#"]
    assert len(told["values"]) == len(told["optimal"]) == len(signs) == 81
    for state, cell in enumerate(free):
        assert told["values"][cell] == pytest.approx(float(exact.exact_values[state]), abs=1e-9)
        assert set(exact.optimal_actions(state)) <= set(told["optimal"][cell])
    for cell in set(range(81)) - set(free):
        assert told["values"][cell] is None
        assert told["optimal"][cell] == []


def test_the_picture_has_an_arrow_for_each_optimal_action():
    told = looked_at(read_painting(dict(MEADOW)))
    policy = re.search(r'class="policy" d="([^"]*)"', told["picture"])[1]
    assert policy.count("M") == 2 * sum(map(len, told["optimal"]))
    assert "goal" in told["key"]
