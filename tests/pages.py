"""Pages that code alone must not change; `python -m tests.pages write` records them anew.

Of each page the text that people read is kept, so that a change of words shows as one, and a digest
of the whole markup without style, scripts and the version, so that a change of pictures shows too.
"""

import difflib
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import didact
from didact import Family, Task, make
from tests.report.reading import read

FILE = Path(__file__).parent / "data" / "pages.json"
QUICK = ("grid", "slippery", "family", "exam")
APART = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


def normalised(page: str) -> str:
    """A page without style, scripts and version; numbers with two decimals, spaces as one."""
    text = APART.sub("", page).replace(didact.__version__, "VERSION")
    return " ".join(NUMBER.sub(lambda found: f"{float(found[0]):.2f}", text).split())


def recorded(page: str) -> dict[str, Any]:
    """What is kept of a page: a digest of its markup, and the lines that people read."""
    reader = read(page)
    lines = [" ".join(text.split()) for text in reader.texts]
    return {
        "digest": hashlib.sha256(normalised(page).encode()).hexdigest()[:16],
        "text": [line.replace(didact.__version__, "VERSION") for line in lines if line],
    }


def reported(result: Callable[[], Any], **options: Any) -> str:
    """The page that a result writes of itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        result().report(path, **options)
        return path.read_text(encoding="utf-8")


def family() -> Family:
    """Three grids with the weights of the first, one of them with a colon in its name."""
    tasks = [make("random-grid", size=4, n_features=3, seed=seed) for seed in range(3)]
    names = ("yard", "hall: east wing", "roof")
    given = zip(tasks, names, strict=True)
    return Family([Task(t.mdp, tasks[0].weights, name=n, layout=t.layout) for t, n in given])


def pages() -> dict[str, Callable[[], str]]:
    """Every page by name."""
    slippery = partial(make, "random-grid", size=5, n_features=3, seed=2, slip="1/5")
    grid = partial(make, "random-grid", size=6, n_features=4, seed=0)
    return {
        "grid": lambda: reported(lambda: didact.teach(grid())),
        "people": lambda: reported(lambda: didact.teach(grid()), audience="people"),
        "slippery": lambda: reported(lambda: didact.teach(slippery(), horizon=6, budget=1)),
        "lake": lambda: reported(lambda: didact.teach(make("FrozenLake-v1"))),
        "taxi": lambda: reported(lambda: didact.teach(make("Taxi-v4"))),
        "family": lambda: reported(lambda: didact.teach(family())),
        "exam": lambda: reported(lambda: didact.exam(make("six-cell"))),
    }


def write() -> None:
    """Record every page anew, and tell which changed and where its text did."""
    old = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = {name: recorded(page()) for name, page in pages().items()}
    for name, page in now.items():
        before = old.get(name, {"digest": "", "text": []})
        if before != page:
            print("changed", name)
            print(*difflib.unified_diff(before["text"], page["text"], lineterm="", n=0), sep="\n")
    FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: python -m tests.pages write")
    write()
