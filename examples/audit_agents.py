"""Which of some trained rewards may be deployed: an exam, three agents, what each would cost."""

from __future__ import annotations

import didact

AGENTS = {"careful": [-1, -5], "hasty": [-1, -2], "upside down": [1, -10]}


def main() -> None:
    """Print the exam for the six cells, and the audit of three rewards."""
    task = didact.make("six-cell")
    exam = didact.exam(task)
    print(f"{len(exam)} questions decide that {exam.statement}:")
    for question in exam.questions:
        print(f"  {question.words}")
    for name, weights in AGENTS.items():
        answers = exam.answers_of(weights)
        found = didact.audit(task, weights)
        told = "" if found.situation is None else f": {found.situation.words}"
        print(f"{name} answers {answers}: {exam.grade(answers).verdict}{told}")


if __name__ == "__main__":
    main()
