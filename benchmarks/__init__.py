"""Speed, as ratios inside one run: `make bench`, or `python -m benchmarks planning`."""
