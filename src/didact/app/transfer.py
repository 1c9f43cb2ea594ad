"""What a lesson determines in unseen worlds: the use case behind `didact transfer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.files.json import require_writable, write_json
from didact.files.kinds import json_kind
from didact.teaching import Transfer, load_lesson, transfer
from didact.teaching.transfer import TRANSFER_FORMAT
from didact.worlds.opening import open_task_or_family


def transfer_source(
    path: str,
    source: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    of: str | None = None,
    out: str | None = None,
    **settings: Any,
) -> Transfer:
    """What the lesson in a file determines in the worlds that `source` names.

    of: the file or name of what the lesson was made for. out: save the result there as JSON; the
    place is tried before the work.
    """
    if out is not None:
        require_writable(out, json_kind(TRANSFER_FORMAT), [path, source, of])
    lesson = load_lesson(path)
    made_for = None if of is None else open_task_or_family(of)
    found = transfer(lesson, open_task_or_family(source, parameters), of=made_for, **settings)
    if out is not None:
        write_json(found.to_dict(), out)
    return found
