"""Bayesian IRL: draws from the posterior of reward weights, by chains in compiled kernels.

P(w | D) is proportional to prior(w) * product over shown pairs of
exp(confidence Q*_w(s, a)) / sum_b exp(confidence Q*_w(s, b)), and over answers of theirs (see
`evidence`), with the exact optimal values of each proposed w: the density is a function of the
weights alone, whatever the chain did before. confidence is the paper's alpha. Two samplers: the
mixture sampler (see `rounds`), which stops when its chains have mixed, and plain walks. A walk is
simple, and slow to mix: a step must fit the narrowest direction of the posterior. The published
experiments use such a chain; everyone else is better served by the mixture. Chains run in threads
while compiled kernels run; the draws do not depend on them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown, whole_number
from didact.learners.belief import Belief, Mode
from didact.learners.chains.chain import Chain, Extra, Target
from didact.learners.chains.kernels import STEP
from didact.learners.chains.lies import Lies
from didact.learners.chains.modes import Modes, StartSearch, missed_notes
from didact.learners.chains.options import ChainOptions, Sampling
from didact.learners.chains.rounds import RoundChain, Run, SamplerRun
from didact.learners.chains.scores import Scorer
from didact.learners.evidence import Evidence, as_confidence, certify
from didact.numerics.compiled import is_compiling
from didact.numerics.exact import Floats
from didact.registry import passing_on
from didact.stages import counting, stage

Progress = Callable[[int, int], object]
GLANCE = 0.05
"""Seconds between two reports of progress."""
STEPS = "learning: {:,} of {:,} steps"
COMPILING = "compiling, once on this machine"


STUCK = 10.0
"""A chain is stuck when its best log density is so many nats below another one's."""

LOOKED_AT = 5_000
"""Draws of a chain that are looked at to see in which modes it has been, at most twice as many."""

SEARCH = 0.75
"""The share of burn-in that is spent on finding a start where none is given."""

STEP_SIZE = 0.05
"""The step size that adaptation begins with; kept where there is no burn-in to adapt in."""


@passing_on(ChainOptions)
def birl(evidence: Evidence, rng: np.random.Generator, *, lies: int = 0, **options: Any) -> Belief:
    """Draws from the posterior of the weights given demonstrations.

    lies: how many of these may be forged, see `Lies`; 0 trusts all. options: see `ChainOptions`.
    """
    chains, n = ChainOptions(**options), len(evidence.demonstrations)
    if not whole_number(lies, "lies", 0):
        return sample_posterior(evidence, rng, chains)
    if lies >= n:
        raise InvalidParameter(
            f"lies must be less than the number of demonstrations, {n}; it is {shown(lies)}"
        )
    doubt = Lies(evidence, lies, as_confidence(chains.confidence))
    belief = sample_posterior(evidence, rng, chains, extra=doubt)
    forged = doubt.forged(belief.samples_flat).tolist()
    return replace(belief, settings={**belief.settings, "lies": lies, "forged": forged})


def sample_posterior(
    evidence: Evidence,
    rng: np.random.Generator,
    options: ChainOptions,
    *,
    extra: Extra | None = None,
    learner: str = "birl",
) -> Belief:
    """What `birl` does, with a term more: extra(weights (k,), action values (S, A)) -> float.

    It is added to the log likelihood of each proposal; without it nothing changes.
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(
            "rng must be a numpy Generator that can spawn others, such as default_rng(0); "
            f"it is {shown(rng)}"
        )
    sampling = Sampling.of(options, evidence.mdp.n_features)
    proposal = sampling.prior.kind(sampling.proposal, evidence.mdp.n_features)
    target = Target(
        *(evidence, sampling.confidence, Scorer(evidence), sampling.prior, proposal),
        *(sampling.tilt, extra),
    )
    workers = 1 if target.is_stepwise else as_threads(options.threads, sampling.n_chains)
    run = _mixed if sampling.sampler == "mixture" else _walked
    with progress_function(options.progress, learner) as tell:
        chains, told, notes, modes = run(
            target, sampling, rng, partial(run_all, threads=workers, progress=tell)
        )
    best = max(chains, key=lambda chain: chain.best)
    return Belief(
        evidence.mdp,
        learner,
        evidence.demonstrations,
        np.array([chain.samples for chain in chains]),
        np.array([chain.densities for chain in chains]),
        best.best_weights,
        best.best,
        np.array([chain.best for chain in chains]),
        np.array([chain.acceptance for chain in chains]),
        target.confidence,
        certify(evidence, best.best_weights, target.confidence),
        {**sampling.settings(), **told, "method": target.scorer.method},
        notes,
        modes,
        evidence.answers.items,
    )


Found = tuple[Sequence[Chain | RoundChain], dict[str, Any], tuple[str, ...], tuple[Mode, ...]]
"""Chains that have run, what a belief tells of them, notes, and the modes of the draws."""


def _walked(target: Target, sampling: Sampling, rng: np.random.Generator, run_phases: Any) -> Found:
    """Walks from given starts, while a search looks around; else each from where its search ended,
    in different modes where the searches found several."""
    prior, starts = target.prior, sampling.starts
    *pairs, (origin, own) = [each.spawn(2) for each in rng.spawn(sampling.n_chains + 1)]
    scout = Chain(target, own)
    sizes = {"n_draws": sampling.n_draws, "burn_in": sampling.burn_in, "thin": sampling.thin}
    chains = [Chain(target, own, **sizes) for _, own in pairs]
    walks = [_walk(chain, sampling) for chain in chains]
    looking = {scout: origin}
    if starts is None:
        looking = {chain: origin for chain, (origin, _) in zip(chains, pairs, strict=True)}
    evidence, confidence = target.evidence, target.confidence
    searches = {
        chain: StartSearch(evidence, confidence, prior, chain.place, origin, number=number)
        for number, (chain, origin) in enumerate(looking.items())
    }
    n_search = int(SEARCH * (sampling.burn_in if starts is None else sampling.n_steps // 5))
    begun: list[Floats] = []

    def modes() -> Modes:
        found = [m for each in searches.values() for m in each.maxima if m.density > -math.inf]
        return Modes.among(found, prior, scout.densities_of)

    def looked(chain: Chain, search: StartSearch) -> Run:
        for steps in search.run(n_search):  # plans count as steps of the chain's burn-in
            chain.particles.points.counters[STEP] += steps
            yield steps

    def phases() -> Iterator[list[Run]]:
        if starts is not None:
            for chain, start in zip(chains, starts, strict=True):
                if chain.place(start) == -math.inf:
                    at = f"{start.tolist()!r:.80}"
                    raise InvalidParameter(
                        f"start must have a density above 0; log_prior is -inf at {at}"
                    )
            begun.extend(starts)
            yield [*walks, *(search.run(n_search) for search in searches.values() if n_search)]
            return
        yield [looked(chain, search) for chain, search in searches.items()]
        seen = modes()
        for chain, search in searches.items():
            start = seen.start_of(search.number)
            begun.append(start if start is not None and search.maxima else search.start)
            chain.place(begun[-1])
        yield walks

    total = sampling.n_chains * sampling.n_steps
    run_phases(phases(), total if starts is None else total + n_search)
    rival = -math.inf if starts is None else scout.best
    notes = stuck_notes([chain.best for chain in chains], rival)
    drawn = [chain.samples[:: 1 + len(chain.samples) // LOOKED_AT] for chain in chains]
    notes += missed_notes(modes().n_missed(np.concatenate([begun, *drawn])))
    return chains, {"step_sizes": [chain.step_size for chain in chains]}, notes, ()


def _mixed(target: Target, sampling: Sampling, rng: np.random.Generator, run_phases: Any) -> Found:
    run = SamplerRun(target, rng, sampling.n_chains, sampling.max_likelihoods)
    run_phases(run.phases(), sampling.max_likelihoods, say=run.in_short)
    return run.chains, run.settings(), (), run.shares()


def _walk(chain: Chain, sampling: Sampling) -> Iterator[int]:
    """A chain from its start to its end, block by block; yields the steps of each."""
    adapts = sampling.step is None
    chain.step_size = sampling.step or STEP_SIZE
    for until, adapting in ((sampling.burn_in, adapts), (sampling.n_steps, False)):
        while chain.n_steps < until:
            n = min(chain.block_size, until - chain.n_steps)
            chain.advance(n, adapting=adapting)
            yield n


def stuck_notes(best: list[float], rival: float) -> tuple[str, ...]:
    """One line for each chain whose best log density is more than STUCK nats below another's."""
    highest = int(np.argmax(best))
    notes = []
    for number, density in enumerate(best):
        other = f"chain {highest}'s"
        top = best[highest]
        if rival > top:
            top, other = rival, "that of weights which a short search found"
        if top - density > STUCK:
            notes.append(
                f"chain {number} is stuck: its best log density, {density:.1f}, is "
                f"{top - density:.0f} below {other}; its draws are not the posterior"
            )
    return tuple(notes)


def run_all(
    phases: Iterable[Sequence[Run]],
    n_steps: int,
    *,
    threads: int,
    progress: Progress | None,
    say: Callable[[], str] | None = None,
) -> None:
    """Exhaust all runs of one phase after the other; the next one is asked for when one has ended.

    progress(done, total) is called from this thread, total = n_steps; where it has a method `say`,
    that is called with what `say` tells after each phase. An interruption, or an error in one of
    them, stops the others at their next block.
    """
    done, count = 0, counting(STEPS)
    speak = getattr(progress, "say", None)

    def tell(taken: int) -> None:
        taken = min(done + taken, n_steps)
        if progress is not None:
            progress(taken, n_steps)
        if count is not None and is_compiling():
            stage(COMPILING)
        elif count is not None:
            count(taken, n_steps)

    for runs in phases:
        words = "" if say is None else say()
        count = counting(STEPS, f"; {words}" if words else "")
        if speak is not None and say is not None:
            speak(words)
        if threads == 1 or len(runs) == 1:
            done += _run_in_turn(runs, tell)
        else:
            done += _run_in_threads(runs, threads, tell)
    if progress is not None:
        progress(n_steps, n_steps)


def _run_in_turn(runs: Sequence[Run], tell: Callable[[int], None]) -> int:
    total = 0
    for run in runs:
        for taken in run:
            total += taken
            tell(total)
    return total


def _run_in_threads(runs: Sequence[Run], threads: int, tell: Callable[[int], None]) -> int:
    taken = [0] * len(runs)
    stop: list[bool] = []

    def exhaust(number: int) -> None:
        for steps in runs[number]:
            taken[number] += steps
            if stop:
                return

    with ThreadPoolExecutor(min(threads, len(runs))) as pool:
        left: set[Future[None]] = {pool.submit(exhaust, number) for number in range(len(runs))}
        try:
            while left:
                finished, left = wait(left, timeout=GLANCE)
                for future in finished:
                    future.result()
                tell(sum(taken))
        except BaseException:
            stop.append(True)
            for future in left:
                future.cancel()
            raise
    return sum(taken)


def as_threads(given: Any, n_chains: int) -> int:
    """How many threads to use: as given, else one for each processor that this process may use."""
    if given is None:
        free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return max(1, min(n_chains, free or 1))
    return min(whole_number(given, "threads", 1), n_chains)


class ShownBar:
    """A task of a progress bar: told by numbers, and in words after its name."""

    def __init__(self, bar: Any, what: str):
        self.bar, self.what = bar, what
        self.number = bar.add_task(what, total=None)

    def __call__(self, done: int, total: int) -> None:
        """So much is done of so much."""
        self.bar.update(self.number, completed=done, total=total)

    def say(self, words: str) -> None:
        """Write words after the name."""
        self.bar.update(self.number, description=f"{self.what}: {words}" if words else self.what)


@contextmanager
def progress_function(progress: Any, what: str) -> Iterator[Progress | None]:
    """A function (done, total): the given one, a bar on standard error for True, or none."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            yield ShownBar(bar, what)
    elif callable(progress):
        yield progress
    else:
        raise InvalidParameter(
            f"progress must be None, True or a function (done, total); it is {shown(progress)}"
        )
