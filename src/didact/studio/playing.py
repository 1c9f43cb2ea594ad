"""A person in the learner's place: sees a lesson, says what is best elsewhere, is compared.

The cells asked about are not among those shown. The score stands beside that of a Bayesian learner
(BIRL) after the same lesson, and after a random lesson of the same size. In another game a strategy
of active learning asks the person, and the learner's belief follows the answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from didact.active.ask import askable_states
from didact.active.situation import Situation, draws_for_tables
from didact.active.strategies import next_query
from didact.auditing import Audit, Exam, audit, exam
from didact.errors import InvalidParameter
from didact.inputs import choice, shown, whole_number
from didact.learners import Belief, learn
from didact.mdp import Demonstration, Family, Task
from didact.mdp.naming import action_words
from didact.planning import evaluate, rollout, solve
from didact.random import stream
from didact.report.page.lesson import demonstrations_piece
from didact.report.page.scene import scene_of, state_in_words
from didact.report.page.words import weights_words
from didact.studio.lessons import as_task, class_for, lesson_for, read_demonstrations, read_settings

STRATEGIES = ("max-var", "max-infogain", "max-entropy", "random")
MAX_LIKELIHOODS = 60_000
"""Likelihoods that a learner may compute for an answer."""
MAX_ASKED = 40


def quiz(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """A lesson to watch, and states to ask about afterwards: none of them is shown in it."""
    task = as_task(subject)
    bec, lesson = lesson_for(task, read_settings(question.get("settings", {})))
    asked = _unseen(task, lesson.demonstrations, question)
    scene = scene_of(task, bec.plan)
    return {
        "html": demonstrations_piece(task, lesson.demonstrations),
        "states": asked,
        "places": [state_in_words(task.mdp, state, scene) for state in asked],
        "actions": [action_words(task, action) for action in range(task.mdp.n_actions)],
        "demonstrations": [[list(pair) for pair in shown] for shown in lesson.demonstrations],
    }


def _unseen(task: Task, shown: Sequence[Demonstration], question: Mapping[str, Any]) -> list[int]:
    """States that the lesson does not show and where something is wrong, in a random order."""
    n = whole_number(question.get("n", 8), "n", 1, MAX_ASKED)
    seed = whole_number(question.get("seed", 0), "seed", 0, 2**31)
    seen = {state for each in shown for state, _ in each}
    optimal = solve(task.mdp, task.true_weights).optimal
    left = [s for s in askable_states(task).tolist() if s not in seen and not optimal[s].all()]
    drawn = stream(seed, "quiz").permutation(len(left))[:n].tolist()
    return [left[i] for i in drawn]


def score(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """How many answers are right, and how many of a learner's after this and a random lesson."""
    task = as_task(subject)
    shown = read_demonstrations(question.get("demonstrations"), task)
    answers = _read_answers(question.get("answers"), task)
    seed = whole_number(question.get("seed", 0), "seed", 0, 2**31)
    optimal = solve(task.mdp, task.true_weights).optimal
    states = [state for state, _ in answers]
    others = random_lesson(task, shown, seed)
    learned = {
        "birl": _right(optimal, learned_from(task, shown, seed), states),
        "random": _right(optimal, learned_from(task, others, seed), states),
    }
    return {
        "right": [bool(optimal[state, action]) for state, action in answers],
        "best": [np.flatnonzero(optimal[state]).tolist() for state in states],
        **learned,
    }


def _read_answers(given: Any, task: Task) -> list[tuple[int, int]]:
    (answers,) = read_demonstrations([given], task)
    if len(answers) > MAX_ASKED:
        raise InvalidParameter(f"answers must be at most {MAX_ASKED}; there are {len(answers)}")
    return list(answers)


def _right(optimal: Any, belief: Belief, states: Sequence[int]) -> float:
    """How many of the states a belief's most likely policy gets right; ties count in parts."""
    policy = belief.policy("map")
    return float(sum((policy[state] * optimal[state]).sum() for state in states))


def learned_from(task: Task, shown: Sequence[Demonstration], seed: int) -> Belief:
    """What a Bayesian learner believes after demonstrations; it need not have mixed for a game."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learn(task.mdp, list(shown), max_likelihoods=MAX_LIKELIHOODS, seed=seed)


def random_lesson(task: Task, shown: Sequence[Demonstration], seed: int) -> list[Demonstration]:
    """As many demonstrations of the same lengths, from random states."""
    rng = stream(seed, "random lesson")
    plan = solve(task.mdp, task.true_weights)
    best = plan.optimal.argmax(axis=1)
    states = askable_states(task)
    return [
        rollout(task.mdp, best, horizon=len(each), seed=rng, start=int(rng.choice(states)))
        for each in shown
    ]


def next_asked(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The state that a strategy asks about next, and what the learner believes so far."""
    task = as_task(subject)
    given = question.get("answers")
    answers = _read_answers(given, task) if given else []
    strategy = choice(question.get("strategy", STRATEGIES[0]), "strategy", STRATEGIES)
    seed = whole_number(question.get("seed", 0), "seed", 0, 2**31)
    belief = learned_from(task, [Demonstration([pair]) for pair in answers], seed)
    asked = [state for state, _ in answers]
    states = askable_states(task)
    situation = Situation(
        task=task,
        belief=belief,
        draws=draws_for_tables(belief, 200),
        open_states=states[~np.isin(states, asked)],
        asked=tuple(asked),
    )
    query = None
    if situation.open_states.size and len(asked) < MAX_ASKED:
        query = next_query(strategy, situation, stream(seed, "query", len(asked)), {})
    fares = evaluate(task, belief.map_weights)
    return {
        "state": None if query is None else query.state,
        "place": None if query is None else state_in_words(task.mdp, query.state, scene_of(task)),
        "actions": [action_words(task, action) for action in range(task.mdp.n_actions)],
        "sure": float(situation.agreement[states].mean()),
        "believed": weights_words(task.mdp, [float(w) for w in belief.map_weights.round(3)]),
        "loss": float(fares.policy_loss),
        "wrong": float(fares.wrong_actions),
    }


KINDS = ("comparisons", "actions")
SIDES = ("first", "second", "equal")


def exam_of(task: Task, question: Mapping[str, Any]) -> Exam:
    """The shortest exam of a world, of the kind that a question wants."""
    ask: Any = choice(question.get("ask", KINDS[0]), "ask", KINDS)
    scope = read_settings(question.get("settings", {}))["scope"]
    return exam(task, ask=ask, bec=class_for(task, scope))


def asked_exam(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The shortest exam of a world, without its key."""
    task = as_task(subject)
    made = exam_of(task, question)
    return {
        "questions": [
            {
                "kind": each.kind,
                "state": each.state,
                "words": each.words,
                "labels": list(each.labels),
            }
            for each in made.questions
        ],
        "statement": made.statement,
        "conditions": list(made.conditions),
        "is_fewest": made.is_fewest,
        "is_proved": made.is_proved,
        "can_pass": made.can_pass,
        "open": list(made.open),
    }


def graded_exam(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """The grade of answers to the exam of a world; the right one of each that was answered."""
    task = as_task(subject)
    made = exam_of(task, question)
    given = question.get("answers")
    if not isinstance(given, list) or len(given) != len(made.questions):
        raise InvalidParameter(
            f"answers must be a list, one for each of {len(made.questions)} questions; it is "
            f"{shown(given)}"
        )
    if all(answer is None for answer in given):
        raise InvalidParameter("answer a question first: an empty exam is not graded")
    told = [
        (None, None) if answer is None else (each.key, each.says)
        for each, answer in zip(made.questions, given, strict=True)
    ]
    return {
        **_graded(made.grade(given)),
        "key": [list(key) if isinstance(key, tuple) else key for key, _ in told],
        "says": [says for _, says in told],
    }


def audited_policy(subject: Task | Family, question: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a policy, one action for each state, is aligned with a world."""
    task = as_task(subject)
    given = question.get("policy")
    if not isinstance(given, list) or len(given) != task.mdp.n_states:
        raise InvalidParameter(
            f"policy must be a list of {task.mdp.n_states} actions, one for each state; it is "
            f"{shown(given)}"
        )
    actions = [
        whole_number(action, f"policy[{i}]", 0, task.mdp.n_actions - 1)
        for i, action in enumerate(given)
    ]
    scope = read_settings(question.get("settings", {}))["scope"]
    return _graded(audit(task, actions, bec=class_for(task, scope)))


def _graded(found: Audit) -> dict[str, Any]:
    told = found.to_dict()
    return {name: told[name] for name in ("verdict", "statement", "reason", "question", "loss")}
