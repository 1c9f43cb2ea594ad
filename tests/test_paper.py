"""The paper's settings, numbers and claims by study."""

import pytest

from didact import paper
from didact.errors import InvalidParameter


def test_settings_numbers_and_claims_of_a_study():
    table = paper.settings("table1")
    assert (table.size, table.features, table.trials, table.discount) == (9, 8, 20, 0.95)
    chain = paper.published_chain(8)
    assert (chain["n_steps"], chain["step_size"]) == (table.steps, table.step_size)
    (pairs,) = [p for p in paper.printed("table1") if (p.row, p.column) == ("SCOT", "pairs")]
    assert pairs.value == 17.16
    assert len(paper.printed("table1")) == 28
    assert [claim.key for claim in paper.claims("chain")] == ["equal", "wins"]
    with pytest.raises(InvalidParameter, match="table1"):
        paper.settings("families")
