"""A page for an environment of your own: a class with a table `P` and a start is all it takes.

Usage: python examples/own_environment.py [PAGE]
"""

import sys

import didact


class Corridor:
    """Five cells in a row. Reaching the last one pays 10 and ends it; other steps cost 1.

    P[state][action] lists (probability, next state, reward, terminated).
    """

    def __init__(self) -> None:
        left = {s: [(1.0, max(s - 1, 0), -1, False)] for s in range(5)}
        right = {s: [(1.0, min(s + 1, 4), 10 if s == 3 else -1, s == 3)] for s in range(5)}
        self.P = {s: {0: left[s], 1: right[s]} for s in range(5)}
        self.start_state_index = 0


def main(page: str) -> None:
    task = didact.from_gymnasium(Corridor(), name="corridor")
    lesson = didact.teach(task)
    lesson.report(page)
    print(f"{lesson.status}: {len(lesson.demonstrations)} demonstration; see {page}")
    print(lesson.why(0))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "corridor.html")
