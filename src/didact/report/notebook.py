"""Results in a notebook: what each says in a sentence, and its rows as a small table.

A notebook has its own style, so these pieces bring none. Pages that play stand in frames of their
own: see `page.lesson`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from itertools import islice
from typing import Any

import numpy as np

from didact.active import Run, StrategyComparison
from didact.auditing import Audit, Exam
from didact.bec.classes import EquivalenceClass
from didact.inputs import counted, shown_name
from didact.learners import Belief, Risk
from didact.learners.files import size_in_words
from didact.mdp import MDP, Family, Task
from didact.mdp.naming import episode_numbers, state_words
from didact.planning import Evaluation, Plan
from didact.report.page.lesson import lesson_fragment, task_fragment
from didact.report.page.scene import amount
from didact.report.page.templates import render
from didact.report.page.words import task_words
from didact.report.words.beliefs import (
    Scale,
    describe_run,
    evaluation_line,
    open_lines,
    run_table,
    told_lines,
    unsure_states,
    weight_cells,
)
from didact.report.words.lessons import mixed_line
from didact.report.words.tasks import (
    between,
    describe_ranking,
    ranking_table,
    transfer_curve_lines,
)
from didact.report.words.verdicts import VERDICTS, describe_audit, exam_line
from didact.teaching import (
    Difficulty,
    Frontier,
    Lesson,
    Selection,
    Transfer,
    Verdict,
)
from didact.teaching.rank import DifficultyRanking

MAX_ROWS = 20
"""Rows of a table; the others are counted."""
COUNTED = ("demonstration", "step")
"""Columns that people count from 1, and records from 0."""


def result_fragment(
    title: str,
    lines: Iterable[str] = (),
    records: Sequence[Mapping[str, Any]] = (),
    columns: Sequence[str] = (),
) -> str:
    """A title, sentences, and records as a table of the named columns."""
    rows = [
        [_written(record[name] + 1 if name in COUNTED else record[name]) for name in columns]
        for record in records[:MAX_ROWS]
    ]
    return render(
        "result.html.jinja",
        title=title,
        lines=list(lines),
        heads=[name.replace("_", " ") for name in columns],
        rows=rows,
        n_more=max(len(records) - MAX_ROWS, 0),
    )


def _written(value: Any) -> str:
    """A cell for people."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return amount(value)
    if isinstance(value, list | tuple):
        return ", ".join(_written(entry) for entry in islice(value, 8)) or "–"
    return shown_name(str(value), 160)


@singledispatch
def fragment(result: Any) -> str:
    """The HTML of a result, chosen by its type; by default its sentences."""
    first, *lines = result.lines()
    return result_fragment(first, lines)


@fragment.register
def _(task: Task) -> str:
    """The world of a task, as a page in a frame."""
    return task_fragment(task)


@fragment.register
def _(lesson: Lesson) -> str:
    """The page in a frame; a table of a mix, of a family and of a lesson from a file."""
    if lesson.is_mixed:
        return mixed_lesson_fragment(lesson)
    if lesson.bec is None or lesson.is_of_family:
        return lesson_table(lesson)
    return lesson_fragment(lesson.bec.task, lesson, bec=lesson.bec)


@fragment.register
def mdp_fragment(mdp: MDP) -> str:
    """The sizes of a model."""
    names = [mdp.feature_name(i) for i in range(min(mdp.n_features, 12))]
    return result_fragment(task_words(mdp), [f"features: {_written(names)}"])


@fragment.register
def plan_fragment(plan: Plan) -> str:
    """What is best in each state."""
    how = f"{plan.arithmetic}; {'proved' if plan.is_proved else 'not all comparisons are decided'}"
    title = f"Optimal actions of {counted(len(plan.values), 'state')}"
    return result_fragment(title, [how], plan.to_records(), ("state", "value", "optimal"))


@fragment.register
def evaluation_fragment(found: Evaluation) -> str:
    """How a policy fares, and where it loses."""
    worst = sorted(found.to_records(), key=lambda row: -row["worst_loss"])
    losing = [row for row in worst if row["worst_loss"] > 0]
    columns = ("state", "loss", "worst_loss", "wrong")
    return result_fragment("A policy", [evaluation_line(found)], losing, columns)


@fragment.register
def class_fragment(bec: EquivalenceClass) -> str:
    """The constraints that define the behaviour, in words; of a family how many they are."""
    n = bec.cone.n_facets + len(bec.cone.equalities)
    where = f" in {counted(len(bec.family), 'world')}" if bec.is_family else ""
    line = (
        f"All rewards with the same optimal actions{where}: "
        f"{counted(bec.rows.n_rows, 'half-space')}, of which {n} say everything; "
        f"{bec.arithmetic}."
    )
    title = f"{shown_name(bec.name)}: {counted(n, 'constraint')}"
    records = [] if bec.is_family else bec.to_records()
    return result_fragment(title, [line], records, () if bec.is_family else ("kind", "words"))


@fragment.register
def family_fragment(family: Family) -> str:
    """The members of a family."""
    columns = ("member", "states", "actions", "discount")
    members = (
        (task.mdp.n_states, task.mdp.n_actions, task.mdp.discount) for task in family.members
    )
    records = [
        dict(zip(columns, (name, *sizes), strict=True))
        for name, sizes in zip(family.names, members, strict=True)
    ]
    title = f"{shown_name(family.name)}: {counted(len(family), 'world')}, one reward"
    line = f"{counted(family.n_features, 'feature')}, the same weights in all of them"
    return result_fragment(title, [line], records, columns)


@fragment.register
def frontier_fragment(found: Frontier) -> str:
    """How few demonstrations keep learners within how much of the best."""
    records = [{**row, "within": row["loss"] or "exact"} for row in found.to_records()]
    columns = ("within", "n_demonstrations", "n_pairs", "lower_bound", "status")
    title = f"{shown_name(found.task_name)}: demonstrations by the loss that may be left"
    line = (
        f"learner model: {found.learner_model}; within: of V* less V of the uniformly random policy"
    )
    return result_fragment(title, [line], records, columns)


@fragment.register
def risk_fragment(risk: Risk) -> str:
    """What a policy may lose under a belief."""
    return result_fragment("Risk", [f"{risk}."])


def lesson_table(lesson: Lesson) -> str:
    """A lesson from a file, whose world is not at hand: its steps."""
    line = f"{lesson.status}; report and plot need its task"
    title = f"Lesson for {shown_name(lesson.task_name)}"
    columns = ("demonstration", "step", "state", "action")
    return result_fragment(title, [line], lesson.to_records(), columns)


@fragment.register
def verdict_fragment(verdict: Verdict) -> str:
    """Whether demonstrations teach, and what is wrong with them."""
    them = "The right steps alone" if verdict.wrong else "They"
    title = f"{them} teach it." if verdict.right_teaches else f"{them} do NOT teach it."
    lines = [f"{verdict.arithmetic}{', with a proof' if verdict.proof is not None else ''}"]
    if verdict.missing_words is not None:
        lines.append(f"open: {verdict.missing_words}")
    if verdict.loss:
        lines.append(f"a learner may still lose {amount(verdict.loss)}")
    columns = ("demonstration", "step", "state", "action", "better", "gap")
    return result_fragment(title, lines, verdict.to_records(), columns)


@fragment.register
def selection_fragment(found: Selection) -> str:
    """What to keep of a recording."""
    chosen = (
        f"{len(found.chosen)} of {counted(found.n_items, 'item' if found.is_mixed else 'episode')}"
    )
    title = f"{shown_name(found.task_name)}: keep {chosen}"
    teaches = "They teach it." if found.teaches else "They do NOT teach it."
    covered = f"{found.n_covered} of {counted(found.n_elements, 'constraint')} covered."
    columns = ("episode", "verdict", "new_constraints", "n_wrong")
    records = found.to_records()
    called = episode_numbers([record["episode"] for record in records])
    rows = [{**record, "episode": called[record["episode"]]} for record in records]
    return result_fragment(title, [f"{teaches} {covered}"], rows, columns)


@fragment.register
def transfer_fragment(found: Transfer) -> str:
    """What a lesson determines in unseen worlds."""
    title = f"{found.n_determined} of {counted(len(found.worlds), 'unseen world')} determined"
    lines = list(transfer_curve_lines(found))
    open_ones = [row for row in found.to_records() if not row["determined"]]
    return result_fragment(title, lines, open_ones, ("name", "loss", "words"))


@fragment.register
def difficulty_fragment(row: Difficulty) -> str:
    """How hard a task is to teach."""
    if row.error is not None:
        return result_fragment(shown_name(row.name), [f"no numbers: {row.error}"])
    whole = between(row.fewest_demonstrations, row.n_demonstrations)
    pairs = between(row.fewest_pairs, row.n_pairs)
    lines = [
        f"demonstrations: {whole}; pairs: {pairs}",
        f"{row.n_states} states, {row.n_features} features, "
        f"{row.n_facets} facets, {row.n_equalities} equalities",
    ]
    return result_fragment(shown_name(row.name), lines)


@fragment.register
def ranking_fragment(rows: DifficultyRanking) -> str:
    """Tasks, the hardest to teach first."""
    said, table = describe_ranking(list(rows)), ranking_table(list(rows))
    lines = said.following(details=True, indent="")
    return result_fragment(said.verdict, lines, table, tuple(table[0]) if table else ())


@fragment.register
def run_fragment(run: Run) -> str:
    """What was asked, and what was known after each answer."""
    mdp = run.belief.mdp
    said, table = describe_run(run), run_table(run, lambda state: state_words(mdp, state))
    return result_fragment(said.verdict, said.following(indent=""), table, tuple(table[0]))


@fragment.register
def comparison_fragment(found: StrategyComparison) -> str:
    """Strategies against each other."""
    title = f"{counted(len(found.tasks), 'world')}, {counted(found.n_queries, 'question')} each"
    columns = ("strategy", "area", "difference", "low", "high", "n_better", "share_mixed")
    line = "area: mean policy loss; difference to the baseline with its 95% interval"
    return result_fragment(title, [line], found.to_records(), columns)


@fragment.register
def exam_fragment(exam: Exam) -> str:
    """What an exam decides, and its questions without the key."""
    rows = [{"question": i, "asked": q.words} for i, q in enumerate(exam.questions, start=1)]
    told = [f"a pass says: {exam.statement}", *(f"if {words}" for words in exam.conditions)]
    return result_fragment(exam_line(exam), told, rows, ("question", "asked"))


@fragment.register
def audit_fragment(audit: Audit) -> str:
    """The verdict on an agent, and why."""
    lines = list(describe_audit("", audit).following(indent=""))
    return result_fragment(f"{VERDICTS[audit.verdict]}: {audit.reason}", lines)


def mixed_lesson_fragment(lesson: Lesson) -> str:
    """The items of a lesson and what each is for."""
    rows = [
        {"item": i + 1, "said": words, "why": lesson.why(i)} for i, words in enumerate(lesson.words)
    ]
    told = [f"open: {missing.words}" for missing in lesson.uncovered]
    return result_fragment(shown_name(mixed_line(lesson), 120), told, rows, ("item", "said", "why"))


MARGIN, LENGTH = 4, 192


@fragment.register
def belief_in_notebook(belief: Belief) -> str:
    """The table of a belief, places named by its task where that is known."""
    return _fragment(size_in_words(belief), belief, None, belief.where)


def belief_fragment(task: Task, belief: Belief, evaluation: Evaluation | None = None) -> str:
    """HTML that stands alone in any page: a table with drawn intervals, and words."""
    return _fragment(f"{task.name}: {size_in_words(belief)}", belief, evaluation, task)


def _fragment(title: str, belief: Belief, evaluation: Evaluation | None, where: MDP | Task) -> str:
    rows = belief.summary()
    unsure, n_agreed = unsure_states(belief, where)
    task = where if isinstance(where, Task) else None
    scale = Scale.of(rows)
    return render(
        "belief.html.jinja",
        title=title,
        heads=[*weight_cells(belief, rows[0]), "90% interval"],
        rows=[(weight_cells(belief, row).values(), _interval(scale, row)) for row in rows],
        unsure=unsure,
        agreed=f"In {counted(n_agreed, 'state')} the draws agree on what to do.",
        lines=[
            *told_lines(belief, evaluation, task),
            *open_lines(belief),
            *(f"Warning: {w}" for w in belief.warnings),
        ],
    )


def _interval(scale: Scale, row: dict[str, Any]) -> dict[str, Any]:
    """Places along a small picture: zero, the most likely weight, 90% of the draws if there are."""
    zero, best, low, high = (
        MARGIN + scale.place(value, LENGTH) for value in (0.0, row["map"], row["5%"], row["95%"])
    )
    words, ends = f"most likely {row['map']:.3g}", None
    if not np.isnan(low):
        words += f", 90% from {row['5%']:.3g} to {row['95%']:.3g}"
        ends = low, high
    return {"words": words, "zero": zero, "best": best, "ends": ends}
