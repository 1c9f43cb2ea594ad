"""The range of greedy matching over all orders, against a second implementation."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from didact.learners.chains.bio_irl import InformationGap
from didact.learners.evidence import as_evidence
from didact.studies.paper.worked_examples import (
    ChainSettings,
    _chain,
    chain_trial,
    demonstration,
    greedy_range,
    summarise_chain,
)

SETTINGS = ChainSettings(draws=400)


def greedy(normals, reference) -> float:
    """The appendix's words: each normal takes the closest reference normal left."""
    left, total = list(reference), 0.0
    for normal in normals:
        if not left:
            break
        cosines = [normal @ r / np.linalg.norm(normal) / np.linalg.norm(r) for r in left]
        best = int(np.argmax(np.round(cosines, 12)))
        total += 1 - np.arccos(np.clip(cosines[best], -1, 1)) / np.pi
        del left[best]
    return total / len(reference)


def test_the_range_of_gaps_is_that_over_all_orders():
    mdp = _chain(SETTINGS).mdp
    gap = InformationGap(as_evidence(mdp, [demonstration(SETTINGS)]), matching="greedy")
    for entry in chain_trial(SETTINGS, 0)["candidates"].values():
        own = gap.of_reward(entry["weights"])
        reference = own.reference
        shown, lesson = (own.normals(pairs) for pairs in (gap.shown_pairs, own.lesson))
        found = [
            abs(greedy(one, reference) - greedy(other, reference))
            for one in itertools.permutations(shown)
            for other in itertools.permutations(lesson)
        ]
        low, high = greedy_range(gap, entry["weights"])
        assert (low, high) == pytest.approx((min(found), max(found)), abs=1e-6)
        assert low - 1e-12 <= entry["gap"]["greedy"] <= high + 1e-12


def test_the_report_says_that_the_text_does_not_decide():
    record = chain_trial(SETTINGS, 0)
    finding = summarise_chain(SETTINGS, [record]).findings[1]
    assert finding.holds is None
    assert "A 0.000 to 0.319, B 0.042 to 0.333, C 0.188, D 0.212 to 0.399" in finding.evidence
    for name, holds in [("<<<>>>", False), (">>>>>>", True)]:  # the ranges moved apart
        moved = {n: dict(e) for n, e in record["candidates"].items()}
        for other, entry in moved.items():
            near = (other == "<<<>>>") == (name == ">>>>>>")
            entry["greedy range"] = [0.0, 0.1] if near else [0.2, 0.3]
        other = summarise_chain(replace(SETTINGS), [{"candidates": moved}]).findings[1]
        assert other.holds is holds
