"""A study of your own: settings with their sources, a trial, one line to register it.

Usage: python examples/own_study.py [FOLDER]

How much longer are lessons where moves slip? The study runs on all cores, can be stopped and
resumed, and leaves its tables, records and a page in FOLDER.
"""

import sys
from dataclasses import dataclass

import didact
from didact.random import stream
from didact.report.reproduce import reproduce
from didact.report.studies import table_markdown
from didact.studies import setting


@dataclass(frozen=True)
class Slippery:
    """Small random worlds in which a move goes aside now and then."""

    trials: int = setting(8, source="our choice")
    size: int = setting(5, source="our choice")
    slips: tuple[str, ...] = setting(("0", "1/10", "1/5"), source="our choice")
    seed: int = setting(0, source="our choice")


def trial(settings: Slippery, number: int) -> dict:
    """One world, taught with each slip: a plain record, from the seed and the number alone."""
    world = int(stream(settings.seed, "slippery", number).integers(2**32))
    record = {}
    for slip in settings.slips:
        task = didact.make("random-grid", size=settings.size, n_features=4, slip=slip, seed=world)
        lesson = didact.teach(task, horizon=1)
        record[f"slip {slip}"] = {"pairs": lesson.n_pairs, "facets": lesson.n_facets}
    return record


didact.register_study("slippery", Slippery, trial=trial, title="Lessons where moves slip")


def main(folder: str) -> None:
    made = reproduce(["slippery"], out=folder)
    for table in made.reports[0].summary.tables:
        print(table_markdown(table))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "slippery")
