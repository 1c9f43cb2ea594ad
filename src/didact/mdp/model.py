"""The Markov decision process: dynamics, features, discount, starts. Weights stay outside.

Being in state s pays w.phi(s), also at the first step; with features of shape (S, A, k) taking a
in s pays w.phi(s, a). A terminal state pays once and ends.

**Idle states** are numbers that an environment has and that nothing reaches. The states of a task
made from an environment with observations 0 to n - 1 are those observations; some never come up.
They keep their numbers, so that no other is moved, but nothing is known of them and nothing is
taught: every action stays there and pays the same, and nothing leads there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from didact.errors import InvalidModel, InvalidNumber
from didact.inputs import is_whole, plain_array, shown
from didact.mdp.showing import in_notebook
from didact.mdp.transitions import SUM_TOLERANCE, Transitions, divide_by_sums, require_index
from didact.numerics.exact import Numbers, read_number

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False, init=False)
class MDP:
    """A finite Markov decision process, checked once and then frozen.

    transitions: `Transitions`, an array (S, A, S), or a sparse matrix (S*A, S) with row s*A + a.
    features: (S, k), or (S, A, k) for features of state and action.
    discount: in [0, 1). Decimals, strings and fractions keep their exact value everywhere.
    start: "uniform" (over all states), a state, {state: probability}, pairs
        [state, probability], or an array (S,).
    terminal: states that pay once and end, as numbers or as a mask (S,) of booleans.
    state_names: a name for each state; numbers by default.
    action_names: a name for each action; numbers by default.
    feature_names: a name for each feature, used where rewards are put into words.
    """

    transitions: Transitions
    features: Numbers
    exact_discount: Fraction
    start: Numbers
    terminal: NDArray[np.bool_]
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    _derived: dict[str, Any] = field(default_factory=dict, repr=False)

    def __init__(
        self,
        transitions: Any,
        features: Any,
        discount: Any,
        *,
        start: Any = "uniform",
        terminal: Any = (),
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
    ):
        moves = transitions
        if not isinstance(moves, Transitions):
            is_sparse = hasattr(moves, "tocsr")
            moves = Transitions.from_sparse(moves) if is_sparse else Transitions.from_dense(moves)
        ends = _as_terminal(terminal, moves.n_states)
        _require_rows(moves, ends)
        phi = _as_features(features, moves, ends)
        built = {
            "transitions": moves,
            "features": phi,
            "exact_discount": _as_discount(discount),
            "start": _as_start(start, ends),
            "terminal": ends,
            "state_names": _as_names(state_names, moves.n_states, "state_names"),
            "action_names": _as_names(action_names, moves.n_actions, "action_names"),
            "feature_names": _as_names(feature_names, phi.floats.shape[-1], "feature_names"),
            "_derived": {},
        }
        for name, value in built.items():
            object.__setattr__(self, name, value)

    @property
    def n_states(self) -> int:
        """S."""
        return self.transitions.n_states

    @property
    def n_actions(self) -> int:
        """A."""
        return self.transitions.n_actions

    @cached_property
    def n_going(self) -> int:
        """How many states are not terminal."""
        return int((~self.terminal).sum())

    @property
    def n_features(self) -> int:
        """k."""
        return int(self.features.floats.shape[-1])

    @cached_property
    def discount(self) -> float:
        """The discount as a float; `exact_discount` is what was given."""
        return float(self.exact_discount)

    @property
    def has_action_features(self) -> bool:
        """Whether features are (S, A, k) instead of (S, k)."""
        return self.features.floats.ndim == 3

    def is_deterministic(self) -> bool:
        """Whether every action has one possible next state."""
        return self.transitions.is_deterministic()

    def state_name(self, state: int) -> str:
        """The state's name, or its number.

        state: the state's number.
        """
        return self.state_names[state] if self.state_names else str(state)

    def action_name(self, action: int) -> str:
        """The action's name, or its number.

        action: the action's number.
        """
        return self.action_names[action] if self.action_names else str(action)

    def feature_name(self, feature: int) -> str:
        """The feature's name, or 'feature 3'.

        feature: the feature's number.
        """
        return self.feature_names[feature] if self.feature_names else f"feature {feature}"

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        return (
            f"MDP({self.n_states} states, {self.n_actions} actions, {self.n_features} features, "
            f"discount {self.exact_discount}, {int(self.terminal.sum())} terminal)"
        )


def _as_terminal(given: Any, n_states: int) -> NDArray[np.bool_]:
    listed = _as_items(given, "terminal")
    if listed and all(isinstance(entry, bool | np.bool_) for entry in listed):
        if len(listed) != n_states:
            raise InvalidModel(
                f"terminal as a mask must have the shape ({n_states},); it is ({len(listed)},)"
            )
        mask = np.array(listed, dtype=np.bool_)
    else:
        mask = np.zeros(n_states, dtype=np.bool_)
        for i, state in enumerate(listed):
            mask[require_index(state, n_states, f"terminal[{i}]")] = True
    mask.setflags(write=False)
    return mask


def _as_items(given: Any, place: str) -> list[Any]:
    """The entries of a list, tuple, set, range or 1-D array; a single number stands for itself."""
    given = plain_array(given, place)
    if isinstance(given, np.ndarray) and given.ndim <= 1:
        return list(np.atleast_1d(given).tolist())
    if isinstance(given, list | tuple | set | frozenset | range):
        return list(given)
    if is_whole(given):
        return [given]
    raise InvalidModel(f"{place} must be a list of whole numbers; it is {shown(given)}")


def _require_rows(moves: Transitions, terminal: NDArray[np.bool_]) -> None:
    """Every row of a non-terminal state is a distribution, every row of a terminal one empty."""
    empty = moves.is_empty()
    missing = empty & ~terminal[:, None]
    if missing.any():
        state, action = np.argwhere(missing)[0]
        raise InvalidModel(
            f"transitions[{state}, {action}] must be a distribution over next states; it sums to "
            f"0. If the episode ends in state {state}, name it in terminal"
        )
    surplus = ~empty & terminal[:, None]
    if surplus.any():
        state, action = np.argwhere(surplus)[0]
        raise InvalidModel(
            f"transitions[{state}, {action}] must be empty, because state {state} is terminal; it "
            f"sums to 1. Leave the row out, or take {state} out of terminal"
        )


def _as_features(given: Any, moves: Transitions, terminal: NDArray[np.bool_]) -> Numbers:
    features = Numbers.read(given, "features")
    shape = features.floats.shape
    expected = (moves.n_states,), (moves.n_states, moves.n_actions)
    if len(shape) not in (2, 3) or shape[:-1] not in expected or shape[-1] < 1:
        raise InvalidModel(
            f"features must have the shape ({moves.n_states}, k) or "
            f"({moves.n_states}, {moves.n_actions}, k) with k from 1; the shape is {shape}"
        )
    if len(shape) == 3:
        values = features.exact()[1] if features.given_exactly else features.floats
        at_end = values[terminal]
        unequal = (at_end != at_end[:, :1]).any(axis=(1, 2))
        if unequal.any():
            state = int(np.flatnonzero(terminal)[np.flatnonzero(unequal)[0]])
            raise InvalidModel(
                f"features[{state}] must be the same for all actions, because state {state} is "
                "terminal and no action is taken there"
            )
    return features


def _as_discount(given: Any) -> Fraction:
    discount = read_number(given, "discount")
    if not 0 <= discount < 1:
        raise InvalidModel(f"discount must be at least 0 and less than 1; it is {shown(given)}")
    if float(discount) >= 1.0:
        raise InvalidModel(f"discount must stay less than 1 as a float; it is {shown(given)}")
    return discount


def _as_start(given: Any, terminal: NDArray[np.bool_]) -> Numbers:
    if terminal.all():
        raise InvalidModel("at least one state must not be terminal; all of them are")
    if isinstance(given, str) and given == "uniform":
        share = Fraction(1, terminal.size)
        codes = np.zeros(terminal.size, dtype=np.int64)
        return Numbers(np.full(terminal.size, float(share)), [share], codes)
    start = _read_start(given, terminal.size)
    if (start.floats < 0).any():
        state = int(np.flatnonzero(start.floats < 0)[0])
        raise InvalidModel(f"start[{state}] must not be negative; it is {start.floats[state]:.6g}")
    total = float(start.floats.sum())
    if abs(total - 1.0) > SUM_TOLERANCE:
        raise InvalidModel(f"start must be a distribution over states; it sums to {total:.12g}")
    if not (start.floats[~terminal] > 0).any():
        raise InvalidModel(
            "start must reach at least one state that is not terminal; it starts only in "
            f"terminal states {np.flatnonzero(start.floats > 0)[:5].tolist()}"
        )
    return divide_by_sums(start, np.array([0, terminal.size]))


def _read_start(given: Any, n_states: int) -> Numbers:
    given = plain_array(given, "start")
    if is_whole(given):
        given = {given: 1}
    if isinstance(given, Mapping):
        return _read_start_pairs(list(given.items()), n_states)
    if not isinstance(given, list | tuple | np.ndarray | Numbers):
        raise InvalidModel(
            "start must be 'uniform', a state, pairs [state, probability] or an array; "
            f"it is {shown(given)}"
        )
    if isinstance(given, list | tuple) and all(isinstance(p, list | tuple) for p in given):
        return _read_start_pairs(given, n_states)
    array = Numbers.read(given, "start")
    if array.floats.shape != (n_states,):
        raise InvalidModel(
            f"start as an array must have the shape ({n_states},); it is {array.floats.shape}"
        )
    return array


def _read_start_pairs(pairs: Sequence[Sequence[Any]], n_states: int) -> Numbers:
    shares: dict[int, Fraction] = {}
    for i, pair in enumerate(pairs):
        if len(pair) != 2:
            raise InvalidModel(f"start[{i}] must be [state, probability]; it is {shown(pair)}")
        state = require_index(pair[0], n_states, f"start[{i}]: state")
        share = read_number(pair[1], f"start[{i}]: probability")
        if share < 0:
            raise InvalidModel(
                f"start[{i}]: probability must not be negative; it is {shown(share)}"
            )
        shares[state] = shares.get(state, Fraction(0)) + share
    nothing = Fraction(0)
    return Numbers.of_fractions(
        (shares.get(state, nothing) for state in range(n_states)), (n_states,), "start"
    )


def _as_names(given: Any, size: int, place: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    given = plain_array(given, place)
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(given, list | tuple):
        raise InvalidModel(f"{place} must be a list of {size} strings; it is {shown(given)}")
    if len(given) != size:
        raise InvalidModel(f"{place} must have {size} entries; it has {len(given)}")
    return tuple(require_text(name, f"{place}[{i}]") for i, name in enumerate(given))


def require_text(value: Any, place: str) -> str:
    """A string that a file can hold."""
    if not isinstance(value, str):
        raise InvalidModel(f"{place} must be a string; it is {shown(value)}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidModel(f"{place} must be text without lone surrogates; it is {shown(value)}")
    return str(value)


def as_weights(given: Any, n_features: int) -> Numbers:
    """Reward weights (k,), exact as given."""
    weights = Numbers.read(given, "weights")
    if weights.floats.shape != (n_features,):
        raise InvalidNumber(
            f"weights must have one entry for each of the {n_features} features; "
            f"the shape is {weights.floats.shape}"
        )
    return weights


def kept_with_model(find: Callable[[MDP], Found]) -> Callable[[MDP], Found]:
    """The function, whose result is found once for an MDP and kept with it."""

    @wraps(find)
    def kept(mdp: MDP) -> Found:
        if find.__name__ not in mdp._derived:
            mdp._derived[find.__name__] = find(mdp)
        found: Found = mdp._derived[find.__name__]
        return found

    return kept


@kept_with_model
def idle_states(mdp: MDP) -> NDArray[np.bool_]:
    """States (S,) where nothing starts, nothing leads from elsewhere, and no choice matters."""
    known = _found(mdp)
    known.setflags(write=False)
    return known


def deciding_states(mdp: MDP) -> NDArray[np.bool_]:
    """States (S,) where something is decided: neither terminal nor idle."""
    return np.asarray(~mdp.terminal & ~idle_states(mdp))


def _found(mdp: MDP) -> NDArray[np.bool_]:
    idle = np.asarray((mdp.start.floats == 0) & ~mdp.terminal)
    if not idle.any():
        return idle
    moves = mdp.transitions
    counts = np.diff(moves.offsets)
    origins = np.repeat(np.arange(counts.size) // mdp.n_actions, counts)
    leaves = moves.successors != origins
    idle[origins[leaves]] = False
    idle[moves.successors[leaves]] = False
    if mdp.has_action_features:
        phi = mdp.features.floats
        idle &= (phi == phi[:, :1]).all(axis=(1, 2))
    return idle
