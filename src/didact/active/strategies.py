"""Query strategies by name, and how a question comes from what one returns.

A strategy is a function of a `Situation` and a generator. It returns scores (S,), and the open
state with the highest is asked; or a state; or scores (S, A, A) of pairs of actions, to ask which
of the two is better; or a Demonstration, the question and its answer in one (the teaching
benchmarks); or None, when it has nothing more to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from didact.active.max_entropy import max_entropy
from didact.active.max_infogain import max_infogain
from didact.active.max_var import max_var
from didact.active.random_queries import random_queries
from didact.active.situation import Situation
from didact.active.teaching_sequence import exact_sequence, scot_sequence
from didact.errors import InvalidParameter
from didact.inputs import is_whole, plain_array, shown
from didact.mdp import Demonstration
from didact.mdp.demonstrations import as_demonstrations
from didact.numerics.exact import Floats
from didact.registry import Registry

Strategy = Callable[..., Any]
Function = TypeVar("Function", bound=Strategy)

ENTRY_POINTS = "didact.strategies"

TIED = 1e-12
"""Scores closer to the best than this, relative to it, are as good; the lowest state is asked."""

BUILT_IN = {
    "random": random_queries,
    "max-entropy": max_entropy,
    "max-infogain": max_infogain,
    "max-var": max_var,
    "scot": scot_sequence,
    "exact": exact_sequence,
}

_strategies: Registry[Strategy] = Registry("strategy", ENTRY_POINTS, BUILT_IN)


@dataclass(frozen=True)
class Query:
    """The state to ask about, its score where there are scores, and an answer that is known.

    actions: the two to compare; None to ask what to do.
    """

    state: int
    score: float | None = None
    answer: Demonstration | None = None
    actions: tuple[int, int] | None = None


def register_strategy(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the strategy `name`; it stays an ordinary function.

    name: by which `ask` and the command line know it. The function takes a situation and a
        generator and returns scores of states or of pairs of actions, a state or None; its further
        parameters become `strategy_options`.
    """
    return _strategies.decorator(name)


def strategies() -> Mapping[str, Strategy]:
    """Every strategy by name: the built-in, the registered, the installed (entry points)."""
    return _strategies.everything()


def find_strategy(name: str, options: Iterable[str] | None = None) -> Strategy:
    """The strategy of that name; options: the names of those given, if they are to be checked."""
    return _strategies.find(name, options)


def next_query(
    name: str, situation: Situation, rng: np.random.Generator, options: Mapping[str, Any]
) -> Query | None:
    """The strategy's next question, checked; None when it has none."""
    strategy = find_strategy(name, options)
    with _strategies.running(name):
        returned = strategy(situation, rng, **options)
    if returned is None:
        return None
    if isinstance(returned, Demonstration):
        (checked,) = as_demonstrations([returned], situation.mdp)
        return Query(checked[0][0], answer=checked)
    if is_whole(returned):
        return Query(_as_open(name, int(returned), situation))
    scores = _as_scores(name, returned, situation)
    return highest(situation, scores) if scores.ndim == 1 else highest_pair(situation, scores)


def highest_pair(situation: Situation, scores: Floats) -> Query | None:
    """The open pair of actions with the highest score, the first of those equal to 1e-12."""
    if situation.open_pairs is None or not situation.open_pairs.any():
        return None
    places = np.argwhere(situation.open_pairs)
    values = scores[situation.open_pairs]
    place = _first_highest(values)
    if place is None:
        return None
    state, first, second = places[place].tolist()
    return Query(state, float(values[place]), actions=(first, second))


def highest(situation: Situation, scores: Floats) -> Query | None:
    """The open state with the highest score, the lowest of those that are equal to 1e-12.

    None where no open state scores above minus infinity.
    """
    if not situation.open_states.size:
        return None
    values = scores[situation.open_states]
    place = _first_highest(values)
    return None if place is None else Query(int(situation.open_states[place]), float(values[place]))


def _first_highest(values: Floats) -> int | None:
    """The first place of those within 1e-12 of the highest; None where all are minus infinity."""
    best = float(values.max())
    return None if best == -np.inf else int(np.argmax(values >= best - TIED * abs(best)))


def _as_open(name: str, state: int, situation: Situation) -> int:
    if state not in situation.open_states:
        raise InvalidParameter(
            f"strategy {name!r} must ask an open state: one that can be reached, does not end the "
            f"episode and was not asked before; it asks {shown(state)}"
        )
    return state


def _as_scores(name: str, returned: Any, situation: Situation) -> Floats:
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    try:
        scores = np.asarray(plain_array(returned, f"strategy {name!r}"), dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.zeros(0)
    if scores.shape not in ((n_states,), (n_states, n_actions, n_actions)):
        raise InvalidParameter(
            f"strategy {name!r} must return {n_states} scores, a state, a Demonstration or None, "
            f"or scores of pairs of actions ({n_states}, {n_actions}, {n_actions}); "
            f"it returned {shown(returned)}"
        )
    wrong = ~(np.isfinite(scores) | (scores == -np.inf))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise InvalidParameter(
            f"strategy {name!r} must return finite scores, or -inf for never; "
            f"the score of state {place[0]} is {scores[place]}"
        )
    return scores
