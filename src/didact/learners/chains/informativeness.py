"""Was a demonstrator teaching, or merely doing? The posterior of the trust lambda of BIO-IRL.

Doing: m trajectories D drawn from the softmax policy of the reward R. Teaching with trust lambda
tilts that towards demonstrations that say more about R:

    P(D | R, lambda) = P_softmax(D | R) exp(-lambda gap(D, R)) / Z(R, lambda),
    Z(R, lambda) = E exp(-lambda gap(D', R)), D' ~ P_softmax(. | R) from the same starts.

Without Z the factor is no likelihood, and always prefers lambda = 0. Z is exact where all sets of
demonstrations can be listed, else a mean over draws D' of each reward, the same for every lambda,
so that errors of draws cancel between trusts. A demonstration that was seen to end goes on until
its end, others are as long as they were. Starts are those that were seen, or drawn as the model's
(`starts="drawn"`): then the choice of a start can teach, too.

gap: BIO-IRL's information gap (`measure="information-gap"`), or -log P(R | D) of a Bayesian learner
that chooses among the listed rewards (`measure="posterior"`). Rewards that are not known are
integrated over: listed ones by their likelihood, else draws of Bayesian IRL, whose weights already
hold P_softmax(D | R), so that the evidence for lambda against 0 is the mean over them of
exp(-lambda gap(D, R)) / Z(R, lambda).

The prior of lambda while teaching is half-Cauchy, its scale a range of the gap: wide, and finite at
0. Teaching and doing are held equally likely before. Whether the demonstrator is neither is asked
of the draws: how many of them are less likely (under the softmax policy) than what was seen?
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.directions import Matching
from didact.errors import InvalidParameter, NotMixed
from didact.inputs import (
    choice,
    entries,
    explains_names,
    finite_number,
    plain_document,
    shown,
    shown_name,
    whole_number,
)
from didact.learners.belief import Belief
from didact.learners.chains.birl import birl
from didact.learners.chains.information_gap import InformationGap
from didact.learners.evidence import Evidence, as_evidence, softmax
from didact.mdp import MDP, Demonstration, Family, Task
from didact.mdp.family import sink_of
from didact.mdp.items import has_ended
from didact.mdp.model import as_weights
from didact.mdp.showing import Showable
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of
from didact.random import Seed, as_generator
from didact.stages import counting
from didact.worlds.opening import named_world

Indices = NDArray[np.int64]
Measure = Literal["information-gap", "posterior"]
StartsOf = Literal["same", "drawn"]
Gaps = Callable[[Indices], Floats]

SCALES = {"information-gap": 10.0, "posterior": 1.0}
"""Of the prior of lambda: its median. Information gaps are at most 1, log posteriors in nats."""
N_TRUSTS = 400
POSTERIOR_DRAWS = 48
"""Draws of an unknown reward that are integrated over; each needs draws of demonstrations."""
MAX_EPISODE = 1_000
"""Steps of a drawn demonstration that was seen to end; few softmax walks are longer."""
TOLD = 0.9
"""Probability of teaching from which `learn(trust="estimate")` trusts: to assume a teacher where
there is none costs more than not to (Milli and Dragan 2020)."""
MAX_LISTED = 3_000
"""Sets of demonstrations that are listed for an exact Z; above it they are drawn."""
NEITHER = 0.01
"""Demonstrations with a smaller predictive probability under both are called neither."""


class TrustInterval(NamedTuple):
    """The posterior of the trust, given that the demonstrator teaches: its quantiles."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, eq=False)
class Informativeness(Showable):
    """Whether a demonstrator taught or did, and how sure that is.

    `plot` draws the posterior density of the trust; the page of `report` also says the verdict and
    what each demonstration adds.

    log_bayes_factor: log P(D | teaching) - log P(D | doing).
    trust: the interval of lambda given teaching.
    level: of the interval and of the verdict.
    measure: 'information-gap' or 'posterior'.
    adds: how much each demonstration narrows the information gap.
    p_doing: posterior predictive p-value of doing, small where the demonstrations do not fit.
    p_teaching: the same of teaching.
    n_rewards: how many rewards were integrated over.
    n_draws: drawn demonstrations for each reward; None where all were listed.
    log_posterior: of the measure 'posterior', log P(R | D) of the true reward, or on average over
        those that may be.
    trusts: the grid of lambda.
    log_evidence: log P(D | lambda) - log P(D | 0) on the grid.
    task_name: of the task or family; 'MDP' where a model was given.
    """

    log_bayes_factor: float
    trust: TrustInterval
    level: float
    measure: str
    adds: tuple[float, ...]
    p_doing: float
    p_teaching: float
    n_rewards: int
    n_draws: int | None
    log_posterior: float | None
    trusts: Floats = field(repr=False)
    log_evidence: Floats = field(repr=False)
    task_name: str = "MDP"

    def __repr__(self) -> str:
        name, low, high = shown_name(self.task_name, 80), self.trust.low, self.trust.high
        told = f"{self.verdict}, probability of teaching {self.probability:.2g}"
        return f"Informativeness({name!r}, {told}, trust {low:.3g} to {high:.3g})"

    @property
    def probability(self) -> float:
        """Of teaching, where teaching and doing were equally likely before."""
        return float(1.0 / (1.0 + np.exp(-np.clip(self.log_bayes_factor, -700, 700))))

    @property
    def verdict(self) -> str:
        """'teaching', 'doing', 'neither', or 'cannot be told'."""
        if max(self.p_doing, self.p_teaching) < NEITHER:
            return "neither"
        if self.probability >= self.level:
            return "teaching"
        return "doing" if self.probability <= 1 - self.level else "cannot be told"

    def interval(self, level: float) -> TrustInterval:
        """Quantiles of lambda given teaching that hold this share of its posterior.

        level: of the interval, from 0 to 1.
        """
        return interval_of(self.trusts, self.density, level)

    @property
    def density(self) -> Floats:
        """The posterior probability of each point of the grid of trusts, given teaching."""
        return _posterior(self.trusts, self.log_evidence, SCALES[self.measure])

    def to_dict(self) -> dict[str, Any]:
        """The same for machines."""
        names = ("log_bayes_factor", "probability", "verdict", "level", "measure", "adds")
        more = ("p_doing", "p_teaching", "n_rewards", "n_draws")
        found = {name: getattr(self, name) for name in (*names, *more)}
        document: dict[str, Any] = plain_document({**found, "trust": self.trust._asdict()})
        return document

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The result in sentences."""
        low, median, high = self.trust
        factor = self.log_bayes_factor
        favours = "neither" if abs(factor) < 0.005 else "teaching" if factor > 0 else "doing"
        found = [
            {
                "teaching": "The demonstrator was teaching",
                "doing": "The demonstrator was doing the task, not teaching",
                "neither": "Neither: not what a teacher or a doer of this reward would show",
                "cannot be told": "It cannot be told whether the demonstrator was teaching",
            }[self.verdict]
            + f" (probability of teaching {self.probability:.2g}).",
            f"log Bayes factor {factor:.2f}, in favour of {favours}.",
            f"If teaching: trust {median:.3g} ({100 * self.level:g}%: {low:.3g} to {high:.3g}).",
            f"Predictive p-values: {self.p_doing:.2g} if doing, {self.p_teaching:.2g} if teaching.",
        ]
        if len(self.adds) > 1:
            order = sorted(range(len(self.adds)), key=lambda i: -self.adds[i])[:8]
            told = ", ".join(f"{i + 1} adds {self.adds[i]:.3g}" for i in order)
            found.append(f"Of the {self.measure.replace('-', ' ')}, demonstration {told}.")
        return found


@explains_names
def informativeness(
    task: MDP | Task | Family,
    demonstrations: Any,
    *,
    rewards: Any = None,
    confidence: float | Sequence[float] = 100.0,
    measure: Measure = "information-gap",
    true: int | None = None,
    level: float = 0.95,
    n_draws: int = 200,
    starts: StartsOf = "same",
    matching: Matching = "optimal",
    horizon: int | None = None,
    seed: Seed = 0,
) -> Informativeness:
    """Whether demonstrations were chosen to teach, or come from merely doing the task.

    task: the model, a task or a family, whose reward is not looked at.
    demonstrations: in any form that `learn` takes; at least one.
    rewards: the true weights (k,), or several (n, k) that are held equally likely; None where they
        are unknown: then draws of Bayesian IRL are integrated over.
    confidence: inverse temperature alpha of the softmax policy; several, equally likely before,
        are integrated over where rewards are given.
    measure: 'information-gap', as BIO-IRL, or 'posterior', how surely a Bayesian learner names
        the reward among those that are listed.
    true: the number of the true one of the listed rewards, where it is known.
    level: of the interval of the trust, and of the probability that a verdict needs.
    n_draws: demonstrations drawn for each reward, by which likelihoods are normalised.
    starts: 'same', what else might have been shown begins where the demonstrations do, or 'drawn',
        as the model's start distribution draws it: then choosing a start can teach.
    matching: of half-spaces in the information gap, 'optimal' or 'greedy'.
    horizon: steps of a demonstration in the lesson to compare with; by default the longest shown.
    seed: None, a whole number, or a generator.
    """
    choice(measure, "measure", get_args(Measure))
    choice(starts, "starts", get_args(StartsOf))
    if not 0 < finite_number(level, "level", 0) < 1:
        raise InvalidParameter(f"level must be between 0 and 1; it is {shown(level)}")
    whole_number(n_draws, "n_draws", 10)
    task = named_world(task)
    evidence = as_evidence(task, demonstrations)
    if not evidence.demonstrations or len(evidence.answers):
        raise InvalidParameter(
            "informativeness needs demonstrations and no other feedback; "
            f"there are {len(evidence.demonstrations)} and {len(evidence.answers)} answers"
        )
    rng = as_generator(seed, "informativeness")
    gap = InformationGap(evidence, horizon, matching) if measure != "posterior" else None
    given = _as_rewards(evidence, rewards, confidence, measure, true, rng)
    found = _judge(
        *(evidence, given, measure, gap), level=level, n_draws=n_draws, starts=starts, rng=rng
    )
    return found if isinstance(task, MDP) else replace(found, task_name=task.name)


class _Rewards(NamedTuple):
    """Rewards to integrate over, and the confidence of each; log weights before D is seen.

    is_posterior: whether the weights hold the likelihood of D already. asked: which of them may be
    the true one.
    """

    weights: Floats
    confidences: Floats
    reward_of: Indices
    asked: Indices
    is_posterior: bool


def _as_rewards(
    evidence: Evidence,
    rewards: Any,
    confidence: float | Sequence[float],
    measure: str,
    true: int | None,
    rng: np.random.Generator,
) -> _Rewards:
    many = isinstance(confidence, Iterable)
    listed = entries(confidence, "confidence", "numbers") if many else [confidence]
    levels = [float(finite_number(c, "confidence", 0)) for c in listed]
    if not levels:
        raise InvalidParameter("confidence must be a positive number, or several; it is empty")
    if rewards is None:
        if len(levels) > 1 or measure == "posterior" or true is not None:
            raise InvalidParameter(
                "several confidences, measure='posterior' and true= need a list of rewards; "
                "give rewards="
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotMixed)
            draws = birl(evidence, rng, confidence=levels[0]).samples_flat
        return _from_draws(draws, levels[0])
    rows = np.asarray(rewards, dtype=object)
    rows = rows[None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or not len(rows):
        raise InvalidParameter(f"rewards must be weights (k,) or (n, k); it is {shown(rewards)}")
    weights = np.array([as_weights(list(row), evidence.mdp.n_features).floats for row in rows])
    n = len(weights)
    if measure == "posterior" and n < 2:
        raise InvalidParameter("measure='posterior' needs at least two rewards; there is one")
    if true is not None:
        whole_number(true, "true", 0, n - 1)
    reward_of = np.repeat(np.arange(n), len(levels))
    asked = np.flatnonzero(reward_of == true) if true is not None else np.arange(len(reward_of))
    return _Rewards(weights[reward_of], np.tile(levels, n), reward_of, asked, is_posterior=False)


def _from_draws(draws: Floats, confidence: float) -> _Rewards:
    """Some draws of a posterior, evenly spaced."""
    kept = np.unique(np.linspace(0, len(draws) - 1, POSTERIOR_DRAWS).astype(int))
    numbers = np.arange(len(kept))
    levels = np.full(len(kept), confidence)
    return _Rewards(draws[kept], levels, numbers, numbers, is_posterior=True)


def estimated_trust(
    gap: InformationGap, belief: Belief, rng: np.random.Generator
) -> Informativeness:
    """The trust by the draws of BIRL's posterior after the demonstrations of a gap."""
    assert belief.confidence is not None
    rewards = _from_draws(belief.samples_flat, belief.confidence)
    effort: dict[str, Any] = {"level": 0.95, "n_draws": 100, "starts": "drawn", "rng": rng}
    return _judge(gap.evidence, rewards, "information-gap", gap, **effort)


def _judge(
    evidence: Evidence,
    rewards: _Rewards,
    measure: str,
    gap: InformationGap | None,
    *,
    level: float,
    n_draws: int,
    starts: StartsOf,
    rng: np.random.Generator,
) -> Informativeness:
    """The posterior of the trust; gap: None for the measure 'posterior'."""
    mdp = evidence.mdp
    # Denser near 0, over more than 99% of the prior.
    trusts: Floats = SCALES[measure] * np.geomspace(1e-3, 300.0, N_TRUSTS)
    values = action_values_of(mdp, rewards.weights)
    tables = np.array([softmax(q, c)[1] for q, c in zip(values, rewards.confidences, strict=True)])
    padded = np.concatenate((tables.reshape(len(tables), -1), np.zeros((len(tables), 1))), axis=1)
    seen = joined(evidence.demonstrations, mdp.n_actions)[None]
    likelihoods = padded[:, seen[0]].sum(axis=1)
    n = len(rewards.asked)
    ratios, adds = np.zeros((n, len(trusts))), np.zeros((n, len(evidence.demonstrations)))
    lower = np.zeros((n, 1 + len(trusts)))  # shares of draws less likely than what was seen
    one_less = [
        joined([d for j, d in enumerate(evidence.demonstrations) if j != i], mdp.n_actions)
        for i in range(len(evidence.demonstrations))
    ]
    listed = listed_like(evidence, MAX_LISTED) if starts == "same" else None
    owns: list[float] = []
    tell = counting("informativeness: {:,} of {:,} rewards")
    for place, number in enumerate(rewards.asked.tolist()):
        if tell is not None:
            tell(place, n)
        gap_of = _gap_of(number, rewards, padded, gap)
        if listed is None:
            drawn = drawn_like(evidence, np.exp(tables[number]), n_draws, starts, rng)
        else:
            drawn = listed.pairs
        theirs, gaps, own = padded[number][drawn].sum(axis=1), gap_of(drawn), gap_of(seen)[0]
        if listed is None:
            # What was seen counts as one draw more: then the mean of the evidence for teaching is
            # exactly 1 if D was drawn as its copies are, however few; it is at most n_draws + 1.
            theirs, gaps = np.append(theirs, likelihoods[number]), np.append(gaps, own)
            chances = np.full(len(theirs), 1 / len(theirs))
        else:
            chances = np.exp(theirs + listed.log_moves)
            chances /= chances.sum()
        owns.append(float(own))
        tilts = np.exp(-np.multiply.outer(trusts, gaps - gaps.min())) * chances
        normalisers = tilts.sum(axis=1)
        ratios[place] = -trusts * (own - gaps.min()) - np.log(normalisers)
        ties = np.isclose(theirs, likelihoods[number], rtol=1e-9, atol=1e-9)
        less = np.where(ties, 0.5, theirs < likelihoods[number])
        lower[place] = [less @ chances, *(tilts @ less / normalisers)]
        if len(one_less) > 1:
            adds[place] = [gap_of(rest[None])[0] - own for rest in one_less]
    log_posterior = -float(sum(owns) / n) if gap is None else None
    logs = np.zeros(n) if rewards.is_posterior else likelihoods[rewards.asked]
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    top = ratios.max(axis=0)
    evidence_of = top + np.log(shares @ np.exp(ratios - top))
    density = _posterior(trusts, evidence_of, SCALES[measure])
    prior = _posterior(trusts, np.zeros_like(trusts), SCALES[measure])
    predictive = float(shares @ lower[:, 0]), float(shares @ lower[:, 1:] @ density)
    p_doing, p_teaching = (min(1.0, 2 * min(p, 1 - p)) for p in predictive)  # two-sided
    factor = float(evidence_of.max() + np.log(prior @ np.exp(evidence_of - evidence_of.max())))
    return Informativeness(
        factor,
        interval_of(trusts, density, level),
        level,
        measure,
        tuple((shares @ adds).tolist()),
        p_doing,
        p_teaching,
        n,
        None if listed is not None else n_draws,
        log_posterior,
        trusts,
        evidence_of,
    )


def interval_of(trusts: Floats, density: Floats, level: float) -> TrustInterval:
    """The central interval of a posterior on the grid, with its median."""
    running = np.concatenate(([0.0], np.cumsum(density)))
    edges = np.concatenate(([0.0], np.sqrt(trusts[1:] * trusts[:-1]), [trusts[-1]]))
    at = [(1 - level) / 2, 0.5, (1 + level) / 2]
    return TrustInterval(*np.interp(at, running / running[-1], edges).tolist())


def _posterior(trusts: Floats, log_evidence: Floats, scale: float) -> Floats:
    """The probabilities of the points of the grid, given teaching."""
    edges = np.concatenate(([0.0], np.sqrt(trusts[1:] * trusts[:-1]), [np.inf]))
    prior = np.diff(np.arctan(edges / scale))
    weights = prior * np.exp(log_evidence - log_evidence.max())
    return np.asarray(weights / weights.sum())


def joined(demonstrations: Sequence[Demonstration], n_actions: int) -> Indices:
    """The pairs s*A + a of demonstrations, one after the other."""
    pairs = np.array([pair for d in demonstrations for pair in d], dtype=np.int64).reshape(-1, 2)
    return np.asarray(pairs[:, 0] * n_actions + pairs[:, 1])


def _gap_of(
    number: int, rewards: _Rewards, log_probabilities: Floats, gap: InformationGap | None
) -> Gaps:
    """Of a reward the gap of sets of pairs (n, steps), -1 for none; by its number."""
    if gap is not None:
        return gap.of_reward(rewards.weights[number]).of_sets

    def of_sets(sets: Indices) -> Floats:
        logs = np.array([table[sets].sum(axis=1) for table in log_probabilities])
        shares = np.exp(logs - logs.max(axis=0))
        own = shares[rewards.reward_of == rewards.reward_of[number]].sum(axis=0)
        return np.asarray(np.log(shares.sum(axis=0)) - np.log(np.maximum(own, 1e-300)))

    return of_sets


def drawn_like(
    evidence: Evidence, probabilities: Floats, n: int, starts: StartsOf, rng: np.random.Generator
) -> Indices:
    """Sets of demonstrations of a policy (S, A): pairs (n, steps), -1 for none."""
    mdp = evidence.mdp
    begin = np.where(mdp.terminal, 0.0, mdp.start.floats)
    shown = evidence.demonstrations
    first = np.repeat([d[0][0] for d in shown], n)
    if starts == "drawn":
        first = rng.choice(mdp.n_states, size=len(first), p=begin / begin.sum())
    limits = [MAX_EPISODE if has_ended(d, mdp) else len(d) for d in shown]
    # All at once: a step of many walks takes little more than a step of one.
    walks = walks_of(mdp, probabilities, first, max(limits), rng).reshape(len(shown), n, -1)
    for own, limit in zip(walks, limits, strict=True):
        own[:, limit:] = -1
    return walks.transpose(1, 0, 2).reshape(n, -1)


class Listed(NamedTuple):
    """All sets of demonstrations: pairs (n, steps), -1 for none; log P of their moves (n,)."""

    pairs: Indices
    log_moves: Floats


def listed_like(evidence: Evidence, most: int) -> Listed | None:
    """All sets of demonstrations like those seen, from the same starts; None above `most`."""
    sets: list[tuple[list[int], float]] = [([], 0.0)]
    for d in evidence.demonstrations:
        limit = MAX_EPISODE if has_ended(d, evidence.mdp) else len(d)
        walks = _all_walks(evidence.mdp, d[0][0], limit, most // len(sets))
        if walks is None:
            return None
        sets = [(line + walk, p + q) for line, p in sets for walk, q in walks]
    longest = max(len(line) for line, _ in sets)
    padded = [line + [-1] * (longest - len(line)) for line, _ in sets]
    return Listed(np.array(padded, dtype=np.int64), np.array([p for _, p in sets]))


def _all_walks(mdp: MDP, start: int, limit: int, most: int) -> list[tuple[list[int], float]] | None:
    moves, done = mdp.transitions, list[tuple[list[int], float]]()
    sink = sink_of(mdp)
    front: list[tuple[int, list[int], float]] = [(start, [], 0.0)]
    for _ in range(limit):
        after: list[tuple[int, list[int], float]] = []
        for state, line, chance in front:
            for pair in range(state * mdp.n_actions, (state + 1) * mdp.n_actions):
                first, end = moves.offsets[pair : pair + 2].tolist()
                end -= sink is not None and end - first > 1 and moves.successors[end - 1] == sink
                total = moves.probabilities.floats[first:end].sum()
                for entry in range(first, end):
                    p = chance + float(np.log(moves.probabilities.floats[entry] / total))
                    target = int(moves.successors[entry])
                    if mdp.terminal[target]:
                        done.append(([*line, pair], p))
                    else:
                        after.append((target, [*line, pair], p))
        front = after
        if len(done) + len(front) > most:
            return None
    return done + [(line, p) for _, line, p in front]


def walks_of(
    mdp: MDP, probabilities: Floats, starts: Indices, horizon: int, rng: np.random.Generator
) -> Indices:
    """Walks of a policy (S, A), all at once: pairs s*A + a (n, steps), -1 after an end."""
    moves = mdp.transitions
    choices = np.cumsum(probabilities, axis=1)
    running = np.concatenate(([0.0], np.cumsum(moves.probabilities.floats)))
    ends = moves.offsets[1:]
    if (sink := sink_of(mdp)) is not None:  # successors are sorted: it stands last in its row
        several = np.diff(moves.offsets) > 1
        ends = ends - (several & (moves.successors[ends - 1] == sink))
    states, pairs = starts.copy(), []
    for _ in range(horizon):
        live = np.flatnonzero((states >= 0) & ~mdp.terminal[states])
        if not live.size:
            break
        here = states[live]
        points = rng.random(live.size) * choices[here, -1]
        actions = (points[:, None] >= choices[here]).sum(axis=1).clip(0, mdp.n_actions - 1)
        step = np.full(len(starts), -1, dtype=np.int64)
        step[live] = here * mdp.n_actions + actions
        pairs.append(step)
        low, high = moves.offsets[step[live]], ends[step[live]]
        points = running[low] + rng.random(live.size) * (running[high] - running[low])
        targets = (running.searchsorted(points, side="right") - 1).clip(low, high - 1)
        states[live] = moves.successors[targets]
        ended = mdp.terminal[states]
        states[ended] = -1
    return np.array(pairs, dtype=np.int64).T.reshape(len(starts), -1)
