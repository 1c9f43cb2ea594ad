"""Other feedback than demonstrations: what a teacher can say besides showing.

A comparison says that one action is at least as good as another in a state, the task's best policy
following both. A preference says it of two trajectories, a ranking of several, a stop that the rest
of a trajectory is not worth having. "That is wrong" alone is no feedback here: the rewards for
which some other action is better are a union of half-spaces and no convex set, so nothing can be
concluded from it; say which action is better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from didact.errors import InvalidModel
from didact.inputs import entries, flag, shown
from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.model import MDP
from didact.mdp.task import Task, as_mdp
from didact.mdp.transitions import require_index

LARGEST = 2**62
ONLY_WRONG = (
    "that an action is wrong says nothing alone: (1, 0, .5) and (0, 1, .5) both make the third of "
    "three actions wrong, and their mean does not. Say which action is better: a comparison"
)


@dataclass(frozen=True)
class Comparison:
    """One action rather than another in a state, the task's best policy following both.

    state: where.
    better: the action that is at least as good.
    other: the action that it is compared with.
    """

    state: int
    better: int
    other: int

    def __init__(self, state: Any, better: Any, other: Any):
        for name, value in (("state", state), ("better", better), ("other", other)):
            object.__setattr__(self, name, require_index(value, LARGEST, f"comparison: {name}"))
        if self.better == self.other:
            raise InvalidModel(
                f"a comparison must be of two actions; both are action {self.better}"
            )

    def document(self) -> dict[str, Any]:
        """The comparison as a file holds it."""
        return {"kind": "comparison", **vars(self)}


@dataclass(frozen=True)
class Preference:
    """One trajectory rather than another from the same start.

    better: the trajectory that is worth at least as much.
    other: the trajectory that it is compared with; as long, or both have ended.
    correction: whether it was shown to correct the other; that says the same.
    """

    better: Demonstration
    other: Demonstration
    correction: bool = False

    def __init__(self, better: Any, other: Any, correction: bool = False):
        object.__setattr__(self, "better", _way(better))
        object.__setattr__(self, "other", _way(other))
        object.__setattr__(self, "correction", flag(correction, "correction"))

    def document(self) -> dict[str, Any]:
        """The preference as a file holds it."""
        kind = "correction" if self.correction else "preference"
        return {"kind": kind, "better": self.better.document(), "other": self.other.document()}


@dataclass(frozen=True)
class Ranking:
    """Several trajectories from the same start, the best first: a preference of each to the next.

    ways: at least two, the best first.
    """

    ways: tuple[Demonstration, ...]

    def __init__(self, ways: Iterable[Any]):
        listed = entries(ways, "a ranking", "trajectories")
        object.__setattr__(self, "ways", tuple(_way(way) for way in listed))
        if len(self.ways) < 2:
            raise InvalidModel(
                f"a ranking must be of at least two trajectories; it is of {len(self.ways)}"
            )

    def document(self) -> dict[str, Any]:
        """The ranking as a file holds it."""
        return {"kind": "ranking", "ways": [way.document() for way in self.ways]}


@dataclass(frozen=True)
class Stop:
    """A trajectory that was stopped: what would have followed is worth no more than being off.

    way: the whole trajectory, with what would have followed.
    after: so many steps were let pass; 0 is an off-switch used at once.
    off_is_worth_nothing: must be True. Being off has no reward in a task, so it must be said that
        it is worth 0; a constant reward of -1 then fits every stop.
    """

    way: Demonstration
    after: int
    off_is_worth_nothing: bool

    def __init__(self, way: Any, after: Any, *, off_is_worth_nothing: bool = False):
        shown_way = _way(way)
        object.__setattr__(self, "way", shown_way)
        object.__setattr__(self, "after", require_index(after, len(shown_way), "stop: after"))
        if not flag(off_is_worth_nothing, "off_is_worth_nothing"):
            raise InvalidModel(
                "a stop compares with being off, which has no reward in a task; say that it is "
                "worth 0 with off_is_worth_nothing=True, or give a preference"
            )
        object.__setattr__(self, "off_is_worth_nothing", True)

    def document(self) -> dict[str, Any]:
        """The stop as a file holds it."""
        return {
            "kind": "stop",
            "way": self.way.document(),
            "after": self.after,
            "off_is_worth_nothing": True,
        }


Feedback = Comparison | Preference | Ranking | Stop
Item = Demonstration | Comparison | Preference | Ranking | Stop
KINDS = ("comparison", "preference", "correction", "ranking", "stop")


def _way(given: Any) -> Demonstration:
    return given if isinstance(given, Demonstration) else Demonstration(given)


def holds_feedback(given: Any) -> bool:
    """Whether a list has something in it that is no demonstration."""
    if not isinstance(given, list | tuple):
        return False
    return any(
        isinstance(entry, Feedback) or (isinstance(entry, Mapping) and "kind" in entry)
        for entry in given
    )


def as_items(given: Iterable[Any], task: MDP | Task) -> tuple[Item, ...]:
    """Items of this model, checked: demonstrations, comparisons, preferences, rankings, stops.

    given: items, demonstrations in any form, or objects as files hold them.
    """
    return tuple(_as_item(entry, task, f"items[{i}]") for i, entry in enumerate(given))


def _as_item(entry: Any, task: MDP | Task, place: str) -> Item:
    if isinstance(entry, Mapping):
        entry = read_item(entry, place)
    if isinstance(entry, Comparison):
        return _checked_comparison(entry, task, place)
    if not isinstance(entry, Preference | Ranking | Stop):
        return _in_model([entry], task, place)[0]
    ways = _in_model(ways_of(entry), task, place)
    if isinstance(entry, Preference | Ranking):
        for first, second in pairwise(ways):
            require_comparable(first, second, task, place)
    return entry


def ways_of(item: Preference | Ranking | Stop) -> tuple[Demonstration, ...]:
    """The trajectories of an item, the best first."""
    if isinstance(item, Preference):
        return item.better, item.other
    return item.ways if isinstance(item, Ranking) else (item.way,)


def _in_model(ways: Iterable[Any], task: MDP | Task, place: str) -> tuple[Demonstration, ...]:
    try:
        return as_demonstrations(list(ways), task)
    except InvalidModel as error:
        raise InvalidModel(f"{place}: {error}") from None


def _checked_comparison(item: Comparison, task: MDP | Task, place: str) -> Comparison:
    mdp = as_mdp(task)
    require_index(item.state, mdp.n_states, f"{place}: state")
    for name in ("better", "other"):
        require_index(getattr(item, name), mdp.n_actions, f"{place}: {name}")
    if mdp.terminal[item.state]:
        raise InvalidModel(
            f"{place}: state {item.state} is terminal, so no action is taken there; remove it"
        )
    return item


def has_ended(way: Demonstration, task: MDP | Task) -> bool:
    """Whether the last step surely leads to a terminal state."""
    mdp = as_mdp(task)
    state, action = way[-1]
    row = state * mdp.n_actions + action
    moves = mdp.transitions
    targets = moves.successors[moves.offsets[row] : moves.offsets[row + 1]]
    return bool(mdp.terminal[targets].all())


def require_comparable(
    first: Demonstration, second: Demonstration, task: MDP | Task, place: str
) -> None:
    """Refuse trajectories of other starts or lengths, which would fix the zero of the reward."""
    if first[0][0] != second[0][0]:
        raise InvalidModel(
            f"{place}: trajectories must begin in the same state; they begin in {first[0][0]} and "
            f"{second[0][0]}"
        )
    ended = has_ended(first, task), has_ended(second, task)
    if ended == (True, True) or (ended == (False, False) and len(first) == len(second)):
        return
    raise InvalidModel(
        f"{place}: trajectories must have the same length, or both have ended; they have "
        f"{len(first)} and {len(second)} steps. Unequal lengths say whether a step is worth "
        "anything at all, which is no matter of behaviour"
    )


def read_item(document: Mapping[str, Any], place: str = "an item") -> Feedback:
    """The item in an object of a file."""
    kind = document.get("kind")
    given = {name: value for name, value in document.items() if name != "kind"}
    if kind == "wrong":
        raise InvalidModel(f"{place}: {ONLY_WRONG}")
    made = {
        "comparison": (Comparison, ("state", "better", "other")),
        "preference": (Preference, ("better", "other")),
        "correction": (Preference, ("better", "other")),
        "ranking": (Ranking, ("ways",)),
        "stop": (Stop, ("way", "after", "off_is_worth_nothing")),
    }.get(kind if isinstance(kind, str) else "")
    if made is None:
        listed = ", ".join(KINDS)
        raise InvalidModel(f"{place}: kind must be one of {listed}; it is {shown(kind)}")
    make, fields = made
    odd = sorted(set(given) ^ set(fields), key=str)
    if odd:
        raise InvalidModel(f"{place}: a {kind} has {', '.join(fields)}; look at {shown(odd[0])}")
    extra = {"correction": True} if kind == "correction" else {}
    if kind == "ranking" and not isinstance(given["ways"], list | tuple):
        raise InvalidModel(f"{place}: ways must be a list; it is {shown(given['ways'])}")
    try:
        found: Feedback = make(**given, **extra)
    except InvalidModel as error:
        raise InvalidModel(f"{place}: {error}") from None
    return found
