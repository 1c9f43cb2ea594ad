"""Proofs that demonstrations teach a class, or leave it open: plain JSON.

A proof carries what is hard to find and easy to check: the optimal sets, the successor features as
fractions, and for every direction of the policy's rows its Farkas multipliers over shown rows, or
else one reward that fits everything shown and is wrong. `didact.proofcheck` checks it alone.
Of a family it has optimal sets and counts by member, the statement `row` with the member before it,
one list of multipliers for each direction of all. Generators are [demonstration, row], see
`didact.proofcheck`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from didact.bec.classes import EquivalenceClass, Member, demonstration_rows, member_with
from didact.bec.halfspaces import Rows
from didact.bec.linear import Inside, Multipliers, Row, decide, dot, primitive
from didact.errors import Unsupported
from didact.inputs import instance
from didact.mdp import Demonstration
from didact.numerics.texts import number_text, short_repr

PROOF_FORMAT = "didact.proof/1"


@dataclass(frozen=True, eq=False)
class Proof:
    """What demonstrations teach, decided.

    teaches: whether their class is the policy's class. witness: where it is not, weights (as
    integers) that fit all demonstrations, and `missing`, the statement (state, action, other
    action), in a family the member first, that they break. write: makes the document, a
    `didact.proof/1` object.
    """

    teaches: bool
    witness: Row | None
    missing: tuple[int, ...] | None
    write: Callable[[], dict[str, Any]]

    __repr__ = short_repr

    @cached_property
    def document(self) -> dict[str, Any]:
        """The proof as JSON, written when it is first asked for: of large families that is long."""
        return self.write()


def prove(bec: EquivalenceClass, demonstrations: Iterable[Any]) -> Proof:
    """Decide exactly whether demonstrations pin the class down, with the proof of either answer.

    bec: the class, of a task or of a family, in exact arithmetic.
    demonstrations: lists of (state, action) pairs, all of them optimal and in scope; in a family
        each with its member.
    """
    instance(bec, EquivalenceClass, "bec", "the result of equivalence_class")
    if bec.rows.exact is None:
        raise Unsupported(
            "a proof needs exact arithmetic, and this class was computed in floats; "
            "build it with arithmetic='exact'"
        )
    return proof_of(bec, bec.as_demonstrations(demonstrations))


def proof_of(bec: EquivalenceClass, shown: tuple[Demonstration, ...]) -> Proof:
    """The proof of `prove`, of demonstrations that were read already."""
    assert bec.rows.exact is not None
    part = demonstration_rows(bec, shown)
    assert part.exact is not None
    certificates: list[Multipliers] = []
    needed = implied(part.exact, bec.rows.exact, bec.cone.multipliers)
    for row, verdict in zip(bec.rows.exact, needed, strict=False):
        if not isinstance(verdict, Multipliers):
            if dot(row, verdict) >= 0 or any(dot(own, verdict) < 0 for own in part.exact):
                raise AssertionError("the witness must fit what is shown and break the row")
            missing = bec.statement_of(bec.rows.exact.index(row))
            write = partial(_written_open, bec, shown, missing, verdict)
            return Proof(False, verdict, missing, write)
        certificates.append(verdict)
    return Proof(True, None, None, partial(_written, bec, shown, part, certificates))


def _written(
    bec: EquivalenceClass,
    shown: tuple[Demonstration, ...],
    part: Rows,
    certificates: Sequence[Multipliers],
) -> dict[str, Any]:
    """The proof that demonstrations teach: multipliers of every direction over shown rows."""
    document = _common(bec, shown, "teaches")
    generators = sorted({index for proof in certificates for index in proof.indices})
    place = {row: i for i, row in enumerate(generators)}
    statements = [part.statement_of(row) for row in generators]
    scales = [_scale(bec.members, *statement) for statement in statements]
    where = _first_shown(bec.members, shown)
    document["generators"] = [
        [where[state, action][0], where[state, action][1] + other]
        for state, action, other in statements
    ]
    document["multipliers"] = [
        [
            [place[i], number_text(share / scales[place[i]])]
            for i, share in zip(proof.indices, proof.fractions, strict=True)
        ]
        for proof in certificates
    ]
    return document


def _first_shown(
    members: Sequence[Member], shown: Sequence[Demonstration]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Where each pair is shown first: in which demonstration, and as what number its rows begin.

    A demonstration has a row for each of its pairs and each action, in order.
    """
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for number, demonstration in enumerate(shown):
        member = members[demonstration.member or 0]
        for step, (state, action) in enumerate(demonstration):
            row = step * member.task.mdp.n_actions
            found.setdefault((member.first + state, action), (number, row))
    return found


def _scale(members: Sequence[Member], state: int, action: int, other: int) -> Fraction:
    """How long mu(s, a) - mu(s, b) is in primitive integer vectors of its direction."""
    member = member_with(members, state)
    assert member.counts is not None
    counts = member.counts.pairs[state - member.first]
    normal = counts[action] - counts[other]
    at = next(i for i, entry in enumerate(normal) if entry)
    return Fraction(int(normal[at].p), int(normal[at].q)) / primitive(normal)[at]


def implied(
    generators: tuple[Row, ...], targets: tuple[Row, ...], ready: Mapping[int, Multipliers]
) -> Iterable[Multipliers | Row]:
    """For each target its multipliers over the generators; a witness ends the sequence.

    ready: multipliers of targets over other targets, used where all of those are generators.
    """
    own = {row: i for i, row in enumerate(generators)}
    for number, target in enumerate(targets):
        if target in own:
            yield Multipliers((own[target],), (1,), 1)
            continue
        known = ready.get(number)
        if known is not None and all(targets[i] in own for i in known.indices):
            places = tuple(own[targets[i]] for i in known.indices)
            yield Multipliers(places, known.numerators, known.denominator)
            continue
        verdict = decide(generators, target)
        if not isinstance(verdict, Inside):
            yield verdict.witness
            return
        yield verdict.multipliers


def _written_open(
    bec: EquivalenceClass,
    shown: tuple[Demonstration, ...],
    missing: tuple[int, ...],
    witness: Row,
) -> dict[str, Any]:
    """The proof that demonstrations leave something open: weights that fit them and break a row."""
    told = {"weights": [number_text(w) for w in witness], "row": list(missing)}
    return _common(bec, shown, "open") | told


def policy_documents(bec: EquivalenceClass) -> dict[str, Any]:
    """What every proof about a class begins with: its format, its scope, the policy and counts."""
    policies = [_policy(member) for member in bec.members]
    own = {"members": policies} if bec.is_family else policies[0]
    return {"format": PROOF_FORMAT, "scope": bec.scope, **own}


def _common(bec: EquivalenceClass, shown: tuple[Demonstration, ...], claim: str) -> dict[str, Any]:
    """What every proof carries: the policy, its counts, and what was shown."""
    return {
        "format": PROOF_FORMAT,
        "claim": claim,
        **policy_documents(bec),
        "demonstrations": [demonstration.document() for demonstration in shown],
    }


def _policy(member: Member) -> dict[str, Any]:
    """What is optimal in each state of a member, and the counts of that policy."""
    assert member.counts is not None
    states = range(member.task.mdp.n_states)
    return {
        "optimal": [member.plan.optimal_actions(state) for state in states],
        "counts": [[number_text(count) for count in row] for row in member.counts.states],
    }
