"""What each part of a class offers: where its demonstrations may begin, and how long they may be.

A task is one part, a family one for each member. Candidates of all parts stand in one list, their
pairs in the common numbering of the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import Known, Part, most_actions
from didact.bec.halfspaces import scope_states
from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.mdp import Demonstration, Family, Task
from didact.mdp.naming import numbered_state
from didact.planning import Plan
from didact.random import Seed
from didact.teaching.covers.aimed import aimed_demonstrations
from didact.teaching.covers.candidates import (
    Candidates,
    Indices,
    as_horizon,
    as_starts,
    candidate_demonstrations,
    widened,
)
from didact.teaching.covers.elements import Elements

Starts = Iterable[int] | Mapping[Any, Iterable[int]] | str | None


@dataclass(frozen=True, eq=False)
class Offer:
    """A part, the states where its demonstrations may begin, and their most steps."""

    part: Part
    starts: Indices
    horizon: int

    @property
    def plan(self) -> Plan:
        """What is optimal in the part."""
        return self.part.plan

    def home_pairs(self, pairs: Iterable[int], width: int) -> list[int]:
        """Those of the pairs s * width + a that are of this part, as they are numbered in it."""
        first, mdp = self.part.first, self.part.task.mdp
        found = [divmod(pair - first * width, width) for pair in pairs]
        return [s * mdp.n_actions + a for s, a in found if 0 <= s < mdp.n_states]

    def aimed_at(self, pairs: Iterable[int]) -> tuple[Candidates, list[int]]:
        """`aimed_demonstrations` of the part for pairs as they are numbered in it."""
        return aimed_demonstrations(
            self.part.task.mdp, self.plan, pairs, starts=self.starts, horizon=self.horizon
        )


def starts_of(what: Task | Family, starts: Starts) -> dict[int, Indices] | None:
    """The start states of each part that may show something, by its number; None for 'all'."""
    if isinstance(starts, str) and starts == "all":
        return None
    if not isinstance(what, Family):
        if isinstance(starts, Mapping):
            raise InvalidParameter("starts by member are for families; give a list of states")
        return {0: as_starts(what, starts)}
    if starts is None:
        return {number: as_starts(task.mdp, None) for number, task in enumerate(what)}
    if not isinstance(starts, Mapping):
        raise InvalidParameter(
            f"starts of a family must be a table {{member: states}}; it is {shown(starts)}"
        )
    begin = {
        what.number(member, "starts: member"): as_starts(what[member], states)
        for member, states in starts.items()
    }
    if not begin:
        raise InvalidParameter("starts must name at least one member; it is empty")
    return dict(sorted(begin.items()))


def all_starts(known: Known) -> dict[int, Indices]:
    """Every state whose rows count, by part."""
    return {
        number: np.flatnonzero(scope_states(part.task.mdp, known.scope))
        for number, part in enumerate(known.parts)
    }


def offers_of(known: Known, begin: Mapping[int, Indices], horizon: int | None) -> list[Offer]:
    """What the parts that have starts offer."""
    parts = [(known.parts[number], starts) for number, starts in begin.items()]
    return [Offer(part, starts, as_horizon(part.task.mdp, horizon)) for part, starts in parts]


def require_in_scope(known: Known, offers: Sequence[Offer]) -> Sequence[Offer]:
    """The offers, whose starts were given and must be states whose rows count."""
    for offer in offers:
        outside = offer.starts[~scope_states(offer.part.task.mdp, known.scope)[offer.starts]]
        if outside.size:
            reason = "cannot be reached from the task's own start. Use scope='all'"
            if known.scope == "all":
                reason = "never comes up, and no action matters there. Leave it out"
            raise InvalidParameter(
                f"starts must be in scope {known.scope!r}; "
                f"{numbered_state(offer.part.task, int(outside[0]))} {reason}"
            )
    return offers


class Covering(NamedTuple):
    """Candidates, and what each covers where that had to be found out."""

    candidates: Candidates
    masks: Mapping[int, int] | None


def offered_candidates(
    elements: Elements, offers: Sequence[Offer], *, rollouts: int | None, seed: Seed
) -> Covering:
    """All candidates of all offers, and those aimed at what could be shown and no sample shows."""
    found = [
        candidate_demonstrations(
            offer.part.task.mdp,
            offer.plan,
            starts=offer.starts,
            horizon=offer.horizon,
            rollouts=rollouts,
            seed=seed,
        )
        for offer in offers
    ]
    candidates = gathered(elements.known, list(zip(offers, found, strict=True)))
    sampled = [o for o, own in zip(offers, found, strict=True) if own.sampled]
    if rollouts or not sampled:
        return Covering(candidates, None)
    return _with_aimed(elements, candidates, sampled)


def _with_aimed(elements: Elements, candidates: Candidates, offers: list[Offer]) -> Covering:
    """The candidates and trajectories aimed at what could be shown and no sample shows."""
    masks = elements.masks_of(candidates.pairs)
    missing = elements.everything & ~reduce(or_, set(masks.values()), 0)
    if not missing:
        return Covering(candidates, masks)
    targets = elements.pairs_for(missing)
    width = candidates.n_actions
    aimed = [(offer, offer.aimed_at(offer.home_pairs(targets, width))[0]) for offer in offers]
    more = [(offer, own) for offer, own in aimed if len(own)]
    if not more:
        return Covering(candidates, masks)
    return Covering(candidates.joined(gathered(elements.known, more)), None)


def gathered(known: Known, found: Sequence[tuple[Offer, Candidates]]) -> Candidates:
    """Candidates of several parts as one list, pairs in the common numbering."""
    width = most_actions(known.parts)
    longest = max((own.pairs.shape[1] for _, own in found), default=1)
    pairs = [widened(_renumbered(own, offer.part, width), longest) for offer, own in found]
    return Candidates(
        _one_after_the_other(pairs),
        width,
        max((own.horizon for _, own in found), default=1),
        any(own.sampled for _, own in found),
        _firsts(known),
    )


def _one_after_the_other(pairs: list[Indices]) -> Indices:
    if len(pairs) == 1:
        return pairs[0]
    return np.concatenate(pairs) if pairs else np.zeros((0, 1), dtype=np.int64)


def as_candidates(known: Known, demonstrations: Sequence[Demonstration]) -> Candidates:
    """Demonstrations as candidates, one line each."""
    lines = lines_of(known, demonstrations)
    longest = max(map(len, lines), default=1)
    return Candidates.of(lines, most_actions(known.parts), longest, _firsts(known))


def lines_of(known: Known, demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """The pairs of each demonstration in the common numbering."""
    width = most_actions(known.parts)
    return [
        [(known.parts[d.member or 0].first + s) * width + a for s, a in d] for d in demonstrations
    ]


def _renumbered(own: Candidates, part: Part, width: int) -> Indices:
    if not part.first and width == own.n_actions:
        return own.pairs
    states, actions = np.divmod(own.pairs, own.n_actions)
    return np.where(own.pairs < 0, -1, (part.first + states) * width + actions)


def _firsts(known: Known) -> tuple[int, ...] | None:
    is_family = known.is_family
    return tuple(part.first for part in known.parts) if is_family else None
