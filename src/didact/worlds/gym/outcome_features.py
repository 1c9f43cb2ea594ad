"""Features of a Gymnasium task: indicators of its rewards, or the caller's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.numerics.exact import Numbers, read_number

if TYPE_CHECKING:
    from didact.worlds.gym.numbering import Node
    from didact.worlds.gym.tables import Model, Outcome

    Nodes = Sequence[Node | None]

Vector = list[Fraction]


class Paid(NamedTuple):
    """What states or actions pay: features, their weights, and names where there are any."""

    features: Numbers
    weights: Any
    names: Sequence[str] | None


def paid_features(
    given: Any, weights: Any, names: Sequence[str] | None, *, model: Model, nodes: Nodes, n: int
) -> Paid:
    """The caller's features and weights; where none are given, the rewards and their indicators.

    n: how many states the environment has.
    """
    if given is None:
        phi, values, of_rewards = reward_indicators(model, nodes)
        return Paid(
            phi, values if weights is None else weights, of_rewards if names is None else names
        )
    if weights is None:
        raise InvalidParameter("weights must be given with features of your own; give one for each")
    return Paid(outcome_features(given, model, nodes, n), weights, names)


def reward_indicators(model: Model, nodes: Nodes) -> tuple[Numbers, list[Fraction], list[str]]:
    """Features (S, A, k): the probability of each distinct reward; and the rewards as weights.

    Then w.phi(s, a) is exactly the expected reward. States that end or never come up have
    features 0.
    """
    outcomes = [o for actions in model.values() for row in actions for o in row]
    rewards = sorted({outcome.reward for outcome in outcomes})
    vectors = {reward: [Fraction(reward == other) for other in rewards] for reward in rewards}

    def indicator(state: int, action: int, outcome: Outcome) -> Vector:
        return vectors[outcome.reward]

    names = [f"reward {_plain(reward)}" for reward in rewards]
    return _expected(indicator, model, nodes, len(rewards)), rewards, names


def outcome_features(given: Any, model: Model, nodes: Nodes, n_states: int) -> Numbers:
    """The caller's features, (S, k) of states or (S, A, k) of outcomes; 0 where none comes up."""
    if not callable(given):
        return _from_array(given, nodes, n_states)
    if _n_arguments(given) == 1:
        return _of_states(given, nodes)

    def called(state: int, action: int, outcome: Outcome) -> Vector:
        place = f"features({state}, {action}, {outcome.successor}, {_plain(outcome.reward)})"
        reward = outcome.reward
        number = int(reward) if reward.denominator == 1 else float(reward)
        return _as_vector(given(state, action, outcome.successor, number), place)

    state, actions = next(iter(model.items()))
    return _expected(called, model, nodes, len(called(state, 0, actions[0][0])))


def _of_states(given: Callable[[int], Any], nodes: Nodes) -> Numbers:
    """Shape (S, k): what the function says of each state."""
    states = {node[0]: None for node in nodes if node is not None}
    vectors = {state: _as_vector(given(state), f"features({state})") for state in states}
    width = len(next(iter(vectors.values())))
    for state, vector in vectors.items():
        _require_width(vector, width, f"features({state})")
    nothing = [Fraction(0)] * width
    rows = (nothing if node is None else vectors[node[0]] for node in nodes)
    return Numbers.of_fractions([value for row in rows for value in row], (len(nodes), width))


def _expected(
    vector_of: Callable[[int, int, Outcome], Vector],
    model: Model,
    nodes: Nodes,
    width: int,
) -> Numbers:
    """Shape (S, A, k): the expectation of the vector over the outcomes of each action."""
    n_actions = len(next(iter(model.values())))
    values: list[Fraction] = []
    nothing = [Fraction(0)] * width
    for node in nodes:
        state, ends = (0, True) if node is None else node
        for action in range(n_actions):
            total = [*nothing]
            for outcome in [] if ends else model[state][action]:
                vector = vector_of(state, action, outcome)
                _require_width(vector, width, f"features of state {state}, action {action}")
                for i, value in enumerate(vector):
                    if value:  # most are 0, and fractions are slow
                        part = outcome.probability * value
                        total[i] = total[i] + part if total[i] else part
            values.extend(total)
    return Numbers.of_fractions(values, (len(nodes), n_actions, width))


def _from_array(given: Any, nodes: Nodes, n_states: int) -> Numbers:
    numbers = Numbers.read(given, "features")
    shape = numbers.floats.shape
    if len(shape) != 2 or shape[0] != n_states:
        raise InvalidParameter(
            f"features as an array must have the shape ({n_states}, k), a row for each state of "
            f"the environment; the shape is {shape}"
        )
    kept = np.array([i if node is None else node[0] for i, node in enumerate(nodes)])
    palette, codes = numbers.exact()
    return Numbers(numbers.floats[kept], palette, codes[kept])


def _n_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    needed = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    if len(needed) not in (1, 4):
        raise InvalidParameter(
            "features as a function must take (state) or (state, action, next state, reward); "
            f"it takes {len(needed)} arguments"
        )
    return len(needed)


def _as_vector(given: Any, place: str) -> Vector:
    entries = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(entries, list | tuple) or not entries:
        raise InvalidParameter(f"{place} must be a vector of numbers; it is {shown(given)}")
    return [
        Fraction(int(entry))
        if isinstance(entry, bool | np.bool_)
        else read_number(entry, f"{place}[{i}]")
        for i, entry in enumerate(entries)
    ]


def _require_width(vector: Vector, width: int, place: str) -> None:
    if len(vector) != width:
        raise InvalidParameter(
            f"{place} must have {width} numbers, as for the other states; it has {len(vector)}"
        )


def _plain(value: Fraction) -> str:
    """'-1', '0.5', or '1/3' where no short decimal is exact."""
    if value.denominator == 1:
        return str(value.numerator)
    nearest = repr(float(value))
    return nearest if Fraction(nearest) == value else str(value)
