"""Worlds of the published program for families (hierarchical SCOT, 2026), by its description.

6x6 cells with one of four features each, one-hot, discount .99, one terminal cell, 16 members that
share one reward. Our lessons are proved minimal, and complete by the independent checker; choosing
members first is not minimal.
"""

import pytest

import didact
from didact.mdp.files import family_document
from didact.proofcheck import check_proof
from tests.effort import chunks, number


def program_family(seed, members=16):
    """As many worlds as the program draws, from this seed on."""
    return didact.make(
        "random-grid",
        size=6,
        n_features=4,
        discount="0.99",
        terminals=1,
        seed=1000 * seed,
        weights_seed=seed,
        members=members,
    )


def members_first(family, bec):
    """The program's way: members by how many open facets they state, then pairs inside of each."""
    parts, shown = list(range(len(family))), []
    left = set(range(bec.cone.n_facets))
    of_row = {row: i for i, members in enumerate(bec.cone.facets) for row in members}
    stated = {}
    for (state, action, _), row in zip(bec.rows.statements, bec.rows.number, strict=True):
        if int(row) in of_row:
            member = max(m for m in parts if bec.members[m].first <= state)
            pair = (member, int(state) - bec.members[member].first, int(action))
            stated.setdefault(pair, set()).add(of_row[int(row)])
    while left:
        member = max(
            parts,
            key=lambda m: len(left & set().union(*(s for p, s in stated.items() if p[0] == m))),
        )
        own = {p: s for p, s in stated.items() if p[0] == member}
        while pair := max(own, key=lambda p: len(own[p] & left), default=None):
            if not own[pair] & left:
                break
            shown.append(pair)
            left -= own[pair]
    return shown


@pytest.mark.parametrize("seed", chunks(1, 4))
def test_lessons_are_proved_minimal_and_complete_by_the_checker(seed):
    family = program_family(seed)
    assert len(family) == 16
    assert {(t.mdp.n_states, t.mdp.n_features, int(t.mdp.terminal.sum())) for t in family} == {
        (36, 4, 1)
    }
    bec = didact.equivalence_class(family, arithmetic="exact")
    lesson = didact.teach(family, teacher="exact", horizon=1, bec=bec)
    assert lesson.is_complete
    assert len(lesson.demonstrations) == lesson.cost == lesson.lower_bound
    said = check_proof(family_document(family), lesson.document())
    assert said.startswith(f"proved: {len(lesson.demonstrations)} demonstrations")
    assert bec.cone.contains(family.true_weights) == "inside"
    if not bec.cone.equalities:
        assert len(members_first(family, bec)) >= len(lesson.demonstrations)


def test_whole_episodes_of_these_worlds_are_proved_too():
    family = program_family(7, number(8, 16))
    lesson = didact.teach(family, teacher="exact")
    assert lesson.is_complete
    assert check_proof(family_document(family), lesson.document()).startswith("proved:")
    assert lesson.cost == lesson.lower_bound
