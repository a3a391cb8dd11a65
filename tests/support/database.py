"""Opens the database of a ledger for a test, in one transaction, and closes it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager


@contextmanager
def opened(address, **options):
    """A connection to the file or the server of a ledger, which commits and closes at the end."""
    if str(address).startswith("postgresql:"):
        import psycopg

        with psycopg.connect(str(address), options="-c search_path=judgeloop") as connection:
            yield connection
        return
    with closing(sqlite3.connect(address, **options)) as connection, connection:
        yield connection
