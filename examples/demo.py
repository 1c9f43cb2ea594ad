"""`make demo`: a lesson for the paper's random world, one for Taxi, and what random showing misses.

Usage: python examples/demo.py [FOLDER]
"""

import sys
from pathlib import Path

from rich.console import Console

import didact
from didact.report.terminal.worlds import draw_lesson
from didact.report.words.lessons import lesson_line
from didact.teaching.lesson import verify


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, markup=False, emoji=False)
    grid = didact.make("random-grid", size=9, n_features=8, seed=0)
    lesson = didact.teach(grid, horizon=1)
    drawn = draw_lesson(grid, lesson, verify(grid, lesson.document()), width=console.width)
    console.print(drawn, crop=False)
    compare_with_random(console, grid, lesson)
    taxi = didact.from_gymnasium("Taxi-v4")
    ride = didact.teach(taxi)
    verdict = lesson_line(taxi, ride, verify(taxi, ride.document()))
    console.print(verdict, style="bold", soft_wrap=True)
    console.print(f"  {ride.why(0)}")
    compare_with_random(console, taxi, ride)
    for name, task, found in (("grid", grid, lesson), ("taxi", taxi, ride)):
        didact.save_task(task, folder / f"{name}-task.json")
        found.save(folder / f"{name}-lesson.json")
    check = f"python -m didact.proofcheck {folder}/taxi-task.json {folder}/taxi-lesson.json"
    console.print(f"Tasks and lessons are in {folder}. Check one with nothing of the solver:")
    console.print(f"  {check}", soft_wrap=True)


def compare_with_random(console: Console, task: didact.Task, lesson: didact.Lesson) -> None:
    """How often as many random demonstrations teach it, and what they leave open otherwise."""
    n = len(lesson.demonstrations)
    horizon = lesson.settings["horizon"]
    tries = [
        didact.teach(task, teacher="random", n=n, horizon=horizon, seed=seed, bec=lesson.bec)
        for seed in range(20)
    ]
    losses = [t.loss for t in tries if t.loss is not None]
    taught = len(tries) - len(losses)
    worst = f"; the others leave losses up to {max(losses):.3g} open" if losses else ""
    console.print(f"  Of 20 random lessons of that size {taught} teach it{worst}.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
