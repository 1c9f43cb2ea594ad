"""The paper's numbers and claims as they are printed, and ours beside them."""

from didact.studies.paper.common import CLAIMS, PRINTED, compared, printed


def test_the_printed_tables_are_those_of_the_paper():
    """The rows that main text and appendix share, as the paper prints them."""
    main = {
        "UVM (10^5)": ("5.150", "1.539", "31.420", "567.961"),
        "UVM (10^6)": ("6.650", "1.076", "19.568", "1620.578"),
        "UVM (10^7)": ("8.450", "0.555", "18.642", "10291.365"),
        "SCOT": ("17.160", "0.001", "0.667", "0.965"),
    }
    for row, texts in main.items():
        for column, text in zip(
            ("pairs", "policy loss", "wrong actions", "seconds"), texts, strict=True
        ):
            assert printed("table1", row, column).text == text
    assert len(PRINTED) == 28
    assert printed("table1", "Random", "pairs").value == 17.7
    assert printed("table1", "SCOT, closed", "pairs") is None
    assert printed("active", "SCOT", "pairs") is None


def test_claims_have_words_and_a_place():
    for (study, key), claim in CLAIMS.items():
        assert (claim.study, claim.key) == (study, key)
        assert claim.words
        assert claim.source


def test_a_cell_has_the_papers_number_beside_ours():
    cell = compared("table1", "SCOT", "pairs", [14, 15, 14, 16])
    assert cell.printed.text == "17.160"
    assert cell.verdict == "below"
    assert compared("table1", "new", "pairs", [1.0, 2.0]).verdict is None
