"""The draft of a preregistration: its power against simulated t-tests, and what it must say."""

import numpy as np
import pytest
from scipy.stats import ttest_ind

from didact import make
from didact.random import stream
from didact.studies.people.design import Procedure, design_study
from didact.studies.people.preregistration import power, preregistration
from didact.studies.people.results import report
from didact.studies.people.simulated import SimulatedStudy


@pytest.mark.parametrize(("spread", "x", "n"), [(0.2, 0.1, 40), (0.3, 0.1, 80), (0.1, 0.1, 20)])
def test_power_is_the_share_of_studies_that_see_the_difference(spread, x, n):
    rng = stream(0, "power", n)
    a, b = rng.normal(x, spread, (4000, n)), rng.normal(0, spread, (4000, n))
    seen = np.mean(ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    assert power(spread, x, n) == pytest.approx(seen, abs=0.03)
    strict = np.mean(ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05 / 3)
    assert power(spread, x, n, 3) == pytest.approx(strict, abs=0.07)


def test_the_draft_names_what_a_board_asks_for():
    design = design_study(
        make("random-grid", size=6, n_features=2, seed=1),
        n_questions=4,
        n_paths=2,
        procedure=Procedure(tries=2, attention=True, likert=("a",), watch_seconds=5),
    )
    found = SimulatedStudy(design, 30, report(design, []), {}, 0.2, 16, 0.2)
    text = preregistration(found)
    for words in ("Hypotheses", "| 20 |", "16 in each condition, 48 in all", "attention item",
                  "do not reach the test", "2 whole paths", "at least 5 seconds", "Holm",
                  "1 Likert item of 7 points", "Rscript analysis.R results none"):  # fmt: skip
        assert words in text, words
