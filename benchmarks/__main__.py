"""Print the benchmark tables: all of them, or those named on the command line."""

import sys
from importlib import import_module

TABLES = (
    *(
        "planning",
        "redundancy",
        "teaching",
        "fewest",
        "families",
        "birl",
        "mixing",
        "active",
        "auditing",
    ),
    *("loss", "simulators"),
    *("start_up", "modules", "studio"),
)


def main() -> None:
    for name in sys.argv[1:] or TABLES:
        if name not in TABLES:
            sys.exit(f"no benchmark is called {name!r}; there are {', '.join(TABLES)}")
        import_module(f"benchmarks.{name}").report()


main()
