"""Trimmed and closed lessons: what is cut from demonstrations, and what is added to them.

Trimming. Demonstrations are gone through in the order to show them. What one is needed for is what
it states that those before it did not; what follows the last such step is cut, and what precedes
the first one where the demonstration may begin there. So every demonstration gains what it gained
whole, and whoever takes half-spaces is left with the same cone:

- A lesson that covers everything needs the elements that its teacher was to cover.
- Another one needs the facets of its own cone.
- A closed one also needs what follows from what it keeps, so that it stays closed.
- Where the loss of learners that plan is bounded every pair counts: only repetitions are cut.

Where costs count steps, cutting changes them. Then the beginnings of demonstrations are candidates
themselves (`with_beginnings`), so that what is picked is the cheapest of them.

Closure. The class of demonstrations assumes that the learner goes on as the teacher does; a learner
that plans goes on in its own way. When a lesson shows all optimal actions of every state that it
shows, and every possible successor is shown or terminal, then every reward that makes the lesson
optimal lies in the class of the demonstrations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from didact.bec.classes import EquivalenceClass, Member
from didact.bec.facets import IS_EQUALITY, all_hold, find_facets
from didact.bec.halfspaces import demonstrated_pairs
from didact.mdp import MDP, Demonstration
from didact.planning import Plan, reachable_pairs
from didact.teaching.covers.candidates import (
    Candidates,
    Indices,
    Starts,
    aimed_demonstrations,
    as_candidates,
)
from didact.teaching.covers.problem import Elements, Problem, cover_elements

Line = list[int]
"""A demonstration as pairs s*A + a of the common numbering."""
PairCoverage = Mapping[int, int]
"""For each pair that states anything, what it states: the bits of an integer."""


@dataclass(frozen=True, eq=False)
class Needs:
    """What a lesson is needed for: what each pair states, and what follows from it."""

    coverage: PairCoverage
    closure: Callable[[int], int]

    def coverage_of(self, line: Sequence[int]) -> int:
        """All elements that a demonstration states, as the bits of an integer."""
        stated, coverage = 0, self.coverage
        for pair in line:
            if pair in coverage:
                stated |= coverage[pair]
        return stated


def needs_of(elements: Elements) -> Needs:
    """That elements are covered."""
    return Needs(elements.coverage_of_pair, elements.closure)


def needs_of_pairs(lines: Sequence[Sequence[int]]) -> Needs:
    """That every pair is shown."""
    pairs = dict.fromkeys(chain.from_iterable(lines))
    return Needs({pair: 1 << bit for bit, pair in enumerate(pairs)}, lambda stated: stated)


def needs_of_cone(bec: EquivalenceClass, lines: Sequence[Sequence[int]]) -> Needs:
    """That the half-spaces of the demonstrations stay: their facets, and every equality."""
    rows = bec.rows
    every = cover_elements(bec, redundant=True)
    shown = {pair for line in lines for pair in line}
    pairs, stated = every.stating_pairs
    numbers = np.unique(stated[np.isin(pairs, sorted(shown))])
    weights = rows.balanced_weights(bec.members[0].task.weights)
    if not len(numbers) or not np.any(weights):
        return needs_of(every)
    if not all_hold(rows.balanced[numbers], weights):
        return needs_of(every)  # floats took actions for best that are not: nothing is redundant
    found = find_facets(rows.balanced[numbers], weights)
    element = np.full(rows.n_rows, -1, dtype=np.int64)
    element[numbers] = np.where(found.facet_of >= 0, found.facet_of, -1)
    equalities = numbers[found.facet_of == IS_EQUALITY]
    element[equalities] = len(found.facets) + np.arange(len(equalities))
    kept = Elements(bec, element, len(found.facets) + len(equalities))
    return replace(needs_of(kept), closure=lambda stated: stated)


def window(
    line: Sequence[int], coverage: PairCoverage, wanted: int, begins: Container[int]
) -> slice:
    """The shortest part of a line that states what is wanted; the first of them.

    It begins where the line does, or at one of the places `begins`.
    """
    if not wanted & ~coverage.get(line[0], 0):
        return slice(0, 1)
    stated_at = [(at, coverage[pair]) for at, pair in enumerate(line) if pair in coverage]
    useful = [(at, stated & wanted) for at, stated in stated_at if stated & wanted]
    best = slice(0, len(line))
    for i, (at, _) in enumerate(useful):
        begin = at
        while begin and begin not in begins:
            begin -= 1
        stated = 0
        for end, more in useful[i:]:
            stated |= more
            if stated == wanted:
                if end + 1 - begin < best.stop - best.start:
                    best = slice(begin, end + 1)
                break
        else:
            break
    return best


def earliest_candidate(
    problem: Problem, coverage: PairCoverage, number: int, before: int, taken: Container[int]
) -> int:
    """The candidate that covers the same beyond `before` as candidate `number`, after fewest steps.

    It costs the same, is of the same member and is not taken; `number` itself where none is
    earlier, and of equally early ones the lowest.
    """
    masks, costs = problem.masks, problem.costs
    groups = problem.fixed_costs.group_of
    wanted = masks[number] & ~before
    least, best = _steps_until(problem.candidates.pairs[number].tolist(), coverage, wanted), number
    for other, mask in masks.items():
        if least == 1:
            break
        if (
            mask & ~before == wanted
            and other not in taken
            and costs[other] == costs[number]
            and (not groups or groups[other] == groups[number])
        ):
            line = problem.candidates.pairs[other, : least - 1].tolist()
            steps = _steps_until(line, coverage, wanted)
            # Candidates come in the order of their numbers, so the first of equals stays.
            least, best = (steps, other) if steps < least else (least, best)
    return best


def _steps_until(line: Sequence[int], coverage: PairCoverage, wanted: int) -> int:
    """After how many steps a line states all that is wanted; one more than it has if never."""
    for step, pair in enumerate(line):
        if pair in coverage:
            wanted &= ~coverage[pair]
            if not wanted:
                return step + 1
    return len(line) + 1


def trimmed(
    problem: Problem,
    numbers: Sequence[int],
    extra: Sequence[Demonstration],
    offers: Sequence[Starts],
    *,
    cuts_beginnings: bool,
    planners_lose: bool,
) -> tuple[Demonstration, ...]:
    """The demonstrations of candidates and further ones after them, without what none needs.

    cuts_beginnings: whether a demonstration may begin later, at an allowed start. planners_lose:
    whether losses of learners that plan are bounded, so that all that is shown must stay.
    """
    begin = [offer.member.first + s for offer in offers for s in offer.starts.tolist()]
    starts = frozenset(begin if cuts_beginnings else ())
    added = _lines(as_candidates(problem.bec, extra)) if extra else []
    whole = [*_lines(problem.candidates, numbers), *added]

    def cut(needs: Needs, *, swaps: bool = False) -> tuple[Demonstration, ...]:
        return _cut(problem, numbers, whole, needs, starts, swaps=swaps)

    if planners_lose:
        return cut(needs_of_pairs(whole))
    is_complete = problem.covered_by(numbers) == problem.elements.everything
    needs = needs_of(problem.elements) if is_complete else needs_of_cone(problem.bec, whole)
    members = problem.bec.members
    if not all_closed(members, _shown(problem.candidates, whole)):
        return cut(needs, swaps=is_complete)
    kept = _followed(problem, cut(needs))
    found = cut(needs_of_pairs([[pair for pair in line if pair in kept] for line in whole]))
    return found if all_closed(members, found) else cut(needs_of_pairs(whole))


def _cut(
    problem: Problem,
    numbers: Sequence[int],
    whole: Sequence[Line],
    needs: Needs,
    starts: Collection[int],
    *,
    swaps: bool,
) -> tuple[Demonstration, ...]:
    """Demonstrations cut to what they are needed for beyond those before them.

    starts: where they may begin, in the common numbering; none where cutting the beginning would
    change a cost. swaps: whether another candidate of the same cost that states the same earlier
    may stand in, which needs the problem's elements. One that states nothing new stays whole.
    """
    lines: list[Line] = []
    width, taken, before = problem.candidates.n_actions, set(numbers), 0
    for place, line in enumerate(whole):
        number = numbers[place] if swaps and place < len(numbers) else None
        stated = needs.coverage_of(line) if number is None else problem.masks.get(number, 0)
        wanted = stated & ~before
        if number is not None and wanted:
            other = earliest_candidate(problem, needs.coverage, number, before, taken)
            taken.add(other)
            line = line if other == number else _lines(problem.candidates, [other])[0]
        if wanted:
            begins = {at for at, pair in enumerate(line) if pair // width in starts}
            line = line[window(line, needs.coverage, wanted, begins)]
        lines.append(line)
        before = needs.closure(before | wanted)
    return _shown(problem.candidates, lines)


def _lines(candidates: Candidates, numbers: Sequence[int] | None = None) -> list[Line]:
    chosen = candidates.pairs if numbers is None else candidates.pairs[list(numbers)]
    rows: list[Line] = chosen.tolist()
    return [row if row[-1] >= 0 else row[: row.index(-1)] for row in rows]


def _shown(candidates: Candidates, lines: Sequence[Line]) -> tuple[Demonstration, ...]:
    return tuple(candidates.demonstration(line) for line in lines)


def _followed(problem: Problem, kept: Sequence[Demonstration]) -> set[int]:
    """The pairs that closure asks for once these demonstrations are shown."""
    width = problem.candidates.n_actions
    followed: set[int] = set()
    for member in problem.bec.members:
        mdp = member.task.mdp
        shown = demonstrated_pairs(mdp, member.own(kept))
        asked = reachable_pairs(mdp, member.plan.optimal, starts=np.asarray(shown.any(axis=1)))
        followed.update((member.first + s) * width + a for s, a in np.argwhere(asked).tolist())
    return followed


def with_beginnings(elements: Elements, candidates: Candidates, *, all_pairs: bool) -> Candidates:
    """The candidates, each also cut after every step that states something new.

    all_pairs: whether every pair is something new, else what states an element.
    """
    coverage: PairCoverage = {} if all_pairs else needs_of(elements).coverage
    lines: dict[tuple[int, ...], None] = {}
    for row in candidates.pairs:
        line = row[row >= 0].tolist()
        own = needs_of_pairs([line]).coverage if all_pairs else coverage
        stated, ends = 0, []
        for at, pair in enumerate(line):
            if own.get(pair, 0) & ~stated:
                stated |= own[pair]
                ends.append(at + 1)
        lines.update(dict.fromkeys(tuple(line[:end]) for end in ends or [len(line)]))
    found = Candidates.of(
        [list(line) for line in lines], candidates.n_actions, candidates.horizon, candidates.firsts
    )
    return replace(found, sampled=candidates.sampled)


def missing_pairs(mdp: MDP, plan: Plan, demonstrations: Sequence[Demonstration]) -> Indices:
    """The optimal pairs, as s*A + a, that closure asks for and the demonstrations do not show."""
    shown = demonstrated_pairs(mdp, demonstrations)
    needed = reachable_pairs(mdp, plan.optimal, starts=np.asarray(shown.any(axis=1)))
    return np.flatnonzero((needed & ~shown).ravel())


def all_closed(members: Sequence[Member], demonstrations: Sequence[Demonstration]) -> bool:
    """Whether what is shown of each member is closed: nothing that closure asks for is missing."""
    shown = [(member, member.own(demonstrations)) for member in members]
    return not any(
        missing_pairs(member.task.mdp, member.plan, own).size for member, own in shown if own
    )


def close(
    mdp: MDP,
    plan: Plan,
    demonstrations: Sequence[Demonstration],
    *,
    starts: Indices,
    horizon: int,
) -> list[Demonstration]:
    """Further demonstrations that close a lesson, each a shortest way to a missing pair.

    Pairs that cannot be shown from the starts within the horizon stay missing.
    """
    missing = set(missing_pairs(mdp, plan, demonstrations).tolist())
    added: list[Demonstration] = []
    aimed = aimed_demonstrations(mdp, plan, sorted(missing), starts=starts, horizon=horizon)
    for i in np.argsort(-aimed.lengths(), kind="stable").tolist():
        path = aimed.pairs[i][aimed.pairs[i] >= 0].tolist()
        if path[-1] in missing:
            path = _continued(mdp, plan, path, missing, horizon)
            missing.difference_update(path)
            added.append(Demonstration([divmod(pair, mdp.n_actions) for pair in path]))
    return added


def _continued(mdp: MDP, plan: Plan, path: list[int], missing: set[int], horizon: int) -> list[int]:
    """The path, followed on through missing pairs as long as one comes next."""
    left = missing.difference(path)
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    while len(path) < horizon:
        targets = successors[offsets[path[-1]] : offsets[path[-1] + 1]].tolist()
        options = [t * mdp.n_actions + a for t in targets for a in plan.optimal_actions(t)]
        following = next((pair for pair in options if pair in left), None)
        if following is None:
            break
        path.append(following)
        left.discard(following)
    return path
