"""An independent check of a lesson's proof: `python -m didact.proofcheck task.json lesson.json`.

Every step substitutes, none solves or rounds. mu(s) are the counts of the policy uniform over its
optimal actions, mu(s, a) = phi(s, a) + discount * E[mu(next)], rows are mu(s, a) - mu(s, b).
Exit code 0: proved. 1: the step named is false. 2: a file cannot be read, or the task is wrong.
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

MAX_SIZE, MAX_DIGITS, ROUNDING = 10**6, 10**5, Fraction(1, 10**9)
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?:/(0*[1-9]\d*))?", re.ASCII)
UNIQUE: Any = {"object_pairs_hook": lambda x: dict(x) if len(dict(x)) == len(x) else {}}


class ProofError(Exception):
    """The first step that is false or missing; caused by another error if a file is to blame."""


def need(truth: object, step: str) -> None:
    """Stop at the first step that is not true."""
    if not truth:
        raise ProofError(step)


def show(value: object) -> str:
    """Any value in a few characters."""
    short = isinstance(value, Fraction) and abs(value.numerator) + value.denominator < 10**50
    return str(value) if short else reprlib.repr(value)


def load(source: Any, *formats: str, then: Any = dict) -> Any:
    """What a JSON object in one of the formats says; its decimals stay text."""
    try:
        text = json.dumps(source) if isinstance(source, dict) else Path(source).read_text("utf-8")
        document = dict(json.loads(text, parse_float=str, **UNIQUE))
        need(document.get("format") in formats, "it has another format, or repeats a key")
        return then(document)
    except (OSError, TypeError, ValueError, RecursionError, ProofError) as error:
        raise ProofError(f"cannot read a {' or '.join(formats)} file: {error}") from error


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
    """A task, then step by step what a proof says of it; chances are times the discount."""

    def __init__(self, file: dict[str, Any]) -> None:
        n, m = (read(file.get(key), MAX_SIZE, key) for key in ("n_states", "n_actions"))
        self.weights = read(file.get("weights"), [Fraction], "weights")
        self.n, self.m, self.k = n, m, (Fraction,) * len(self.weights)
        by_action = reprlib.repr(file.get("features")).startswith("[[[")
        phi = read(file.get("features"), ((self.k,) * m if by_action else self.k,) * n, "features")
        self.name = show(file.get("name", "the task"))
        discount = read(file.get("discount"), Fraction, "discount")
        need(0 <= discount < 1, f"discount must be in [0, 1), not {show(discount)}")
        ended = file.get("terminal")
        terminal = {*read([] if ended is None else ended, [n], "terminal")}
        self.live = [s for s in range(n) if s not in terminal]
        uniform = [[s, f"1/{len(self.live)}"] for s in self.live]
        start = uniform if file.get("start") in (None, "uniform") else file["start"]
        rows = read(file.get("transitions"), [(n, m, n, Fraction)], "transitions")
        rows += [[n, 0, *pair] for pair in read(start, [(n, Fraction)], "start")]
        self.chances: Any = defaultdict(lambda: defaultdict(Fraction))
        for s, a, t, p in rows:  # state n stands for the start
            need(s not in terminal and p >= 0, f"{[s, a, t]}: {s} is terminal or {show(p)} < 0")
            self.chances[s, a][t] += p
        for (s, a), chances in self.chances.items():
            mass, place = sum(chances.values()), f"transitions[{s}, {a}]" if s < n else "start"
            need(abs(mass - 1) <= ROUNDING, f"{place} must sum to 1, not {show(mass)}")
            self.chances[s, a] = {t: discount * p / mass for t, p in chances.items() if p}
        need(m and len(self.chances) == len(self.live) * m + 1, "transitions or start are missing")
        need(self.chances[n, 0].keys() - terminal, "start lies in terminal states only")
        self.features = phi if by_action else [[x] * m for x in phi]
        same = all(x == self.features[s][0] for s in terminal for x in self.features[s])
        need(same, "features of a terminal state must not depend on the action")

    def policy(self, proof: dict[str, Any]) -> None:
        """1. mu(s) is the mean of mu(s, a) over the listed actions, or phi(s) in a terminal state;
        2. these are all actions of largest weights.mu(s, a). Only the optimal policy has both."""
        self.optimal = read(proof.get("optimal"), ([self.m],) * self.n, "optimal")
        counts = read(proof.get("counts"), (self.k,) * self.n, "counts")
        self.unit = unit = lcm(*(x.denominator for mu in counts for x in mu))  # for speed only
        whole = [[int(x * unit) for x in mu] for mu in counts]
        self.table = [[[x * unit for x in phi] for phi in state] for state in self.features]
        for s, a in ((s, a) for s in self.live for a in range(self.m)):
            for i in range(len(self.k)):
                self.table[s][a][i] += sum(c * whole[t][i] for t, c in self.chances[s, a].items())
        for s, listed in enumerate(self.optimal):
            for i, x in enumerate(counts[s]):
                mean = sum(self.table[s][a][i] for a in listed or [0]) / (len(listed) or 1) / unit
                said = f"the Bellman equation gives {show(mean)}, the proof says {show(x)}"
                need(mean == x, f"counts[{s}][{i}]: {said}")
        for s, listed in enumerate(self.optimal):
            values = [sum(map(mul, self.weights, mu)) / unit for mu in self.table[s]]
            worth = max(values)
            best = [a for a, x in enumerate(values) if x == worth and (s, a) in self.chances]
            need(listed == best, f"optimal[{s}] must be {best}, worth {show(worth)}, not {listed}")

    def row(self, s: int, a: int, b: int) -> tuple[Fraction, tuple[int, ...]]:
        """mu(s, a) - mu(s, b) as a positive size, or 0, times a direction of coprime integers."""
        row = list(map(sub, self.table[s][a], self.table[s][b]))
        size = Fraction(gcd(*(x.numerator for x in row)), lcm(*(x.denominator for x in row)))
        return size / self.unit, tuple(int(x / (size or 1)) for x in row)

    def demonstrations(self, proof: dict[str, Any]) -> Any:
        """3. Demonstrated pairs are optimal, in scope and can follow each other."""
        need(proof.get("scope") in ("reachable", "all"), "scope must be 'reachable' or 'all'")
        found = new = {self.n} if proof["scope"] == "reachable" else {*self.live}
        while new:
            new = {t for s in new for a in range(self.m) for t in self.chances[s, a]} - found
            found = found | new
        self.scope = [s for s in self.live if s in found]
        shown = read(proof.get("demonstrations"), [[(self.n, self.m)]], "demonstrations")
        for d, i, (s, a) in ((d, i, pair) for d, x in enumerate(shown) for i, pair in enumerate(x)):
            place = f"demonstrations[{d}][{i}]: {[s, a]}"
            need(s in found and a in self.optimal[s], f"{place} is not optimal in scope")
            need(i == 0 or s in self.chances[tuple(shown[d][i - 1])], f"{place} cannot come next")
        return shown

    def claim(self, proof: dict[str, Any], pairs: set[tuple[int, int]]) -> str:
        """4. "open": the weights given fit all demonstrated rows and break one row. "teaches": rows
        are sums of nonnegative multiples of demonstrated ones, so what fits these fits all."""
        if proof["claim"] == "open":
            weights = read(proof.get("weights"), self.k, "weights")
            s, a, b = read(proof.get("row"), (self.n, self.m, self.m), "row")
            need(s in self.scope and a in self.optimal[s], f"row: {[s, a]} is not optimal in scope")
            rows = [(*pair, c) for pair in sorted(pairs) for c in range(self.m)]
            broken = [x for x in [*rows, (s, a, b)] if sum(map(mul, weights, self.row(*x)[1])) < 0]
            need(not {*broken} & {*rows}, f"weights: they break the demonstrated row {broken[:1]}")
            need(broken, f"row: the weights do not break {[s, a, b]}")
            return f"leave {self.name} open: weights that fit them prefer {b} to {a} in state {s}"
        generators = read(proof.get("generators"), [(self.n, self.m, self.m)], "generators")
        for j, (s, a, _) in enumerate(generators):
            need((s, a) in pairs, f"generators[{j}]: {[s, a]} is not demonstrated")
        rays = [self.row(*generator) for generator in generators]
        rows = [(s, a, b) for s in self.scope for a in self.optimal[s] for b in range(self.m)]
        directions = [*dict.fromkeys(filter(any, (self.row(*row)[1] for row in rows)))]
        pattern = ([(len(rays), Fraction)],) * len(directions)
        for i, terms in enumerate(read(proof.get("multipliers"), pattern, "multipliers")):
            need(all(c >= 0 for _, c in terms), f"multipliers[{i}]: one is negative")
            scaled = [(c * rays[j][0], rays[j][1]) for j, c in terms]
            total = tuple(sum(c * ray[f] for c, ray in scaled) for f in range(len(self.k)))
            need(total == directions[i], f"multipliers[{i}] do not give {show(directions[i])}")
        return f"teach {self.name}: {len(directions)} directions of {len(self.scope)} states follow"


def check_proof(task: str | Path | dict[str, Any], proof: str | Path | dict[str, Any]) -> str:
    """One line that says what is proved; raises ProofError at the first step that is false."""
    check = load(task, "didact.task/1", then=Check)
    lesson = load(proof, "didact.proof/1", "didact.lesson/1")
    inner = lesson.get("proof") if lesson["format"] == "didact.lesson/1" else lesson
    need(isinstance(inner, dict) and inner.get("format") == "didact.proof/1", "carries no proof")
    status = {"teaches": "complete", "open": "partial"}.get(str(inner.get("claim")))
    need(status, f"claim must be 'teaches' or 'open', not {show(inner.get('claim'))}")
    check.policy(inner)
    shown = check.demonstrations(inner)
    pairs = [(s, a) for demonstration in shown for s, a in demonstration]
    if inner is not lesson:
        sizes = {"n_demonstrations": len(shown), "n_pairs": len(pairs)}
        for key, value in {**sizes, "demonstrations": shown, "status": status}.items():
            fits = json.dumps(lesson.get(key, sizes.get(key))) == json.dumps(value)
            need(fits, f"{key} must be {show(value)}, as in the proof, not {show(lesson.get(key))}")
    verdict = f"proved{' open' * (status == 'partial')}: {len(shown)} demonstrations"
    return f"{verdict} ({len(pairs)} pairs) {check.claim(inner, set(pairs))}"


if __name__ == "__main__":
    try:
        need(len(sys.argv) == 3, "usage: python -m didact.proofcheck TASK LESSON_OR_PROOF")
        line, code = check_proof(sys.argv[1], sys.argv[2]), 0
    except ProofError as error:
        line, code = str(error), 2 if error.__cause__ or len(sys.argv) != 3 else 1
    print(line.encode("ascii", "backslashreplace").decode())
    sys.exit(code)
