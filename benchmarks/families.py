"""Families: classes and lessons as members grow, proofs and their checking, and the exact path."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import didact
from benchmarks.timing import best_time, print_table, readable
from didact.mdp.files import family_document
from didact.numerics import compiled
from didact.proofcheck import check_proof
from didact.warm import warm


def report() -> None:
    warm()
    print_table(
        "Classes with all certificates, one random grid (warm, best of several)",
        ["world", "distinct rows", "facets", "exact", "float", "ratio"],
        classes(),
    )
    print_table(
        "The same, 8 features, three seeds, with Numba loaded and without (CPU, least of twelve)",
        ["world", "with Numba", "without"],
        small_classes(),
    )
    print_table(
        "Families of random grids, 9x9, 8 features (a new process each)",
        ["members", "exact class", "float class", "lesson from the class", "pairs", "peak memory"],
        growth(),
    )
    print_table(
        "Proofs of families, 9x9, 8 features",
        ["members", "proof", "a member", "writing", "checking", "a member"],
        proofs(),
    )
    print_table(
        "1,000 lessons of different 9x9 worlds, float, in one fresh process (CPU seconds)",
        ["lessons", "all", "each"],
        many_lessons(),
    )


def classes() -> Iterator[list[str]]:
    for size, k, at_least in ((9, 8, 0.5), (30, 8, 0.5), (20, 35, 0.0), (30, 50, 0.0)):
        task = didact.make("random-grid", size=size, n_features=k, seed=0)
        bec = didact.equivalence_class(task, arithmetic="exact")
        once = partial(didact.equivalence_class, task, arithmetic="exact")
        exact = best_time(once, at_least=at_least, first=size * k > 200)
        rough = best_time(partial(didact.equivalence_class, task, arithmetic="float"))
        counts = [str(bec.rows.n_rows), str(bec.cone.n_facets)]
        times = [readable(exact), readable(rough), f"{exact / rough:.0f}x"]
        yield [f"{size}x{size}, k = {k}", *counts, *times]


def small_classes() -> Iterator[list[str]]:
    for size in (9, 30):
        found = [in_new_process(work, size) for work in ("class_compiled", "class_plain")]
        yield [f"{size}x{size}", *(" ".join(map(readable, times.values())) for times in found)]


def class_plain(size: int) -> dict[str, float]:
    """CPU seconds of exact classes by seed, in a process that never loads Numba."""
    compiled.WORTH_COMPILING = 10**15
    return {str(seed): _least_of_twelve(size, seed) for seed in range(3)}


def class_compiled(size: int) -> dict[str, float]:
    """The same where Numba is loaded."""
    import numba  # noqa: F401

    return {str(seed): _least_of_twelve(size, seed) for seed in range(3)}


def _least_of_twelve(size: int, seed: int) -> float:
    task, took = didact.make("random-grid", size=size, n_features=8, seed=seed), []
    for _ in range(12):
        began = time.process_time()
        didact.equivalence_class(task, arithmetic="exact")
        took.append(time.process_time() - began)
    return min(took)


def growth() -> Iterator[list[str]]:
    for members in (10, 100, 1000):
        found = in_new_process("grown", members)
        times = [readable(found[name]) for name in ("exact", "float", "lesson")]
        yield [str(members), *times, str(found["pairs"]), f"{found['megabytes']:.0f} MB"]


def grown(members: int) -> dict[str, float]:
    """Seconds of both classes and of the exact lesson, and the peak of memory."""
    family = didact.make("random-grid", members=members)
    didact.teach(didact.make("random-grid", seed=members), horizon=1, arithmetic="float")
    took = {}
    began = time.perf_counter()
    didact.equivalence_class(family, arithmetic="float")
    took["float"] = time.perf_counter() - began
    began = time.perf_counter()
    bec = didact.equivalence_class(family, arithmetic="exact")
    took["exact"] = time.perf_counter() - began
    began = time.perf_counter()
    lesson = didact.teach(family, teacher="exact", horizon=1, bec=bec)
    took["lesson"] = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**took, "pairs": lesson.n_pairs, "megabytes": peak}


def proofs() -> Iterator[list[str]]:
    for members in (5, 20, 100):
        family = didact.make("random-grid", members=members)
        lesson = didact.teach(family, teacher="exact", horizon=1, arithmetic="exact")
        began = time.perf_counter()
        document = lesson.document()
        writing = time.perf_counter() - began
        size = len(json.dumps(document["proof"])) / 1000
        model = json.loads(json.dumps(family_document(family)))
        document = json.loads(json.dumps(document))
        checking = best_time(partial(check_proof, model, document), at_least=0.0, first=True)
        sizes = [f"{size:.0f} kB", f"{size / members:.1f} kB"]
        yield [str(members), *sizes, readable(writing), readable(checking),
               readable(checking / members)]  # fmt: skip


def many_lessons() -> Iterator[list[str]]:
    found = in_new_process("lessons", 1000)
    yield ["1,000", readable(found["all"]), readable(found["all"] / 1000)]


def lessons(number: int) -> dict[str, float]:
    """CPU seconds of so many lessons, each of another world; Numba is loaded on the way.

    Making the worlds is not counted.
    """
    tasks = [didact.make("random-grid", seed=seed) for seed in range(number)]
    began = time.process_time()
    for task in tasks:
        didact.teach(task, arithmetic="float")
    return {"all": time.process_time() - began}


def in_new_process(work: str, number: int) -> dict[str, float]:
    code = (
        f"import json\nfrom benchmarks.families import {work}\nprint(json.dumps({work}({number})))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(answer.stdout.splitlines()[-1])
    return found
