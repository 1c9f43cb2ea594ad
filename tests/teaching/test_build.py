"""What is known of a lesson is about the class, whatever its teacher covered."""

import pytest

from didact.teaching import teach
from didact.worlds import make


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_on_redundant_scot_is_that_on_scot(seed):
    task = make("random-grid", size=4, n_features=3, seed=seed)
    every_row = teach(task, teacher="scot-redundant", horizon=3, arithmetic="float")
    facets = teach(task, teacher="scot", horizon=3, arithmetic="float")
    assert every_row.lower_bound == facets.lower_bound
    assert len(every_row.facets) == len(facets.facets)
