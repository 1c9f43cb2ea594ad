"""Which chain learns in the study of questions."""

from dataclasses import replace

import pytest

from didact.errors import InvalidParameter
from didact.learners.chains.options import WALK_OPTIONS
from didact.studies.paper.curves import ActiveSettings, learner_options


def test_a_chain_walks_as_long_as_the_paper_says_or_until_it_has_mixed():
    settings = ActiveSettings()
    published, ours = (learner_options(replace(settings, chain=c)) for c in ("published", "ours"))
    assert published["n_steps"] == ours["n_steps"] == settings.steps
    assert published["proposal"] == "lattice"
    mixed = learner_options(replace(settings, chain="mixed"))
    assert not {*WALK_OPTIONS} & {*mixed}
    assert mixed["confidence"] == settings.confidence
    with pytest.raises(InvalidParameter, match="chain must be 'published', 'ours' or 'mixed'"):
        learner_options(replace(settings, chain="quick"))
