"""An independent check of a lesson's proof: `python -m didact.proofcheck task.json lesson.json`.

It solves, searches and rounds nothing: each step substitutes what the proof says. mu(s) are the
counts of the policy uniform over its optimal actions, mu(s, a) = phi(s, a) + discount * E[mu(next)],
rows are the differences mu(s, a) - mu(s, b), a optimal. Exit code 0: proved; 1: the step named is
false; 2: the task is wrong or a file cannot be read.
"""

import json
import re
import reprlib
import sys
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from operator import mul, sub
from pathlib import Path
from typing import Any

Document = str | Path | dict[str, Any]
MAX_SIZE, MAX_DIGITS, ROUNDING = 10**6, 10**5, Fraction(1, 10**9)
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?:/(0*[1-9]\d*))?", re.ASCII)


class ProofError(Exception):
    """A step that is false or missing; the text names the place and the values."""


class FileError(ProofError):
    """A task that is wrong, or a file that cannot be read."""


def need(truth: object, step: str) -> None:
    """Stop at the first step that is not true."""
    if not truth:
        raise ProofError(step)


def show(value: object) -> str:
    """Any value in a few characters."""
    if not isinstance(value, Fraction):
        return reprlib.repr(value)
    return str(value) if abs(value.numerator) + value.denominator < 10**50 else "a long fraction"


def unique(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object without repeated keys."""
    need(len(dict(entries)) == len(entries), "an object repeats a key")
    return dict(entries)


def load(source: Document, *formats: str) -> dict[str, Any]:
    """A JSON object in one of the formats; decimals stay text."""
    try:
        text = json.dumps(source) if isinstance(source, dict) else Path(source).read_text("utf-8")
        document = json.loads(text, parse_float=str, object_pairs_hook=unique)
        need(isinstance(document, dict) and document.get("format") in formats, "another format")
        return dict(document)
    except (OSError, TypeError, ValueError, RecursionError, ProofError) as error:
        raise FileError(f"cannot read a {' or '.join(formats)} file: {error}") from None


def read(value: Any, pattern: Any, place: str) -> Any:
    """The value if it has the pattern: n, a whole number below n; Fraction, a number as 1, 0.1 or
    "9/10", read exactly; (p, q), a list of a p and a q; [p], a list of any number of p."""
    wanted = "a number" if pattern is Fraction else f"a whole number below {pattern}"
    if isinstance(pattern, list | tuple):
        patterns = pattern * len(value) if type(pattern) is type(value) is list else pattern
        wanted = f"a list of {len(patterns)}" if type(pattern) is tuple else "a list"
        if type(value) is list and len(value) == len(patterns):
            return [read(value[i], p, f"{place}[{i}]") for i, p in enumerate(patterns)]
    elif pattern is Fraction and type(value) in (int, str) and len(str(value)) <= MAX_DIGITS:
        if parts := NUMBER.fullmatch(str(value).strip()):
            return Fraction(Decimal(parts[1])) / Fraction(Decimal(parts[2] or 1))
    elif type(value) is type(pattern) is int and 0 <= value < pattern:
        return value
    raise ProofError(f"{place} must be {wanted}, not {show(value)}")


class Check:
    """A task, and step by step what a proof says of it; chances are times the discount."""

    def __init__(self, file: dict[str, Any]) -> None:
        self.n = n = read(file.get("n_states"), MAX_SIZE, "n_states")
        self.m = m = read(file.get("n_actions"), MAX_SIZE, "n_actions")
        self.weights = read(file.get("weights"), [Fraction], "weights")
        discount = read(file.get("discount"), Fraction, "discount")
        need(0 <= discount < 1, f"discount must be in [0, 1), not {show(discount)}")
        terminal = set(read(file.get("terminal", []), [n], "terminal"))
        self.live = [s for s in range(n) if s not in terminal]
        uniform = [[s, f"1/{len(self.live)}"] for s in self.live]
        start = uniform if file.get("start") in (None, "uniform") else file["start"]
        rows = read(file.get("transitions"), [(n, m, n, Fraction)], "transitions")
        rows += [[n, 0, *pair] for pair in read(start, [(n, Fraction)], "start")]
        self.chances: Any = defaultdict(lambda: defaultdict(Fraction))
        for s, a, t, p in rows:  # state n stands for the start
            need(p >= 0 and s not in terminal, f"transitions[{s}, {a}] to {t} have chance {show(p)}")
            self.chances[s, a][t] += p
        for s, a in ((s, a) for s in [*self.live, n] for a in range(m if s < n else 1)):
            chances, place = self.chances[s, a], f"transitions[{s}, {a}]" if s < n else "start"
            mass = sum(chances.values())
            need(abs(mass - 1) <= ROUNDING, f"{place} must sum to 1, not {show(mass)}")
            self.chances[s, a] = {t: discount * p / mass for t, p in chances.items() if p}
        need(m and self.chances[n, 0].keys() - terminal, "no actions, or all starts are terminal")
        k, phi = (Fraction,) * len(self.weights), file.get("features")
        nested = reprlib.repr(phi).startswith("[[[")  # by state and action, not only by state
        phi = read(phi, ((k,) * m if nested else k,) * n, "features")
        self.features = phi if nested else [[x] * m for x in phi]

    def policy(self, proof: dict[str, Any]) -> None:
        """1. mu(s) is the mean of mu(s, a) over the listed actions, or phi(s) in a terminal state:
        only the true counts are, as discount < 1. 2. The listed actions share the largest
        weights.mu(s, a), all others have less: the policy is optimal."""
        self.optimal = read(proof.get("optimal"), ([self.m],) * self.n, "optimal")
        counts = read(proof.get("counts"), ((Fraction,) * len(self.weights),) * self.n, "counts")
        self.unit = lcm(*(x.denominator for mu in counts for x in mu))  # keeps fractions short
        whole = [[int(x * self.unit) for x in mu] for mu in counts]
        self.table = [[[x * self.unit for x in phi] for phi in state] for state in self.features]
        for s, a in ((s, a) for s in self.live for a in range(self.m)):
            for i, x in enumerate(self.table[s][a]):
                ahead = sum(c * whole[t][i] for t, c in self.chances[s, a].items())
                self.table[s][a][i] = x + ahead
        for s, listed in enumerate(self.optimal):
            fits = listed == sorted(set(listed)) and bool(listed) == ((s, 0) in self.chances)
            need(fits, f"optimal[{s}] must list actions in order, none in terminal states only")
            for i, x in enumerate(counts[s]):
                values = [self.table[s][a][i] for a in listed or range(self.m)]
                mean = sum(values) / len(values) / self.unit
                said = f"the Bellman equation gives {show(mean)}, the proof says {show(x)}"
                need(mean == x, f"counts[{s}][{i}]: {said}")
        for s in self.live:
            values = [sum(map(mul, self.weights, mu)) / self.unit for mu in self.table[s]]
            for a, value in enumerate(values):
                said = f"action {a} is worth {show(value)}, the best {show(max(values))}"
                need((value == max(values)) == (a in self.optimal[s]), f"optimal[{s}]: {said}")

    def row(self, s: int, a: int, b: int) -> tuple[Fraction, tuple[int, ...]]:
        """mu(s, a) - mu(s, b) as a positive size, or 0, times a direction of coprime integers."""
        row = list(map(sub, self.table[s][a], self.table[s][b]))
        size = Fraction(gcd(*(x.numerator for x in row)), lcm(*(x.denominator for x in row)))
        return size / self.unit, tuple(int(x / (size or 1)) for x in row)

    def demonstrations(self, proof: dict[str, Any]) -> list[list[list[int]]]:
        """3. Demonstrated pairs are optimal, in scope and can follow each other."""
        need(proof.get("scope") in ("reachable", "all"), "scope must be 'reachable' or 'all'")
        queue = [self.n] if proof["scope"] == "reachable" else [*self.live]
        found = set(queue)
        for s in queue:
            new = {t for a in range(self.m) for t in self.chances[s, a]} - found
            found |= new
            queue += new
        self.scope = sorted(found.intersection(self.live))
        shown = read(proof.get("demonstrations"), [[(self.n, self.m)]], "demonstrations")
        for d, pairs in enumerate(shown):
            for i, (s, a) in enumerate(pairs):
                place = f"demonstrations[{d}][{i}]"
                need(s in found and a in self.optimal[s], f"{place}: {[s, a]} is not optimal in scope")
                follows = i == 0 or s in self.chances[tuple(pairs[i - 1])]
                need(follows, f"{place}: state {s} cannot follow {pairs[i - 1]}")
        return list(shown)

    def teaches(self, proof: dict[str, Any], pairs: set[tuple[int, ...]]) -> str:
        """4. The direction of each row in scope is a sum of nonnegative multiples of demonstrated
        rows, so weights that fit the demonstrations fit the policy."""
        generators = read(proof.get("generators"), [(self.n, self.m, self.m)], "generators")
        for j, (s, a, _) in enumerate(generators):
            need((s, a) in pairs, f"generators[{j}]: {[s, a]} is not demonstrated")
        rays = [self.row(*generator) for generator in generators]
        multipliers = read(proof.get("multipliers"), [[(len(rays), Fraction)]], "multipliers")
        rows = [(s, a, b) for s in self.scope for a in self.optimal[s] for b in range(self.m)]
        directions = [*dict.fromkeys(filter(any, (self.row(*row)[1] for row in rows)))]
        said = f"{len(multipliers)} certificates for {len(directions)} directions"
        need(len(directions) == len(multipliers), f"multipliers: {said}")
        for i, (direction, certificate) in enumerate(zip(directions, multipliers, strict=True)):
            need(all(c >= 0 for _, c in certificate), f"multipliers[{i}]: one is negative")
            terms = [(c * rays[j][0], rays[j][1]) for j, c in certificate]
            total = tuple(sum(c * ray[f] for c, ray in terms) for f in range(len(direction)))
            need(total == direction, f"multipliers[{i}]: the sum is not {show(direction)}")
        return f"{len(directions)} directions of {len(self.scope)} states follow from them"

    def leaves_open(self, proof: dict[str, Any], pairs: set[tuple[int, ...]]) -> str:
        """4. The proof's weights fit all demonstrated rows and break a row in scope."""
        weights = read(proof.get("weights"), (Fraction,) * len(self.weights), "weights")
        s, a, b = read(proof.get("row"), (self.n, self.m, self.m), "row")
        need(s in self.scope and a in self.optimal[s], f"row: {[s, a]} is not optimal in scope")
        for t, c, d in ((*pair, d) for pair in sorted(pairs) for d in range(self.m)):
            fits = sum(map(mul, weights, self.row(t, c, d)[1])) >= 0
            need(fits, f"weights: they prefer action {d} to the demonstrated {[t, c]}")
        fits = sum(map(mul, weights, self.row(s, a, b)[1])) < 0
        need(fits, f"row: the weights do not prefer action {b} to {[s, a]}")
        return f"weights that fit them prefer action {b} to the optimal {a} in state {s}"


def check_proof(task: Document, proof: Document) -> str:
    """One line that says what is proved; raises ProofError at the first step that is false."""
    file = load(task, "didact.task/1")
    lesson = load(proof, "didact.proof/1", "didact.lesson/1")
    try:
        check = Check(file)
    except ProofError as error:
        raise FileError(f"task: {error}") from None
    inner = lesson.get("proof") if lesson["format"] == "didact.lesson/1" else lesson
    need(isinstance(inner, dict), "the lesson carries no proof")
    claim, status = inner.get("claim"), lesson.get("status") if inner is not lesson
    ...
