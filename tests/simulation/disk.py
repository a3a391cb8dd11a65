"""A disk that loses power: the writes of SQLite are logged, and images of what may be left are made.

`logged()` puts a layer over SQLite's own file layer (its VFS, by ctypes, in SQLite's C library that
the standard library's `sqlite3` uses). `Disk.images` makes files as they may be found after power
failed at some point of the log. What was synchronised before is there. Of what was written since,
any part may be there: each write whole, not at all, or some of its sectors.
"""

from __future__ import annotations

import ctypes
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

SECTOR = 512  # bytes that a disk writes whole
LIBRARY = "libsqlite3.so.0"

_POINTER, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
# A name is an address: behind the text, SQLite keeps parameters of it.
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)
_DELETE = ctypes.CFUNCTYPE(_INT, _POINTER, ctypes.c_char_p, _INT)
_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _LONG)
_TRUNCATE = ctypes.CFUNCTYPE(_INT, _POINTER, _LONG)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)


class _Layer(ctypes.Structure):
    """`sqlite3_vfs` of SQLite's C interface, version 3."""

    _fields_ = (
        ("version", _INT),
        ("file_size", _INT),
        ("longest_path", _INT),
        ("following", _POINTER),
        ("name", ctypes.c_char_p),
        ("data", _POINTER),
        ("open", _OPEN),
        ("delete", _DELETE),
        ("others", _POINTER * 14),
    )


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods` of SQLite's C interface, version 3."""

    _fields_ = (
        ("version", _INT),
        ("close", _POINTER),
        ("read", _POINTER),
        ("write", _WRITE),
        ("truncate", _TRUNCATE),
        ("sync", _SYNC),
        ("others", _POINTER * 13),
    )


@dataclass(frozen=True, slots=True)
class Event:
    """What was done to a file: `write` at `at`, `truncate` to `at`, `sync`, `delete`, or `note`.

    A `delete` is durable at once if `durable`. A `note` is of the test, not of a file.
    """

    kind: str
    path: str
    at: int = 0
    data: bytes = b""
    durable: bool = False


@dataclass
class Disk:
    """The log of a disk, from which images are made."""

    events: list[Event] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Remember that something was acknowledged here."""
        self.events.append(Event("note", text))

    def noted(self, cut: int) -> set[str]:
        """Return what was acknowledged before the first `cut` events were over."""
        return {event.path for event in self.events[:cut] if event.kind == "note"}

    def image(self, cut: int, rng: np.random.Generator) -> dict[str, bytes]:
        """Return the files that may be found after power failed behind the first `cut` events."""
        safe: dict[str, bytes] = {}
        pending: dict[str, list[Event]] = {}
        for event in self.events[:cut]:
            waiting = pending.setdefault(event.path, [])
            if event.kind in {"sync", "delete"} and (event.kind == "sync" or event.durable):
                for earlier in [*waiting, event]:
                    _apply(safe, earlier)
                waiting.clear()
            elif event.kind != "note":
                waiting.append(event)
        for event in (one for waiting in pending.values() for one in waiting):
            for part in _some_of(event, rng):
                _apply(safe, part)
        return safe


def _apply(files: dict[str, bytes], event: Event) -> None:
    if event.kind == "delete":
        files.pop(event.path, None)
    elif event.kind == "truncate":
        files[event.path] = files.get(event.path, b"").ljust(event.at, b"\0")[: event.at]
    elif event.kind == "write":
        before = files.get(event.path, b"").ljust(event.at, b"\0")
        files[event.path] = before[: event.at] + event.data + before[event.at + len(event.data) :]


def _some_of(event: Event, rng: np.random.Generator) -> Iterator[Event]:
    """Yield what of an event reached the disk: all, nothing, or some sectors of a write."""
    fate = rng.integers(3)
    if fate == 0:
        yield event
    elif fate == 1 and event.kind == "write":
        for start in range(0, len(event.data), SECTOR):
            if rng.random() < 0.5:
                yield Event("write", event.path, event.at + start, event.data[start : start + SECTOR])


def available() -> bool:
    """Whether the standard library's SQLite is a shared library, which ctypes finds."""
    loaded = Path("/proc/self/maps")
    return bool(sqlite3.sqlite_version) and loaded.exists() and LIBRARY in loaded.read_text()


@contextmanager
def logged() -> Iterator[Disk]:
    """Log what SQLite does to the files that it opens inside of the block."""
    library = ctypes.CDLL(LIBRARY)
    library.sqlite3_vfs_find.restype = _POINTER
    library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
    library.sqlite3_vfs_register.argtypes = [_POINTER, _INT]
    library.sqlite3_vfs_unregister.argtypes = [_POINTER]
    usual = library.sqlite3_vfs_find(None)
    disk, keep = Disk(), []
    layer = _layer_over(_Layer.from_address(usual), disk, keep)
    library.sqlite3_vfs_register(ctypes.addressof(layer), 1)
    try:
        yield disk
    finally:
        library.sqlite3_vfs_unregister(ctypes.addressof(layer))
        library.sqlite3_vfs_register(usual, 1)


def _layer_over(usual: _Layer, disk: Disk, keep: list[Any]) -> _Layer:
    """Return a layer that logs and then does what `usual` does; `keep` holds what C points to."""
    layer = _Layer.from_buffer_copy(usual)
    layer.name = b"logged"
    names: dict[int, str] = {}  # by the address of an open file
    known: dict[int, _Methods] = {}  # by the address of the usual methods

    def opened(own: int, name: int | None, file: int, flags: int, out: int) -> int:
        result = int(usual.open(own, name, file, flags, out))
        methods = _POINTER.from_address(file)
        if result == 0 and name and methods.value:
            names[file] = ctypes.string_at(name).decode()
            if methods.value not in known:
                found = _Methods.from_address(methods.value)
                known[methods.value] = _methods_over(found, disk, names, keep)
            methods.value = ctypes.addressof(known[methods.value])
        return result

    def deleted(own: int, name: bytes, durable: int) -> int:
        result = int(usual.delete(own, name, durable))
        disk.events.append(Event("delete", name.decode(), durable=bool(durable)))
        return result

    layer.open, layer.delete = _OPEN(opened), _DELETE(deleted)
    keep += [layer, usual]
    return layer


def _methods_over(usual: _Methods, disk: Disk, names: dict[int, str], keep: list[Any]) -> _Methods:
    methods = _Methods.from_buffer_copy(usual)

    def logging(kind: str, done: Callable[..., int]) -> Callable[..., int]:
        def call(file: int, *given: int) -> int:
            result = int(done(file, *given))
            if result == 0:
                disk.events.append(_event(kind, names[file], given))
            return result

        return call

    methods.write = _WRITE(logging("write", usual.write))
    methods.truncate = _TRUNCATE(logging("truncate", usual.truncate))
    methods.sync = _SYNC(logging("sync", usual.sync))
    keep += [methods, usual]
    return methods


def _event(kind: str, path: str, given: tuple[int, ...]) -> Event:
    if kind == "write":
        address, length, at = given
        return Event(kind, path, at, ctypes.string_at(address, length))
    return Event(kind, path, given[0] if kind == "truncate" else 0)
