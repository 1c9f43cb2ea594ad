"""What no demonstration in an MDP can teach, and the cheapest change of the MDP that reveals it.

A direction u of the weights is invisible when no policy's half-spaces see it: every policy has the
same return for the reward phi.u after every action of every state in scope. Then V = the value of
phi.u solves V(s) = phi(s, a).u + discount E V(next) for every action a; and if one policy's rows
mu(s, a) - mu(s, b) do not see u, its own V solves that, so that no policy's rows do. The invisible
space is therefore the null space of the optimal policy's rows (exact), whatever policy is shown.

A change is another MDP with the same features and weights: a member of a family, with a price. The
invisible space of a family is the intersection of its members', and so is its BEC. A set of changes
reaches a goal if the intersection is small enough: of each direction or reward in it that breaks
the goal, a change must be taken that sees or excludes it. That is an implicit hitting set; its
bound is the proof. Farkas' lemma finds rewards that order a pair the other way, and the largest
angle to the weights, where it is below 90 degrees, is that of an extreme ray. What is found is
confirmed by `teach` on the resulting family, in exact arithmetic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, equivalence_class, require_class
from didact.bec.cone import WeightBound, weight_bounds
from didact.bec.halfspaces import Scope
from didact.bec.linear import (
    Inside,
    Row,
    decide,
    dot,
    extreme_rays,
    negated,
    null_basis,
    primitive,
    row_reduced,
    unit_floats,
)
from didact.errors import DidactError, InvalidParameter
from didact.inputs import (
    counted,
    entries,
    explains_names,
    instance,
    is_whole,
    plain_document,
    shown,
    shown_name,
)
from didact.mdp import MDP, Family, Task, Transitions
from didact.mdp.naming import state_words
from didact.mdp.showing import Showable
from didact.numerics.exact import Floats, read_number, whole_if_whole
from didact.planning.paths import reachable_states
from didact.planning.successor import float_successor_features
from didact.stages import counting
from didact.teaching.covers.set_cover import Minimum, Uncoverable, cheapest_cover
from didact.teaching.lesson import Missing
from didact.teaching.teach import teach
from didact.worlds.opening import named_world, open_task, with_reward_of

KINDS = ("discount", "wall", "end", "restart", "start", "slip", "world")
"""Changes that a text can name."""
DISCOUNTS = ("0", "1/2", "9/10", "99/100")
"""Discounts that are proposed where no changes are given."""
MAX_PROPOSED = 40
"""States that a start, a wall or an end is proposed in, evenly spaced."""
EXACT_UP_TO = 20_000
"""States times features up to which `invisible_words` is exact: about a second."""
MAX_RAYS = 2_000
"""Extreme rays of a BEC up to which angles are decided; pairs of them are compared."""
REVEAL = "reveal it"
"""What changes are to do where no goal is given."""
UNSEEN = 1e-9
"""Relative size below which floats say that a proposed change does not see a direction."""


class Change(NamedTuple):
    """A change of the MDP: its name, what the MDP is then, and what the change costs."""

    name: str
    task: Task
    price: Fraction


class TriedChange(NamedTuple):
    """A change that was tried: how many directions it reveals, and whether it is enough, alone."""

    name: str
    price: Fraction
    n_revealed: int
    is_enough: bool


@dataclass(frozen=True, eq=False)
class Identification(Showable):
    """What stays open in an MDP whatever is demonstrated, and what would reveal it.

    `plot` draws what each weight can be within the BEC; the page of `report` also says what is
    invisible, and what changes reveal.

    task: that was looked at, or the family.
    invisible: basis of the invisible directions, integers.
    told: each of them in words.
    unit: the feature whose weight is 1 or -1 in the bounds.
    bounds: smallest and largest value of each weight within the BEC, w[unit] being 1 or -1.
    unseen: constraints that no demonstration from these starts shows, with the reason.
    changes: the cheapest that reach the goal; None where none are needed or none do.
    cost: of the changes.
    lower_bound: no changes that reach the goal cost less.
    left: invisible directions after the changes.
    confirmed: whether the goal is reached in the class of the MDP and the changes, which `teach`
        can teach.
    tried: the changes that were offered or proposed, and what each does alone; of the proposed,
        where one is enough, those up to it.
    goal: what the changes are to do, in words.
    angles: of the goal of an angle, in degrees, how far from the weights a reward may be that fits,
        before and after the changes; None where a direction is invisible.
    """

    task: Task | Family
    invisible: tuple[Row, ...]
    told: tuple[str, ...]
    unit: int
    bounds: tuple[tuple[WeightBound, WeightBound], ...]
    unseen: tuple[Missing, ...]
    changes: tuple[Change, ...] | None
    cost: int | Fraction | None
    lower_bound: int | Fraction | None
    left: tuple[Row, ...]
    confirmed: bool
    tried: tuple[TriedChange, ...]
    goal: str = ""
    angles: tuple[float | None, float | None] | None = None

    def __repr__(self) -> str:
        found = "none needed" if self.confirmed else "none is enough"
        if self.changes is not None:
            found = counted(len(self.changes), "change")
        n = counted(len(self.invisible), "invisible direction")
        return f"Identification({shown(self.task.name)}, {n} of {self.mdp.n_features}, {found})"

    @property
    def mdp(self) -> MDP:
        """The model that was looked at, of a family that of its first member."""
        return _members(self.task)[0].mdp

    @property
    def is_cheapest(self) -> bool:
        """Whether no cheaper changes among those tried reach the goal, proved exactly."""
        return self.cost is not None and self.cost == self.lower_bound

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        names = ("invisible", "told", "unit", "cost", "lower_bound", "left", "confirmed")
        more = ("goal", "angles")
        document: dict[str, Any] = plain_document(
            {
                "task": self.task.name,
                **{name: getattr(self, name) for name in (*names, *more)},
                "bounds": [[bound.value for bound in pair] for pair in self.bounds],
                "unseen": [missing.document() for missing in self.unseen],
                "changes": self.changes
                and [{"name": c.name, "price": c.price} for c in self.changes],
                "tried": [change._asdict() for change in self.tried],
                "is_cheapest": self.is_cheapest,
            }
        )
        return document

    def lines(self, most: int = 8) -> list[str]:
        """The result in sentences.

        most: how many of a kind.
        """
        d = len(self.invisible)
        name = shown_name(self.task.name)
        found = [
            f"{name}: {counted(d, 'direction')} of the {self.mdp.n_features} weights "
            + ("is" if d == 1 else "are")
            + " invisible to every demonstration."
            if d
            else f"{name}: every direction of the weights shows in some policy."
        ]
        found += [f"  {words}" for words in self.told[:most]]
        if self.bounds:
            unit = f"{self.mdp.feature_name(self.unit)} is {self.bounds[self.unit][0].value}"
            found.append(f"Within the BEC, where {unit}:")
            others = [i for i in range(len(self.bounds)) if i != self.unit][: most - 1]
            found += [
                f"  {self.mdp.feature_name(i)}: {_range_words(*self.bounds[i])}" for i in others
            ]
        if self.unseen:
            found.append(f"Not shown from these starts: {counted(len(self.unseen), 'constraint')}.")
            found += [f"  {m.words} ({m.reason})" for m in self.unseen[:3]]
        return [*found, *change_lines(self)]


def _range_words(lowest: WeightBound, highest: WeightBound) -> str:
    """Between which numbers a weight lies: 'from 0 to 1', 'at most 1', 'any number'."""
    low, high = (None if b.value is None else f"{float(b.value):.4g}" for b in (lowest, highest))
    if low is None or high is None:
        return f"at least {low}" if low else f"at most {high}" if high else "any number"
    return f"from {low} to {high}"


def change_lines(found: Identification) -> list[str]:
    """Which changes reach the goal, and what others do alone."""
    lines = []
    if found.angles is not None:
        lines = [f"Rewards within the BEC are up to {_degrees(found.angles[0])} from the weights."]
    if found.changes is None and found.confirmed:
        return [*lines, f"No change is needed to {found.goal}."] * (found.goal != REVEAL)
    if found.changes is None:
        return [*lines, f"None of {counted(len(found.tried), 'change')} tried can {found.goal}."]
    named = ", ".join(change.name for change in found.changes)
    what = "nothing is invisible" if not found.left else f"{len(found.left)} stay invisible"
    if found.angles is not None:
        what = f"they are up to {_degrees(found.angles[1])}"
    cheapest = "proved cheapest" if found.is_cheapest else f"at least {found.lower_bound} needed"
    sure = "confirmed by teach" if found.confirmed else "not confirmed"
    lines.append(f"To {found.goal}: {named}; cost {found.cost}, {cheapest}; then {what} ({sure}).")
    taken = {change.name for change in found.changes}
    others = [c for c in found.tried if (c.n_revealed or c.is_enough) and c.name not in taken]
    if others:
        best = sorted(others, key=lambda change: (-change.n_revealed, change.price))[:3]
        does = ["enough" if c.is_enough else counted(c.n_revealed, "direction") for c in best]
        each = (f"{c.name} ({d}, cost {c.price})" for c, d in zip(best, does, strict=True))
        lines.append(f"Others reveal something alone ({len(others)}): {'; '.join(each)}.")
    return lines


def _degrees(angle: float | None) -> str:
    return "180 degrees" if angle is None else f"{angle:.3g} degrees"


@explains_names
def identify(
    task: Task | Family,
    changes: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    goal: Any = None,
    horizon: int | None = None,
    scope: Scope = "reachable",
    bec: EquivalenceClass | None = None,
) -> Identification:
    """What no demonstration in this MDP can teach, and the cheapest change that reveals it.

    task: the task or family; its weights decide the BEC, what is invisible does not depend on them.
    changes: {name: task} or {name: (task, price)}, other MDPs with the same features and weights;
        or texts: 'discount=0.5', 'wall=12', 'end=3', 'restart=15' (an end from which the world
        begins again), 'start=0', 'slip=0.1' and 'world=NAME', each at the price 1, or at
        'wall=12:3' the price 3; of a family those of the first member, or of the one named as in
        '2/wall=12'. None proposes starts, discounts, single walls and ends, and restarts.
    goal: a pair of features (i, j) to be told apart, or 'i,j'; a direction (k,) whose return is to
        be fixed; 'order=i,j', a pair that every reward that fits is to order as the weights do;
        'angle=10', degrees below 90 within which all rewards that fit are to be of the weights;
        or None: everything that all changes together reveal.
    horizon: steps of a demonstration, for what is not shown from the starts; as in `teach`.
    scope: 'reachable' or 'all': whose states count.
    bec: the task's class, when it is at hand.
    """
    task = named_world(task)
    require_class(task, bec)
    bec = equivalence_class(task, scope=scope, arithmetic="exact") if bec is None else bec
    invisible, own = _invisible(bec), bec.cone.defining_rows()
    members = _members(task)
    told = tuple(direction_words(members[0].mdp, direction) for direction in invisible)
    wanted = _goal(members[0].mdp, primitive(bec.cone.true_weights.fractions()), goal)
    unit, bounds = _bounds(bec)
    lesson = teach(task, horizon=horizon, bec=bec)
    offered = None if changes is None else _given(task, changes)
    chosen: tuple[Change, ...] | None = None
    tried: tuple[TriedChange, ...] = ()
    minimum, left, confirmed, reached = None, invisible, wanted.is_reached(own), own
    if not confirmed:
        candidates: Sequence[Any] = _proposed(task) if offered is None else offered
        tried, stated = _try(candidates, own, wanted, scope, is_proposed=offered is None)
        minimum = _cheapest(own, [change.price for change in tried], stated, wanted)
    if minimum is not None:
        taken = [candidates[n] for n in minimum.chosen]
        chosen = tuple(Change(c.name, c.task, c.price) for c in taken)
        family = Family(
            [*members, *(change.task for change in chosen)], name=f"{task.name}, changed"
        )
        of_family = equivalence_class(family, scope=scope, arithmetic="exact")
        left, reached = _invisible(of_family), of_family.cone.defining_rows()
        # Single steps from everywhere are all listed: SCOT completes its lesson if any does.
        lesson_of_all = teach(family, teacher="scot", bec=of_family, horizon=1, starts="all")
        is_all = wanted.is_open and not any(n_seen(left, rows) for rows in stated)
        confirmed = lesson_of_all.is_complete and (is_all or wanted.is_reached(reached))
    return Identification(
        *(task, invisible, told, unit, bounds, lesson.uncovered, chosen),
        None if minimum is None else whole_if_whole(Fraction(minimum.cost)),
        None if minimum is None else whole_if_whole(Fraction(minimum.lower_bound)),
        *(left, confirmed, tried, wanted.words),
        (wanted.largest_angle(own), wanted.largest_angle(reached)) if wanted.cosine else None,
    )


def _members(task: Task | Family) -> tuple[Task, ...]:
    return task.members if isinstance(task, Family) else (task,)


def _invisible(bec: EquivalenceClass) -> tuple[Row, ...]:
    """The integer basis of the directions that no row of a class sees."""
    return tuple(_hidden(bec.cone.defining_rows(), len(bec.cone.true_weights.floats)))


def _hidden(rows: Sequence[Row], k: int) -> list[Row]:
    """A basis of the directions (k,) that no row sees."""
    return null_basis(*row_reduced(rows), k)


def n_seen(directions: Sequence[Row], rows: Sequence[Row]) -> int:
    """The dimension of what rows see of some independent directions."""
    return len(row_reduced([tuple(dot(row, u) for u in directions) for row in rows])[1])


def _bounds(bec: EquivalenceClass) -> tuple[int, tuple[tuple[WeightBound, WeightBound], ...]]:
    """The unit, the largest weight, and what each weight may be in it."""
    weights = bec.cone.true_weights.fractions()
    unit = max(range(len(weights)), key=lambda i: abs(weights[i]))
    if not weights[unit]:
        return unit, ()
    sign = 1 if weights[unit] > 0 else -1
    return unit, tuple(weight_bounds(bec.cone.defining_rows(), len(weights), unit, sign))


def direction_words(mdp: MDP, direction: Row) -> str:
    """What it means that a direction is invisible."""
    parts = [(amount, mdp.feature_name(i)) for i, amount in enumerate(direction) if amount]
    if len(parts) == 1:
        return f"The weight of {parts[0][1]} changes nothing."
    if len(parts) == mdp.n_features and len({amount for amount, _ in parts}) == 1:
        return "Adding the same amount to every weight changes nothing."
    if len(parts) == 2 and parts[0][0] == -parts[1][0]:
        one, other = parts[0][1], parts[1][1]
        return f"{one} and {other} cannot be told apart: weight moved between them changes nothing."
    listed = ", ".join(f"{amount:+d} to {name}" for amount, name in parts[:8])
    return f"Adding {listed}{' and so on' if len(parts) > 8 else ''} changes nothing."


def invisible_words(mdp: MDP) -> tuple[str, ...]:
    """What no demonstration in an MDP can narrow, in words; floats look first whether any is."""
    seen = _float_rows(mdp)
    if np.linalg.matrix_rank(seen.T @ seen, tol=UNSEEN) == mdp.n_features:
        return ()
    if mdp.n_states * mdp.n_features > EXACT_UP_TO:
        return ("some weights can be changed together without any effect.",)
    simple = Task(mdp, [int(i == 0) for i in range(mdp.n_features)])
    rows = equivalence_class(simple, arithmetic="exact")
    return tuple(direction_words(mdp, direction) for direction in _invisible(rows))


@dataclass(frozen=True)
class ChangeGoal:
    """What changes are to do, and the directions or rewards that break it; one of three, or none.

    seen: functionals of the weights whose values are to show.
    above: functionals that no reward that fits may make negative.
    cosine: of an angle, squared; no reward that fits may be farther from the weights.
    Of none of them: to show what any change shows.
    """

    words: str
    weights: Row
    seen: tuple[Row, ...] = ()
    above: tuple[Row, ...] = ()
    cosine: Fraction | None = None

    @property
    def is_open(self) -> bool:
        """Whether it depends on the changes what is to show."""
        return not self.seen and not self.is_of_rewards

    @property
    def is_of_rewards(self) -> bool:
        """Whether rewards break it, and not directions whichever way they are taken."""
        return bool(self.above) or self.cosine is not None

    def is_reached(self, rows: Sequence[Row]) -> bool:
        """Whether nothing that fits these rows breaks it."""
        return next(self.broken(rows), None) is None

    def broken(self, rows: Sequence[Row]) -> Iterator[Row]:
        """Directions or rewards that fit the rows and break it; none where it is reached."""
        for functional in self.above:
            if not isinstance(verdict := decide(rows, functional), Inside):
                yield verdict.witness
        hidden = [] if self.above else _hidden(rows, len(self.weights))
        for u in hidden:
            if self.cosine is not None:
                yield negated(u) if dot(u, self.weights) > 0 else u
            elif not self.seen or any(dot(functional, u) for functional in self.seen):
                yield u
        if self.cosine is not None and not hidden:  # acute: the farthest are extreme rays
            size = dot(self.weights, self.weights)
            for ray in extreme_rays(rows, MAX_RAYS):
                along = dot(ray, self.weights)
                if along <= 0 or along**2 < self.cosine * size * dot(ray, ray):
                    yield ray

    def largest_angle(self, rows: Sequence[Row]) -> float | None:
        """The largest angle of rewards that fit to the weights in degrees; None if unbounded."""
        if _hidden(rows, len(self.weights)):
            return None
        units = unit_floats([self.weights, *extreme_rays(rows, MAX_RAYS)])
        chords = np.linalg.norm(units[1:] - units[0], axis=1)
        return float(np.degrees(2 * np.arcsin(np.minimum(1.0, chords / 2))).max(initial=0.0))


def _goal(mdp: MDP, weights: Row, goal: Any) -> ChangeGoal:
    """The goal that is asked for."""
    if goal is None:
        return ChangeGoal(REVEAL, weights)
    kind, value = "", goal
    if isinstance(goal, str):
        kind, _, value = goal.rpartition("=")
    if kind == "angle":
        angle = read_number(value, "goal angle=")
        if 0 < angle < 90 and any(weights):
            words = f"bring all rewards that fit within {value} degrees of the weights"
            return ChangeGoal(words, weights, cosine=Fraction(math.cos(math.radians(angle))) ** 2)
    elif kind in ("", "order"):
        found = _goal_of_features(mdp, weights, value, is_ordered=bool(kind))
        if found is not None:
            return found
    k = mdp.n_features
    raise InvalidParameter(
        f"goal must be a pair of different features from 0 to {k - 1}, as 0,1 or order=0,1, "
        f"angle= with degrees between 0 and 90, or a direction ({k},) that is not 0; "
        f"it is {shown(goal)}"
    )


def _goal_of_features(mdp: MDP, weights: Row, value: Any, *, is_ordered: bool) -> ChangeGoal | None:
    """A pair of features or a direction; None where it is neither."""
    k, given = mdp.n_features, value.split(",") if isinstance(value, str) else value
    listed = entries(given, "goal", "features, or of the entries of a direction")
    listed = [int(x) if isinstance(x, str) and x.strip().isdecimal() else x for x in listed]
    is_pair = len(listed) == 2 and all(is_whole(i) and 0 <= i < k for i in listed)
    if is_pair and listed[0] != listed[1] and (is_ordered or k != 2):
        return _goal_of_pair(mdp, weights, *map(int, listed), is_ordered=is_ordered)
    if len(listed) == k and not is_ordered:
        row = primitive([read_number(x, f"goal[{i}]") for i, x in enumerate(listed)])
        if any(row):
            return ChangeGoal("fix the return of the direction", weights, seen=(row,))
    return None


def _goal_of_pair(
    mdp: MDP, weights: Row, first: int, second: int, *, is_ordered: bool
) -> ChangeGoal:
    """A pair of features that is to be told apart, or ordered as the weights order it."""
    one, other = mdp.feature_name(first), mdp.feature_name(second)
    row = tuple((i == first) - (i == second) for i in range(len(weights)))
    if not is_ordered:
        return ChangeGoal(f"tell {one} and {other} apart", weights, seen=(row,))
    if not (above := dot(row, weights)):
        return ChangeGoal(f"hold {one} equal to {other}", weights, above=(row, negated(row)))
    if above < 0:
        one, other, row = other, one, negated(row)
    return ChangeGoal(f"order {one} above {other}", weights, above=(row,))


def _given(task: Task | Family, changes: Any) -> list[Change]:
    """The changes that are offered."""
    if isinstance(changes, str):
        changes = [changes]
    if not isinstance(changes, Mapping):
        return [_parsed(task, text) for text in entries(changes, "changes", "changes")]
    found = []
    for name, value in changes.items():
        other, price = value if isinstance(value, tuple) and len(value) == 2 else (value, 1)
        other = named_world(other)
        instance(other, Task, f"changes[{name!r}]", "or a pair of it and a price")
        found.append(Change(str(name), other, _price(price, name)))
    return found


def _price(value: Any, name: Any) -> Fraction:
    price = read_number(value, f"price of {name}")
    if price <= 0:
        raise InvalidParameter(f"prices must be positive; {name} costs {shown(value)}")
    return Fraction(price)


def _parsed(given: Task | Family, text: Any) -> Change:
    """A change from a text kind=value or kind=value:price, of a family member/kind=value."""
    asked, prefix, task = text if isinstance(text, str) else "", "", given
    if isinstance(given, Family):
        numbers = {name: i for i, name in enumerate(given.names)}
        numbers |= {str(i): i for i in range(len(given))}
        meant = [name for name in numbers if asked.startswith(f"{name}/")]  # may hold / and =
        if meant:
            prefix = f"{max(meant, key=len)}/"
        task = given[numbers.get(prefix[:-1], 0)]
    where, _, rest = asked.removeprefix(prefix).partition("=")
    unknown, _, kind = where.rpartition("/")
    found = re.fullmatch(r"(.+?)(?::([\d./]+))?", rest)  # a name may hold colons of its own
    value, price = found.groups() if found else ("", None)
    if unknown and isinstance(given, Family):
        given.number(unknown, f"member of {shown(text)}")
    if unknown:
        raise InvalidParameter(f"only changes of a family name a member; it is {shown(text)}")
    assert isinstance(task, Task)
    if kind not in KINDS or not value:
        raise InvalidParameter(
            f"a change must be {'=, '.join(KINDS[:-1])}= or {KINDS[-1]}= with a value, as wall=12 "
            f"or wall=12:3 with its price; it is {shown(text)}"
        )
    return Change(f"{prefix}{kind}={value}", _changed(task, kind, value), _price(price or 1, text))


def _changed(task: Task, kind: str, value: Any) -> Task:
    """The task with another discount, start or slip, a state that is closed, ends or restarts."""
    mdp = task.mdp
    if kind == "world":
        other = open_task(str(value), any_version=True)
        if other.mdp.n_features != mdp.n_features:
            raise InvalidParameter(
                f"world={shown_name(str(value))} must have {mdp.n_features} features, as "
                f"{shown_name(task.name)}; it has {other.mdp.n_features}"
            )
        return with_reward_of(task, other)
    given: dict[str, Any] = {"start": mdp.start, "terminal": mdp.terminal}
    discount, rows = mdp.exact_discount, _rows(mdp)
    if kind == "discount":
        discount = read_number(value, "discount")
    elif kind == "slip":
        rows = _slipping(mdp, read_number(value, "slip"))
    else:
        state, ends = _state(mdp, kind, value), np.flatnonzero(mdp.terminal).tolist()
        start = mdp.start.fractions()
        if kind == "start":
            given["start"] = [int(s == state) for s in range(mdp.n_states)]
        elif kind == "restart":  # the end leads back to where the world begins
            given["terminal"] = [s for s in ends if s != state]
            back = product([state], range(mdp.n_actions), enumerate(start))
            rows = [*rows, *((s, a, *begin) for s, a, begin in back)]
        else:
            given["start"] = _start_without(start, kind, state)
            if kind == "end":
                given["terminal"] = [*ends, state]
                rows = [row for row in rows if row[0] != state]
            else:  # moves into a wall lead nowhere
                rows = [(s, a, s if t == state else t, p) for s, a, t, p in rows]
    named = {name: getattr(mdp, name) for name in ("state_names", "action_names", "feature_names")}
    moves = Transitions.from_rows(rows, mdp.n_states, mdp.n_actions)
    changed = MDP(moves, mdp.features, discount, **given, **named)
    return Task(changed, task.true_weights, name=f"{task.name}, {kind}={value}")


def _state(mdp: MDP, kind: str, value: Any) -> int:
    """The state that a change names: one that ends for a restart, else one that does not."""
    state = int(value) if str(value).isdigit() else -1
    if not 0 <= state < mdp.n_states or bool(mdp.terminal[state]) != (kind == "restart"):
        raise InvalidParameter(
            f"{kind} must name a state from 0 to {mdp.n_states - 1} that "
            f"{'ends' if kind == 'restart' else 'does not end'}; it is {shown(value)}"
        )
    return state


def _start_without(start: Sequence[Fraction], kind: str, state: int) -> list[Fraction]:
    if start[state] == 1:
        raise InvalidParameter(f"{kind}={state} leaves no start; give start= another one")
    return [Fraction(0) if s == state else p / (1 - start[state]) for s, p in enumerate(start)]


def _rows(mdp: MDP) -> list[tuple[int, int, int, Fraction]]:
    """All (state, action, next state, probability)."""
    moves = mdp.transitions
    pairs = np.repeat(np.arange(len(moves.offsets) - 1), np.diff(moves.offsets)).tolist()
    listed = zip(pairs, moves.successors.tolist(), moves.probabilities.fractions(), strict=True)
    return [(*divmod(pair, mdp.n_actions), target, p) for pair, target, p in listed]


def _slipping(mdp: MDP, slip: Fraction) -> list[tuple[int, int, int, Fraction]]:
    """With this probability any action is taken instead, all equally likely."""
    if not 0 <= slip <= 1:
        raise InvalidParameter(f"slip must be from 0 to 1; it is {slip}")
    mixed = []
    for state, action, target, p in _rows(mdp):
        mixed.append((state, action, target, p * (1 - slip)))
        mixed += [(state, b, target, p * slip / mdp.n_actions) for b in range(mdp.n_actions)]
    return mixed


def _proposed(given: Task | Family) -> list[_Lazy]:
    """Of a task, or of each of the first members of a family, what might reveal something.

    Starts that the own one does not lead to, discounts, single walls and ends, and restarts.
    """
    members = _members(given)[:MAX_PROPOSED]
    most = MAX_PROPOSED // len(members)
    prefixes = [f"{name}: " for name in given.names] if isinstance(given, Family) else [""]
    found = []
    for prefix, task in zip(prefixes, members, strict=False):
        mdp = task.mdp
        going = np.flatnonzero(~mdp.terminal)
        places = np.unique(np.linspace(0, len(going) - 1, most).astype(int))
        going = going[places].tolist()
        reached = reachable_states(mdp)
        kinds: list[tuple[str, Any]] = [("start", s) for s in going if not reached[s]]
        kinds += [("discount", g) for g in DISCOUNTS if Fraction(g) != mdp.exact_discount]
        kinds += [(kind, s) for kind in ("end", "wall") for s in going]
        kinds += [("restart", s) for s in np.flatnonzero(mdp.terminal).tolist()[:most]]
        for kind, value in kinds:
            what = f"={value}" if kind == "discount" else f" at {state_words(task, value)}"
            found.append(_Lazy(f"{prefix}{kind}{what}", (task, kind, value), Fraction(1)))
    return found


@dataclass(frozen=True)
class _Lazy:
    """A change that is made when it is needed, once: hundreds are proposed."""

    name: str
    how: tuple[Task, str, Any]
    price: Fraction

    @cached_property
    def task(self) -> Task:
        return _changed(*self.how)


def _try(
    candidates: Sequence[Any],
    own: Sequence[Row],
    goal: ChangeGoal,
    scope: Scope,
    *,
    is_proposed: bool,
) -> tuple[tuple[TriedChange, ...], list[list[Row]]]:
    """What each change does alone, and the rows that define its BEC.

    own: rows of the MDP itself. is_proposed: the search ends with a change that is enough, since
    all have one price; and where directions are to show, floats look first.
    """
    invisible = _hidden(own, len(goal.weights))
    tried, stated = list[TriedChange](), list[list[Row]]()
    floats_look = is_proposed and not goal.is_of_rewards
    directions = np.array([[float(x / max(map(abs, u))) for x in u] for u in invisible])
    tell = counting("identify: {:,} of {:,} changes")
    for number, change in enumerate(candidates):
        if tell is not None and number % 10 == 0:
            tell(number, len(candidates))
        other, rows = None, list[Row]()
        with suppress(DidactError):  # a wall in the only start cannot be made
            other = change.task
        seen = np.inf
        if other is not None and floats_look:
            seen = np.abs(_float_rows(other.mdp) @ directions.T).max(initial=0)
        if other is not None and seen > UNSEEN:
            rows = equivalence_class(other, scope=scope, arithmetic="exact").cone.defining_rows()
        stated.append(rows)
        n, is_enough = n_seen(invisible, rows), goal.is_reached([*own, *rows])
        tried.append(TriedChange(change.name, change.price, n, is_enough))
        if is_proposed and is_enough:
            break
    return tuple(tried), stated


def _cheapest(
    own: Sequence[Row],
    prices: Sequence[Fraction],
    stated: Sequence[Sequence[Row]],
    goal: ChangeGoal,
) -> Minimum | None:
    """The cheapest changes that reach the goal; None where all together do not.

    own: rows of the MDP itself. stated: those of each change.
    """

    def find_gap(chosen: tuple[int, ...]) -> set[int] | None:
        for reward in goal.broken([*own, *(row for n in chosen for row in stated[n])]):
            ways = [reward] if goal.is_of_rewards else [reward, negated(reward)]
            cut = {
                n
                for n, rows in enumerate(stated)
                if any(dot(row, way) < 0 for row in rows for way in ways)
            }
            if cut or not goal.is_open:
                return cut
        return None

    try:  # prices are exact, and so is what each change sees
        found = cheapest_cover([()] * len(prices), prices, find_gap)
    except Uncoverable:
        return None
    return found if found.chosen else None


def _float_rows(mdp: MDP) -> Floats:
    """Half-space normals (n, k) of the policy that takes action 0, in units of its feature counts.

    The null space is that of any policy.
    """
    policy = np.zeros((mdp.n_states, mdp.n_actions))
    policy[:, 0] = 1.0
    counts = float_successor_features(mdp, policy).pairs[reachable_states(mdp) & ~mdp.terminal]
    rows = (counts[:, 1:] - counts[:, :1]).reshape(-1, mdp.n_features)
    return np.asarray(rows / (1 + np.abs(counts).max(initial=0.0)))
