"""The lesson of a family on paper: the members that are shown side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from didact.errors import InvalidParameter
from didact.inputs import counted, shown_name
from didact.mdp import Family, as_family
from didact.plots.drawing import SMALL, axes_of
from didact.plots.lessons import steps
from didact.plots.worlds import world
from didact.teaching import Lesson

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_MEMBERS = 36
INCHES, GAP = 2.2, 0.06


def family(
    found: Lesson, ax: Axes | None = None, *, task: Family | None = None, **style: Any
) -> Axes:
    """The members that a family's lesson shows, side by side, each with its demonstrations.

    found: of `didact.teach` with a family, or from a file.
    ax: Matplotlib axes, new ones by default; they are returned, and hold axes for each member.
    task: the family, needed only for a lesson from a file.
    style: options of `world`, such as a policy.
    """
    if task is None and found.known is None:
        raise InvalidParameter("a lesson from a file does not hold its family; give it as task=")
    members = found.known.family if task is None else as_family(task, "task")
    used = sorted({d.member or 0 for d in found.demonstrations})[:MOST_MEMBERS]
    columns = max(1, math.ceil(math.sqrt(len(used))))
    rows = max(1, math.ceil(len(used) / columns))
    drawn = axes_of(ax, INCHES * columns, INCHES * rows + 0.5)
    drawn.set_axis_off()
    for place, member in enumerate(used):
        row, column = divmod(place, columns)
        share = ((1 - GAP) / columns, (1 - 2 * GAP) / rows)
        corner = (column / columns, 1 - (row + 1) / rows)
        inset = drawn.inset_axes((*corner, *share))
        own = [d for d in found.demonstrations if d.member == member]
        if members[member].layout is None:
            steps(members[member].mdp, tuple(own), inset, **style)
        else:
            world(members[member], inset, shown=[list(d) for d in own], **style)
        key = inset.get_legend()
        if key is not None and place < len(used) - 1:
            key.remove()  # one is enough: all members have the same features
        inset.set_title(shown_name(members.names[member], 30), fontsize=SMALL)
    n_used = len({d.member for d in found.demonstrations})
    shown = f"{counted(len(found.demonstrations), 'demonstration')}, {found.status}"
    drawn.set_title(f"{members.name}\n{n_used} of {len(members)} worlds shown: {shown}")
    return drawn
