"""`make demo`: teaching sets for a random grid and for Taxi, with proofs, and random ones beside.

Usage: python examples/demo.py [FOLDER]
"""

import shlex
import sys
from pathlib import Path

from rich.console import Console

import didact
from didact.report.terminal.worlds import draw_lesson
from didact.report.words.lessons import lesson_line
from didact.teaching.lesson import verify

FEATURES = ["grass", "mud", "water", "road", "sand", "flowers", "berries", "gold"]


def island() -> didact.Task:
    """A random 9x9 grid as in the paper's Table 1, whose features have names."""
    grid = didact.make("random-grid", size=9, n_features=8, seed=3)
    mdp = didact.MDP(
        grid.mdp.transitions,
        grid.mdp.features,
        grid.mdp.exact_discount,
        start=grid.mdp.start,
        feature_names=FEATURES,
    )
    return didact.Task(mdp, grid.true_weights, name="island", layout=grid.layout)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, markup=False, emoji=False)
    grid = island()
    lesson = didact.teach(grid, teacher="exact", horizon=1)
    drawn = draw_lesson(grid, lesson, verify(grid, lesson.document()), width=console.width)
    console.print(drawn, crop=False)
    compare_with_random(console, grid, lesson)
    taxi = didact.from_gymnasium("Taxi-v4")
    ride = didact.teach(taxi, teacher="exact")
    verdict = lesson_line(taxi, ride, verify(taxi, ride.document()))
    console.print(verdict, style="bold", soft_wrap=True)
    console.print(f"  {ride.why(0)}")
    compare_with_random(console, taxi, ride)
    for name, task, found in (("grid", grid, lesson), ("taxi", taxi, ride)):
        task.save(folder / f"{name}-task.json")
        found.save(folder / f"{name}-lesson.json")
    python = shlex.quote(sys.executable) if sys.prefix != sys.base_prefix else "python"
    console.print(f"Saved in {folder}. Check a proof independently:")
    files = f"{folder}/taxi-task.json {folder}/taxi-lesson.json"
    console.print(f"  {python} -m didact.proofcheck {files}", soft_wrap=True)


def compare_with_random(console: Console, task: didact.Task, lesson: didact.Lesson) -> None:
    """How many of 20 random sets of as many demonstrations teach, and what the others may lose."""
    n = len(lesson.demonstrations)
    horizon = lesson.settings["horizon"]
    tries = [
        didact.teach(task, teacher="random", n=n, horizon=horizon, seed=seed, bec=lesson.bec)
        for seed in range(20)
    ]
    losses = [t.loss for t in tries if t.loss is not None]
    taught = len(tries) - len(losses)
    worst = f"; after the others a learner may lose up to {max(losses):.3g}" if losses else ""
    console.print(f"  {taught} of 20 random sets of this size teach it{worst}.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
