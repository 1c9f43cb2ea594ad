"""Disks that fail and processes that are killed, at every system call that changes a file.

A shim in C, loaded before the C library, counts the calls of one process (and of those that it
starts) that write, make, rename, remove or flush files under one folder. At the n-th of them it
fails with an error, or kills the process. Python, NumPy and SQLite all pass through it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import forked

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long count;
static const char *folder(void) { return getenv("FAULT_FOLDER"); }
static int is_named(const char *path) {
  char whole[PATH_MAX];
  const char *under = folder();
  if (!under || !path) return 0;
  if (path[0] == '/') return strncmp(path, under, strlen(under)) == 0;
  return getcwd(whole, sizeof whole) && strncmp(whole, under, strlen(under)) == 0;
}
static int is_open(int number) {
  char link[64], path[PATH_MAX];
  const char *under = folder();
  if (!under) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", number);
  long n = readlink(link, path, sizeof path - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return strncmp(path, under, strlen(under)) == 0;
}
/* Whether the call fails; it may not return at all. */
static int fails(const char *what) {
  const char *log = getenv("FAULT_LOG"), *at = getenv("FAULT_AT"), *way = getenv("FAULT_WAY");
  long number = ++count;
  if (log) {
    int (*plain)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    ssize_t (*put)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    int file = plain(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char line[64];
    int n = snprintf(line, sizeof line, "%s\n", what);
    if (file >= 0) { put(file, line, n); close(file); }
  }
  if (!at || number < atol(at)) return 0;
  if (way && strcmp(way, "kill") == 0) { if (number == atol(at)) raise(SIGKILL); return 0; }
  errno = way && strcmp(way, "EIO") == 0 ? EIO : ENOSPC;
  return 1;
}
#define REAL(type, name, ...) type (*real)(__VA_ARGS__) = dlsym(RTLD_NEXT, #name)

ssize_t write(int f, const void *b, size_t n) {
  REAL(ssize_t, write, int, const void *, size_t);
  if (is_open(f) && fails("write")) return -1;
  return real(f, b, n);
}
ssize_t pwrite(int f, const void *b, size_t n, off_t o) {
  REAL(ssize_t, pwrite, int, const void *, size_t, off_t);
  if (is_open(f) && fails("pwrite")) return -1;
  return real(f, b, n, o);
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  if (is_open(f) && fails("pwrite")) return -1;
  return real(f, b, n, o);
}
int fsync(int f) {
  REAL(int, fsync, int);
  if (is_open(f) && fails("fsync")) return -1;
  return real(f);
}
int fdatasync(int f) {
  REAL(int, fdatasync, int);
  if (is_open(f) && fails("fdatasync")) return -1;
  return real(f);
}
int ftruncate(int f, off_t n) {
  REAL(int, ftruncate, int, off_t);
  if (is_open(f) && fails("ftruncate")) return -1;
  return real(f, n);
}
int ftruncate64(int f, off64_t n) {
  REAL(int, ftruncate64, int, off64_t);
  if (is_open(f) && fails("ftruncate")) return -1;
  return real(f, n);
}
static mode_t mode_in(int flags, va_list given) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(given, mode_t) : 0;
}
#define OPEN(name) \
  int name(const char *p, int flags, ...) { \
    REAL(int, name, const char *, int, ...); \
    va_list given; va_start(given, flags); mode_t mode = mode_in(flags, given); va_end(given); \
    if ((flags & O_CREAT) && is_named(p) && fails("create")) return -1; \
    return real(p, flags, mode); \
  }
OPEN(open)
OPEN(open64)
#define OPENAT(name) \
  int name(int d, const char *p, int flags, ...) { \
    REAL(int, name, int, const char *, int, ...); \
    va_list given; va_start(given, flags); mode_t mode = mode_in(flags, given); va_end(given); \
    if ((flags & O_CREAT) && is_named(p) && fails("create")) return -1; \
    return real(d, p, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)
int rename(const char *a, const char *b) {
  REAL(int, rename, const char *, const char *);
  if (is_named(b) && fails("rename")) return -1;
  return real(a, b);
}
int renameat2(int x, const char *a, int y, const char *b, unsigned flags) {
  REAL(int, renameat2, int, const char *, int, const char *, unsigned);
  if (is_named(b) && fails("rename")) return -1;
  return real(x, a, y, b, flags);
}
int mkdir(const char *p, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t);
  if (is_named(p) && fails("mkdir")) return -1;
  return real(p, mode);
}
"""


@cache
def shim(folder: Path) -> Path | None:
    """The compiled shim; None where there is no compiler or no Linux."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return None
    source, target = folder / "faults.c", folder / "faults.so"
    source.write_text(SHIM)
    command = [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", target, source, "-ldl"]
    return target if subprocess.run(command).returncode == 0 else None


@dataclass(frozen=True)
class Ended:
    """How a command ended, and which calls it made under the folder."""

    code: int
    out: str
    err: str
    calls: tuple[str, ...]


@contextmanager
def failing(library: Path) -> Iterator[None]:
    """Commands inside are forked from a process that has loaded the shim."""
    before = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = str(library)
    forked._loaded.cache_clear()
    try:
        yield
    finally:
        forked._loaded.cache_clear()
        os.environ.pop("LD_PRELOAD")
        if before is not None:
            os.environ["LD_PRELOAD"] = before


def run(
    arguments: list[str],
    folder: Path,
    library: Path,
    *,
    at: int = 0,
    way: str = "ENOSPC",
    seconds: float | None = None,
    sent: signal.Signals = signal.SIGINT,
) -> Ended:
    """A command in a folder, whose n-th call fails in some way: ENOSPC, EIO or kill.

    at: that n, from which on errors stay; 0 for none. seconds: until `sent` is sent instead.
    """
    log = library.with_name(f"{os.getpid()}.log")
    log.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "FAULT_FOLDER": str(folder),
        "FAULT_LOG": str(log),
        "FAULT_WAY": way,
        "PYTHONIOENCODING": "utf-8",
        "MINARI_DATASETS_PATH": str(folder / "minari"),
    }
    if at:
        environment["FAULT_AT"] = str(at)
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as errors,
        open(os.devnull) as nothing,
    ):
        streams = (nothing.fileno(), out.fileno(), errors.fileno())
        process = forked.Forked(*arguments, streams=streams, environment=environment, folder=folder)
        if seconds is not None:
            with suppress(TimeoutError):
                process.wait(seconds)
            if process.poll() is None:
                process.send_signal(sent)
        code = process.wait()
        told = []
        for stream in (out, errors):
            stream.seek(0)
            told.append(stream.read().decode())
    calls = tuple(log.read_text().split()) if log.exists() else ()
    return Ended(code, *told, calls)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under a folder by its name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
