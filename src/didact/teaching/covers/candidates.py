"""Candidate demonstrations: where they may begin, and what an optimal teacher could show there.

One step long they are all optimal pairs of the start states. Where policy and transitions are
deterministic there is one trajectory from each start. Otherwise trajectories are sampled, and
demonstrations are aimed at pairs that could be shown and no sample has: a breadth-first search over
optimal actions and possible successors finds a shortest way to each pair, or proves that there is
none, so "not sampled" and "not reachable" are told apart.

A task is its own only member. Candidates of all members stand in one list, their
pairs in the common numbering of the class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, Member, most_actions
from didact.bec.halfspaces import scope_states
from didact.errors import InvalidParameter
from didact.inputs import entries, shown, whole_number
from didact.mdp import MDP, Demonstration, Family, Task, as_mdp
from didact.mdp.demonstrations import demonstration_of
from didact.mdp.naming import numbered_state
from didact.mdp.transitions import require_index
from didact.planning import Plan, reachable_pairs
from didact.planning.kernels import single_successors
from didact.random import Seed, as_generator

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

ROLLOUTS = 20
"""Sampled trajectories from each start, where the number is not given."""
MAX_PAIRS = 50_000_000
"""Candidates hold at most so many pairs together."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Demonstrations as an array of pair numbers s*A + a, (n, H), filled up with -1.

    sampled: whether there are more within the horizon than these. firsts: in a family, whose states
    are numbered one member after the other, each member's first state.
    """

    pairs: Indices
    n_actions: int
    horizon: int
    sampled: bool
    firsts: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, number: int) -> Demonstration:
        row = self.pairs[number]
        return self.demonstration(row[row >= 0].tolist())

    def demonstration(self, line: Sequence[int]) -> Demonstration:
        """What shows these pairs s*A + a, at least one."""
        width = self.n_actions
        if self.firsts is None:
            return demonstration_of(tuple([divmod(pair, width) for pair in line]))
        member = bisect_right(self.firsts, line[0] // width) - 1
        first = self.firsts[member] * width
        return demonstration_of(tuple([divmod(pair - first, width) for pair in line]), member)

    def lengths(self) -> Indices:
        """How many pairs each candidate shows."""
        return np.asarray((self.pairs >= 0).sum(axis=1))

    @classmethod
    def of(
        cls,
        lines: Sequence[Sequence[int]],
        n_actions: int,
        horizon: int,
        firsts: tuple[int, ...] | None = None,
    ) -> Candidates:
        """The candidates that show these pairs, one line each, and no others."""
        width = max(map(len, lines), default=1)
        pairs = np.full((len(lines), width), -1, dtype=np.int64)
        for i, line in enumerate(lines):
            pairs[i, : len(line)] = line
        return cls(pairs, n_actions, horizon, False, firsts)

    def joined(self, others: Candidates) -> Candidates:
        """These candidates and others after them."""
        return replace(self, pairs=stack_lines([self.pairs, others.pairs]))


def as_starts(where: MDP | Task, starts: Any) -> Indices:
    """Start states, ascending: those given, or all of the task's that are not terminal."""
    mdp = as_mdp(where)
    if starts is None:
        return ((mdp.start.floats > 0) & ~mdp.terminal).nonzero()[0]
    given = entries(starts, "starts", "states")
    chosen = sorted({require_index(s, mdp.n_states, "starts") for s in given})
    ending = [s for s in chosen if mdp.terminal[s]]
    if ending:
        raise InvalidParameter(
            f"starts must not be terminal; {numbered_state(where, ending[0])} is"
        )
    if not chosen:
        raise InvalidParameter("starts must name at least one state; it is empty")
    return np.array(chosen, dtype=np.int64)


def as_horizon(mdp: MDP, horizon: int | None) -> int:
    """The given number of steps; else the end of the episode, or 1 / (1 - discount) steps.

    Sampled episodes are cut after so many steps as there are states, or after ten times
    1 / (1 - discount), whichever is more.
    """
    if horizon is None:
        effective = effective_horizon(mdp)
        return max(mdp.n_states, 10 * effective) if mdp.terminal.any() else effective
    return whole_number(horizon, "horizon", 1)


def effective_horizon(mdp: MDP) -> int:
    """1 / (1 - discount) steps, rounded up."""
    discount = mdp.exact_discount
    return -(-discount.denominator // (discount.denominator - discount.numerator))


def candidate_demonstrations(
    mdp: MDP,
    plan: Plan,
    *,
    starts: Indices,
    horizon: int,
    rollouts: int | None,
    seed: Seed,
) -> Candidates:
    """All single pairs, one trajectory from each start, or `rollouts` samples from each."""
    each = ROLLOUTS if rollouts is None else whole_number(rollouts, "rollouts", 1)
    if rollouts is None and horizon == 1:
        chosen = np.argwhere(plan.optimal[starts])
        pairs = starts[chosen[:, 0]] * mdp.n_actions + chosen[:, 1]
        return Candidates(pairs[:, None], mdp.n_actions, 1, False)
    if rollouts is None and _is_one_path(mdp, plan, starts):
        pairs, is_cut = _walk(mdp, plan, starts, horizon)
        return Candidates(pairs, mdp.n_actions, horizon, is_cut)
    if each * starts.size > MAX_PAIRS:
        raise InvalidParameter(
            f"rollouts must be at most {MAX_PAIRS // starts.size} from each of {starts.size} "
            f"starts; it is {shown(each)}"
        )
    rng = as_generator(seed, "rollouts")
    pairs = _sample(mdp, plan, starts, each, horizon, rng)
    return Candidates(pairs, mdp.n_actions, horizon, True)


def first_action(plan: Plan) -> Plan:
    """The plan of a deterministic teacher: of the optimal actions of a state only the first."""
    first = np.zeros_like(plan.optimal)
    first[np.arange(len(first)), plan.optimal.argmax(axis=1)] = True
    return replace(plan, optimal=first & plan.optimal)


def _is_one_path(mdp: MDP, plan: Plan, starts: Indices) -> bool:
    """Whether policy and transitions leave no choice on the way from the starts."""
    if not mdp.is_deterministic() or (plan.n_optimal[starts] > 1).any():
        return False
    begin = np.zeros(mdp.n_states, dtype=np.bool_)
    begin[starts] = True
    visited = reachable_pairs(mdp, plan.optimal, starts=begin)
    return bool((visited.sum(axis=1) <= 1).all())


def _walk(mdp: MDP, plan: Plan, starts: Indices, horizon: int) -> tuple[Indices, bool]:
    """The trajectories of a deterministic policy, and whether some that never end are cut short."""
    shown = np.arange(mdp.n_states) * mdp.n_actions + plan.optimal.argmax(axis=1)
    following = single_successors(mdp)[shown]
    limits = np.full(starts.size, horizon)
    if mdp.terminal.any() and horizon >= mdp.n_states:
        # Where the path from each state ends: following, squared repeatedly.
        after = np.where(mdp.terminal, np.arange(mdp.n_states), following)
        for _ in range(mdp.n_states.bit_length()):
            after = after[after]
        endless = ~mdp.terminal[after][starts]
        limits[endless] = np.minimum(limits[endless], effective_horizon(mdp))
    pairs = _unroll(mdp, starts, limits, lambda s: (shown[s], following[s].astype(np.int64)))
    return pairs, bool((limits < horizon).any())


def _sample(
    mdp: MDP, plan: Plan, starts: Indices, each: int, horizon: int, rng: np.random.Generator
) -> Indices:
    """So many trajectories sampled from each start, all at once, those alike once."""
    counts, choices = plan.n_optimal, plan.optimal.ravel().nonzero()[0]
    firsts = counts.cumsum() - counts
    starts = np.repeat(starts, each)
    moves = mdp.transitions
    heights = np.cumsum(moves.probabilities.floats)
    before = np.concatenate(([0.0], heights))[moves.offsets]
    sure = single_successors(mdp).astype(np.int64) if mdp.is_deterministic() else None

    def step(states: Indices) -> tuple[Indices, Indices]:
        draws = rng.random(2 * states.size)  # where steps are sure, too: seeds keep their meaning
        chosen = (draws[: states.size] * counts[states]).astype(np.int64)
        rows = choices[firsts[states] + chosen]
        if sure is not None:
            return rows, sure[rows]
        low, high = before[rows], before[rows + 1]
        points = low + draws[states.size :] * (high - low)
        entries = np.searchsorted(heights, points, side="right")
        entries = np.clip(entries, moves.offsets[rows], moves.offsets[rows + 1] - 1)
        return rows, moves.successors[entries].astype(np.int64)

    sampled = _unroll(mdp, starts, np.full(starts.size, horizon), step)
    first = {row.tobytes(): i for i, row in reversed(list(enumerate(sampled)))}
    return sampled[sorted(first.values())]


def _unroll(mdp: MDP, starts: Indices, limits: Indices, step: Any) -> Indices:
    """Follow `step` from all starts until the end of the episode or the limit of each."""
    states, active = starts, np.arange(starts.size)
    columns: list[Indices] = []
    # Where nothing ends no walk can stop before the least limit: nothing is tested until then.
    least = 0 if mdp.terminal.any() else int(limits.min(initial=MAX_PAIRS))
    while active.size:
        if starts.size * (len(columns) + 1) > MAX_PAIRS:
            raise InvalidParameter(
                f"demonstrations from {starts.size} starts hold more than {MAX_PAIRS} pairs; "
                "give a shorter horizon or fewer starts"
            )
        pairs, states = step(states)
        if active.size == starts.size:
            columns.append(pairs)
        else:
            columns.append(np.full(starts.size, -1, dtype=np.int64))
            columns[-1][active] = pairs
        if len(columns) < least:
            continue
        goes_on = ~mdp.terminal[states] & (limits[active] > len(columns))
        if not goes_on.all():
            active, states = active[goes_on], states[goes_on]
    return np.stack(columns, axis=1)


def aimed_demonstrations(
    mdp: MDP, plan: Plan, targets: Iterable[int], *, starts: Indices, horizon: int
) -> Candidates:
    """For each target pair that can be shown a shortest trajectory that shows it last.

    Paths take optimal actions and possible successors only, and at most `horizon` steps.
    """
    before, optimal = _shortest_paths(mdp, plan, starts), plan.optimal.ravel()
    found = (_path_to(before, pair, mdp.n_actions) for pair in targets if optimal[pair])
    paths = [path for path in found if path is not None and len(path) <= horizon]
    return Candidates.of(paths, mdp.n_actions, horizon)


def _shortest_paths(mdp: MDP, plan: Plan, starts: Indices) -> dict[int, int]:
    """For every state that optimal play can reach, the pair before it; -1 for starts."""
    before = dict.fromkeys(starts.tolist(), -1)
    frontier = starts.tolist()
    offsets, successors = mdp.transitions.offsets, mdp.transitions.successors
    while frontier:
        reached = []
        for state in frontier:
            for action in plan.optimal_actions(state):
                row = state * mdp.n_actions + action
                for target in successors[offsets[row] : offsets[row + 1]].tolist():
                    if target not in before:
                        before[target] = row
                        reached.append(target)
        frontier = [state for state in reached if not mdp.terminal[state]]
    return before


def _path_to(before: Mapping[int, int], target: int, n_actions: int) -> list[int] | None:
    path = [target]
    state = target // n_actions
    while state in before:
        if before[state] < 0:
            return path[::-1]
        path.append(before[state])
        state = before[state] // n_actions
    return None


GivenStarts = Iterable[int] | Mapping[Any, Iterable[int]] | str | None


@dataclass(frozen=True, eq=False)
class Starts:
    """A member, the states where its demonstrations may begin, and their most steps.

    taken: (S, A), the actions that demonstrations may take; None for every optimal action.
    """

    member: Member
    starts: Indices
    horizon: int
    taken: Mask | None = None

    @cached_property
    def plan(self) -> Plan:
        """What is optimal in the member and may be shown."""
        plan = self.member.plan
        return plan if self.taken is None else replace(plan, optimal=plan.optimal & self.taken)

    def aimed_at(self, pairs: Iterable[int], width: int) -> Candidates:
        """Shortest demonstrations of those of the pairs s * width + a that are of the member."""
        first, mdp = self.member.first, self.member.task.mdp
        found = [divmod(pair - first * width, width) for pair in pairs]
        own = [s * mdp.n_actions + a for s, a in found if 0 <= s < mdp.n_states]
        return aimed_demonstrations(mdp, self.plan, own, starts=self.starts, horizon=self.horizon)


def starts_of(what: Task | Family, starts: GivenStarts) -> dict[int, Indices] | None:
    """The start states of each member that may show something, by its number; None for 'all'."""
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


def all_starts(bec: EquivalenceClass) -> dict[int, Indices]:
    """Every state whose rows count, by member."""
    return {
        number: np.flatnonzero(scope_states(member.task.mdp, bec.scope))
        for number, member in enumerate(bec.members)
    }


def offers_of(
    bec: EquivalenceClass,
    begin: Mapping[int, Indices],
    horizon: int | None,
    *,
    deterministic: bool = False,
) -> list[Starts]:
    """What the members that have starts offer; deterministic: by the first optimal action alone."""
    members = [(bec.members[number], starts) for number, starts in begin.items()]
    if deterministic:
        members = [(replace(p, plan=first_action(p.plan)), starts) for p, starts in members]
    return [
        Starts(member, starts, as_horizon(member.task.mdp, horizon)) for member, starts in members
    ]


def require_in_scope(bec: EquivalenceClass, offers: Sequence[Starts]) -> Sequence[Starts]:
    """The offers, whose starts were given and must be states whose rows count."""
    for offer in offers:
        outside = offer.starts[~scope_states(offer.member.task.mdp, bec.scope)[offer.starts]]
        if outside.size:
            reason = "cannot be reached from the task's own start. Use scope='all'"
            if bec.scope == "all":
                reason = "never comes up, and no action matters there. Leave it out"
            raise InvalidParameter(
                f"starts must be in scope {bec.scope!r}; "
                f"{numbered_state(offer.member.task, int(outside[0]))} {reason}"
            )
    return offers


def gathered(bec: EquivalenceClass, found: Sequence[tuple[Starts, Candidates]]) -> Candidates:
    """Candidates of several members as one list, pairs in the common numbering."""
    width, pairs = most_actions(bec.members), []
    for offer, own in found:
        states, actions = np.divmod(own.pairs, own.n_actions)
        numbers = (offer.member.first + states) * width + actions
        pairs.append(np.where(own.pairs < 0, -1, numbers))
    return Candidates(
        stack_lines(pairs),
        width,
        max((own.horizon for _, own in found), default=1),
        any(own.sampled for _, own in found),
        _firsts(bec),
    )


def stack_lines(blocks: Sequence[Indices]) -> Indices:
    """The lines of all blocks, one after the other, filled up with -1."""
    width = max((block.shape[1] for block in blocks), default=1)
    stacked = np.full((sum(map(len, blocks)), width), -1, dtype=np.int64)
    first = 0
    for block in blocks:
        stacked[first : first + len(block), : block.shape[1]] = block
        first += len(block)
    return stacked


def as_candidates(bec: EquivalenceClass, demonstrations: Sequence[Demonstration]) -> Candidates:
    """Demonstrations as candidates, one line each."""
    lines = lines_of(bec, demonstrations)
    return listed(bec, lines, max(map(len, lines), default=1))


def listed(bec: EquivalenceClass, lines: Sequence[Sequence[int]], horizon: int) -> Candidates:
    """The candidates of a class that show these pairs, one line each, and no others."""
    return Candidates.of(lines, most_actions(bec.members), horizon, _firsts(bec))


def lines_of(bec: EquivalenceClass, demonstrations: Sequence[Demonstration]) -> list[list[int]]:
    """The pairs of each demonstration in the common numbering."""
    width = most_actions(bec.members)
    return [
        [(bec.members[d.member or 0].first + s) * width + a for s, a in d] for d in demonstrations
    ]


def _firsts(bec: EquivalenceClass) -> tuple[int, ...] | None:
    return tuple(member.first for member in bec.members) if bec.is_family else None
