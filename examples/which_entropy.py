"""Entropy of what? Two readings of "ask where the action's entropy is highest", against random.

Usage: python examples/which_entropy.py [WORLDS]

Bins: the entropy of the distribution of an action's probability over the posterior (Lopes, Melo and
Montesano 2009). Mean policy: the entropy of the posterior's mean policy, which stays high for ever
where two actions are equally good. Worlds and learner are those of `didact reproduce active`; a
state may be asked once, or again and again.
"""

import sys

import numpy as np

import didact
from didact.active import compare
from didact.active.strategies import entropy_terms
from didact.numerics.intervals import mean_interval
from didact.paper import published_chain

NAMES = {"random": "random", "max-entropy": "bins", "entropy-of-mean": "mean policy"}


@didact.register_strategy("entropy-of-mean")
def entropy_of_mean(situation, rng):
    """The entropy of the mean policy in each state."""
    return entropy_terms(situation.policies.mean(axis=0)).sum(axis=1)


def main(n_worlds: int) -> None:
    worlds = [
        didact.make("random-grid", size=10, n_features=10, seed=seed) for seed in range(n_worlds)
    ]
    chain = published_chain(10, confidence=100.0, n_steps=10_000, step_size=0.005)
    print(f"{n_worlds} worlds, 10x10, 10 features; % of states with a wrong action")
    print(f"{'a state is asked':18}{'entropy of':14}{'mean':>6}{'last':>6}  less than random's by")
    for repeat in (False, True):
        settings = didact.AskSettings(repeat=repeat)
        found = compare(worlds, tuple(NAMES), n_queries=20, horizon=20, settings=settings, **chain)
        means, last = 100 * found.area("wrong_actions"), 100 * found.wrong_actions[:, :, -1]
        for number, name in enumerate(NAMES.values()):
            print(
                f"{'again' if repeat else 'once':18}{name:14}"
                f"{means[:, number].mean():6.2f}{last[:, number].mean():6.2f}"
                f"{less_than_random(last, number)}"
            )


def less_than_random(last: np.ndarray, number: int) -> str:
    """The mean of the paired differences with its 95% interval."""
    if number == 0:
        return ""
    found = mean_interval(last[:, 0] - last[:, number])
    return f"  {found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
