"""Query strategies: which state, or which two actions of a state, to ask about next.

A strategy is a function of a `Situation` and a generator. It returns scores (S,), and the open
state with the highest is asked; or a state; or scores (S, A, A) of pairs of actions, to ask which
of the two is better; or a Demonstration, the question with its answer (the teaching benchmarks); or
None, when it has nothing more to ask.

Random: the baseline that every other strategy should beat.

Max entropy (Lopes, Melo and Montesano 2009) asks where the action is least known. In each state and
for each action the belief has a distribution of pi_w(a|s), the probability that a softmax
demonstrator with weights w takes the action. It is put into bins of [0, 1], and the score of a
state is the mean over the actions of the entropies of those histograms. It is not the entropy of
the mean policy: two actions that are known to be equally good are known, and score 0.

Max VaR (Brown, Cui and Niekum 2018) asks where the learned policy may lose most. For weights w_i
drawn from the belief and the policy of the most likely weights, the loss from a state is EVD_i(s) =
V*_{w_i}(s) - V^{pi_MAP}_{w_i}(s). A state's score is the 0.95 quantile of its losses over the
draws, the value at risk.

Max infogain asks where the answer is expected to change the belief most.

The expected information gain of an answer is the mean over answers of KL(belief after it || belief
before it), which is the mutual information of weights and answer. For a single action it is
H(E pi_w) - E H(pi_w), the entropy of the mean policy less the mean entropy (BALD). The likelihood
of an answer is the learner's own, the softmax policy at its confidence.

A trajectory tells one action after another, and where the world moves tells nothing new. So by the
chain rule its gain is the sum over its steps of the gain of that action under the belief after the
steps before, in expectation over trajectories. They are drawn from the belief itself; each step's
gain is exact, which leaves less noise than drawing log-likelihood ratios.

Which of two actions is better has two answers, a with the probability p_w(a) / (p_w(a) + p_w(b)).

SCOT and exact are benchmarks: the demonstrations that a teacher who knows the reward would show, in
that order. SCOT's sequence is greedy, a benchmark that active learning is measured against and no
lower bound: a learner with luck may need fewer. The exact minimum is a bound, but for one thing
only: fewer demonstrations of this kind cannot pin down the class of the reward. Both look at the
true weights, so neither is a way to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from didact.active.situation import Situation
from didact.errors import InvalidParameter
from didact.inputs import flag, is_whole, plain_array, shown, whole_number
from didact.learners.risk import value_at_risk
from didact.mdp import MDP, Demonstration
from didact.mdp.demonstrations import as_demonstrations
from didact.numerics.exact import Floats
from didact.registry import Registry
from didact.teaching import teach

Strategy = Callable[..., Any]
Function = TypeVar("Function", bound=Strategy)

ENTRY_POINTS = "didact.strategies"

BINS = 10
"""The paper's number of bins, K."""

EDGE = 1e-9
"""A probability so little above the edge of a bin lies on it: ties come with rounding."""

LEVEL = 0.95
"""Of the value at risk, as in the paper on max VaR."""

TIED = 1e-12
"""Scores closer to the best than this, relative to it, are as good; the lowest state is asked.
Without it rounding would decide between states that are equally good, by machine."""


@dataclass(frozen=True)
class Query:
    """The state to ask about, its score where there are scores, and an answer that is known.

    actions: the two to compare; None to ask what to do.
    """

    state: int
    score: float | None = None
    answer: Demonstration | None = None
    actions: tuple[int, int] | None = None


def random_queries(
    situation: Situation, rng: np.random.Generator, *, comparisons: bool = False
) -> Floats:
    """Scores (S,) that are uniform random numbers, so each open state is equally likely.

    comparisons: ask which of two actions is better: scores (S, A, A) instead.
    """
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    if flag(comparisons, "comparisons"):
        return rng.random((n_states, n_actions, n_actions))
    return rng.random(n_states)


def max_entropy(situation: Situation, rng: np.random.Generator, *, n_bins: int = BINS) -> Floats:
    """The score of every state (S,): how spread the belief is over its action probabilities."""
    return binned_entropy(situation.policies, n_bins)


def binned_entropy(policies: Floats, n_bins: int = BINS) -> Floats:
    """Mean over the actions of the entropy, in nats, of the binned pi_w(a|s): (S,).

    policies: (draws, S, A). Bins are open on the left and closed on the right, as in the paper, so
    1/2 is in the fifth of ten; the first one holds 0 too.
    """
    count = whole_number(n_bins, "n_bins", 1)
    n_draws, n_states, n_actions = policies.shape
    scores = np.zeros(n_states)
    for action in range(n_actions):
        bins = np.clip(np.ceil(policies[:, :, action] * count - EDGE) - 1.0, 0.0, count - 1.0)
        for number in range(count):
            shares = (bins == number).sum(axis=0) / n_draws
            scores += entropy_terms(shares)
    return np.asarray(scores / n_actions)


def max_var(situation: Situation, rng: np.random.Generator, *, level: float = LEVEL) -> Floats:
    """The score of every state (S,): the value at risk of the learned policy's loss from it.

    It is an order statistic, the smallest loss that at least a share `level` of the draws does not
    exceed; nothing is interpolated.
    """
    return np.asarray(value_at_risk(situation.losses, level))


ROLLOUTS = 10
"""Trajectories drawn from each state."""

MAX_SHARES = 1_000_000
"""Paths times draws that are held at once, 8 MB; more start states are taken in blocks."""


def max_infogain(
    situation: Situation,
    rng: np.random.Generator,
    *,
    n_rollouts: int = ROLLOUTS,
    comparisons: bool = False,
) -> Floats:
    """The score of every state (S,): the expected gain of the answer there, in nats.

    Single actions exactly, trajectories by `n_rollouts` from each state; states that are not open
    score 0. comparisons: that of every two actions (S, A, A) instead.
    """
    count = whole_number(n_rollouts, "n_rollouts", 1)
    if flag(comparisons, "comparisons"):
        return pair_information(situation)
    if situation.horizon == 1:
        return action_information(situation.policies)
    scores: Floats = np.zeros(situation.mdp.n_states)
    scores[situation.open_states] = trajectory_information(
        situation.mdp,
        situation.policies,
        situation.open_states,
        horizon=situation.horizon,
        n_rollouts=count,
        rng=rng,
    )
    return scores


def pair_information(situation: Situation) -> Floats:
    """The expected gain, in nats, of being told which of two actions is better: (S, A, A)."""
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    scores = np.zeros((n_states, n_actions, n_actions))
    for a in range(n_actions):
        for b in range(a + 1, n_actions):
            chance = situation.rather(a, b)
            mean = chance.mean(axis=0)
            answers = entropy_terms(mean) + entropy_terms(1.0 - mean)
            noise = (entropy_terms(chance) + entropy_terms(1.0 - chance)).mean(axis=0)
            scores[:, a, b] = scores[:, b, a] = np.maximum(answers - noise, 0.0)
    return scores


def entropy_terms(probabilities: Floats) -> Floats:
    """-p log p of each entry; 0 where p is 0."""
    return np.asarray(-probabilities * np.log(np.where(probabilities > 0.0, probabilities, 1.0)))


def action_information(policies: Floats) -> Floats:
    """H(E pi_w) - E H(pi_w) of every state, in nats: (draws, S, A) -> (S,); never negative."""
    mean = entropy_terms(policies.mean(axis=0)).sum(axis=1)
    return np.asarray(np.maximum(mean - policy_entropies(policies).mean(axis=0), 0.0))


def policy_entropies(policies: Floats) -> Floats:
    """The entropy of each draw's policy in each state: (draws, S, A) -> (draws, S)."""
    return np.asarray(entropy_terms(policies).sum(axis=2))


def trajectory_information(
    mdp: MDP,
    policies: Floats,
    states: NDArray[np.int64],
    *,
    horizon: int,
    n_rollouts: int,
    rng: np.random.Generator,
) -> Floats:
    """The expected gain, in nats, of a trajectory of `horizon` steps from each state (m,).

    All states are given the same random numbers, so that a score depends on its state alone.
    """
    uniforms = rng.random((n_rollouts, horizon, 2))
    tables = belief_tables(policies)
    size = max(1, MAX_SHARES // (n_rollouts * len(policies)))
    blocks = [states[first : first + size] for first in range(0, len(states), size)]
    return np.concatenate([rollout_gains(mdp, tables, block, uniforms) for block in blocks])


def belief_tables(policies: Floats) -> Floats:
    """pi_w(a|s) and, in the last row, the entropy of pi_w in s: (draws, S, A) -> (S, A + 1, draws).

    The draws stand last: the sums over a belief then run along memory.
    """
    entropies = policy_entropies(policies).T[:, None]
    return np.concatenate([policies.transpose(1, 2, 0), entropies], axis=1)


def rollout_gains(mdp: MDP, tables: Floats, states: NDArray[np.int64], uniforms: Floats) -> Floats:
    """The mean gain of trajectories from each state, drawn from a belief that learns on the way.

    tables: see `belief_tables`. uniforms: (rollouts, horizon, 2), for the action and the move of
    each step; every state has the same.
    """
    n_rollouts, horizon, _ = uniforms.shape
    paths, at = np.arange(len(states) * n_rollouts), np.repeat(states, n_rollouts)
    shares = np.full((len(paths), tables.shape[2]), 1.0 / tables.shape[2])
    gains = np.zeros(len(paths))
    for step in range(horizon):
        chance, luck = uniforms[paths % n_rollouts, step].T
        sums = np.empty((len(paths), tables.shape[1]))
        for state in np.unique(at).tolist():
            here = at == state
            # One product for each path: one of all paths would round by how many there are.
            sums[here] = np.matmul(tables[state], shares[here][:, :, None])[:, :, 0]
        mixture, noise = sums[:, :-1], sums[:, -1]
        gains[paths] += np.maximum(entropy_terms(mixture).sum(axis=1) - noise, 0.0)
        chosen = _drawn_actions(mixture, chance)
        shares *= tables[at, chosen]
        shares /= mixture[np.arange(len(paths)), chosen, None]
        at = _drawn_successors(mdp, at * mdp.n_actions + chosen, luck)
        going = ~mdp.terminal[at]
        if not going.all():
            paths, at, shares = paths[going], at[going], shares[going]
    return np.asarray(gains.reshape(len(states), n_rollouts).mean(axis=1))


def _drawn_actions(mixture: Floats, uniforms: Floats) -> NDArray[np.intp]:
    """The action on which each number falls; where sums round below 1, the last possible one."""
    possible = mixture > 0.0
    hit = possible & (uniforms[:, None] < np.cumsum(mixture, axis=1))
    last = mixture.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)
    return np.asarray(np.where(hit.any(axis=1), hit.argmax(axis=1), last))


def _drawn_successors(mdp: MDP, pairs: NDArray[np.intp], uniforms: Floats) -> NDArray[Any]:
    """The successor of each pair s*A + a on which its number falls."""
    moves, probabilities = mdp.transitions, mdp.transitions.probabilities.floats
    entry, last = moves.offsets[pairs], moves.offsets[pairs + 1] - 1
    height = probabilities[entry]
    while (further := (entry < last) & (uniforms >= height)).any():
        entry[further] += 1
        height[further] += probabilities[entry[further]]
    return moves.successors[entry]


def scot_sequence(situation: Situation, rng: np.random.Generator) -> Demonstration | None:
    """The next demonstration of SCOT's lesson; None when it is over."""
    return _next(situation, "scot")


def exact_sequence(situation: Situation, rng: np.random.Generator) -> Demonstration | None:
    """The next demonstration of the proved smallest lesson; None when it is over."""
    return _next(situation, "exact")


def _next(situation: Situation, teacher: str) -> Demonstration | None:
    # The whole lesson is taught before the first question; the memory holds what is left of it.
    if teacher not in situation.memory:
        lesson = teach(
            situation.task,
            teacher=teacher,
            horizon=situation.horizon,
            starts=situation.open_states.tolist(),
            bec=situation.memory.get("bec"),
            trim=False,
        )
        situation.memory[teacher] = list(lesson.demonstrations)
    left: list[Demonstration] = situation.memory[teacher]
    return left.pop(0) if left else None


BUILT_IN = {
    "random": random_queries,
    "max-entropy": max_entropy,
    "max-infogain": max_infogain,
    "max-var": max_var,
    "scot": scot_sequence,
    "exact": exact_sequence,
}

_strategies: Registry[Strategy] = Registry("strategy", ENTRY_POINTS, BUILT_IN)


def register_strategy(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the strategy `name`; it stays an ordinary function.

    name: by which `ask` and the command line know it. The function takes a situation and a
        generator and returns scores of states or of pairs of actions, a state or None; its further
        parameters become `strategy_options`.
    """
    return _strategies.decorator(name)


def strategies() -> Mapping[str, Strategy]:
    """Every strategy by name: the built-in, the registered, the installed (entry points)."""
    return _strategies.everything()


strategy_name, find_strategy = _strategies.name_of, _strategies.find


def next_query(
    name: str, situation: Situation, rng: np.random.Generator, options: Mapping[str, Any]
) -> Query | None:
    """The strategy's next question, checked; None when it has none."""
    strategy = find_strategy(name, options)
    with _strategies.running(name):
        returned = strategy(situation, rng, **options)
    if returned is None:
        return None
    if isinstance(returned, Demonstration):
        (checked,) = as_demonstrations([returned], situation.mdp)
        return Query(checked[0][0], answer=checked)
    if not is_whole(returned):
        return highest(situation, _as_scores(name, returned, situation))
    if returned not in situation.open_states:
        raise InvalidParameter(
            f"strategy {name!r} must ask an open state: one that can be reached, does not end the "
            f"episode and was not asked before; it asks {shown(returned)}"
        )
    return Query(int(returned))


def highest(situation: Situation, scores: Floats) -> Query | None:
    """The open state, or pair of actions, with the highest score; None where nothing is open.

    scores: (S,), or (S, A, A) of pairs. The lowest of those that are equal to 1e-12 is asked. None
    where all open ones score minus infinity.
    """
    places = situation.open_states[:, None]
    if scores.ndim == 3:
        places = np.argwhere(() if situation.open_pairs is None else situation.open_pairs)
    if not len(places):
        return None
    values = scores[tuple(places.T)]
    best = float(values.max())
    if best == -np.inf:
        return None
    place = int(np.argmax(values >= best - TIED * abs(best)))
    state, *actions = places[place].tolist()
    return Query(state, float(values[place]), actions=tuple(actions) or None)


def _as_scores(name: str, returned: Any, situation: Situation) -> Floats:
    n_states, n_actions = situation.mdp.n_states, situation.mdp.n_actions
    try:
        scores = np.asarray(plain_array(returned, f"strategy {name!r}"), dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.zeros(0)
    if scores.shape not in ((n_states,), (n_states, n_actions, n_actions)):
        raise InvalidParameter(
            f"strategy {name!r} must return {n_states} scores, a state, a Demonstration or None, "
            f"or scores of pairs of actions ({n_states}, {n_actions}, {n_actions}); "
            f"it returned {shown(returned)}"
        )
    wrong = ~(np.isfinite(scores) | (scores == -np.inf))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise InvalidParameter(
            f"strategy {name!r} must return finite scores, or -inf for never; "
            f"the score of state {place[0]} is {scores[place]}"
        )
    return scores
