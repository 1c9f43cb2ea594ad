"""Other feedback than demonstrations: what a teacher can say besides showing.

A comparison says that one action is at least as good as another in a state, the task's best policy
following both. A preference says it of two trajectories, a ranking of several, a stop that the rest
of a trajectory is not worth having. In a family each is of one member, which it names.

"That is wrong" alone is no feedback here: the rewards for which some other action is better are a
union of half-spaces and no convex set, so nothing can be concluded from it; say which action is
better.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from didact.errors import InvalidModel
from didact.inputs import entries, flag, shown
from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.family import Family, family_demonstrations
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
    member: the number of the member of a family that it is of; None for a task alone.
    """

    state: int
    better: int
    other: int
    member: int | None = None

    def __init__(self, state: Any, better: Any, other: Any, member: int | None = None):
        for name, value in (("state", state), ("better", better), ("other", other)):
            object.__setattr__(self, name, require_index(value, LARGEST, f"comparison: {name}"))
        if self.better == self.other:
            raise InvalidModel(
                f"a comparison must be of two actions; both are action {self.better}"
            )
        object.__setattr__(self, "member", _as_member(member))

    def document(self) -> dict[str, Any]:
        """The comparison as a file holds it."""
        return {"kind": "comparison", **{k: v for k, v in vars(self).items() if v is not None}}


@dataclass(frozen=True)
class Preference:
    """One trajectory rather than another from the same start.

    better: the trajectory that is worth at least as much.
    other: the trajectory that it is compared with; as long, or both have ended.
    correction: whether it was shown to correct the other; that says the same.
    member: the number of the member of a family that it is of; None for a task alone.
    """

    better: Demonstration
    other: Demonstration
    correction: bool = False
    member: int | None = None

    def __init__(
        self, better: Any, other: Any, correction: bool = False, member: int | None = None
    ):
        (first, second), member = _ways([better, other], member)
        object.__setattr__(self, "better", first)
        object.__setattr__(self, "other", second)
        object.__setattr__(self, "correction", flag(correction, "correction"))
        object.__setattr__(self, "member", member)

    def document(self) -> dict[str, Any]:
        """The preference as a file holds it."""
        kind = "correction" if self.correction else "preference"
        sides = {"better": self.better.document(), "other": self.other.document()}
        return {"kind": kind, **sides, **_of(self.member)}


@dataclass(frozen=True)
class RankedTrajectories:
    """Several trajectories from the same start, the best first: a preference of each to the next.

    ways: at least two, the best first.
    member: the number of the member of a family that it is of; None for a task alone.
    """

    ways: tuple[Demonstration, ...]
    member: int | None = None

    def __init__(self, ways: Iterable[Any], member: int | None = None):
        listed, member = _ways(entries(ways, "a ranking", "trajectories"), member)
        object.__setattr__(self, "ways", listed)
        object.__setattr__(self, "member", member)
        if len(self.ways) < 2:
            raise InvalidModel(
                f"a ranking must be of at least two trajectories; it is of {len(self.ways)}"
            )

    def document(self) -> dict[str, Any]:
        """The ranking as a file holds it."""
        ways = [way.document() for way in self.ways]
        return {"kind": "ranking", "ways": ways, **_of(self.member)}


@dataclass(frozen=True)
class Stop:
    """A trajectory that was stopped: what would have followed is worth no more than being off.

    way: the whole trajectory, with what would have followed.
    after: so many steps were let pass; 0 is an off-switch used at once.
    off_is_worth_nothing: must be True. Being off has no reward in a task, so it must be said that
        it is worth 0; a constant reward of -1 then fits every stop.
    member: the number of the member of a family that it is of; None for a task alone.
    """

    way: Demonstration
    after: int
    off_is_worth_nothing: bool
    member: int | None = None

    def __init__(
        self,
        way: Any,
        after: Any,
        *,
        off_is_worth_nothing: bool = False,
        member: int | None = None,
    ):
        (shown_way,), member = _ways([way], member)
        object.__setattr__(self, "way", shown_way)
        object.__setattr__(self, "member", member)
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
            **_of(self.member),
        }


Feedback = Comparison | Preference | RankedTrajectories | Stop
Item = Demonstration | Comparison | Preference | RankedTrajectories | Stop
KINDS = ("comparison", "preference", "correction", "ranking", "stop")


def _as_member(given: Any) -> int | None:
    return None if given is None else require_index(given, LARGEST, "member")


def _of(member: int | None) -> dict[str, int]:
    """What a file says besides of an item that is of a member."""
    return {} if member is None else {"member": member}


def _ways(given: Iterable[Any], member: Any) -> tuple[tuple[Demonstration, ...], int | None]:
    """The trajectories of an item, and the member that it or they name."""
    ways = [way if isinstance(way, Demonstration) else Demonstration(way) for way in given]
    named = {way.member for way in ways} | {_as_member(member)}
    if len(named - {None}) > 1:
        raise InvalidModel(
            f"an item must be of one member; it names {sorted(x for x in named if x is not None)}"
        )
    plain = tuple(way if way.member is None else Demonstration(way.pairs) for way in ways)
    return plain, max(named, key=lambda x: -1 if x is None else x)


def holds_feedback(given: Any) -> bool:
    """Whether a list has something in it that is no demonstration."""
    if not isinstance(given, list | tuple):
        return False
    return any(
        isinstance(entry, Feedback) or (isinstance(entry, Mapping) and "kind" in entry)
        for entry in given
    )


def as_items(given: Iterable[Any], where: MDP | Task | Family) -> tuple[Item, ...]:
    """Items of this model, checked: demonstrations, comparisons, preferences, rankings, stops.

    given: items, demonstrations in any form, or objects as files hold them; in a family each names
        its member.
    """
    return tuple(_as_item(entry, where, f"items[{i}]") for i, entry in enumerate(given))


def _as_item(entry: Any, where: MDP | Task | Family, place: str) -> Item:
    if isinstance(entry, Mapping):
        entry = read_item(entry, place)
    if not isinstance(entry, Feedback):
        return _in_model([entry], where, place)[0]
    task = _home(entry, where, place)
    if isinstance(entry, Comparison):
        return _checked_comparison(entry, task, place)
    ways = _in_model(ways_of(entry), task, place)
    if isinstance(entry, Preference | RankedTrajectories):
        for first, second in pairwise(ways):
            require_comparable(first, second, task, place)
    return entry


def _home(item: Feedback, where: MDP | Task | Family, place: str) -> MDP | Task:
    """The model that an item is of."""
    if isinstance(where, Family):
        if item.member is None:
            raise InvalidModel(f"{place} must say whose it is: give it a member, such as member=0")
        return where[require_index(item.member, len(where), f"{place}: member")]
    if item.member is not None:
        raise InvalidModel(
            f"{place} is of member {item.member} of a family, and this is one task; leave the "
            "member out"
        )
    return where


def ways_of(item: Preference | RankedTrajectories | Stop) -> tuple[Demonstration, ...]:
    """The trajectories of an item, the best first."""
    if isinstance(item, Preference):
        return item.better, item.other
    return item.ways if isinstance(item, RankedTrajectories) else (item.way,)


def _in_model(
    ways: Iterable[Any], where: MDP | Task | Family, place: str
) -> tuple[Demonstration, ...]:
    try:
        if isinstance(where, Family):
            return family_demonstrations(list(ways), where)
        return as_demonstrations(list(ways), where)
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
    why = "Unequal lengths say whether a step is worth anything at all, which is no behaviour"
    if ended[0] != ended[1]:
        one, other = ("first", "second") if ended[0] else ("second", "first")
        raise InvalidModel(
            f"{place}: trajectories must both have ended, or neither; the {one} surely ends in a "
            f"terminal state and the {other} goes on. {why}"
        )
    raise InvalidModel(
        f"{place}: trajectories that go on must have the same length; they have {len(first)} and "
        f"{len(second)} steps. {why}"
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
        "ranking": (RankedTrajectories, ("ways",)),
        "stop": (Stop, ("way", "after", "off_is_worth_nothing")),
    }.get(kind if isinstance(kind, str) else "")
    if made is None:
        listed = ", ".join(KINDS)
        raise InvalidModel(f"{place}: kind must be one of {listed}; it is {shown(kind)}")
    make, fields = made
    odd = sorted((set(given) ^ set(fields)) - {"member"}, key=str)
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
