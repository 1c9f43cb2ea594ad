"""A lesson as one HTML file: pictures inline, nothing loaded, readable on a phone and by ear."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from didact import __version__
from didact.bec.classes import EquivalenceClass
from didact.files.json import write_text
from didact.inputs import counted, shown_name
from didact.mdp import Task
from didact.report.page.curve import coverage_chart
from didact.report.page.facts import Belief, Facts, gather
from didact.report.page.halfspaces import half_space_picture, likely_pairs
from didact.report.page.scene import Box, Scene, scene_of
from didact.report.page.strips import (
    box_of,
    frame_of,
    frames,
    ground_symbol,
    player,
    state_in_words,
)
from didact.report.page.svg import amount, safe
from didact.report.page.words import (
    REASONS,
    assumptions,
    differences,
    example_words,
    loss_words,
    n_open,
    proof_words,
    python_command,
    verdict_words,
    weights_words,
    why_words,
)
from didact.report.page.world import astray_picture, legend, world_box, world_picture
from didact.teaching import Lesson

MOST_DEMONSTRATIONS, MOST_DIFFERENCES, MOST_PAIRS = 30, 8, 10
MOST_SAID, MOST_LISTED = 10, 60
"""Sentences that are seen at once, and that a list holds at all."""

CLOSED_TO_THE_NET = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)


def lesson_page(
    task: Task,
    lesson: Lesson,
    *,
    known: EquivalenceClass | None = None,
    verified: str | None = None,
    command: str | None = None,
    story: Sequence[str] = (),
    pair: tuple[int, int] | None = None,
) -> str:
    """The page of a lesson for its task, as HTML.

    known: the task's class, when it is at hand. verified: what the independent checker said of the
    proof. command: the command line that makes the page. story: paragraphs about where the reward
    comes from. pair: the two features of the half-space picture; by default the most telling ones.
    """
    facts = gather(task, lesson, known)
    scene = scene_of(task)
    boxes: list[Box] = []
    if scene is not None:
        boxes = [world_box(facts, scene)] + [
            box_of(frames(task, demonstration, scene), scene)
            for demonstration in lesson.demonstrations[:MOST_DEMONSTRATIONS]
        ]
        if facts.witness is not None:
            boxes.append(_astray_box(facts.witness, scene))
    body = "".join(
        [
            "" if scene is None else ground_symbol(scene, boxes),
            _header(facts, verified),
            "<main>",
            _story(story),
            _world(facts, scene),
            _demonstrations(facts, scene),
            _coverage(facts),
            _open(facts, scene),
            _half_spaces(facts, pair),
            _proof(facts, verified),
            _again(lesson, command),
            "</main>",
            f"<footer>Made with didact {safe(__version__)}. This file needs no network.</footer>",
        ]
    )
    return _document(f"{shown_name(task.name, 80)}: {verdict_words(facts)}", body)


def write_page(path: str | os.PathLike[str], task: Task, lesson: Lesson, **options: Any) -> None:
    """Write the page of a lesson; the file appears whole or not at all."""
    write_text(lesson_page(task, lesson, **options), path)


def lesson_fragment(task: Task, lesson: Lesson, **options: Any) -> str:
    """The page in a frame of its own, for a notebook."""
    page = escape(lesson_page(task, lesson, **options), quote=True)
    title = safe(f"Lesson for {task.name}", 80)
    return (
        f'<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts" '
        'style="width:100%;height:640px;border:1px solid #8884;border-radius:8px"></iframe>'
    )


def task_fragment(task: Task) -> str:
    """A task drawn in a frame of its own, for a notebook: the world, its features, its reward."""
    mdp, scene = task.mdp, scene_of(task)
    sizes = (
        f"{counted(mdp.n_states, 'state')}, {counted(mdp.n_actions, 'action')}, "
        f"{counted(mdp.n_features, 'feature')}, discount {float(mdp.exact_discount):g}"
    )
    drawn, height = "", 150 + 30 * min(mdp.n_features, 12)
    if scene is not None:
        box = scene.box_around([0], whole=30, most=30)
        drawn = ground_symbol(scene, [box]) + world_picture(task, None, scene, box)
        height += 380
    body = (
        f'<main><h1>{safe(task.name, 80)}</h1><p class="lead">{sizes}</p>'
        f"{drawn}{legend(task, scene)}</main>"
    )
    page = escape(_document(shown_name(task.name, 80), body, scripted=False), quote=True)
    return (
        f'<iframe title="{safe(task.name, 80)}" srcdoc="{page}" sandbox="" '
        f'style="width:100%;height:{min(height, 640)}px;border:1px solid #8884;border-radius:8px">'
        "</iframe>"
    )


def _document(title: str, body: str, *, scripted: bool = True) -> str:
    here = files("didact.report.page")
    style = here.joinpath("page.css").read_text(encoding="utf-8")
    script = here.joinpath("page.js").read_text(encoding="utf-8") if scripted else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CLOSED_TO_THE_NET}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{safe(title, 200)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n{body}\n"
        + (f"<script>\n{script}</script>\n" if scripted else "")
        + "</body>\n</html>\n"
    )


def _header(facts: Facts, verified: str | None) -> str:
    lesson = facts.lesson
    status = "✓ Complete" if lesson.is_complete else "◐ Partial"
    kind = "" if lesson.is_complete else " open"
    proof, _ = proof_words(facts, verified)
    sure = "badge" if lesson.proof is not None else "badge quiet"
    sign = "✓ " if verified is not None else ""
    badges = (
        f'<li class="badge{kind}">{status}</li><li class="{sure}">{sign}{safe(proof)}</li>'
        f'<li class="badge quiet">teacher: {safe(lesson.settings.get("teacher", "?"), 40)}</li>'
    )
    return (
        '<header><p class="mark">didact · lesson</p>'
        f"<h1>{safe(facts.task.name, 120)}</h1>"
        f'<p class="verdict">{safe(verdict_words(facts))}</p>'
        f'<ul class="badges">{badges}</ul>{_numbers(facts)}</header>'
    )


def _numbers(facts: Facts) -> str:
    lesson = facts.lesson
    loss = 0.0 if lesson.is_complete else facts.curve[-1].loss
    entries = [
        _counted(len(lesson.demonstrations), "demonstration"),
        _counted(lesson.n_pairs, "step"),
        (f"{facts.n_covered} / {len(facts.said)}", "constraints covered"),
        (amount(loss), "loss still possible" if lesson.is_complete else "loss still found"),
    ]
    cards = "".join(f"<div><dt>{safe(k)}</dt><dd>{safe(v)}</dd></div>" for v, k in entries)
    return f'<dl class="numbers">{cards}</dl>'


def _counted(n: int, thing: str) -> tuple[str, str]:
    """The number and what is counted, apart."""
    many, _, things = counted(n, thing).partition(" ")
    return many, things


def _section(title: str, inside: str, name: str) -> str:
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{safe(title)}</h2>{inside}</section>'
        if inside
        else ""
    )


def _story(story: Sequence[str]) -> str:
    told = "".join(f"<p>{safe(line, 1000)}</p>" for line in story)
    return _section("The policy", told and f'<div class="note">{told}</div>', "policy")


def _world(facts: Facts, scene: Scene | None) -> str:
    task, mdp = facts.task, facts.task.mdp
    sizes = (
        f"{counted(mdp.n_states, 'state')}, {counted(mdp.n_actions, 'action')}, discount "
        f"{float(mdp.exact_discount):g}, {'certain' if mdp.is_deterministic() else 'random'} moves."
    )
    drawn = ""
    if scene is not None:
        drawn = world_picture(task, facts.known.plan, scene, world_box(facts, scene))
    inside = (
        f'<p class="lead">{sizes} The reward is a sum of features; these are its true weights.</p>'
        f'<div class="card">{drawn}{legend(task, scene)}</div>'
    )
    return _section("The world", inside, "world-title")


def _demonstrations(facts: Facts, scene: Scene | None) -> str:
    lesson = facts.lesson
    n = len(lesson.demonstrations)
    cards = [_card(facts, scene, i) for i in range(min(n, MOST_DEMONSTRATIONS))]
    if n > MOST_DEMONSTRATIONS:
        cards.append(f"<p>And {n - MOST_DEMONSTRATIONS} more, in the lesson file.</p>")
    intro = f'<p class="lead">{safe(why_words(facts), 1000)}</p>'
    title = "The demonstration" if n == 1 else "The demonstrations, in the order to show them"
    return _section(title if n else "Nothing to show", intro + "".join(cards), "shown")


def _card(facts: Facts, scene: Scene | None, i: int) -> str:
    demonstration = facts.lesson.demonstrations[i]
    said = facts.said_by(i)
    telling = sorted({entry.step for entry in said if entry.step is not None})
    drawn = player(facts.task, demonstration, scene, number_of=i, telling=telling)
    title = f"Demonstration {i + 1} · {counted(len(demonstration), 'step')}"
    return f'<article class="card"><h3>{title}</h3>{drawn}{_says(facts, i, scene)}</article>'


def _says(facts: Facts, i: int, scene: Scene | None) -> str:
    """What a demonstration rules out, in words, with the step that shows it."""
    entries = []
    shown = frames(facts.task, facts.lesson.demonstrations[i], scene)
    for said in facts.said_by(i):
        jump = ""
        if said.step is not None:
            jump = (
                f' <button type="button" class="jump" data-demo="demo{i + 1}" '
                f'data-step="{frame_of(shown, said.step)}">★ step {said.step + 1}</button>'
            )
        entries.append(f"<li>{safe(said.words)}{jump}</li>")
    if not entries:
        return f"<p>{safe(facts.lesson.why(i))}</p>"
    example = example_words(facts, i, scene)
    before = "Without it" if i == 0 else "After the ones before it"
    told = (
        ""
        if example is None
        else (
            f'<p class="example">{before}, this reward would still fit: <b>{safe(example[0])}</b>. '
            f"{safe(example[1])} Now it is ruled out.</p>"
        )
    )
    return f"<h3>What it shows</h3>{_listed(entries)}{told}"


def _listed(entries: Sequence[str]) -> str:
    """A list of sentences; all but the first ones fold away."""
    first, rest = entries[:MOST_SAID], entries[MOST_SAID:MOST_LISTED]
    shown = f'<ul class="says">{"".join(first)}</ul>'
    if not rest:
        return shown
    left = len(entries) - MOST_LISTED
    more = f"<li>and {left} more</li>" if left > 0 else ""
    return (
        f"{shown}<details><summary>{len(entries) - MOST_SAID} more</summary>"
        f'<ul class="says">{"".join(rest)}{more}</ul></details>'
    )


def _coverage(facts: Facts) -> str:
    if not facts.said or not facts.lesson.demonstrations:
        return ""
    rows = "".join(
        f'<tr><td class="num">{p.n}</td><td class="num">{p.covered}</td>'
        f'<td class="num">{amount(p.loss)}</td></tr>'
        for p in facts.curve
    )
    table = (
        '<details><summary>The same as a table</summary><div class="scroll"><table><thead><tr>'
        '<th class="num">demonstrations</th><th class="num">constraints covered</th>'
        f'<th class="num">largest loss found</th></tr></thead><tbody>{rows}</tbody></table></div>'
        "</details>"
    )
    lead = (
        "How fast the lesson closes in: the constraints covered after each demonstration, and the "
        "largest loss found among rewards that still fit. The loss is what a learner who believes "
        "such a reward can lose from the start; the worst one may be larger."
    )
    chart = coverage_chart(facts.curve, len(facts.said))
    return _section(
        "Coverage", f'<p class="lead">{lead}</p><div class="card">{chart}{table}</div>', "coverage"
    )


def _open(facts: Facts, scene: Scene | None) -> str:
    n_situations = facts.n_situations
    if facts.lesson.is_complete:
        text = (
            "<p>Nothing. Every reward that fits what is shown leads to the same optimal actions "
            f"in all {n_situations} situations that count.</p>"
            if n_situations > 1
            else "<p>Nothing: every reward that fits leads to the same behaviour.</p>"
        )
        return _section("What stays open", text, "open")
    parts = [f"<p>{counted(n_open(facts), 'constraint')} of {len(facts.said)}:</p>"]
    parts.append(_open_list(facts, scene))
    if facts.witness is not None:
        parts.append(_witness(facts, facts.witness, scene))
    return _section("What stays open", "".join(parts), "open")


def _open_list(facts: Facts, scene: Scene | None) -> str:
    mdp, missing = facts.task.mdp, facts.lesson.uncovered
    entries = []
    for entry in missing:
        place = shown_name(state_in_words(mdp, entry.state, scene), 90)
        entries.append(
            f"<li><b>{safe(entry.words)}</b>. It would be shown by "
            f"{safe(mdp.action_name(entry.action), 40)} rather than "
            f"{safe(mdp.action_name(entry.other), 40)} in {safe(place)}; "
            f"{safe(REASONS.get(entry.reason, entry.reason))}.</li>"
        )
    return _listed(entries)


def _astray_box(belief: Belief, scene: Scene) -> Box:
    return scene.box_around(belief.astray[:200], whole=12, most=24)


def _witness(facts: Facts, belief: Belief, scene: Scene | None) -> str:
    mdp = facts.task.mdp
    drawn = ""
    if scene is not None and scene.kind == "grid":
        drawn = astray_picture(facts, belief, scene, _astray_box(belief, scene))
    rows = "".join(
        "<tr>" + "".join(f"<td>{safe(entry)}</td>" for entry in row) + "</tr>"
        for row in differences(facts, belief, scene, MOST_DIFFERENCES)
    )
    n_states = len(belief.astray)
    more = (
        "" if n_states <= MOST_DIFFERENCES else f"<p>And in {n_states - MOST_DIFFERENCES} more.</p>"
    )
    table = (
        '<div class="scroll"><table><thead><tr><th>where</th><th>the teacher</th>'
        f"<th>the believer</th></tr></thead><tbody>{rows}</tbody></table></div>{more}"
    )
    return (
        '<div class="card"><h3>A wrong reward that still fits</h3>'
        f"<p><b>{safe(weights_words(mdp, belief.weights))}</b></p>"
        f"<p>{safe(loss_words(belief))} It differs from the true behaviour in "
        f"{counted(n_states, 'situation')}:</p>"
        f'<div class="{"two" if drawn else ""}">{drawn}<div>{table}</div></div></div>'
    )


def _half_spaces(facts: Facts, pair: tuple[int, int] | None) -> str:
    known, shown = facts.known, facts.lesson.demonstrations
    k = facts.task.mdp.n_features
    if k == 1 or not facts.said:
        return ""
    if k == 2:
        witness = None if facts.witness is None else facts.witness.weights
        drawn = half_space_picture(known, shown, witness=witness)
        lead = "With two features this is the whole truth: a reward is a direction. "
        cross = " The dashed line with the cross is the wrong reward above." if witness else ""
    else:
        chosen = [pair] if pair is not None else likely_pairs(known, MOST_PAIRS)
        drawn = _slices(facts, chosen)
        lead = "A slice: two weights vary, the others keep their true values. "
        cross = ""
    lead += (
        "Every demonstration cuts away rewards; the darker, the more demonstrations a reward fits. "
        "The outline holds all rewards with the same behaviour. ★ is the true one." + cross
    )
    inside = f'<p class="lead">{safe(lead, 1000)}</p><div class="card">{drawn}</div>'
    return _section("Rewards that still fit", inside, "half-spaces")


def _slices(facts: Facts, pairs: Sequence[tuple[int, int]]) -> str:
    """A picture for each pair of features, and a choice between them where there are several."""
    mdp = facts.task.mdp
    drawn = [
        f'<div class="slice"{" hidden" if i else ""}>'
        f"{half_space_picture(facts.known, facts.lesson.demonstrations, pair=pair)}</div>"
        for i, pair in enumerate(pairs)
    ]
    if len(drawn) == 1:
        return drawn[0]
    options = "".join(
        f"<option>{safe(mdp.feature_name(i), 40)} and {safe(mdp.feature_name(j), 40)}</option>"
        for i, j in pairs
    )
    choice = (
        '<p class="choose" hidden><label>Weights: <select data-shows="slice">'
        f"{options}</select></label></p>"
    )
    return choice + "".join(drawn)


def _proof(facts: Facts, verified: str | None) -> str:
    title, sentence = proof_words(facts, verified)
    taken = "".join(f"<li>{safe(line, 600)}</li>" for line in assumptions(facts))
    bound = facts.lesson.lower_bound if facts.lesson.is_complete else None
    least = ""
    if bound is not None and facts.lesson.demonstrations:
        cost, least_cost = float(facts.lesson.cost), float(bound)
        least = (
            "<p>No lesson made of such demonstrations is cheaper.</p>"
            if least_cost >= cost
            else f"<p>It costs {amount(cost)}; no lesson of such demonstrations costs less than "
            f"{amount(least_cost)}.</p>"
        )
    return _section(
        "Proof and assumptions",
        f'<div class="card"><h3>{safe(title)}</h3><p>{safe(sentence, 600)}</p>{least}'
        f'<h3>What is taken for granted</h3><ul class="says">{taken}</ul></div>',
        "proof",
    )


def _again(lesson: Lesson, command: str | None) -> str:
    code = command if command is not None else python_command(lesson)
    return _section(
        "Make it again",
        f'<pre tabindex="0"><code>{escape(code[:4000])}</code></pre>'
        '<button type="button" class="copy" hidden>Copy</button>',
        "again",
    )
