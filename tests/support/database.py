"""Opens a database for a test, in one transaction, and closes it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager


@contextmanager
def opened(path, **options):
    """What `with sqlite3.connect(path)` looks as if it did: it commits, but does not close."""
    with closing(sqlite3.connect(path, **options)) as connection, connection:
        yield connection
