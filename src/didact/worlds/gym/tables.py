"""Gymnasium environments with a table P[state][action] -> tasks, by what their steps do.

The table's outcomes (probability, next state, reward, terminated) become an MDP whose sampled steps
are the environment's: an outcome that terminates leads to a terminal state even when the table goes
on from there (CliffWalking, Taxi), repeated outcomes add up, and time limits are no part of it.
A state has the number that the table gives it. States that no policy reaches from the start stay as
numbers of which nothing is known. A reward is paid for state and action, in expectation over the
outcomes; the terminal states pay nothing more.

Features are indicators of the distinct rewards, so that w.phi(s, a) is exactly the expected reward,
or the caller's own."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from didact.errors import InvalidInput, InvalidModel, InvalidParameter
from didact.inputs import is_whole, shown
from didact.mdp import MDP, Task
from didact.mdp.observations import Observations, observation_text
from didact.mdp.transitions import SUM_TOLERANCE, require_index
from didact.numerics.exact import Numbers, read_number
from didact.worlds.gym.environments import (
    Node,
    Notes,
    by_observation,
    describe,
    look_of,
    open_environment,
    require_table,
)

LARGEST_DENOMINATOR = 1000
CLEANING_TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True)
class TableOutcome:
    """One thing that may happen: exact probability, next state, exact reward, whether it ends."""

    probability: Fraction
    successor: int
    reward: Fraction
    ends: bool


Model = dict[int, list[list[TableOutcome]]]
"""For each reachable state that does not end: for each action, its outcomes."""


def from_gymnasium(
    env_or_id: Any,
    /,
    *,
    features: Any = None,
    weights: Any = None,
    discount: Any = 0.95,
    start: Any = None,
    name: str | None = None,
    state_names: Any = None,
    action_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    **make_kwargs: Any,
) -> Task:
    """The task of a Gymnasium environment, given as an id or as the environment itself.

    env_or_id: an environment with a table `P`, or its id.
    features: None for one indicator for each distinct reward, with the rewards as weights; else an
        array (S, k) by the environment's state numbers, a function state -> vector, or a function
        (state, action, next state, reward) -> vector, whose expectation is taken. State features
        are paid on being in the state, also once in the state that ends.
    weights: needed with features of your own.
    discount: in [0, 1), exactly as given.
    start: None for the environment's own; 'uniform' for every state that goes on; else a state,
        {state: probability} or an array (S,).
    name: of the task; by default the environment's.
    state_names: a name for each state of the environment, or a function of its number.
    action_names: a name for each action; of the environments that are known, theirs by default.
    feature_names: a name for each feature.
    make_kwargs: handed to `gymnasium.make` with an id.

    State numbers are the environment's own, and name the states (Taxi: in words). One that is
    entered both by ending and by going on gets a terminal copy after the others, named "7 (end)".
    In states that the start cannot reach every action stays and pays nothing; they are no part of
    any lesson.
    """
    opened = open_environment(env_or_id, make_kwargs)
    require_table(opened)
    notes = describe(opened)
    model, found, starts = _read_model(opened, start, notes)
    numbering = by_observation(found, notes.n_states)
    nodes = numbering.nodes
    paid = paid_features(
        features, weights, feature_names, model=model, nodes=nodes, n=notes.n_states
    )
    mdp = MDP(
        numbering.transitions(model, notes.n_actions),
        paid.features,
        discount,
        start=list(starts.items()),
        terminal=numbering.terminal,
        state_names=numbering.names(state_names, notes.names_of(nodes), range(notes.n_states)),
        action_names=notes.action_names if action_names is None else action_names,
        feature_names=paid.names,
    )
    return Task(
        mdp,
        paid.weights,
        name=name or notes.name,
        layout=notes.layout_of(nodes),
        observations=_observations(look_of(env_or_id), nodes),
        first_action=notes.first_action,
    )


def _observations(look: Callable[[int], Any], nodes: Sequence[Node | None]) -> Observations | None:
    """What recordings hold of each state; None where that is its number."""
    seen = {node[0]: observation_text(look(node[0])) for node in nodes if node is not None}
    texts = tuple(None if node is None else seen[node[0]] for node in nodes)
    own = all(text in (None, str(state)) for state, text in enumerate(texts))
    return None if own else Observations(texts)


def gymnasium_world(id: str = "FrozenLake-v1", discount: Any = 0.95, **options: Any) -> Task:
    """A Gymnasium environment with a P table, by its id; other parameters go to the environment."""
    return from_gymnasium(id, discount=discount, **options)


def _read_model(
    opened: Any, start: Any, notes: Notes
) -> tuple[Model, set[Node], dict[int, Fraction]]:
    """What any policy reaches, the nodes of it, and the shares of the states where it starts."""
    is_uniform = isinstance(start, str) and start == "uniform"
    starts = _read_start(opened, None if is_uniform else start, notes.n_states)
    model, found = _explore(require_table(opened), starts, notes)
    if is_uniform:
        starts = dict.fromkeys(sorted(model), Fraction(1, len(model)))
    return model, found, starts


def _explore(table: Any, starts: Mapping[int, Fraction], notes: Notes) -> tuple[Model, set[Node]]:
    """What any policy can reach from the starts, checked."""
    model: Model = {}
    found: set[Node] = {(state, False) for state in starts}
    waiting = deque(starts)
    numbers = _Numbers()
    while waiting:
        state = waiting.popleft()
        model[state] = _read_state(table, state, notes, numbers)
        for outcome in (o for outcomes in model[state] for o in outcomes):
            node = (outcome.successor, outcome.ends)
            if node not in found:
                found.add(node)
                if not outcome.ends:
                    waiting.append(outcome.successor)
    return model, found


class _Numbers:
    """The probabilities and rewards of a table; equal ones are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, type, Any], Fraction] = {}

    def read(self, by: Callable[[Any, str], Fraction], value: Any, place: str) -> Fraction:
        """What a function reads in a value; place: where it stands, for refusals."""
        key = by, type(value), value
        try:
            found = self._known.get(key)
        except TypeError:
            return by(value, place)
        if found is None:
            found = self._known[key] = by(value, place)
        return found


def _read_state(table: Any, state: int, notes: Notes, known: _Numbers) -> list[list[TableOutcome]]:
    try:
        actions = table[state]
        given = set(actions) if isinstance(actions, Mapping) else set(range(len(actions)))
    except (KeyError, IndexError, TypeError):
        raise InvalidModel(f"P[{state}] must be a table of actions; it is missing") from None
    first = 0 if 0 in given else notes.first_action
    numbers = range(first, first + notes.n_actions)
    missing = sorted(set(numbers) - given)
    if missing:
        raise InvalidModel(
            f"P[{state}][{missing[0]}] must list outcomes, as every action {numbers[0]} to "
            f"{numbers[-1]} of a state that the start can reach; it is missing"
        )
    return [
        _read_outcomes(actions[action], f"P[{state}][{action}]", notes.n_states, known)
        for action in numbers
    ]


def _read_outcomes(given: Any, place: str, n_states: int, known: _Numbers) -> list[TableOutcome]:
    outcomes = []
    try:
        rows = [tuple(outcome) for outcome in given]
    except TypeError:
        rows = [()]
    for i, row in enumerate(rows):
        if len(row) != 4:
            raise InvalidModel(
                f"{place}[{i}] must be (probability, next state, reward, terminated); it is "
                f"{shown(row)}"
            )
        probability = known.read(clean_probability, row[0], f"{place}[{i}]: probability")
        successor = require_index(row[1], n_states, f"{place}[{i}]: next state")
        reward = known.read(_as_reward, row[2], f"{place}[{i}]: reward")
        if probability > 0:
            outcomes.append(TableOutcome(probability, successor, reward, bool(row[3])))
    total = sum((outcome.probability for outcome in outcomes), Fraction(0))
    if total == 1:
        return outcomes
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidModel(
            f"{place} must be a distribution over outcomes; its probabilities sum to "
            f"{float(total):.6g}"
        )
    return [TableOutcome(o.probability / total, o.successor, o.reward, o.ends) for o in outcomes]


def clean_probability(value: Any, place: str) -> Fraction:
    """An exact probability: 0.33333333333333337 is 1/3, 0.09999999999999998 is 1/10."""
    exact = read_number(value, place)
    if exact < 0:
        raise InvalidModel(f"{place} must not be negative; it is {float(exact):.6g}")
    simple = exact.limit_denominator(LARGEST_DENOMINATOR)
    return simple if abs(simple - exact) <= CLEANING_TOLERANCE else exact


def _as_reward(value: Any, place: str) -> Fraction:
    """The exact reward; single-precision floats mean their own shortest decimal."""
    short = isinstance(value, np.floating) and not isinstance(value, float)
    return read_number(str(value) if short and np.isfinite(value) else value, place)


def _read_start(opened: Any, start: Any, n_states: int) -> dict[int, Fraction]:
    """The positive start probabilities by state number, summing to exactly 1."""
    given = _own_start(opened) if start is None else start
    try:
        pairs = _start_pairs(given, n_states)
        shares: dict[int, Fraction] = {}
        for i, (state, share) in enumerate(pairs):
            state = require_index(state, n_states, f"start[{i}]: state")
            value = clean_probability(share, f"start[{state}]")
            shares[state] = shares.get(state, Fraction(0)) + value
    except InvalidInput as error:
        raise InvalidModel(f"{error}; pass another start") from None
    shares = {state: share for state, share in shares.items() if share}
    total = sum(shares.values(), Fraction(0))
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidModel(
            f"start must be a distribution over states; it sums to {float(total):.6g}"
        )
    return {state: share / total for state, share in sorted(shares.items())}


def _start_pairs(given: Any, n_states: int) -> list[tuple[Any, Any]]:
    if is_whole(given):
        return [(given, 1)]
    if isinstance(given, Mapping):
        return list(given.items())
    entries = given.tolist() if isinstance(given, np.ndarray) else given
    if isinstance(entries, list | tuple):
        if entries and all(isinstance(e, list | tuple) and len(e) == 2 for e in entries):
            return [(entry[0], entry[1]) for entry in entries]
        if len(entries) == n_states:
            return list(enumerate(entries))
    raise InvalidModel(
        f"start must be a state, {{state: probability}} or {n_states} probabilities; "
        f"it is {shown(given)}"
    )


def _own_start(opened: Any) -> Any:
    distribution = getattr(opened, "initial_state_distrib", None)
    if distribution is not None:
        return np.asarray(distribution)
    for attribute in ("start_state_index", "start_state_indices", "start_state_indexes"):
        states = getattr(opened, attribute, None)
        if states is not None:
            listed = np.atleast_1d(states).ravel().tolist()
            return {state: Fraction(1, len(listed)) for state in listed}
    raise InvalidParameter("the environment does not say where it starts; pass start=")


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

    def indicator(state: int, action: int, outcome: TableOutcome) -> Vector:
        return vectors[outcome.reward]

    names = [f"reward {_plain(reward)}" for reward in rewards]
    return _expected(indicator, model, nodes, len(rewards)), rewards, names


def outcome_features(given: Any, model: Model, nodes: Nodes, n_states: int) -> Numbers:
    """The caller's features, (S, k) of states or (S, A, k) of outcomes; 0 where none comes up."""
    if not callable(given):
        return _from_array(given, nodes, n_states)
    if _n_arguments(given) == 1:
        return _of_states(given, nodes)

    def called(state: int, action: int, outcome: TableOutcome) -> Vector:
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
    vector_of: Callable[[int, int, TableOutcome], Vector],
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
