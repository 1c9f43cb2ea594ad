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

Max infogain: see `didact.active.infogain`.

SCOT and exact are benchmarks: the demonstrations that a teacher who knows the reward would show, in
that order. SCOT's sequence is greedy, a benchmark that active learning is measured against and no
lower bound: a learner with luck may need fewer. The exact minimum is a bound, but for one thing
only: fewer demonstrations of this kind cannot pin down the class of the reward. Both look at the
true weights, so neither is a way to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from didact.active.infogain import entropy_terms, max_infogain
from didact.active.situation import Situation
from didact.errors import InvalidParameter
from didact.inputs import flag, is_whole, plain_array, shown, whole_number
from didact.learners.risk import value_at_risk
from didact.mdp import Demonstration
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
        bins = _bins(policies[:, :, action], count)
        for number in range(count):
            shares = (bins == number).sum(axis=0) / n_draws
            scores += entropy_terms(shares)
    return np.asarray(scores / n_actions)


def _bins(probabilities: Floats, n_bins: int) -> Floats:
    """The bin of each probability, from 0."""
    return np.clip(np.ceil(probabilities * n_bins - EDGE) - 1.0, 0.0, n_bins - 1.0)


def max_var(situation: Situation, rng: np.random.Generator, *, level: float = LEVEL) -> Floats:
    """The score of every state (S,): the value at risk of the learned policy's loss from it.

    It is an order statistic, the smallest loss that at least a share `level` of the draws does not
    exceed; nothing is interpolated.
    """
    return np.asarray(value_at_risk(situation.losses, level))


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


def strategy_name(name: str) -> str:
    """The name of a strategy as it is registered: 'Max-VaR' is 'max-var'."""
    return _strategies.name_of(name)


def find_strategy(name: str, options: Iterable[str] | None = None) -> Strategy:
    """The strategy of that name; options: the names of those given, if they are to be checked."""
    return _strategies.find(name, options)


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
    if is_whole(returned):
        return Query(_as_open(name, int(returned), situation))
    scores = _as_scores(name, returned, situation)
    return highest(situation, scores)


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


def _as_open(name: str, state: int, situation: Situation) -> int:
    if state not in situation.open_states:
        raise InvalidParameter(
            f"strategy {name!r} must ask an open state: one that can be reached, does not end the "
            f"episode and was not asked before; it asks {shown(state)}"
        )
    return state


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
