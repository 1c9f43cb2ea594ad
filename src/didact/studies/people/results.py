"""What a study with people found: scores by condition with intervals, and how far apart they are.

A participant's score is the share of right answers in the test; only who finished it and passed the
attention item counts. `analysis.py` and `analysis.R` compute the same from the exported tables.
Intervals are Student's, of 95%. The difference of two conditions is Welch's, and Hedges' g is the
difference in pooled standard deviations with its small-sample factor and normal interval.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from didact.files.tables import csv_text, markdown_text
from didact.inputs import shown_name
from didact.mdp import Task
from didact.mdp.naming import action_words, state_words
from didact.studies.people.design import Design
from didact.studies.summary import Estimate, estimate

LEVEL = 0.95
COLUMNS = {
    "participant": "number of the participant, from 0 in the order of joining",
    "condition": "what the participant was shown",
    "step": "number of the step, from 0",
    "kind": "consent, intro and tutorial (instructions, with feedback), gate (comprehension "
    "questions), practice (before the lesson), lesson, test (after it), attention, path, again "
    "(a demonstration of the closed loop), retest (after it), likert or comments",
    "member": "number of the world asked about, from 0; empty where nothing was asked",
    "state": "the state of that world; empty where nothing was asked",
    "action": "the action or option that was answered, by its number",
    "correct": "1 where that action is optimal (path: all of them; gate: all answers), else 0",
    "confidence": "how sure the participant was, from 1 (guessed) to 5 (certain)",
    "comment": "free text",
    "seconds": "how long the page was open, as the browser measured it",
    "detail": "JSON: options of gate, answers of likert, [state, action] of a path, the watch log, "
    "and of the closed loop the demonstration chosen, the reward that explained the answers best, "
    "and the regret of the step that excludes it",
    "at": "when the answer came, in seconds since 1970 (UTC)",
}
PERSON_COLUMNS = {
    "participant": "number of the participant, from 0 in the order of joining",
    "condition": "what the participant was shown",
    "began": "when they agreed, in seconds since 1970 (UTC)",
    "steps": "how many steps they did",
    "finished": "1 where the test is complete, else 0",
    "attention": "1 where the attention item was right, 0 where not; empty where it was not asked",
    "gates": "how often the comprehension questions were tried",
    "passed": "1 where they were passed, 0 where not; empty where they were not asked",
    "score": "share of right answers in the test; empty where it is not complete",
    "watched": "seconds in which demonstrations were watched, those of the closed loop too",
    "platform": "prolific, mturk or sona, from the link",
    "person": "the participant's id there",
    "study": "the study's id there",
    "session": "the session's id there",
}
WATCHED_COLUMNS = {
    "participant": "number of the participant",
    "condition": "what the participant was shown",
    "step": "number of the step",
    "demonstration": "number of the demonstration, from 1",
    "plays": "how often it was played",
    "furthest": "the furthest step that was shown, from 0",
    "seconds": "for how long it was watched",
}
LIKERT_COLUMNS = {
    "participant": "number of the participant",
    "condition": "what the participant was shown",
    "item": "number of the statement, from 1",
    "statement": "the statement",
    "answer": "from 1 (strongly disagree) to the number of points (strongly agree)",
}
PATH_COLUMNS = {
    "participant": "number of the participant",
    "condition": "what the participant was shown",
    "step": "number of the step",
    "member": "number of the world",
    "position": "number of the action in the path, from 1",
    "state": "the state it was chosen in",
    "action": "the action by its number",
    "correct": "1 where it is optimal, else 0",
}


class Difference(NamedTuple):
    """How much better one condition scores than another: Welch's interval, and Hedges' g with its.

    Where all scores of each condition are equal only the mean can be computed; the others are None.
    """

    mean: float
    interval: tuple[float, float] | None = None
    effect: float | None = None
    effect_interval: tuple[float, float] | None = None


def scores(answers: Iterable[Mapping[str, Any]], design: Design) -> dict[str, list[float]]:
    """The scores of those who finished the test and passed the attention item, by condition."""
    answers, right = list(answers), dict[tuple[str, int], list[int]]()
    inattentive = {
        each["participant"]
        for each in answers
        if (each["kind"], each["correct"]) == ("attention", 0)
    }
    for answer in answers:
        if answer["kind"] == "test":
            key = answer["condition"], answer["participant"]
            right.setdefault(key, []).append(int(answer["correct"]))
    found: dict[str, list[float]] = {name: [] for name in design.conditions}
    for (condition, number), given in right.items():
        if len(given) == len(design.test) and number not in inattentive:
            found[condition].append(sum(given) / len(given))
    return found


def estimates(scored: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    """The mean score of each condition that has one."""
    return {name: estimate(values) for name, values in scored.items() if values}


def difference(scored: Mapping[str, Sequence[float]], one: str, other: str) -> Difference | None:
    """How far apart two conditions are; None with fewer than two participants in one of them."""
    from scipy.stats import norm, t

    a, b = (np.asarray(scored[name], dtype=np.float64) for name in (one, other))
    if min(a.size, b.size) < 2:
        return None
    mean, va, vb = float(a.mean() - b.mean()), a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    if max(np.ptp(a), np.ptp(b)) == 0:  # the variance of equal scores may be a rounding error
        return Difference(mean)
    freedom = (va + vb) ** 2 / (va**2 / (a.size - 1) + vb**2 / (b.size - 1))
    reach = float(t.ppf((1 + LEVEL) / 2, freedom)) * math.sqrt(va + vb)
    n = a.size + b.size
    squares = (a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)
    effect = (1 - 3 / (4 * n - 9)) * mean / math.sqrt(squares / (n - 2))
    spread = math.sqrt(n / (a.size * b.size) + effect**2 / (2 * n))
    wide = float(norm.ppf((1 + LEVEL) / 2)) * spread
    return Difference(mean, (mean - reach, mean + reach), effect, (effect - wide, effect + wide))


def needed(spread: float, x: float, power: float = 0.8) -> int:
    """Participants in each of two groups to see a difference of x with this power (two-sided 5%).

    spread: the standard deviation of scores. The normal approximation.
    """
    from scipy.stats import norm

    total = float(norm.ppf((1 + LEVEL) / 2) + norm.ppf(power))
    return max(2, math.ceil(2 * (total * spread / x) ** 2))


def table(rows: Sequence[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Rows as CSV; texts that a spreadsheet would compute begin with an apostrophe."""
    names = list(columns)
    return csv_text([names, *([row.get(name) for name in names] for row in rows)])


def person_rows(
    people: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]], design: Design
) -> list[dict[str, Any]]:
    """A row of PERSON_COLUMNS for each participant."""
    given: dict[int, list[Mapping[str, Any]]] = {}
    for answer in answers:
        given.setdefault(answer["participant"], []).append(answer)
    rows = []
    for person in people:
        own = given.get(person["participant"], [])
        test = [each["correct"] for each in own if each["kind"] == "test"]
        attention = [each["correct"] for each in own if each["kind"] == "attention"]
        gates, finished = person["gates"], len(test) == len(design.test)
        rows.append(
            {
                **{name: person[name] for name in PERSON_COLUMNS if name in person},
                "finished": int(finished),
                "attention": attention[0] if attention else None,
                "gates": len(gates),
                "passed": int(1 in gates) if gates else None,
                "score": sum(test) / len(test) if finished else None,
                "watched": sum(row["seconds"] for row in watched_rows(own)),
            }
        )
    return rows


def watched_rows(answers: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row of WATCHED_COLUMNS for each demonstration on the page of a lesson."""
    return [
        {**answer, "demonstration": number, "plays": plays, "furthest": step, "seconds": seconds}
        for answer in answers
        if answer["kind"] in ("lesson", "again")
        for number, plays, step, seconds in json.loads(answer["detail"])["watched"]
    ]


def likert_rows(answers: Iterable[Mapping[str, Any]], design: Design) -> list[dict[str, Any]]:
    """A row of LIKERT_COLUMNS for each answer to a statement."""
    return [
        {**answer, "item": i + 1, "statement": statement, "answer": value}
        for answer in answers
        if answer["kind"] == "likert"
        for i, (statement, value) in enumerate(
            zip(design.procedure.likert, json.loads(answer["detail"]), strict=True)
        )
    ]


def path_rows(answers: Iterable[Mapping[str, Any]], design: Design) -> list[dict[str, Any]]:
    """A row of PATH_COLUMNS for each action of a path."""
    return [
        {
            **{**answer, "position": i + 1, "state": state, "action": action},
            "correct": int(design.is_right((answer["member"], state), action)),
        }
        for answer in answers
        if answer["kind"] == "path"
        for i, (state, action) in enumerate(json.loads(answer["detail"]))
    ]


def codebook(design: Design, members: Sequence[Task]) -> str:
    """What every column means, and what the study was; members: its worlds."""
    tables = [("answers.csv", COLUMNS), ("participants.csv", PERSON_COLUMNS)]
    tables += [("watched.csv", WATCHED_COLUMNS)]
    tables += [("likert.csv", LIKERT_COLUMNS)] if design.procedure.likert else []
    tables += [("paths.csv", PATH_COLUMNS)] if design.paths else []
    lines = [
        f"# Codebook: {markdown_text(design.title)}",
        "",
        f"Conditions: {', '.join(map(markdown_text, design.conditions))}. Seed {design.seed}. "
        f"{len(design.practice)} questions before the lesson, {len(design.test)} after it.",
    ]
    for name, columns in tables:
        lines += ["", f"| column of {name} | meaning |", "| --- | --- |"]
        lines += [f"| {column} | {words} |" for column, words in columns.items()]
    lines += [
        "",
        "| condition | demonstrations | steps |",
        "| --- | --- | --- |",
        *(
            f"| {markdown_text(name)} | {len(shown)} | {sum(map(len, shown))} |"
            for name, shown in ((name, design.shown[name]) for name in design.conditions)
        ),
        "",
        "| member | world | shown by | questions of the test |",
        "| --- | --- | --- | --- |",
        *(_member_line(design, member) for member in range(len(design.members))),
        "",
        "| member | action | called |",
        "| --- | --- | --- |",
        *(
            f"| {member} | {action} | {markdown_text(action_words(task, action))} |"
            for member, task in enumerate(members)
            for action in range(task.mdp.n_actions)
        ),
        "",
        "| member | state | called | best |",
        "| --- | --- | --- | --- |",
        *(
            _state_line(members[member], member, state, best)
            for (member, state), best in sorted(design.right.items())
        ),
    ]
    return "\n".join(lines) + "\n"


def _state_line(task: Task, member: int, state: int, best: Sequence[int]) -> str:
    named = markdown_text(state_words(task, state))
    told = ", ".join(markdown_text(action_words(task, action)) for action in best)
    return f"| {member} | {state} | {named} | {told} |"


def _member_line(design: Design, member: int) -> str:
    shown = [
        name
        for name in design.conditions
        if any((each.member or 0) == member for each in design.shown[name])
    ]
    n_asked = sum(asked == member for asked, _ in design.test)
    nobody = "none, set apart" if member in design.unseen else "none"
    told = ", ".join(map(markdown_text, shown)) or nobody
    named = markdown_text(shown_name(design.members[member], 60))
    return f"| {member} | {named} | {told} | {n_asked} |"


class ScoreReport(NamedTuple):
    """Scores by condition, and differences from the last one: tables, header row first."""

    title: str
    about: str
    tables: tuple[Sequence[Sequence[str]], ...]

    def markdown(self) -> str:
        """The report as Markdown."""
        parts = [f"# {markdown_text(self.title)}", self.about]
        for header, *rows in self.tables:
            lines = [header, ["---"] * len(header), *rows]
            parts.append("\n".join(f"| {' | '.join(map(markdown_text, row))} |" for row in lines))
        return "\n\n".join(parts) + "\n"

    def lines(self) -> Iterator[str]:
        """The report in a terminal: the cells of a column stand below each other."""
        yield from (self.title, self.about)
        for rows in self.tables:
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
                yield "  " + "  ".join(cells).rstrip()


def report(design: Design, answers: Sequence[Mapping[str, Any]]) -> ScoreReport:
    """Scores by condition and their differences from the last condition."""
    scored = scores(answers, design)
    found, base = estimates(scored), design.conditions[-1]
    by_condition = [("condition", "participants", "score", "standard deviation")]
    for name in design.conditions:
        each = found.get(name)
        told = "no one yet" if each is None else f"{each.mean:.3f}"
        spread = ""
        if each is not None and each.n > 1:
            told += f" [{each.low:.3f}, {each.high:.3f}]"
            spread = f"{each.spread:.3f}"
        by_condition.append((name, str(len(scored[name])), told, spread))
    differences = [(f"against {base}", "difference", "Hedges' g")]
    for name in design.conditions[:-1]:
        apart = difference(scored, name, base)
        if apart is None:
            cells = ("too few", "")
        elif apart.interval is None or apart.effect_interval is None:
            cells = (f"{apart.mean:+.3f}", "cannot be computed: no spread within the conditions")
        else:
            (low, high), (least, most) = apart.interval, apart.effect_interval
            cells = (
                f"{apart.mean:+.3f} [{low:+.3f}, {high:+.3f}]",
                f"{apart.effect:+.2f} [{least:+.2f}, {most:+.2f}]",
            )
        differences.append((name, *cells))
    about = (
        "Share of right answers in the test, of those who finished it and passed the attention "
        "item; 95% intervals."
    )
    return ScoreReport(design.title, about, (by_condition, differences))
