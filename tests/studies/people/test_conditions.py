"""What groups are shown: optimal walks, as many as the minimum lesson has."""

import numpy as np
import pytest

from didact import check, make, solve, teach
from didact.studies.people.conditions import CONDITIONS, shown_to

TASK = make("random-grid", size=5, n_features=3, seed=4)
OPTIMAL = solve(TASK.mdp, TASK.true_weights, arithmetic="exact").optimal
FEWEST = len(teach(TASK, teacher="exact").demonstrations)


@pytest.mark.parametrize("name", CONDITIONS)
def test_every_step_that_is_shown_is_optimal(name):
    shown = shown_to(name, TASK, 7)
    assert all(OPTIMAL[state, action] for each in shown for state, action in each)
    assert shown == shown_to(name, TASK, 7)


def test_lessons_teach_and_others_are_as_long():
    exact, loss = (shown_to(name, TASK, 7) for name in ("exact", "loss"))
    assert check(TASK, list(exact)).teaches
    assert check(TASK, list(loss)).teaches
    assert len(exact) == FEWEST
    assert len(loss) == FEWEST
    lengths = [len(each) for each in exact]
    assert [len(each) for each in shown_to("random", TASK, 7)] == lengths
    assert shown_to("none", TASK, 7) == ()


def test_the_first_highlight_is_where_most_is_at_stake():
    values = solve(TASK.mdp, TASK.true_weights).action_values
    first = shown_to("highlights", TASK, 7)[0][0][0]
    gaps = np.ptp(values, axis=1)
    assert gaps[first] == pytest.approx(gaps.max())
