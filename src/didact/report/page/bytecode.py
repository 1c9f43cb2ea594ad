"""Compiled templates, kept as Python keeps compiled modules: no page waits for Jinja to parse them.

They lie in `__pycache__` beside the modules, or where PYTHONPYCACHEPREFIX says, and only where
Python may write its own. A file counts only for the same template, Python, Jinja and options; any
other is made again. What cannot be read or written costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import marshal
import os
import sys
import tempfile

import jinja2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket


class PythonCache(BytecodeCache):
    """Code of templates in files; options: what else the code depends on, as text."""

    def __init__(self, folder: str, options: str):
        self.folder, self.options = folder, options

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with the code that is kept for its template, if there is any."""
        head = self._head(bucket)
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            with open(self._path(bucket), "rb") as file:
                kept = file.read()
            if kept.startswith(head):
                bucket.code = marshal.loads(kept[len(head) :])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket; the file appears whole or not at all."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            handle, written = tempfile.mkstemp(dir=os.path.dirname(path))
            with open(handle, "wb") as file:
                file.write(self._head(bucket) + marshal.dumps(bucket.code))
            os.replace(written, path)

    def _path(self, bucket: Bucket) -> str:
        return importlib.util.cache_from_source(os.path.join(self.folder, f"{bucket.key}.py"))

    def _head(self, bucket: Bucket) -> bytes:
        """What the code was made from: Python, Jinja, options and the template's text."""
        made_from = f"{jinja2.__version__}\n{self.options}\n{bucket.checksum}"
        return importlib.util.MAGIC_NUMBER + hashlib.sha256(made_from.encode()).digest()
