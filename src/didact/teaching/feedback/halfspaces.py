"""The half-spaces that items state, which items are wrong, whether the rest teaches, and the proof.

An item states differences of successor features, each as a half-space normal (BEYOND 2):

| item | normals | what it assumes |
| --- | --- | --- |
| demonstration | mu(s, a) - mu(s, b) of each step, for every b | optimal policy afterwards |
| comparison | mu(s, a) - mu(s, b) | optimal policy afterwards |
| preference, correction | counts of the better trajectory less those of the other | nothing |
| ranking | the same for every two neighbours | nothing |
| stop | minus the counts of what would have followed | being off is worth 0 |

A trajectory counts phi(s_t) with discount^t from t = 0 on, and the terminal state once where it
surely ends.

The class is taught where each of its rows is a sum of nonnegative multiples of normals that items
state (Farkas). An item may say more than the class (a preference between trajectories that are
nearly worth the same): it holds at the true weights, and leaves fewer rewards. All is decided in
exact arithmetic, and `mixed_proof` writes down why, for `didact.proofcheck`.

People err, in recordings too. That an action is optimal in a state is a fact about the optimal
policy, whatever was done before. So the right steps between wrong ones count as a demonstration
that starts in its own first state (`right_segments`), and nothing of a recording is lost but the
wrong steps themselves (`wrong_steps`), from which nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from didact.bec.classes import EquivalenceClass, exact_gap, home_statement, shown_pairs
from didact.bec.halfspaces import Rows
from didact.bec.linear import Inside, Multipliers, Row, decide, primitive
from didact.bec.proofs import implied, policy_documents
from didact.errors import Unsupported
from didact.inputs import shown_name
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.items import Comparison, Feedback, Item, Stop, has_ended, ways_of
from didact.mdp.naming import action_words, pair_words, state_words
from didact.numerics.texts import number_text, number_texts
from didact.planning.exact import ExactModel, as_rationals, dot, exact_model
from didact.teaching.covers.problem import cover_elements
from didact.teaching.witness import ExactHalfspaces, hardest_step, worst_loss


@dataclass(frozen=True)
class Segment:
    """Right steps of a demonstration, one after the other, as many as there are in a row.

    demonstration: its number; step: of the first, from 0; shown: the steps as a demonstration that
    starts there.
    """

    demonstration: int
    step: int
    shown: Demonstration

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        return {"demonstration": self.demonstration, "step": self.step, "n_steps": len(self.shown)}


@dataclass(frozen=True)
class WrongPair:
    """A shown action that is not optimal: by how much, and which shown pairs contradict it.

    gap: what the step costs, V*(state) - Q*(state, action); exact_gap: the same as a fraction, None
    in floats. contradicted_by: shown optimal pairs whose half-spaces together say that `better` is
    at least as good; empty where nothing else shown says so. In a family each has its member first,
    and `member` is that of the step.
    """

    demonstration: int
    step: int
    state: int
    action: int
    better: int
    gap: float
    contradicted_by: tuple[tuple[int, ...], ...]
    exact_gap: Fraction | None = None
    member: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text."""
        member = {} if self.member is None else {"member": self.member}
        return {
            **{name: value for name, value in vars(self).items() if name != "member"},
            **member,
            "contradicted_by": [list(pair) for pair in self.contradicted_by],
            "exact_gap": None if self.exact_gap is None else number_text(self.exact_gap),
        }


def right_segments(
    bec: EquivalenceClass, shown: Sequence[Demonstration], numbers: Sequence[int] | None = None
) -> tuple[Segment, ...]:
    """The segments of right steps, in the order shown; a demonstration without wrong ones is one.

    numbers: of the demonstrations, 0, 1, 2, ... by default.
    """
    segments = []
    for number, demonstration in zip(numbers or range(len(shown)), shown, strict=True):
        optimal = bec.members[demonstration.member or 0].plan.optimal
        states, actions = np.array(demonstration.pairs, dtype=np.int64).T
        cuts = np.flatnonzero(~optimal[states, actions]).tolist()
        for before, after in pairwise([-1, *cuts, len(demonstration)]):
            if before + 1 < after:
                part = Demonstration(demonstration.pairs[before + 1 : after], demonstration.member)
                segments.append(Segment(number, before + 1, part if cuts else demonstration))
    return tuple(segments)


def wrong_steps(
    bec: EquivalenceClass, shown: Sequence[Demonstration], numbers: Sequence[int] | None = None
) -> tuple[WrongPair, ...]:
    """Every shown step that is not optimal, in the order shown.

    numbers: of the demonstrations, 0, 1, 2, ... by default.
    """
    # Most recordings have no wrong step, and then nobody asks what was shown rightly.
    rightly = cache(lambda: bec.rows.shown_part(shown_pairs(bec.members, shown) & bec.optimal))
    judged = cache(partial(_judged_pair, bec, rightly))
    return tuple(
        WrongPair(number, step, *pair, *judged(demonstration.member, *pair))
        for number, demonstration in zip(numbers or range(len(shown)), shown, strict=True)
        for optimal in (bec.members[demonstration.member or 0].plan.optimal,)
        for step, pair in enumerate(demonstration)
        if not optimal[pair]
    )


def _judged_pair(
    bec: EquivalenceClass, rightly: Callable[[], Rows], member: int | None, state: int, action: int
) -> tuple[Any, ...]:
    """Of a wrong pair an optimal action, the gap, what contradicts it, the exact gap, the member.

    rightly: the rows that were shown rightly.
    """
    of = bec.members[member or 0]
    better = of.plan.optimal_actions(state)[0]
    exact, values = exact_gap(of, state, action, better), of.plan.action_values[state]
    if exact is None or of.counts is None:
        return better, float(values.max() - values[action]), (), None, member
    # Shown rows that together say that `better` is at least as good contradict the pair.
    opposite = primitive(of.counts.pairs[state, better] - of.counts.pairs[state, action])
    against: dict[tuple[int, ...], None] = {}
    if any(opposite) and rightly().exact:
        verdict = decide(rightly().exact or (), opposite)
        if isinstance(verdict, Inside):
            statements = map(rightly().statement_of, verdict.multipliers.indices)
            against = {home_statement(bec.members, each)[:-1]: None for each in statements}
    return better, float(exact), tuple(against), exact, member


Difference = list[Any]
"""A row (k,) of rationals as it is, not scaled."""


def item_differences(bec: EquivalenceClass, item: Feedback) -> list[Difference]:
    """What the better side counts more than the other, once for each comparison in an item."""
    member = bec.members[item.member or 0]
    if member.counts is None:
        raise Unsupported(
            "other feedback than demonstrations needs exact arithmetic, and this class was "
            "computed in floats; use arithmetic='exact'"
        )
    if isinstance(item, Comparison):
        pairs = member.counts.pairs[item.state]
        return [list(pairs[item.better] - pairs[item.other])]
    counts = [trajectory_counts(member.task, way) for way in ways_of(item)]
    if isinstance(item, Stop):
        return [[-x for x in trajectory_counts(member.task, item.way, item.after)]]
    return [[x - y for x, y in zip(*pair, strict=True)] for pair in pairwise(counts)]


def trajectory_counts(task: Task, way: Demonstration, first: int = 0) -> Difference:
    """Discounted feature counts (k,) of a trajectory, from a step on."""
    model = exact_model(task.mdp)
    total = [0 * x for x in model.payment(*way[0])]
    for step in range(first, len(way)):
        total = _added(total, model, model.discount**step, *way[step])
    if has_ended(way, task):
        last = len(way) - 1
        state, action = way[last]
        for target, share in model.rows[state * model.n_actions + action]:  # discounted once
            total = _added(total, model, model.discount**last * share, target, 0)
    return total


def _added(
    total: Difference, model: ExactModel, weight: Any, state: int, action: int
) -> Difference:
    paid = model.payment(state, action)
    return [t + weight * x if x else t for t, x in zip(total, paid, strict=True)]


def margin(bec: EquivalenceClass, difference: Difference) -> Fraction:
    """What the better side is worth more under the true weights; negative where it is not."""
    found = dot(difference, as_rationals(bec.members[0].task.true_weights))
    return Fraction(int(found.p), int(found.q))


def item_words(task: MDP | Task | Family, item: Item) -> str:
    """An item as it would be said; in a family its member first."""
    if isinstance(task, Family):
        member = item.member or 0
        return f"{shown_name(task.names[member])}: {item_words(task[member], item)}"
    if isinstance(item, Demonstration):
        return ", ".join(pair_words(task, state, action) for state, action in item)
    if isinstance(item, Comparison):
        better, other = (action_words(task, a) for a in (item.better, item.other))
        return f"in {state_words(task, item.state)}: {better} rather than {other}"
    ways = ways_of(item)
    where = state_words(task, ways[0][0][0])
    actions = [", ".join(action_words(task, a) for _, a in way) for way in ways]
    if isinstance(item, Stop):
        return f"from {where}: stop {actions[0]} after {item.after} steps, off being worth 0"
    return f"from {where}: {' rather than '.join(actions)}"


@dataclass(frozen=True)
class WrongItem:
    """Feedback that is not true of the task: the side it calls better is worth less.

    item: its number, from 0. gap: by how much; exact_gap: the same as a fraction.
    """

    item: int
    words: str
    gap: float
    exact_gap: Fraction

    def to_dict(self) -> dict[str, Any]:
        """The same for machines; the fraction as a text."""
        return {**vars(self), "exact_gap": number_text(self.exact_gap)}


class ItemJudgement(NamedTuple):
    """What is known of a mix: rows that stay open, weights that fit and are wrong, their loss.

    wrong: items that are not true, left out of all else. hardest: the smallest difference in return
    that an item asks to be seen; None where all say that two sides are worth the same.
    """

    open_rows: tuple[int, ...]
    witness: tuple[Fraction, ...] | None
    loss: float
    wrong: tuple[WrongItem, ...]
    hardest: Fraction | None


def judge_items(
    bec: EquivalenceClass, items: Sequence[Item], right: Sequence[Demonstration]
) -> ItemJudgement:
    """What items say together; right: the right steps of the demonstrations among them."""
    rows, wrong, margins = true_halfspaces(bec, items)
    exact = bec.rows.exact
    assert exact is not None
    stated = bec.rows.stated_by(shown_pairs(bec.members, right))
    rows += [exact[row] for row in stated.tolist()]
    shown = ExactHalfspaces(list(dict.fromkeys(row for row in rows if any(row))))
    elements = cover_elements(bec)
    open_rows, witness = [], None
    for element in range(elements.n_elements):
        row = elements.row_of(element)
        found = shown.witness_against(bec.rows, row)
        if found is not None:
            open_rows.append(row)
            witness = witness or found
    loss = 0.0 if witness is None else worst_loss(bec, witness)
    strict = [m for m in (*margins, hardest_step(bec.members, right)) if m]
    hardest = None if not strict else Fraction(min(strict))
    return ItemJudgement(tuple(open_rows), witness, loss, wrong, hardest)


def true_halfspaces(
    bec: EquivalenceClass, items: Sequence[Item]
) -> tuple[list[Row], tuple[WrongItem, ...], list[Fraction]]:
    """Normals that true feedback states, what is not true, and the margins of what is.

    Demonstrations are passed over: `wrong_steps` judges them step by step.
    """
    rows: list[Row] = []
    wrong: list[WrongItem] = []
    margins: list[Fraction] = []
    for number, item in enumerate(items):
        if isinstance(item, Demonstration):
            continue
        differences = item_differences(bec, item)
        worths = [margin(bec, difference) for difference in differences]
        if min(worths) < 0:
            gap = -min(worths)
            words = item_words(bec.source, item)
            wrong.append(WrongItem(number, words, float(gap), gap))
            continue
        rows += [primitive(difference) for difference in differences]
        margins += worths
    return rows, tuple(wrong), margins


def mixed_proof(
    bec: EquivalenceClass, items: Sequence[Item], witness: Sequence[Fraction] | None
) -> dict[str, Any]:
    """The proof that items teach a class; with weights that fit them, that they leave it open."""
    assert bec.rows.exact is not None
    policies = policy_documents(bec)
    document = {
        "format": policies.pop("format"),
        "claim": "teaches" if witness is None else "open",
        **policies,
        "items": [item.document() for item in items],
    }
    if witness is None:
        return document | _followed(bec, items)
    broken = next(
        number
        for number, row in enumerate(bec.rows.exact)
        if sum(x * w for x, w in zip(row, witness, strict=True)) < 0
    )
    return document | {
        "weights": number_texts(witness),
        "row": list(bec.statement_of(broken)),
    }


def _followed(bec: EquivalenceClass, items: Sequence[Item]) -> dict[str, Any]:
    """Every row of the class as a sum of nonnegative multiples of rows that items state."""
    # Each row with its item, its place there as the checker numbers them, and how long it is in
    # primitive vectors of its direction.
    places: dict[Row, tuple[int, int, Fraction]] = {}
    for number, item in enumerate(items):
        if isinstance(item, Demonstration):
            counts = bec.members[item.member or 0].counts
            assert counts is not None
            differences = [counts.pairs[s, a] - other for s, a in item for other in counts.pairs[s]]
        else:
            differences = item_differences(bec, item)
        for place, difference in enumerate(differences):
            if any(difference):
                row = primitive(list(difference))
                at = next(i for i, entry in enumerate(row) if entry)
                scale = Fraction(int(difference[at].p), int(difference[at].q)) / row[at]
                places.setdefault(row, (number, place, scale))
    rows = tuple(places)
    found = []
    for proof in implied(rows, bec.rows.exact or (), bec.cone.multipliers):
        assert isinstance(proof, Multipliers)  # all rows follow from the items
        found.append(proof)
    used = sorted({i for proof in found for i in proof.indices})
    number_of = {row: i for i, row in enumerate(used)}
    return {
        "generators": [list(places[rows[i]][:2]) for i in used],
        "multipliers": [
            [
                [number_of[i], number_text(share / places[rows[i]][2])]
                for i, share in zip(proof.indices, proof.fractions, strict=True)
            ]
            for proof in found
        ],
    }
