"""No verdict depends on how a model is written down.

States and actions are numbered anew, states that nothing leads to are added, rewards are measured
in other units, and a state is split into two copies that share what leads to it. Statuses, costs,
bounds and numbers of questions stay; which demonstrations and questions are taken may change.
Models are drawn by number, so a failure names its model.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import didact
from didact.mdp import MDP, Task, Transitions
from tests.effort import chunks, try_each
from tests.laws.test_bec import Drawn, draw, draw_row
from tests.models import terminal_states

N_QUICK_CHUNKS, N_CHUNKS, CHUNK = 1, 160, 24
Pair = tuple[int, int]


@dataclass(frozen=True)
class Written:
    """A model, the chance of each start, and how steps of the drawn model are written in it.

    copies: for each drawn state its numbers here. actions: for each drawn action its number.
    scale: what returns are multiplied by.
    """

    drawn: Drawn
    shares: dict[int, Fraction]
    copies: list[list[int]]
    actions: list[int]
    scale: Fraction = Fraction(1)
    is_split: bool = False

    def task(self) -> Task:
        drawn = self.drawn
        rows = [
            (s, a, t, p)
            for s, actions in enumerate(drawn.moves)
            for a, targets in enumerate(actions)
            for t, p in targets.items()
        ]
        mdp = MDP(
            Transitions.from_rows(rows, len(drawn.moves), len(drawn.moves[0])),
            drawn.phi if drawn.wide else [state[0] for state in drawn.phi],
            drawn.discount,
            start=[[s, share] for s, share in self.shares.items()],
            terminal=terminal_states(drawn.terminal),
        )
        return Task(mdp, drawn.weights)

    def steps(self, pairs: list[Pair], rng: random.Random) -> list[Pair]:
        """A demonstration as it is written here."""
        return [(rng.choice(self.copies[s]), self.actions[a]) for s, a in pairs]

    def policy(self, taken: list[int]) -> np.ndarray:
        """Probabilities of actions; where the drawn model has no such state, of the first one."""
        found = np.zeros((len(self.drawn.moves), len(self.actions)))
        found[:, 0] = 1.0
        for s, action in enumerate(taken):
            found[self.copies[s]] = np.eye(len(self.actions))[self.actions[action]]
        return found


def as_drawn(drawn: Drawn) -> Written:
    shares = {s: Fraction(1, len(drawn.starts)) for s in drawn.starts}
    n, m = len(drawn.moves), len(drawn.moves[0])
    return Written(drawn, shares, [[s] for s in range(n)], list(range(m)))


def renumbered(drawn: Drawn, rng: random.Random) -> Written:
    states, actions = list(range(len(drawn.moves))), list(range(len(drawn.moves[0])))
    rng.shuffle(states)
    rng.shuffle(actions)
    shares = {states[s]: Fraction(1, len(drawn.starts)) for s in drawn.starts}
    return Written(drawn.renamed(states, actions), shares, [[s] for s in states], actions)


def with_unreachable(drawn: Drawn, rng: random.Random) -> Written:
    """One to three states more, that lead anywhere and pay anything; nothing leads to them."""
    old = as_drawn(drawn)
    moves, phi, terminal = list(drawn.moves), list(drawn.phi), list(drawn.terminal)
    m = len(moves[0])
    n = len(moves) + rng.randint(1, 3)
    while len(moves) < n:
        ends = rng.random() < 0.2
        moves.append([{} if ends else draw_row(rng, n, rng.randint(1, 2)) for _ in range(m)])
        size = Fraction(10) ** rng.choice([0, 0, 13])
        rows = [[size * rng.randint(-3, 3) for _ in range(drawn.k)] for _ in range(m)]
        phi.append(rows if drawn.wide and not ends else [rows[0]] * m)
        terminal.append(ends)
    wider = replace(drawn, moves=moves, phi=phi, terminal=terminal)
    return replace(old, drawn=wider)


def in_other_units(drawn: Drawn, rng: random.Random) -> Written:
    """Each feature in a unit of its own, its weight to match, and all weights times a number."""
    factor = rng.choice([Fraction(1, 7), Fraction(3), Fraction(10) ** 6, Fraction(1, 10**9)])
    units = [rng.choice([Fraction(1), Fraction(2, 3), Fraction(1000)]) for _ in range(drawn.k)]
    phi = [
        [[x * unit for x, unit in zip(row, units, strict=True)] for row in rows]
        for rows in drawn.phi
    ]
    weights = [factor * w / unit for w, unit in zip(drawn.weights, units, strict=True)]
    return replace(as_drawn(drawn), drawn=replace(drawn, phi=phi, weights=weights), scale=factor)


def split(drawn: Drawn, rng: random.Random) -> Written:
    """Two copies of a state; what leads to it leads to each of them, with shares of its chance."""
    state, copy = rng.randrange(len(drawn.moves)), len(drawn.moves)
    share = Fraction(rng.randint(1, 4), 5)
    old = as_drawn(drawn)

    def shared(row: dict[int, Fraction]) -> dict[int, Fraction]:
        if state not in row:
            return dict(row)
        return {**row, state: share * row[state], copy: (1 - share) * row[state]}

    moves = [[shared(row) for row in rows] for rows in (*drawn.moves, drawn.moves[state])]
    wider = replace(
        drawn,
        moves=moves,
        phi=[*drawn.phi, drawn.phi[state]],
        terminal=[*drawn.terminal, drawn.terminal[state]],
    )
    copies = [[s, copy] if s == state else [s] for s in range(copy)]
    return replace(old, drawn=wider, shares=shared(old.shares), copies=copies, is_split=True)


WRITINGS = {
    "renumbered": renumbered,
    "with unreachable states": with_unreachable,
    "in other units": in_other_units,
    "split": split,
}


def some_steps(drawn: Drawn, rng: random.Random, best: list[list[int]]) -> list[list[Pair]]:
    """Demonstrations from states in scope, mostly of best actions; none visits an idle state."""
    found = []
    for _ in range(rng.randint(1, 4)):
        state, pairs = rng.choice(drawn.starts), []
        for _ in range(rng.randint(1, 4)):
            if drawn.terminal[state]:
                break
            wrong = rng.random() < 0.1
            action = rng.choice(range(len(drawn.moves[0])) if wrong else best[state])
            pairs.append((state, action))
            state = rng.choice(sorted(drawn.moves[state][action]))
        found.append(pairs)
    return found


def verdicts(written: Written, drawn: Drawn, number: int) -> dict[str, Any]:
    """What is said of a model, as it is written; choices are those of the drawn model."""
    rng, luck = random.Random(f"choices {number}"), random.Random(f"copies {number}")
    task, scope = written.task(), drawn.scope
    original = as_drawn(drawn).task()
    plan = didact.solve(original, arithmetic="exact")
    best = [plan.optimal_actions(s) for s in range(len(drawn.moves))]
    bec = didact.equivalence_class(task, scope=scope, arithmetic="exact")
    options = {"bec": bec, "scope": scope}
    said: dict[str, Any] = {
        "facets": bec.cone.n_facets,
        "equalities": len(bec.cone.lineality),
        "rank": bec.cone.rank,
    }
    cost, horizon = rng.choice(["demonstrations", "pairs"]), rng.choice([1, 1, 2, 3])
    limits = {"horizon": horizon, "cost": cost, "min_probability": 0, "trim": False}
    lesson = didact.teach(task, teacher="exact", **limits, **options)
    said["lesson"] = lesson.status
    said["bounds"] = (lesson.lower_bound, lesson.cost if lesson.is_complete else None)
    said["scot"] = didact.teach(task, horizon=1, **options).status
    recorded = some_steps(drawn, rng, best)
    shown = [written.steps(pairs, luck) for pairs in recorded]
    verdict = didact.check(task, shown, **options)
    gaps = [wrong.exact_gap / written.scale for wrong in verdict.wrong]
    said["check"] = (verdict.teaches, verdict.right_teaches, verdict.n_open, gaps)
    if not written.is_split:  # of two copies both must be shown
        said["closed"] = verdict.closed
    chosen = didact.select(task, shown, method="exact", **options)
    said["select"] = (len(chosen.chosen), chosen.n_covered, chosen.verdict.teaches)
    asks = ("comparisons", "actions", *([] if written.is_split else ["preferences"]))
    for ask in asks:  # two trajectories cannot show what depends on chance
        exam = didact.exam(task, ask=ask, bec=bec)
        said[f"exam of {ask}"] = exam.can_pass
        if ask == "comparisons" or not written.is_split:  # copies are states to ask about
            said[f"size of {ask}"] = (exam.lower_bound, len(exam.open))
        if ask == "comparisons":
            said["questions"] = len(exam)
    weights = [w + rng.choice([0, 0, 1, -1]) for w in drawn.weights]
    units = zip(weights, drawn.weights, written.drawn.weights, strict=True)
    agent = [new * (w / old) if old else w * written.scale for w, old, new in units]
    if all(drawn.weights):
        said["weights"] = didact.audit(task, agent, **options).verdict
    taken = [rng.choice(best[s] or [0]) for s in range(len(drawn.moves))]
    if rng.random() < 0.5:
        taken[rng.choice(drawn.starts)] = rng.randrange(len(drawn.moves[0]))
    said["policy"] = didact.audit(task, written.policy(taken), **options).verdict
    if number % 8 == 0:
        (row,) = didact.rank([task], arithmetic="exact")
        said["rank of task"] = (row.error, row.status, row.fewest_pairs, row.fewest_demonstrations)
    return said


def check_one(number: int) -> dict[str, bool]:
    """All ways of writing one model down; which one was tried."""
    drawn, rng = draw(number), random.Random(f"writing {number}")
    name = list(WRITINGS)[number % len(WRITINGS)]
    if name == "with unreachable states":
        drawn = replace(drawn, scope="reachable")
    before = verdicts(as_drawn(drawn), drawn, number)
    after = verdicts(WRITINGS[name](drawn, rng), drawn, number)
    (low, cost), (other_low, other_cost) = before.pop("bounds"), after.pop("bounds")
    differs = {key: (before[key], said) for key, said in after.items() if before[key] != said}
    assert not differs, (name, differs)
    if cost is not None and low is not None and other_low is not None:
        assert low <= other_cost, "a bound is on every lesson"
        assert other_low <= cost, "a bound is on every lesson"
    return {
        name: True,
        "partial": before["lesson"] == "partial",
        "fewest": cost is not None and low == cost == other_low == other_cost,
        "ties": before["equalities"] > 0,
        "passes": before["policy"] == "pass",
    }


@pytest.mark.parametrize("chunk", chunks(N_QUICK_CHUNKS, N_CHUNKS))
def test_no_verdict_depends_on_how_a_model_is_written(chunk):
    numbers = range(chunk * CHUNK, (chunk + 1) * CHUNK)
    shares = {**dict.fromkeys(WRITINGS, 0.2), "partial": 0.02, "ties": 0.1, "passes": 0.2}
    shares["fewest"] = 0.5
    try_each(check_one, numbers, shares)
