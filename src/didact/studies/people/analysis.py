"""The preregistered analysis of a study, run on its export: python analysis.py FOLDER BASE.

FOLDER has the answers.csv and participants.csv of `didact study export`; BASE is the condition that
the others are compared with. The script uses the standard library and SciPy alone, so that it runs
without didact; analysis.R beside it does the same. Excluded are participants who did not finish the
test, and those who failed the attention item. A score is the share of right answers in the test.
"""

import csv
import math
import sys
from pathlib import Path
from statistics import fmean, variance

from scipy.stats import t as student

FIELDS = ("row", "condition", "n", "estimate", "low", "high", "t", "df", "p", "p_holm", "g")


def read_scores(folder: str) -> dict[str, list[float]]:
    """The scores of the participants who are not excluded, by condition."""
    with open(Path(folder) / "participants.csv", encoding="utf-8", newline="") as file:
        people = list(csv.DictReader(file))
    with open(Path(folder) / "answers.csv", encoding="utf-8", newline="") as file:
        answers = [row for row in csv.DictReader(file) if row["kind"] == "test"]
    right: dict[str, list[int]] = {}
    for row in answers:
        right.setdefault(row["participant"], []).append(int(row["correct"]))
    scores: dict[str, list[float]] = {}
    for person in people:
        if person["finished"] == "1" and person["attention"] != "0":
            score = fmean(right[person["participant"]])
            scores.setdefault(person["condition"], []).append(score)
    return scores


def mean_row(condition: str, scores: list[float]) -> dict[str, object]:
    """The mean score of a condition with Student's 95% interval."""
    row: dict[str, object] = {"row": "mean", "condition": condition, "n": len(scores)}
    row["estimate"] = mean = fmean(scores)
    if len(scores) > 1:
        reach = math.sqrt(variance(scores) / len(scores)) * student.ppf(0.975, len(scores) - 1)
        row |= {"low": mean - reach, "high": mean + reach}
    return row


def difference_row(condition: str, a: list[float], b: list[float]) -> dict[str, object]:
    """Welch's test of a condition against the base, and Hedges' g."""
    row: dict[str, object] = {"row": "difference", "condition": condition, "n": len(a) + len(b)}
    row["estimate"] = mean = fmean(a) - fmean(b)
    if min(len(a), len(b)) < 2 or variance(a) + variance(b) == 0:
        return row
    va, vb = variance(a) / len(a), variance(b) / len(b)
    error = math.sqrt(va + vb)
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    reach, n = error * student.ppf(0.975, freedom), len(a) + len(b)
    pooled = ((len(a) - 1) * variance(a) + (len(b) - 1) * variance(b)) / (n - 2)
    return row | {
        **{"low": mean - reach, "high": mean + reach, "t": mean / error, "df": freedom},
        **{"p": 2 * student.sf(abs(mean / error), freedom)},
        "g": (1 - 3 / (4 * n - 9)) * mean / math.sqrt(pooled),
    }


def holm(rows: list[dict[str, object]]) -> None:
    """Add Holm's adjusted p-values to the rows that have one."""
    tested = sorted((row for row in rows if "p" in row), key=lambda row: float(str(row["p"])))
    largest = 0.0
    for i, row in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - i) * float(str(row["p"]))))
        row["p_holm"] = largest


def analyse(folder: str, base: str) -> list[dict[str, object]]:
    """A row for the mean of each condition, and one for its difference from the base."""
    scores = dict(sorted(read_scores(folder).items()))
    if base not in scores:
        raise SystemExit(f"no participant of condition {base!r} is left; there are: {[*scores]}")
    others = [name for name in scores if name != base]
    differences = [difference_row(name, scores[name], scores[base]) for name in others]
    holm(differences)
    return [*(mean_row(name, found) for name, found in scores.items()), *differences]


def main() -> None:
    """Print the rows as CSV."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: python analysis.py FOLDER BASE")
    out = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    out.writeheader()
    out.writerows(analyse(*sys.argv[1:]))


if __name__ == "__main__":
    main()
