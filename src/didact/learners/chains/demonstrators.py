"""Simulated demonstrators of a task: doing it, teaching it, erring, or biased.

'doing' draws trajectories of the softmax policy of the true reward; 'scot' shows SCOT's lesson in
its order, again from its beginning where that is too short; 'informative' chooses among many drawn
sets with probabilities proportional to exp(-trust gap), the model of `informativeness`; 'noisy'
draws at a hundredth of the confidence; 'myopic' plans with the tenth power of the discount; 'blind'
does not see the feature of the largest weight.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from didact.inputs import choice, explains_names, finite_number, instance, whole_number
from didact.learners.chains.information_gap import InformationGap
from didact.learners.chains.informativeness import walks_of
from didact.learners.evidence import as_evidence, softmax
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.family import disjoint_union
from didact.planning.batch import action_values_of
from didact.random import Seed, as_generator
from didact.teaching import teach
from didact.worlds.opening import named_world

Kind = Literal["doing", "scot", "informative", "noisy", "myopic", "blind"]
POOL = 1_000
"""Sets that an informative demonstrator chooses among."""


@explains_names
def demonstrate(
    task: Task | Family,
    kind: Kind = "doing",
    *,
    n: int = 8,
    horizon: int = 1,
    confidence: float = 100.0,
    trust: float = 10.0,
    seed: Seed = 0,
) -> tuple[Demonstration, ...]:
    """Demonstrations of a simulated demonstrator, who knows the task's weights.

    task: the task; its start distribution draws the starts, except of 'scot', who chooses. Of a
        family any member is as likely.
    kind: 'doing', 'scot', 'informative', 'noisy', 'myopic' or 'blind'.
    n: how many demonstrations.
    horizon: their most steps; a terminal state ends one before.
    confidence: inverse temperature alpha of the softmax policy.
    trust: of 'informative', the lambda that it teaches with.
    seed: None, a whole number, or a generator.
    """
    task = named_world(task)
    if isinstance(task, Family):
        union = disjoint_union(task)
        options: dict[str, Any] = {"confidence": confidence, "trust": trust, "seed": seed}
        shown = demonstrate(union.task, kind, n=n, horizon=horizon, **options)
        return tuple(union.parted(each) for each in shown)
    instance(task, Task, "task")
    choice(kind, "kind", get_args(Kind))
    whole_number(n, "n", 1)
    whole_number(horizon, "horizon", 1)
    level, trust = finite_number(confidence, "confidence", 0), finite_number(trust, "trust", 0)
    rng = as_generator(seed, "demonstrate")
    if kind == "scot":
        lesson = teach(task, teacher="scot", horizon=horizon, trim=False).demonstrations
        return tuple(lesson[i % len(lesson)] for i in range(n)) if lesson else ()
    mdp, level = task.mdp, level / 100 if kind == "noisy" else level
    seen_as, weights = mdp, task.weights.copy()  # what the demonstrator plans with
    if kind == "blind":
        weights[np.abs(weights).argmax()] = 0.0
    elif kind == "myopic":
        model = mdp.transitions, mdp.features, mdp.exact_discount**10
        seen_as = MDP(*model, start=mdp.start, terminal=mdp.terminal)
    policy = softmax(action_values_of(seen_as, weights[None])[0], level)[0]
    size = POOL if kind == "informative" else 1
    begin = np.where(mdp.terminal, 0.0, mdp.start.floats)
    starts = rng.choice(mdp.n_states, size=n, p=begin / begin.sum())
    blocks = [walks_of(mdp, policy, np.full(size, start), horizon, rng) for start in starts]
    chosen = 0
    if kind == "informative":
        first = as_evidence(task, [_demonstration(mdp, block[0]) for block in blocks])
        gap = InformationGap(first, horizon).of_reward(task.weights)
        chances = np.exp(-trust * gap.of_sets(np.concatenate(blocks, axis=1)))
        chosen = int(rng.choice(size, p=chances / chances.sum()))
    return tuple(_demonstration(mdp, block[chosen]) for block in blocks)


def _demonstration(mdp: MDP, pairs: np.ndarray) -> Demonstration:
    return Demonstration([divmod(pair, mdp.n_actions) for pair in pairs.tolist() if pair >= 0])
