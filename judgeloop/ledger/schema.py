"""The tables and indexes of a ledger, as SQL, for each store. Reads and writes nothing."""

import re

from judgeloop.core.ledger import End
from judgeloop.ledger.periods import PERIODS

# Columns in _p are picodollars. Each transaction updates charged_p of a run together with its attempts,
# so that the check against the budget is atomic among threads and processes. `seq` numbers the rows in
# the order written, and `seen` is the last verdict recorded before the run began: neither depends on the
# clock. `seal` is the row's checksum (`rows.py`). `ingredients` are those of a verdict's key, as numbers
# of texts: run, judge, item, the two systems, and the outputs in the order shown. They are one value, so
# that a history of a million is read in seconds. A text is a value as JSON: the id of a run, a judge, an
# item with the digests of its texts, the name of a system, or the digest of an output; 0 is no value.
# AUTOINCREMENT: the number of a row that was deleted is never given to another.
ENDS = ", ".join(f"'{end}'" for end in End)
PERS = ", ".join(f"'{period}'" for period in PERIODS)
DDL = (
    """CREATE TABLE about (
    id          TEXT PRIMARY KEY,
    created_at  TEXT NOT NULL,
    seal        BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    seen        INTEGER NOT NULL CHECK (seen >= 0),
    charged_p   INTEGER NOT NULL DEFAULT 0 CHECK (charged_p >= 0),
    finished    INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
    note        TEXT NOT NULL DEFAULT '{}',
    seal        BLOB NOT NULL
) STRICT""",
    f"""CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    run         TEXT NOT NULL REFERENCES runs (id),
    opener      TEXT NOT NULL,
    key         TEXT NOT NULL,
    item_id     TEXT NOT NULL,
    judge       TEXT NOT NULL,
    note        TEXT NOT NULL,
    state       TEXT NOT NULL
                CHECK (state IN ('reserved', 'sent', 'settled', 'released', 'abandoned')),
    ended       TEXT CHECK (ended IN ({ENDS})),
    reserved_p  INTEGER NOT NULL CHECK (reserved_p >= 0),
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    rehearsed   INTEGER NOT NULL DEFAULT 0 CHECK (rehearsed IN (0, 1)),
    outcome     TEXT,
    usage       TEXT,
    model       TEXT,
    request_id  TEXT,
    began_at    TEXT NOT NULL,
    ended_at    TEXT,
    seal        BLOB NOT NULL,
    CHECK ((ended IS NULL) = (state IN ('reserved', 'sent')))
) STRICT""",
    "CREATE INDEX attempts_by_run ON attempts (run)",
    "CREATE INDEX attempts_by_key ON attempts (key)",
    "CREATE INDEX attempts_by_item ON attempts (item_id)",
    "CREATE INDEX attempts_open ON attempts (run) WHERE ended IS NULL",
    """CREATE TABLE sums (
    seq         INTEGER PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    attempts    INTEGER NOT NULL CHECK (attempts >= 0),
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seal        BLOB NOT NULL
) STRICT""",
    """CREATE TABLE texts (
    id          INTEGER PRIMARY KEY,
    text        TEXT NOT NULL UNIQUE,
    seal        BLOB NOT NULL
) STRICT""",
    """CREATE TABLE verdicts (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    cost_p      INTEGER NOT NULL CHECK (cost_p >= 0),
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    key         TEXT NOT NULL UNIQUE,
    reason      TEXT NOT NULL,
    ingredients BLOB NOT NULL CHECK (length(ingredients) = 28),
    seal        BLOB NOT NULL
) STRICT""",
    """CREATE TABLE outputs (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    cost_p      INTEGER NOT NULL CHECK (cost_p >= 0),
    key         TEXT NOT NULL,
    text        TEXT,
    failed      TEXT NOT NULL,
    cut         INTEGER NOT NULL CHECK (cut IN (0, 1)),
    tokens      INTEGER CHECK (tokens >= 0),
    seconds     REAL NOT NULL CHECK (seconds >= 0),
    model       TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    seal        BLOB NOT NULL,
    CHECK ((text IS NULL) = (failed <> ''))
) STRICT""",
    "CREATE INDEX outputs_by_key ON outputs (key)",
    """CREATE TABLE results (
    seq         INTEGER PRIMARY KEY,
    run         TEXT NOT NULL UNIQUE REFERENCES runs (id),
    created_at  TEXT NOT NULL,
    headline    TEXT NOT NULL,
    text        TEXT NOT NULL,
    document    TEXT NOT NULL,
    digests     TEXT NOT NULL, seal BLOB NOT NULL
) STRICT""",
    """CREATE TABLE judged (
    seq INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL, seal BLOB NOT NULL
) STRICT""",
    f"""CREATE TABLE budgets (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT NOT NULL UNIQUE,
    limit_p     INTEGER NOT NULL CHECK (limit_p >= 0),
    per         TEXT NOT NULL CHECK (per IN ({PERS})),
    day_starts  TEXT NOT NULL,
    since       TEXT NOT NULL,
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    seal        BLOB NOT NULL
) STRICT""",
    """CREATE TABLE draws (
    seq         INTEGER PRIMARY KEY,
    budget      INTEGER NOT NULL REFERENCES budgets (seq),
    since       TEXT NOT NULL,
    opener      TEXT NOT NULL,
    first       INTEGER NOT NULL,
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    seal        BLOB NOT NULL
) STRICT""",
    "CREATE INDEX draws_by_period ON draws (budget, since)",
    "CREATE INDEX draws_by_opener ON draws (opener)",
)
VERSION = 1

# What stands in PostgreSQL for what is written for SQLite. Its B-trees hold no long texts, which only need
# to be found again: that no text comes twice, the lock of every transaction ensures.
IN_POSTGRES = (
    (r"INTEGER PRIMARY KEY( AUTOINCREMENT)?", "BIGINT PRIMARY KEY"),
    (r"\bINTEGER\b", "BIGINT"),
    (r"\bBLOB\b", "BYTEA"),
    (r"\bREAL\b", "DOUBLE PRECISION"),
    (r"\) STRICT(, WITHOUT ROWID)?$", ")"),
    (r"(?<=text        TEXT NOT NULL) UNIQUE", ""),
    (r"(?<=ON attempts )\(item_id\)", "USING hash (item_id)"),
)
OF_POSTGRES = (
    "CREATE INDEX texts_by_text ON texts USING hash (text)",
    "CREATE TABLE numbers (name TEXT PRIMARY KEY, last BIGINT NOT NULL)",
)
# What the database's roles may do: a writer books, and cannot raise a budget; a reader looks.
ROLES = {
    "writer": (
        "GRANT USAGE ON SCHEMA judgeloop TO {role}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA judgeloop TO {role}",
        "GRANT INSERT ON runs, attempts, sums, texts, verdicts, outputs, results, judged, draws TO {role}",
        "GRANT UPDATE ON runs, attempts, sums, results, draws, numbers TO {role}",
        "GRANT UPDATE (since, charged_p, seal) ON budgets TO {role}",
        "GRANT DELETE ON attempts TO {role}",
    ),
    "reader": ("GRANT USAGE ON SCHEMA judgeloop TO {role}", "GRANT SELECT ON ALL TABLES IN SCHEMA judgeloop TO {role}"),
}


def for_postgres() -> list[str]:
    """Return the statements that make the tables in PostgreSQL."""
    made = []
    for statement in DDL:
        for here, there in IN_POSTGRES:
            statement = re.sub(here, there, statement)  # noqa: PLW2901 - one after the other
        made.append(statement)
    return [*made, *OF_POSTGRES]
