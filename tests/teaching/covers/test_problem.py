"""What candidates cover, word by word, against the plain definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from didact.bec.classes import equivalence_class
from didact.teaching.covers.candidates import Starts, as_starts
from didact.teaching.covers.problem import cover_elements, coverage_from
from didact.worlds import make
from tests.models import tasks


def test_what_lines_state_is_what_each_of_their_pairs_states():
    elements = cover_elements(equivalence_class(make("random-grid", size=4, seed=3)))
    rng = np.random.default_rng(0)
    for _ in range(50):
        pairs = rng.integers(-1, 64, size=(3, 4))
        expected = [0, 0, 0]
        for pair, element in zip(*elements.stating_pairs, strict=True):
            for number, line in enumerate(pairs.tolist()):
                expected[number] |= int(pair in line) << int(element)
        masks = elements.masks_of(pairs)
        assert [masks.get(number, 0) for number in range(3)] == expected
    assert elements.masks_of(np.zeros((0, 1), dtype=np.int64)) == {}


@given(tasks(), st.integers(1, 6))
def test_what_a_start_can_show_are_the_rows_of_states_that_following_the_policy_reaches(task, n):
    bec = equivalence_class(task)
    elements, starts = cover_elements(bec), as_starts(task.mdp, None)
    offer = Starts(bec.members[0], starts, n)
    mdp = task.mdp
    moves = mdp.transitions.matrix().toarray().reshape(mdp.n_states, mdp.n_actions, -1)
    for start in starts.tolist():
        reached = {start}
        for _ in range(n - 1):
            reached |= {
                int(after)
                for state in reached
                for action in np.flatnonzero(bec.plan.optimal[state])
                for after in np.flatnonzero(moves[state, action])
                if not mdp.terminal[state]
            }
        numbers = zip(bec.rows.statements.tolist(), bec.rows.number.tolist(), strict=True)
        stated = {
            int(elements.element_of_row[row])
            for (s, _, _), row in numbers
            if s in reached and row >= 0
        }
        expected = sum(1 << element for element in stated - {-1})
        assert coverage_from(elements, offer, [start]) == expected
