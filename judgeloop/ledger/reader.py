"""What a ledger in a store says to those who look.

Reads an open connection and returns records. Writes nothing.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, final

from judgeloop.core.keys import AGAIN_OF, KeyedJudge, KeyIngredients, digest
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import GivenByPeople
from judgeloop.core.records import JudgeIdentity, Usage, Verdict
from judgeloop.ledger.answers import changed, checksum, verdicts_of
from judgeloop.ledger.ledger import VERDICTS, balances, note_of, recorded
from judgeloop.ledger.records import (
    ORIGIN,
    AskedAgain,
    Balance,
    Charged,
    End,
    KeptResult,
    RecordedAttempt,
    RecordedRun,
    Request,
    Unanswered,
)
from judgeloop.ledger.writer import Connection, Values

LATEST = 2_000  # attempts that are looked through for replies, of all judges
ELSEWHERE = "elsewhere"  # what merged ledgers spent, by their ids
KINDS = ("day", "night", "systems", "judge", "run", "state", ELSEWHERE)
AT_ONCE = 2_000  # requests that are in memory
# Attempts that were sent, or may have been; a reservation of a call that was never sent is none.
REQUESTS = f"""SELECT * FROM attempts WHERE id > :last AND rehearsed = 0 AND state <> 'reserved'
    AND strpos(run, '{ORIGIN}') = 0 AND coalesce(ended, '') NOT IN ('{End.UNSENT}', '{End.UNNEEDED}')
    ORDER BY id LIMIT {AT_ONCE}"""
SUMS = """SELECT day, run, judge, state, attempts, charged_p, input_tokens, output_tokens FROM sums WHERE attempts > 0
    UNION ALL SELECT substr(began_at, 1, 10), run, judge, state, count(*), CAST(sum(charged_p) AS BIGINT), 0, 0
    FROM attempts WHERE ended IS NULL AND rehearsed = 0 GROUP BY 1, 2, 3, 4"""
# Without those that were cut off, a repeated run would pay again for a reply that it cuts off at the same limit.
LENGTHS = f"""SELECT note, output_tokens FROM attempts
    WHERE id > (SELECT coalesce(max(id), 0) FROM attempts) - CAST(:latest AS BIGINT) AND judge = :judge
    AND rehearsed = 0 AND ended IN ('{End.VERDICT}', '{End.TRUNCATED}') AND output_tokens IS NOT NULL ORDER BY id"""
FIRST_ASKED = f"""SELECT item_id, judge, note FROM attempts WHERE run = :run AND ended = '{End.VERDICT}'
    ORDER BY id LIMIT {LATEST}"""
LATEST_OF_PEOPLE = f"""SELECT note, answered FROM attempts WHERE judge = ANY(:judges) AND answered IS NOT NULL
    ORDER BY id DESC LIMIT {LATEST}"""
# A reply without a verdict, of which a further one may follow.
UNANSWERED = f"""SELECT key, coalesce(model, '') AS model, count(*) AS times, max(outcome) AS outcome, max(ended_at) AS at
    FROM attempts WHERE key = ANY(:keys) AND ended IN ('{End.ABSTAINED}', '{End.TRUNCATED}')
    GROUP BY key, coalesce(model, '')"""
MODELS = """SELECT judge, model FROM attempts WHERE run = :run AND model <> ''
    GROUP BY judge, model ORDER BY min(id)"""
LAST_MODEL = f"""SELECT coalesce(model, '') FROM attempts WHERE judge = :judge AND ended = '{End.VERDICT}'
    ORDER BY id DESC LIMIT 1"""

# What is booked with an ingredient that says so: also attempts without a verdict, which cost as well.
ASKED_AGAIN = f"""SELECT run, count(DISTINCT key), count(DISTINCT key) FILTER (WHERE strpos(note, :control) > 0),
    CAST(sum(charged_p) AS BIGINT) FROM attempts WHERE run = ANY(:keys) AND strpos(note, '"{AGAIN_OF}":') > 0
    AND rehearsed = 0 AND coalesce(ended, '') NOT IN ('{End.UNSENT}', '{End.UNNEEDED}') GROUP BY run"""
ASKED = f"""SELECT DISTINCT item_id FROM attempts WHERE run = :run AND strpos(note, :control) = 0 AND rehearsed = 0
    AND coalesce(ended, '') NOT IN ('{End.UNSENT}', '{End.UNNEEDED}')"""
FIRST_ANSWERS = "SELECT judge, model, min(ended_at) AS at FROM attempts WHERE model <> '' GROUP BY judge, model"


@final
class LedgerReader:
    """Reads a ledger through an open connection, which its caller closes: nothing is written."""

    def __init__(self, connection: Connection) -> None:
        """Nothing is read before a method is called."""
        self._db = connection

    @property
    def id(self) -> str:
        """The ledger's random id."""
        return self._db.ledger

    def _rows(self, statement: str, values: Values | None = None) -> list[Any]:
        return list(self._db.execute(statement, values or {}).rows)

    def verdicts(self, keys: Collection[str]) -> dict[str, Verdict]:
        """The verdicts recorded under `keys`; a key without a verdict is left out."""
        return verdicts_of(self._db.execute(VERDICTS, {"keys": list(keys)}))

    def runs(self) -> list[RecordedRun]:
        """All runs, the oldest first."""
        return [
            RecordedRun(row["id"], row["created_at"], row["charged_p"], bool(row["finished"]), note_of(row))
            for row in self._rows("SELECT * FROM runs ORDER BY seq")
        ]

    def working(self, runs: Iterable[str]) -> set[str]:
        """Those of `runs` that a process works on now: of a file, one of this machine."""
        return {run for run in runs if self._db.is_locked(run)}

    def headlines(self) -> dict[str, str]:
        """The decisions of all runs that have a result, by run.

        Raises:
            DamagedLedgerError: one is not as it was written.
        """
        found = {}
        for run, headline, crc in self._rows("SELECT run, headline, headline_crc FROM results"):
            if crc != checksum(headline):
                raise changed("result of the run", run)
            found[run] = headline
        return found

    def result(self, run: str) -> KeptResult | None:
        """The result of a run with its texts; None if it has none.

        Raises:
            DamagedLedgerError: it is not as it was written, or one of its texts is not.
        """
        for row in self._rows("SELECT * FROM results WHERE run = :run", {"run": run}):
            said = row["text"], row["document"], row["digests"]
            if (row["headline_crc"], row["crc"]) != (checksum(row["headline"]), checksum(*said)):
                raise changed("result of the run", run)
            named = "SELECT digest, text FROM judged WHERE digest = ANY(:keys)"
            texts = dict(self._rows(named, {"keys": json.loads(row["digests"])}))
            for name, text in texts.items():
                if digest(text) != name:
                    raise changed("judged text", name)
            return KeptResult(row["headline"], row["text"], row["document"], texts, row["created_at"])
        return None

    def silent(self, run: str) -> dict[str, str]:
        """What was said of each call of a run whose reply had no verdict, by key."""
        found = f"SELECT key, outcome FROM attempts WHERE run = :run AND ended = '{End.ABSTAINED}' ORDER BY id"
        return {key: outcome or "" for key, outcome in self._rows(found, {"run": run})}

    def unanswered(self, keys: Collection[str]) -> list[Unanswered]:
        """The replies without a verdict to these calls, of any run, by model."""
        rows = self._rows(UNANSWERED, {"keys": list(keys)})
        return [Unanswered(key, model, times, outcome or "", at or "") for key, model, times, outcome, at in rows]

    def people(self, keys: Collection[str]) -> dict[str, str]:
        """Which person gave each of these verdicts, by key; one that says none is left out."""
        found = f"SELECT key, answered FROM attempts WHERE key = ANY(:keys) AND ended = '{End.VERDICT}' ORDER BY id"
        rows = self._rows(found, {"keys": list(keys)})
        return {key: by for key, answered in rows if answered and (by := json.loads(answered)["person"])}

    def given(self, run: str) -> GivenByPeople:
        """What people gave to a run."""
        found = "SELECT answered, charged_p FROM attempts WHERE run = :run AND answered IS NOT NULL"
        rows = self._rows(found, {"run": run})
        said = [json.loads(answered) for answered, _ in rows]
        seconds = math.fsum(one["seconds"] or 0.0 for one in said)
        each = dict(sorted(Counter(one["person"] for one in said).items()))
        return GivenByPeople(len(rows), round(seconds, 1), sum(charged_p for _, charged_p in rows), each)

    def pace(self, judges: Collection[JudgeIdentity], *, rates: bool) -> tuple[int, float]:
        """How many of people's latest answers as these very judges, in any run, took about how many seconds each."""
        wanted, found = {*map(KeyedJudge.of, judges)}, list[float]()
        for note, answered in self._rows(LATEST_OF_PEOPLE, {"judges": [one.name for one in judges]}):
            made_of = KeyIngredients.from_note(json.loads(note).get("ingredients", {}))
            if made_of is not None and made_of.judge in wanted and made_of.compares is not rates:
                found.append(json.loads(answered)["seconds"] or 0.0)
        return len(found), math.fsum(found) / max(1, len(found))

    def calls_of(self, run: str) -> dict[tuple[str, str], list[KeyIngredients]]:
        """What the keys of a run's first verdicts are made of, by their items and judges."""
        calls: dict[tuple[str, str], list[KeyIngredients]] = {}
        for item, judge, note in self._rows(FIRST_ASKED, {"run": run}):
            if (made_of := KeyIngredients.from_note(json.loads(note).get("ingredients", {}))) is not None:
                calls.setdefault((item, judge), []).append(made_of)
        return calls

    def balances(self) -> list[Balance]:
        """Every budget, that of every run first, then by name."""
        return balances(self._db)

    def spending(self) -> dict[str, dict[str, Charged]]:
        """The charges by day, night, systems, judge, run and state, each in order.

        `elsewhere`, if there are any, has those of ledgers that were merged into this one, by their
        ids: they count in no other group. Attempts that were only rehearsed cost nothing and are left out.
        """
        found: dict[str, dict[str, Charged]] = {kind: {} for kind in KINDS}
        noted = {run.id: run.note for run in self.runs()}
        for day, run, judge, state, attempts, charged_p, *tokens in self._rows(SUMS):
            charged = Charged(attempts, charged_p, Usage(*tokens))
            _, mark, origin = run.partition(ORIGIN)
            names = {
                "day": day,
                "night": noted[run].night,
                "systems": noted[run].names or run,
                "judge": judge,
                "run": run,
                "state": state,
            }
            for kind, name in ({ELSEWHERE: origin} if mark else names).items():
                if kind == "night" and not name:
                    continue
                found[kind][name] = found[kind].get(name, Charged()) + charged
        always = {*KINDS} - {"night", ELSEWHERE}
        return {kind: dict(sorted(groups.items())) for kind, groups in found.items() if groups or kind in always}

    @property
    def most_requests(self) -> int:
        """At most so many requests are in the ledger."""
        return int(self._rows("SELECT count(*) FROM attempts")[0][0])

    def requests(self) -> Iterator[Request]:
        """Yield every request in the order of the attempts."""
        last = 0
        while rows := self._rows(REQUESTS, {"last": last}):
            last = rows[-1]["id"]
            for row in rows:
                yield Request(
                    row["began_at"],
                    row["ended_at"],
                    row["run"],
                    row["judge"],
                    row["model"] or None,
                    row["request_id"] or None,
                    row["item_id"],
                    row["state"],
                    row["input_tokens"],
                    row["cache_read_tokens"],
                    row["output_tokens"],
                    to_usd(row["charged_p"]),
                )

    def named(self, numbers: Collection[int], requests: Collection[str]) -> dict[int | str, RecordedAttempt]:
        """Attempts by their numbers, and by the providers' ids of their requests."""
        by_number = "SELECT * FROM attempts WHERE id = :id"
        found = self._db.execute_all([(by_number, {"id": number}) for number in numbers])
        by_request = self._rows("SELECT * FROM attempts WHERE request_id = ANY(:keys)", {"keys": list(requests)})
        attempts: dict[int | str, RecordedAttempt] = {row["id"]: recorded(row) for one in found for row in one.rows}
        return attempts | {row["request_id"]: recorded(row) for row in by_request}

    def reply_lengths(self, judge: JudgeIdentity) -> list[int]:
        """The output tokens of this very judge's latest replies with a verdict, or that were cut off."""
        wanted, lengths = KeyedJudge.of(judge), []
        for note, tokens in self._rows(LENGTHS, {"latest": LATEST, "judge": judge.name}):
            made_of = KeyIngredients.from_note(json.loads(note).get("ingredients", {}))
            if made_of is not None and made_of.judge == wanted:
                lengths.append(tokens)
        return lengths

    def first_answers(self) -> dict[tuple[str, str], str]:
        """When each model first answered for a judge (ISO 8601, UTC), in whichever run."""
        return {(judge, model): at for judge, model, at in self._rows(FIRST_ANSWERS) if at}

    def asked_again(self, runs: Collection[str], control: str) -> dict[str, AskedAgain]:
        """What was asked again of another model, by run; a call is on a control if one of its systems is `control`."""
        rows = self._rows(ASKED_AGAIN, {"keys": list(runs), "control": json.dumps(control)})
        return {run: AskedAgain(*found) for run, *found in rows}

    def asked(self, run: str, control: str) -> set[str]:
        """The items that a run asked about, whatever came of it; not by calls whose systems have a `control`."""
        return {row[0] for row in self._rows(ASKED, {"run": run, "control": json.dumps(control)})}

    def last_model(self, judge: str) -> str | None:
        """The model that gave a judge's last verdict in any run: empty without a name, None without a verdict."""
        rows = self._rows(LAST_MODEL, {"judge": judge})
        return rows[0][0] if rows else None

    def models(self, run: str) -> dict[str, list[str]]:
        """The models that servers named in replies to `run`, the first first, by judge."""
        found: dict[str, list[str]] = {}
        for judge, model in self._rows(MODELS, {"run": run}):
            found.setdefault(judge, []).append(model)
        return found
