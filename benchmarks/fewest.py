"""Certificates that a lesson is the fewest: how often they meet the cost, and what they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import didact
from benchmarks.timing import print_table
from didact.warm import warm

N_WORLDS = 40
GRID = {"size": 9, "n_features": 8}
SLIPPERY = {"size": 6, "n_features": 5, "slip": "1/10"}


def report() -> None:
    warm()
    print_table(
        f"Exact lessons with both certificates, {N_WORLDS} worlds of a kind (CPU, medians)",
        ["world", "proved fewest", "lesson and proof", "check", "check / lesson"],
        certificates(),
    )


def certificates() -> Iterator[list[str]]:
    """For each kind of world how many lessons the checker calls the fewest, and both times."""
    for name, make, how in KINDS:
        found = [_timed(make(seed), **how) for seed in range(N_WORLDS)]
        made, checked = (sorted(x)[N_WORLDS // 2] for x in list(zip(*found, strict=True))[1:])
        share = f"{sum(is_fewest for is_fewest, _, _ in found)} of {N_WORLDS}"
        yield [
            *(name, share, f"{1e3 * made:.3g} ms", f"{1e3 * checked:.3g} ms"),
            f"{checked / made:.2f}",
        ]


def _timed(whole: Any, **how: Any) -> tuple[bool, float, float]:
    began = time.process_time()
    lesson = didact.teach(whole, teacher="exact", arithmetic="exact", **how)
    lesson.document()
    made = time.process_time()
    is_fewest = lesson.is_fewest
    return is_fewest, made - began, time.process_time() - made


def _family(seed: int) -> didact.Family:
    return didact.Family(
        [
            didact.make(
                "random-grid", size=5, n_features=4, seed=1000 * seed + i, weights_seed=seed
            )
            for i in range(5)
        ]
    )


KINDS: tuple[tuple[str, Callable[[int], Any], dict[str, Any]], ...] = (
    (
        "9x9, 8 features, single pairs",
        lambda s: didact.make("random-grid", seed=s, **GRID),
        {"horizon": 1},
    ),
    (
        "9x9, 8 features, 20 steps",
        lambda s: didact.make("random-grid", seed=s, **GRID),
        {"horizon": 20},
    ),
    (
        "slippery 6x6, 6 steps",
        lambda s: didact.make("random-grid", seed=s, **SLIPPERY),
        {"horizon": 6},
    ),
    ("garnet, 30 states", lambda s: didact.make("garnet", seed=s), {}),
    ("families of five 5x5", _family, {}),
)
