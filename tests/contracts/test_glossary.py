"""No word of the glossary's column "not" is used: in code, messages and docs.

Names of the code are looked at whole ("Offer" is not in "offered"), words of the docs in any case.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = [*sorted((ROOT / "src" / "didact").rglob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

NAMES = {
    "Wish": "TeachSettings",
    "Showing": "TeachSettings",
    "Offer": "Starts",
    "Places": "Starts",
    "Part": "member",
    "way_out": "suggested_starts",
    "charges": "fixed_cost",
    "Soonest": "earliest_candidate",
    "Chart": "PolicyCells",
    "Walk": "PolicyCells",
    "Fan": "PolicyCells",
    "Course": "SamplerRun",
    "Pilot": "warmup",
    "ripen": "warmup",
    "settle": "warmup",
    "summit": "mode",
    "hill": "mode",
    "Room": "Workspace",
    "widest": "max_margin_point",
    "well_inside": "max_margin_point",
    "crew": "pool",
    "said_by": "coverage",
}
"""Name that is not to be used in code: the glossary's name."""

WORDS = {
    "summit": "mode",
    "hill": "mode",
    "valley": "mode",
    "crew": "pool",
    "way out": "suggested starts",
    "situations": "states",
    "every day": "quick",
    "what a stranger": "independent checker",
    "a die says": "drawn uniformly",
    "throw dice": "stochastic policies",
    "nothing can fix": "directions that no demonstration can determine",
    "pass(?:es)? nobody": "no agent can pass",
    "nothing is passed": "no agent can pass",
    "dearer": "costs more",
    "One door": "make",
    "add up to nothing": "cancel",
    "serve who plans": "planners",
    "no bounds on asking": "benchmarks",
    "ties would name it": "exclude",
    "makes it dearer": "cost",
    "a needle that neither": "mode",
}
"""Words that are not to be used in docs and messages: the glossary's word."""

ELSEWHERE = {"situations": ("boards.py",)}
"""Files that have a word in another sense: the studio's boards have parts of a Taxi state."""


def uses(files, pattern: str, flags: int = 0) -> dict[str, int]:
    """How often a pattern stands in each file that has it."""
    found = {}
    for path in files:
        n = len(re.findall(pattern, path.read_text(encoding="utf-8"), flags))
        if n:
            found[str(path.relative_to(ROOT))] = n
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_the_code_is_one_of_those_replaced(name):
    found = uses(CODE, rf"(?:class|def)\s+_?{name}\b|\bself\.{name}\b")
    assert not found, f"{name}: say {NAMES[name]}; {found}"


@pytest.mark.parametrize("words", WORDS)
def test_no_page_and_no_message_has_the_words_replaced(words):
    files = [p for p in (*DOCS, *CODE) if p.name not in ELSEWHERE.get(words, ())]
    found = uses(files, rf"\b{words}\b", re.IGNORECASE)
    assert not found, f"{words!r}: say {WORDS[words]!r}; {found}"


def test_confidence_is_never_a_level():
    """`confidence` is the inverse temperature alone; levels of intervals are `level`."""
    found = uses(CODE, r"confidence (?:interval|level)|confidence\s*[:=][^=\n]*0\.9[59]\b")
    assert not found


@pytest.mark.parametrize("limit", [r"MOST_[A-Z]", r"^FEW\b", r"AT_ONCE\b"])
def test_limits_are_called_max(limit):
    found = uses(CODE, rf"^_?{limit.lstrip('^')}\w*\s*[:=]", re.MULTILINE)
    assert not found
