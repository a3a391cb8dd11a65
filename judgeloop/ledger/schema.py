"""The tables of a ledger, in the SQL that both stores share. Columns in _p are picodollars; times are ISO 8601 (UTC).

What runs, budgets and days were charged is kept beside the attempts by triggers: no statement can forget it, and
a reservation need not add up a day's attempts.
"""

from dataclasses import fields
from functools import cache

from judgeloop.core.records import Usage
from judgeloop.ledger.periods import PERIODS
from judgeloop.ledger.records import End

VERSION = 3
STATES = "'reserved', 'sent', 'settled', 'released', 'abandoned'"
ENDS = ", ".join(f"'{end}'" for end in End)
PERS = ", ".join(f"'{period}'" for period in PERIODS)
TOKENS = tuple(field.name for field in fields(Usage))
# `attempt` is no foreign key: every reservation that is given back would look through all verdicts for itself.
ANSWER = """attempt BIGINT NOT NULL, {key}, score DOUBLE PRECISION NOT NULL
    CHECK (score BETWEEN 0 AND 1), reason TEXT NOT NULL, probabilities TEXT, crc BIGINT NOT NULL"""
TABLES = (
    "CREATE TABLE about (id TEXT PRIMARY KEY, created_at TEXT NOT NULL)",
    # `note`: a `RunNote` as JSON. `finished`: it has ended by itself.
    """CREATE TABLE runs (
    seq {serial}, id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL,
    charged_p BIGINT NOT NULL DEFAULT 0 CHECK (charged_p >= 0),
    finished BIGINT NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)), note TEXT NOT NULL DEFAULT '{{}}')""",
    # `opener`: the object that booked it; with `id` it is the attempt's name in all ledgers (`upkeep.py`).
    # `outcome`: how it ended, for people; while it is open, which call of its opener reserved it. `answered`: which
    # person answered, and in what time, as JSON. `stands_for`: how many attempts were pruned to this one.
    # `charge_to`: the named budgets that it draws on, each between line ends; null is the money of another ledger.
    f"""CREATE TABLE attempts (
    id {{serial}}, run TEXT NOT NULL REFERENCES runs (id), opener TEXT NOT NULL,
    key TEXT NOT NULL, item_id TEXT NOT NULL, judge TEXT NOT NULL, note TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ({STATES})), ended TEXT CHECK (ended IN ({ENDS})),
    reserved_p BIGINT NOT NULL CHECK (reserved_p >= 0), charged_p BIGINT NOT NULL CHECK (charged_p >= 0),
    rehearsed BIGINT NOT NULL CHECK (rehearsed IN (0, 1)), outcome TEXT,
    {", ".join(f"{name} BIGINT" for name in TOKENS)},
    model TEXT, request_id TEXT, answered TEXT, stands_for BIGINT NOT NULL DEFAULT 1,
    began_at TEXT NOT NULL, ended_at TEXT, charge_to TEXT,
    CHECK ((ended IS NULL) = (state IN ('reserved', 'sent'))))""",
    "CREATE INDEX attempts_by_run ON attempts (run)",
    "CREATE INDEX attempts_by_key ON attempts (key)",
    "CREATE INDEX attempts_by_time ON attempts (began_at)",
    "CREATE INDEX attempts_open ON attempts (run) WHERE ended IS NULL",
    # What has ended, of which rehearsed attempts are left out.
    """CREATE TABLE sums (
    day TEXT NOT NULL, run TEXT NOT NULL, judge TEXT NOT NULL, state TEXT NOT NULL, attempts BIGINT NOT NULL,
    charged_p BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
    PRIMARY KEY (day, run, judge, state))""",
    # `probabilities`: those that a decision model gave, as JSON. `crc`: see `checksum`.
    f"CREATE TABLE verdicts (seq {{serial}}, {ANSWER.format(key='key TEXT NOT NULL UNIQUE')})",
    # Verdicts that merged ledgers disagree on, or that lost against the one that was preferred: none is used.
    f"CREATE TABLE disputed (seq {{serial}}, {ANSWER.format(key='key TEXT NOT NULL')}, UNIQUE (key, attempt))",
    """CREATE TABLE outputs (
    seq {serial}, attempt BIGINT NOT NULL, cost_p BIGINT NOT NULL CHECK (cost_p >= 0),
    key TEXT NOT NULL, text TEXT, failed TEXT NOT NULL, ended TEXT NOT NULL, tokens BIGINT,
    seconds DOUBLE PRECISION NOT NULL, model TEXT NOT NULL, created_at TEXT NOT NULL, crc BIGINT NOT NULL,
    CHECK ((text IS NULL) = (failed <> '')))""",
    "CREATE INDEX outputs_by_key ON outputs (key)",
    # `digests`: those of its texts, as a JSON list. `headline_crc` is apart: a list of runs reads headlines alone.
    """CREATE TABLE results (
    seq {serial}, run TEXT NOT NULL UNIQUE REFERENCES runs (id), created_at TEXT NOT NULL,
    headline TEXT NOT NULL, text TEXT NOT NULL, document TEXT NOT NULL, digests TEXT NOT NULL,
    headline_crc BIGINT NOT NULL, crc BIGINT NOT NULL)""",
    "CREATE TABLE judged (seq {serial}, digest TEXT NOT NULL UNIQUE, text TEXT NOT NULL)",
    # `since`: when the latest period began that was drawn on; the budget without a name is that of every run.
    f"""CREATE TABLE budgets (
    seq {{serial}}, name TEXT NOT NULL UNIQUE, limit_p BIGINT NOT NULL CHECK (limit_p >= 0),
    per TEXT NOT NULL CHECK (per IN ({PERS})), day_starts TEXT NOT NULL,
    since TEXT NOT NULL DEFAULT '', charged_p BIGINT NOT NULL DEFAULT 0)""",
)
# What follows a change of an attempt: of the row {row}, by {more_p}.
CHARGE = (
    "UPDATE runs SET charged_p = charged_p + ({more_p}) WHERE id = {row}.run AND ({more_p}) <> 0",
    """UPDATE budgets SET charged_p = charged_p + ({more_p}) WHERE ({more_p}) <> 0
    AND {row}.began_at >= since AND {row}.charge_to IS NOT NULL
    AND (name = '' OR strpos({row}.charge_to, '\n' || name || '\n') > 0)""",
)
OF_SUM = "day = substr({row}.began_at, 1, 10) AND run = {row}.run AND judge = {row}.judge AND state = {row}.state"
TAKE_OUT = f"""UPDATE sums SET attempts = attempts - old.stands_for, charged_p = charged_p - old.charged_p,
    input_tokens = input_tokens - coalesce(old.input_tokens, 0),
    output_tokens = output_tokens - coalesce(old.output_tokens, 0)
    WHERE old.ended IS NOT NULL AND old.rehearsed = 0 AND {OF_SUM.format(row="old")}"""
PUT_IN = """INSERT INTO sums (day, run, judge, state, attempts, charged_p, input_tokens, output_tokens)
    SELECT substr(new.began_at, 1, 10), new.run, new.judge, new.state, new.stands_for, new.charged_p,
        coalesce(new.input_tokens, 0), coalesce(new.output_tokens, 0)
    WHERE new.ended IS NOT NULL AND new.rehearsed = 0
    ON CONFLICT (day, run, judge, state) DO UPDATE SET attempts = sums.attempts + excluded.attempts,
    charged_p = sums.charged_p + excluded.charged_p, input_tokens = sums.input_tokens + excluded.input_tokens,
    output_tokens = sums.output_tokens + excluded.output_tokens"""


def _charge(row: str, more_p: str) -> tuple[str, ...]:
    return tuple(one.format(row=row, more_p=more_p) for one in CHARGE)


TRIGGERS = {
    "INSERT": (*_charge("new", "new.charged_p"), PUT_IN),
    "UPDATE OF charged_p, ended": (*_charge("new", "new.charged_p - old.charged_p"), TAKE_OUT, PUT_IN),
    "DELETE": (*_charge("old", "-old.charged_p"), TAKE_OUT),
}


@cache
def for_sqlite() -> tuple[str, ...]:
    """The statements that make a ledger in a file."""
    # AUTOINCREMENT: the number of a row that was deleted is never given to another.
    tables = [_strict(one.format(serial="INTEGER PRIMARY KEY AUTOINCREMENT")) for one in TABLES]
    triggers = [
        f"CREATE TRIGGER charge_{event.split()[0].lower()} AFTER {event} ON attempts BEGIN\n"
        f"{'; '.join(statements)};\nEND".replace("strpos(", "instr(")
        for event, statements in TRIGGERS.items()
    ]
    return (*tables, *triggers)


def _strict(statement: str) -> str:
    said = statement.replace("BIGINT", "INTEGER").replace("DOUBLE PRECISION", "REAL")
    return f"{said} STRICT" if said.startswith("CREATE TABLE") else said


# When the period begins in which a time lies, as `periods.began` says it.
BEGAN = """ SELECT CASE per WHEN 'total' THEN '' ELSE
    to_char(date_trunc(per, CAST(at AS TIMESTAMPTZ) AT TIME ZONE 'UTC' - shift) + shift,
        'YYYY-MM-DD"T"HH24:MI:SS.MS') || '+00:00' END
    FROM (SELECT CAST(left(day_starts, 5) AS INTERVAL) - CAST(substr(day_starts, 6) AS INTERVAL) AS shift) AS of_day """
CHARGING = (
    "BEGIN "
    + " ".join(
        f"IF TG_OP = '{event.split()[0]}' THEN {'; '.join(statements)}; END IF;"
        for event, statements in TRIGGERS.items()
    )
    + " RETURN NULL; END"
)
FUNCTIONS = {"began": BEGAN, "charge": CHARGING}


def for_postgres() -> list[str]:
    """The statements that make a ledger in the schema of a server."""
    serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    return [
        *(one.format(serial=serial) for one in TABLES),
        f"CREATE FUNCTION began(per TEXT, day_starts TEXT, at TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $${BEGAN}$$",
        f"CREATE FUNCTION charge() RETURNS trigger LANGUAGE plpgsql AS $${CHARGING}$$",
        """CREATE TRIGGER charge AFTER INSERT OR DELETE OR UPDATE OF charged_p, ended ON attempts
        FOR EACH ROW EXECUTE FUNCTION charge()""",
    ]


# What the database's roles may do: a writer books, and cannot raise a budget; a reader looks.
ROLES = {
    "writer": (
        "GRANT USAGE ON SCHEMA judgeloop TO {role}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA judgeloop TO {role}",
        "GRANT INSERT ON runs, attempts, sums, verdicts, outputs, results, judged TO {role}",
        "GRANT UPDATE ON runs, attempts, sums, results TO {role}",
        "GRANT UPDATE (since, charged_p) ON budgets TO {role}",
        "GRANT DELETE ON attempts TO {role}",
    ),
    "reader": ("GRANT USAGE ON SCHEMA judgeloop TO {role}", "GRANT SELECT ON ALL TABLES IN SCHEMA judgeloop TO {role}"),
}
