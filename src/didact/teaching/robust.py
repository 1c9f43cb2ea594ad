"""How many forged demonstrations a lesson survives, and the cheapest attack on it.

A learner that is told of at most f lies keeps every reward that at most f demonstrations exclude. A
lesson survives f lies when at least 2f + 1 of its demonstrations exclude every wrong reward: f of
those that do may be forged, and f + 1 are left. f + 1 are enough to notice that something is wrong.

The least number of demonstrations that exclude a wrong reward is exact without enumeration: near
w* a wrong reward breaks one facet class or some equality rows (`thin_direction`). To drop them is
the cheapest attack that leaves anything open. An attack that is to cost a loss of L needs a wrong
reward that loses so much: subsets are tried by size, and for each what is left may cost is known
where all policy cells that fit were visited; else, or out of time, the result is an interval.

A flip forges a demonstration: it then says whatever hurts most. Against a learner that keeps what
the fewest exclude, a flip counts twice where it can fit the wrong reward and exclude the true one:
across a facet, and wherever a loss is wanted, half as many flips do. A reward that only breaks ties
excludes nothing that the true one does not: there a flip counts as a drop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from didact.bec.classes import EquivalenceClass, equivalence_class, require_class
from didact.errors import InvalidParameter
from didact.inputs import counted, explains_names, flag, plain_document, seconds, shown_name
from didact.mdp import Demonstration, Family, Task
from didact.mdp.showing import Showable
from didact.stages import counting
from didact.teaching.covers.candidates import lines_of
from didact.teaching.covers.multicover import require_exact, thin_direction, who_state_facet
from didact.teaching.lesson import ENUMERATED
from didact.teaching.loss.good_enough import read_loss
from didact.teaching.loss.search import remaining_loss
from didact.teaching.loss.space import weight_space
from didact.worlds.opening import named_world

TIME_LIMIT = 10.0
"""Seconds to look for an attack that costs a loss."""
ANY_LOSS = 1e-9
"""A loss that floats tell from none."""


@dataclass(frozen=True, eq=False)
class Attack(Showable):
    """The fewest demonstrations to drop or to flip so that a learner may lose so much.

    `plot` draws how many demonstrations state each constraint; the page of `report` also shows
    the attacked demonstrations on the world.

    task_name: of the task that is taught.
    demonstrations: which, by number from 0.
    least: no attack needs fewer; equal to their number where the attack is the cheapest.
    loss: what a learner may then lose.
    flipped: which of them are flipped; the others are dropped.
    survives: how many forged ones leave a learner right who expects so many.
    notices: how many forged ones such a learner notices.
    bec: the class that they teach.
    shown: the demonstrations.
    stated: each facet in words, and how many demonstrations state it.
    """

    task_name: str
    demonstrations: tuple[int, ...]
    least: int
    loss: float
    flipped: tuple[int, ...]
    survives: int
    notices: int
    bec: EquivalenceClass = field(repr=False)
    shown: tuple[Demonstration, ...] = field(repr=False)
    stated: tuple[tuple[str, int], ...] = field(repr=False)

    def __repr__(self) -> str:
        name = shown_name(self.task_name, 80)
        return f"Attack({name!r}, {self._what(numbered=False)}, loss {self.loss:.3g})"

    @property
    def is_fewest(self) -> bool:
        """Whether no attack needs fewer."""
        return len(self.demonstrations) == self.least

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        names = ("task_name", "demonstrations", "least", "is_fewest", "loss", "flipped")
        values = {name: getattr(self, name) for name in (*names, "survives", "notices")}
        document: dict[str, Any] = plain_document(values)
        return document

    def lines(self) -> list[str]:
        """The result in sentences."""
        bound = "no attack needs fewer" if self.is_fewest else f"at least {self.least} are needed"
        if not self.demonstrations:
            return [
                f"{shown_name(self.task_name)}: these demonstrations do not teach it: without any "
                f"attack a learner may lose {self.loss:.3g}."
            ]
        survived = "no forged demonstration"
        if self.survives:
            survived = f"up to {counted(self.survives, 'forged demonstration')}"
        noticed = f"up to {self.notices}" if self.notices else "none"
        return [
            f"{shown_name(self.task_name)}: {self._what()} and a learner may lose "
            f"{self.loss:.3g}; {bound}.",
            f"They teach a learner that expects {survived}; it would notice {noticed}.",
        ]

    def _what(self, *, numbered: bool = True) -> str:
        """What is done to which: 'flip 2 demonstrations (no. 1, 4)'."""
        dropped = [number for number in self.demonstrations if number not in self.flipped]
        parts: list[str] = []
        for verb, numbers in (("flip", self.flipped), ("drop", dropped)):
            named = ", ".join(str(number + 1) for number in numbers[:20])
            if numbers or (verb == "drop" and not parts):
                told = f"{verb} {counted(len(numbers), 'demonstration')}"
                parts.append(f"{told} (no. {named})" if numbered else told)
        return " and ".join(parts)


def fewest_excluding(
    bec: EquivalenceClass, demonstrations: Sequence[Demonstration]
) -> tuple[int, ...]:
    """The demonstrations that exclude some wrong reward, of all wrong rewards the fewest."""
    lines = lines_of(bec, demonstrations)
    everything = frozenset(range(len(lines)))
    best = min([everything, *who_state_facet(bec, lines)], key=len)
    for most in range(len(best)):
        found = thin_direction(bec, lines, most)
        if found is not None:
            best = found[1]
            break
    return tuple(sorted(best))


@explains_names
def attack(
    task: Task | Family,
    demonstrations: Any,
    *,
    loss: Any = None,
    drop: bool = True,
    flip: bool = False,
    time_limit: float = TIME_LIMIT,
    bec: EquivalenceClass | None = None,
) -> Attack:
    """The fewest demonstrations to drop or flip so that a learner may lose at least a loss.

    task: what they teach.
    demonstrations: a lesson, a recording, the path of a file, or lists of (state, action) pairs.
    loss: a number of return, or a text such as '1%' of V* less V of the random policy; None for
        any wrong reward that fits, whatever it loses.
    drop: whether demonstrations may be dropped.
    flip: whether they may be flipped, against a learner that keeps what the fewest exclude: each
        flipped one says whatever hurts most. Of both as few as possible are flipped.
    time_limit: seconds to look for an attack that costs a loss; then the result is an interval.
    bec: the task's class, when it is at hand.
    """
    flag(drop, "drop")
    flag(flip, "flip")
    if not drop and not flip:
        raise InvalidParameter(
            "drop and flip must not both be False: an attack drops demonstrations or flips them"
        )
    limit, task = seconds(time_limit, "time_limit"), named_world(task)
    require_class(task, bec)
    bec = equivalence_class(task, arithmetic="exact") if bec is None else bec
    require_exact(bec)
    shown = bec.as_demonstrations(demonstrations)
    _require_right(bec, shown)
    thin = fewest_excluding(bec, shown)
    survives, notices = max(0, (len(thin) - 1) // 2), max(0, len(thin) - 1)
    deadline, group, least = time.monotonic() + limit, thin, len(thin)
    flips_count_twice = flip and bool(bec.cone.facets)  # without facets every action ties
    if loss is not None:
        group, least, lost = _costly(bec, shown, read_loss(loss), len(thin), deadline)
    else:
        if flips_count_twice and bec.cone.equalities:  # a reward that loses takes a wrong step
            group, least, _ = _costly(bec, shown, (ANY_LOSS, False), len(thin), deadline)
            if math.ceil(len(group) / 2) > len(thin):  # to break ties is cheaper
                group, flips_count_twice = thin, False
                least = min(len(thin), math.ceil(least / 2))
        rest = [d for i, d in enumerate(shown) if i not in group]
        lost = remaining_loss(bec, rest, time_limit=limit)[0].loss
    chosen = group
    if flips_count_twice:
        chosen, least = group[: math.ceil(len(group) / 2)], math.ceil(least / 2)
    flipped: tuple[int, ...] = ()
    if flip:  # each that need not be flipped may as well be dropped
        flipped = chosen[: len(group) - len(chosen)] if drop else chosen
    counts = map(len, who_state_facet(bec, lines_of(bec, shown)))
    words = [bec.words_of(members[0]) for members in bec.cone.facets]
    stated = sorted(zip(words, counts, strict=True), key=lambda each: each[1])
    return Attack(
        *(bec.name, chosen, least, lost, flipped, survives, notices, bec, tuple(shown)),
        tuple(stated),
    )


def _require_right(bec: EquivalenceClass, shown: Sequence[Demonstration]) -> None:
    for number, each in enumerate(shown, start=1):
        if not all(bec.members[each.member or 0].plan.optimal[s, a] for s, a in each):
            raise InvalidParameter(
                f"attack is on demonstrations that are right; demonstration {number} takes a "
                "suboptimal action. Leave it out"
            )


def _costly(
    bec: EquivalenceClass,
    shown: Sequence[Demonstration],
    loss: tuple[float, bool],
    least: int,
    deadline: float,
) -> tuple[tuple[int, ...], int, float]:
    """The demonstrations to drop, a bound on their number, and what a learner may then lose."""
    space, n = weight_space(bec), len(shown)

    def lost(dropped: Iterable[int]) -> tuple[float, float, bool]:
        gone = {*dropped}
        rest = [d for i, d in enumerate(shown) if i not in gone]
        left = max(0.1, deadline - time.monotonic())
        worst = remaining_loss(bec, rest, space=space, time_limit=left)[0]
        return worst.share if loss[1] else worst.loss, worst.loss, worst.status == ENUMERATED

    everything = tuple(range(n))
    measure, value, _ = lost(everything)
    if measure < loss[0]:
        raise InvalidParameter(
            f"loss must be at most what may be lost without demonstrations, {measure:.3g}; "
            "no attack costs so much"
        )
    best = everything
    groups = {*who_state_facet(bec, lines_of(bec, shown))}
    groups |= {a | b for a, b in combinations(groups, 2)}
    for group in sorted(groups, key=len):
        if len(group) >= len(best) or time.monotonic() > deadline:
            break
        measure, cost, _ = lost(group)
        if measure >= loss[0]:
            best, value = tuple(sorted(group)), cost
    tell = counting("attack: {:,} of {:,} demonstrations dropped")
    for size in range(least, len(best)):
        if tell is not None:
            tell(size, len(best))
        for dropped in combinations(range(n), size):
            if time.monotonic() > deadline:
                return best, size, value
            measure, cost, is_enumerated = lost(dropped)
            if measure >= loss[0]:
                return dropped, size, cost
            if not is_enumerated:  # no larger bound can be proved
                return best, size, value
    return best, len(best), value
