"""A family: many MDPs that share one reward, as layouts, maps, levels or seeds of a game do.

Members have the same number of features and exactly the same weights; sizes, discounts, dynamics,
starts and terminal states may differ. What is taught to a family is what all members have in
common, the reward, and a demonstration may be of any member.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from didact.errors import InvalidModel
from didact.files.json import write_json
from didact.inputs import counted, entries, is_whole, shown, shown_name
from didact.mdp.demonstrations import Demonstration, as_demonstrations, only_demonstrations
from didact.mdp.model import MDP, require_text
from didact.mdp.naming import state_words
from didact.mdp.showing import in_notebook
from didact.mdp.task import Task, as_task
from didact.mdp.transitions import MAX_ROWS, Transitions
from didact.numerics.exact import Floats, Numbers


@dataclass(frozen=True, eq=False, init=False)
class Family:
    """Tasks that share one reward, in order, each with a name of its own.

    members: the tasks; all have as many features and exactly the same weights.
    names: of the members, all different; by default the tasks' own names where those differ, else
        their numbers.
    name: what reports call the family.
    """

    members: tuple[Task, ...]
    names: tuple[str, ...]
    name: str

    def __init__(
        self,
        members: Iterable[Task],
        *,
        names: Iterable[str] | None = None,
        name: str = "family",
    ):
        tasks = _as_members(members)
        object.__setattr__(self, "members", tasks)
        object.__setattr__(self, "names", _as_names(names, tasks))
        object.__setattr__(self, "name", require_text(name, "name"))

    @property
    def true_weights(self) -> Numbers:
        """The weights that all members share, exactly as given."""
        return self.members[0].true_weights

    @property
    def weights(self) -> Floats:
        """The shared weights as floats, shape (k,)."""
        return self.true_weights.floats

    @property
    def n_features(self) -> int:
        """How many features every member has."""
        return self.members[0].mdp.n_features

    def number(self, member: Any, place: str = "member") -> int:
        """The number of a member that is given by its number or its name.

        member: its name, or its number from 0.
        place: what a refusal calls it.
        """
        if isinstance(member, str) and member in self.names:
            return self.names.index(member)
        if is_whole(member) and 0 <= member < len(self):
            return int(member)
        raise InvalidModel(
            f"{place} must be a member's name or its number from 0 to {len(self) - 1}; "
            f"it is {shown(member)}"
        )

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.members)

    def __getitem__(self, member: int | str) -> Task:
        return self.members[self.number(member)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.family/1` file, members inline; `load_family` gives the same family.

        path: of the file; one that is there is replaced.
        """
        from didact.mdp.files import family_document

        write_json(family_document(self), path)

    _repr_html_ = in_notebook

    def __repr__(self) -> str:
        n_states = sum(task.mdp.n_states for task in self.members)
        counts = {"member": len(self), "state": n_states, "feature": self.n_features}
        sizes = ", ".join(counted(n, thing) for thing, n in counts.items())
        return f"Family({shown_name(self.name)!r}, {sizes})"


def _as_members(given: Any) -> tuple[Task, ...]:
    if isinstance(given, Task):
        raise InvalidModel("members must be a list of tasks; it is one Task. Put it into a list")
    tasks = tuple(
        as_task(task, f"members[{i}]") for i, task in enumerate(entries(given, "members", "tasks"))
    )
    if not tasks:
        raise InvalidModel("a family must have at least one member; members is empty")
    _require_one_reward(tasks)
    size = sum(task.mdp.n_states for task in tasks) * max(task.mdp.n_actions for task in tasks)
    if size > MAX_ROWS:
        raise InvalidModel(
            f"all states of a family times its most actions must be at most {MAX_ROWS}; "
            f"they are {size}. Take fewer members"
        )
    return tasks


def _require_one_reward(tasks: tuple[Task, ...]) -> None:
    first = tasks[0]
    weights = list(first.true_weights.fractions())
    for i, task in enumerate(tasks):
        if task.mdp.n_features != first.mdp.n_features:
            raise InvalidModel(
                f"members must have as many features as the first, {first.mdp.n_features}; "
                f"members[{i}] has {task.mdp.n_features}"
            )
        own = list(task.true_weights.fractions())
        if own != weights:
            at = next(j for j, (a, b) in enumerate(zip(own, weights, strict=True)) if a != b)
            raise InvalidModel(
                f"members must have exactly the same weights; weights[{at}] of members[{i}] is "
                f"{shown(own[at])}, and {shown(weights[at])} of members[0]"
            )


def _as_names(given: Any, tasks: tuple[Task, ...]) -> tuple[str, ...]:
    if given is None:
        own = tuple(task.name for task in tasks)
        return own if len(set(own)) == len(own) else tuple(map(str, range(len(tasks))))
    names = tuple(
        require_text(name, f"names[{i}]")
        for i, name in enumerate(entries(given, "names", "names, one for each member"))
    )
    if len(names) != len(tasks):
        raise InvalidModel(
            f"names must have one for each of {counted(len(tasks), 'member')}; it has {len(names)}"
        )
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise InvalidModel(f"names must all differ; names[{i}] is {shown(name)} again")
        seen.add(name)
    return names


def as_family(given: Any, place: str = "family") -> Family:
    """A family, checked to be one."""
    if isinstance(given, Family):
        return given
    raise InvalidModel(
        f"{place} must be a Family, such as Family([task, ...]); it is {shown(given)}"
    )


def family_demonstrations(given: Any, family: Family) -> tuple[Demonstration, ...]:
    """Demonstrations of a family, each of a member by its number.

    given: demonstrations that know their member, or [member, pairs] with its name or number; a
    lesson of the family.
    """
    checked = []
    listed = entries(only_demonstrations(given), "demonstrations", "demonstrations")
    for i, entry in enumerate(listed):
        place = f"demonstration {i + 1}"
        member, pairs = _of_member(entry, place)
        number = family.number(member, f"{place}: member")
        try:
            (shown_pairs,) = as_demonstrations([pairs], family[number])
        except InvalidModel as error:
            raise InvalidModel(str(error).replace("demonstration 1", place, 1)) from None
        checked.append(Demonstration(shown_pairs, number))
    return tuple(checked)


def _of_member(entry: Any, place: str) -> tuple[Any, Any]:
    """Who shows it, and what; the pairs are not looked at."""
    member: Any
    pairs: Any
    if isinstance(entry, Demonstration):
        member, pairs = entry.member, entry.pairs
    else:
        is_pair = isinstance(entry, list | tuple) and len(entry) == 2
        member, pairs = entry if is_pair else (None, None)
    if not isinstance(member, str) and not is_whole(member):
        raise InvalidModel(
            f"{place} must say whose it is: Demonstration(pairs, member=0) or [member, pairs]; "
            f"it is {shown(entry)}"
        )
    return member, pairs


@dataclass(frozen=True, eq=False)
class DisjointUnion:
    """The members of a family side by side in one task, for work that needs one MDP.

    Every member starts equally often. Members with a smaller discount than the largest end with the
    complementary probability at each step, in a terminal state that pays nothing: the values of
    all policies stay as they are.

    task: the members' states one after the other, then that terminal state where there is one.
    first: the number of each member's first state there, and after them the number of all.
    """

    task: Task
    first: tuple[int, ...]

    def joined(self, demonstration: Demonstration) -> Demonstration:
        """A demonstration of a member as one of the union."""
        first = self.first[demonstration.member or 0]
        return Demonstration([(first + state, action) for state, action in demonstration])

    def parted(self, demonstration: Demonstration) -> Demonstration:
        """A demonstration of the union as one of the member that its states belong to."""
        member = self.member_of(demonstration[0][0])
        first = self.first[member]
        return Demonstration([(state - first, a) for state, a in demonstration], member)

    def member_of(self, state: int) -> int:
        """The member that a state of the union belongs to."""
        return int(np.searchsorted(self.first, state, side="right")) - 1


SINK = "ended by the discount"
"""The name of the terminal state that stands for smaller discounts in a disjoint union."""


def sink_of(mdp: MDP) -> int | None:
    """The state of a disjoint union that stands for smaller discounts, if there is one.

    No trajectory leads there: given that it does not, steps are those of the members.
    """
    named = mdp.state_names is not None and mdp.state_names[-1] == SINK
    return mdp.n_states - 1 if named else None


def disjoint_union(family: Family) -> DisjointUnion:
    """The members of a family side by side in one task; they must have as many actions."""
    models = [task.mdp for task in family]
    n_actions, largest = models[0].n_actions, max(mdp.exact_discount for mdp in models)
    for i, mdp in enumerate(models):
        if mdp.n_actions != n_actions:
            raise InvalidModel(
                f"members must have as many actions as the first, {n_actions}, to be used as one "
                f"MDP; members[{i}] has {mdp.n_actions}"
            )
    by_action = any(mdp.has_action_features for mdp in models)
    first = np.cumsum([0, *(mdp.n_states for mdp in models)]).tolist()
    sink = None if all(mdp.exact_discount == largest for mdp in models) else first[-1]
    features: list[Fraction] = []
    rows, start, names = list[tuple[int, int, int, Fraction]](), list[Fraction](), list[str]()
    for here, name, task in zip(first, family.names, family, strict=False):
        mdp = task.mdp
        share = mdp.exact_discount / largest if largest else Fraction(1)
        palette, codes = mdp.transitions.exact()
        scaled = [share * p for p in palette]
        successors, listed = mdp.transitions.successors.tolist(), codes.tolist()
        for row, (begin, end) in enumerate(pairwise(mdp.transitions.offsets.tolist())):
            state, action = divmod(row, n_actions)
            for entry in range(begin, end):
                rows.append((here + state, action, here + successors[entry], scaled[listed[entry]]))
            if share != 1 and begin < end:
                assert sink is not None
                rows.append((here + state, action, sink, 1 - share))
        features += _features_of(mdp, by_action=by_action)
        start += [p / len(models) for p in mdp.start.fractions()]
        names += [f"{name}: {state_words(task, state)}" for state in range(mdp.n_states)]
    ends = np.concatenate([mdp.terminal for mdp in models]).tolist()
    n_states, shape = first[-1], (*([n_actions] if by_action else []), family.n_features)
    if sink is not None:
        n_states, start, ends = n_states + 1, [*start, Fraction(0)], [*ends, True]
        features += [Fraction(0)] * int(np.prod(shape))
        names.append(SINK)
    common = {
        each: getattr(models[0], each)
        for each in ("action_names", "feature_names")
        if all(getattr(mdp, each) == getattr(models[0], each) for mdp in models)
    }
    union = MDP(
        Transitions.from_rows(rows, n_states, n_actions),
        Numbers.of_fractions(features, (n_states, *shape)),
        largest,
        start=Numbers.of_fractions(start, (n_states,)),
        terminal=ends,
        state_names=names,
        **common,
    )
    return DisjointUnion(Task(union, family.true_weights, name=family.name), tuple(first))


def _features_of(mdp: MDP, *, by_action: bool) -> list[Fraction]:
    """The features in row order, repeated for each action where they are to depend on it."""
    values, k = mdp.features.fractions(), mdp.n_features
    if not by_action or mdp.has_action_features:
        return values
    by_state = [values[i : i + k] for i in range(0, len(values), k)]
    return [value for own in by_state for value in own * mdp.n_actions]
