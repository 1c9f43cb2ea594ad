"""Idle states: against what the definition says, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.mdp import MDP, Task
from didact.mdp.idle import deciding_states, idle_states
from didact.planning import as_policy, evaluate, solve
from tests.effort import examples

N, A = 5, 2


@st.composite
def models(draw):
    """Deterministic moves, many of which stay; a few starts; features of pairs."""
    stay = st.integers(0, 2 * N).map(lambda t: t if t < N else None)
    targets = [[draw(stay) for _ in range(A)] for _ in range(N)]
    moves = np.zeros((N, A, N))
    for state, row in enumerate(targets):
        for action, target in enumerate(row):
            moves[state, action, state if target is None else target] = 1
    starts = draw(st.sets(st.integers(0, N - 1), min_size=1, max_size=2))
    phi = np.array([[[draw(st.integers(0, 1))] for _ in range(A)] for _ in range(N)])
    return MDP(moves, phi, 0.5, start=[(s, 1 / len(starts)) for s in starts]), moves, starts, phi


@examples(40, 200)
@given(models())
def test_idle_is_where_nothing_starts_leads_leaves_or_matters(given_model):
    mdp, moves, starts, phi = given_model
    for state in range(N):
        others = [s for s in range(N) if s != state]
        wanted = (
            state not in starts
            and all(moves[state, a, state] == 1 for a in range(A))
            and not moves[others][:, :, state].any()
            and (phi[state] == phi[state, 0]).all()
        )
        assert idle_states(mdp)[state] == wanted
        assert deciding_states(mdp)[state] == (not wanted and not mdp.terminal[state])


def padded():
    """Two states that matter, two numbers that never come up; action 1 is right."""
    moves = np.zeros((4, 2, 4))
    moves[0, :, 0] = moves[0, 1] = 0
    moves[0, 0, 0] = moves[0, 1, 2] = moves[2, :, 2] = 1
    moves[1, :, 1] = moves[3, :, 3] = 1
    return Task(MDP(moves, [[0], [0], [1], [0]], 0.5, start=0), [1])


def test_shares_of_wrong_actions_do_not_count_them():
    wrong = evaluate(padded(), [[1, 0], [1, 0], [1, 0], [1, 0]])
    assert (wrong.wrong_actions, wrong.worst_wrong_actions) == (0.5, 0.5)


def test_policies_are_not_asked_there():
    asked = []
    assert as_policy(padded().mdp, lambda s: asked.append(s) or 1)[0].tolist() == [0, 1]
    assert asked == [0, 2]
    shares = as_policy(padded().mdp, lambda s: [0.25, 0.75])
    assert shares.tolist() == [[0.25, 0.75], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize("arithmetic", ["float", "exact", "auto"])
def test_what_is_tied_there_is_no_close_comparison(arithmetic):
    plan = solve(padded(), arithmetic=arithmetic)
    assert plan.optimal.tolist() == [[False, True], [True, True], [True, True], [True, True]]
    assert plan.n_close == (2 if arithmetic == "exact" else 1)
    assert plan.is_proved == (arithmetic != "float")
