"""The quick search finds nothing that visiting every class does not, up to rounding."""

import numpy as np
import pytest

import didact
from didact.bec.classes import shown_pairs
from didact.teaching.loss.fan import fan_of
from didact.teaching.loss.region import region_of, worst_cell
from didact.teaching.loss.search import boundary_rounds


@pytest.mark.parametrize("seed", [*range(8), 1588085971])
def test_no_point_of_a_search_loses_more_than_the_worst_class(seed):
    task = didact.make("random-grid", size=3, n_features=3, seed=seed)
    known = didact.equivalence_class(task)
    pairs = [tuple(pair) for pair in np.argwhere(known.plan.optimal).tolist()]
    rng = np.random.default_rng(seed)
    for size in (1, 2, 4, len(pairs)):
        chosen = [pairs[i] for i in rng.permutation(len(pairs))[:size]]
        shown = shown_pairs(known.parts, [didact.Demonstration([pair]) for pair in chosen])
        region = region_of(fan_of(known), known.rows.normals[known.rows.stated_by(shown)])
        found = worst_cell(region)
        assert found.is_proved
        worst = 0.0 if found.worst is None else found.worst.loss
        for weights, lost in boundary_rounds(region, rng):
            assert lost.losses.max() <= worst + 1e-9
            inside = weights / np.linalg.norm(weights, axis=1)[:, None] @ region.basis.T
            assert (inside @ region.facets.T).min(initial=0.0) > -1e-12
