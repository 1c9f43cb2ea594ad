"""Proofs of what demonstrations teach; tests/test_proofcheck.py attacks the checker itself."""

import json
from fractions import Fraction

import pytest

from didact.bec.classes import demonstration_class, equivalence_class
from didact.bec.proofs import prove
from didact.errors import InvalidModel, Unsupported
from didact.mdp import Task
from didact.mdp.files import task_document
from didact.planning import evaluate
from didact.proofcheck import ProofError, check_proof
from didact.worlds import make


def verdict(bec, proof) -> str:
    """What the independent checker says of the documents, after a trip through JSON text."""
    return check_proof(
        *(json.loads(json.dumps(d)) for d in (task_document(bec.task), proof.document))
    )


def all_pairs(bec) -> list[list[tuple[int, int]]]:
    states = {int(s) for s in bec.rows.statements[:, 0]}
    return [[(s, a)] for s in sorted(states) for a in bec.plan.optimal_actions(s)]


def test_two_pairs_teach_the_six_cell_world():
    bec = equivalence_class(make("six-cell"))
    proof = prove(bec, [[(3, 0)], [(2, 1)]])
    assert proof.teaches
    assert proof.witness is None
    assert proof.missing is None
    assert verdict(bec, proof).startswith("proved: 2 demonstrations (2 pairs) teach")


def test_one_pair_leaves_it_open_and_a_reward_shows_it():
    task = make("six-cell")
    bec = equivalence_class(task)
    proof = prove(bec, [[(3, 0)]])
    assert not proof.teaches
    assert verdict(bec, proof).startswith("proved open: 1 demonstrations")
    assert demonstration_class(bec, [[(3, 0)]]).contains(proof.witness) != "outside"
    assert bec.cone.contains(proof.witness) == "outside"
    assert evaluate(task, [str(w) for w in proof.witness]).policy_loss > 0
    state, action, other = proof.missing
    assert bec.plan.optimal[state, action]
    assert proof.document["row"] == [state, action, other]


def test_nothing_shown_teaches_nothing():
    bec = equivalence_class(make("six-cell"))
    proof = prove(bec, [])
    assert not proof.teaches
    assert verdict(bec, proof).startswith("proved open: 0 demonstrations")


def test_nothing_shown_teaches_a_world_where_nothing_matters():
    bec = equivalence_class(make("random-grid", size=2, n_features=1))
    proof = prove(bec, [])
    assert proof.teaches
    assert proof.document["multipliers"] == []
    assert verdict(bec, proof).startswith("proved: 0 demonstrations")


def test_two_tied_actions_do_not_teach_what_their_volume_suggests():
    """The paper's failure of volumes: both ends of a tie shown, red against grey still open."""
    bec = equivalence_class(make("uvm-failure"))
    proof = prove(bec, [[(8, 0)], [(8, 2)]])
    assert not proof.teaches
    assert verdict(bec, proof).startswith("proved open: ")
    assert prove(bec, all_pairs(bec)).teaches


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("chain", {}),
        ("uvm-failure", {}),
        ("ball-sorting", {}),
        ("random-grid", {"size": 5, "n_features": 4}),
        ("random-grid", {"size": 4, "n_features": 3, "slip": "0.2", "terminals": 1}),
        ("garnet", {"n_states": 8, "n_features": 3, "terminals": 1}),
    ],
)
@pytest.mark.parametrize("scope", ["reachable", "all"])
def test_showing_everything_teaches_every_world(name, options, scope):
    bec = equivalence_class(make(name, **options), scope=scope, arithmetic="exact")
    proof = prove(bec, all_pairs(bec))
    assert proof.teaches
    assert verdict(bec, proof).startswith("proved: ")


def test_facets_alone_teach_with_few_generators():
    bec = equivalence_class(make("random-grid", size=6, n_features=4, seed=5))
    statements = [bec.rows.statement_of(row) for row in bec.cone.facet_rows()]
    proof = prove(bec, [[(s, a)] for s, a, _ in statements])
    assert proof.teaches
    assert len(proof.document["multipliers"]) == bec.rows.n_rows
    assert len(proof.document["generators"]) >= bec.cone.n_facets
    assert verdict(bec, proof).startswith("proved: ")


def test_proofs_carry_the_policy_and_its_counts():
    bec = equivalence_class(make("six-cell"))
    document = prove(bec, [[(3, 0)], [(2, 1)]]).document
    assert document["format"] == "didact.proof/1"
    assert document["claim"] == "teaches"
    assert document["scope"] == "reachable"
    assert document["optimal"] == [[], [2], [1], [0], [2], [2]]
    assert document["counts"][3] == ["19/10", "0"]
    assert document["demonstrations"] == [[[3, 0]], [[2, 1]]]
    shares = [Fraction(share) for terms in document["multipliers"] for _, share in terms]
    assert shares
    assert min(shares) > 0


def test_longer_demonstrations_state_all_their_pairs():
    bec = equivalence_class(make("six-cell"))
    proof = prove(bec, [[(2, 1), (5, 2), (4, 2), (3, 0)]])
    assert proof.teaches
    assert "1 demonstrations (4 pairs)" in verdict(bec, proof)


def test_a_proof_is_of_one_task():
    bec = equivalence_class(make("six-cell"))
    proof = prove(bec, [[(3, 0)], [(2, 1)]])
    other = Task(bec.task.mdp, [-1, -2])
    with pytest.raises(ProofError, match="optimal"):
        check_proof(task_document(other), proof.document)


def test_proofs_need_exact_arithmetic():
    bec = equivalence_class(make("six-cell"), arithmetic="float")
    with pytest.raises(Unsupported, match="a proof needs exact arithmetic"):
        prove(bec, [[(3, 0)]])


def test_proofs_need_optimal_demonstrations():
    bec = equivalence_class(make("six-cell"))
    with pytest.raises(
        InvalidModel, match="must show an optimal action; up in row 1, column 3 is not optimal"
    ):
        prove(bec, [[(2, 0)]])
