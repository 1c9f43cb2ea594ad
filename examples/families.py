"""One reward, many worlds: teach a family of maps, and see what that says about maps never shown.

Usage: python examples/families.py [MEMBERS]

Random grids share a reward. The fewest pairs that teach all of them are found and proved; then they
are tried on grids that the lesson was not made for.
"""

import sys

import didact


def main(n_members: int) -> None:
    world = {"size": 5, "n_features": 4}
    family = didact.make("random-grid", members=n_members, **world)
    lesson = didact.teach(family, teacher="exact", horizon=1)
    used = {demonstration.member for demonstration in lesson.demonstrations}
    print(f"{len(lesson.demonstrations)} pairs in {len(used)} of {n_members} worlds, proved fewest")
    alone = sum(didact.teach(t, teacher="exact", horizon=1).n_pairs for t in family)
    print(f"each world alone: {alone} pairs")
    unseen = didact.make("random-grid", members=20, seed=1000, weights_seed=0, **world)
    found = didact.transfer(lesson, unseen)
    print(f"{found.n_determined} of 20 unseen worlds follow")
    for point in found.curve:
        print(f"  {point.n_members:3} worlds taught: {100 * point.share:.0f}%")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
