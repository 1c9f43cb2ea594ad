"""What a lesson says about unseen worlds, in lines of words."""

from __future__ import annotations

from collections.abc import Iterator

from didact.inputs import counted, shown_name
from didact.teaching import Transfer

MOST_WORLDS = 20
"""Open worlds that are written out."""


def transfer_lines(found: Transfer) -> Iterator[str]:
    """What `transfer` says to people: the share, the open worlds, the curve."""
    n = len(found.worlds)
    of = f"{found.n_determined} of {counted(n, 'unseen world')}"
    how = "proved" if found.arithmetic == "exact" else "numerical, not proved"
    verb = "is" if found.n_determined == 1 else "are"
    yield f"{shown_name(found.lesson_name)}: {of} {verb} determined completely ({how})."
    if found.interval is not None:
        low, high = (f"{100 * end:.1f}%" for end in found.interval)
        yield f"  of all such worlds between {low} and {high}, with 95% confidence"
    still_open = [world for world in found.worlds if not world.determined]
    for world in still_open[:MOST_WORLDS]:
        loss = f"{world.loss:.3g}" if world.loss is not None else "?"
        yield f"  open: {shown_name(world.name)}: a learner may lose {loss}: {world.words}"
    if len(still_open) > MOST_WORLDS:
        yield f"  (and {counted(len(still_open) - MOST_WORLDS, 'more open world')})"
    yield from transfer_curve_lines(found)


def transfer_curve_lines(found: Transfer) -> Iterator[str]:
    """The curve, a line for each number of members."""
    for point in found.curve:
        reach = (
            ""
            if point.low is None
            else f" ({100 * point.low:.0f} to {100 * (point.high or 0):.0f}%)"
        )
        yield f"  {counted(point.n_members, 'member')} taught: {100 * point.share:.0f}%{reach}"
