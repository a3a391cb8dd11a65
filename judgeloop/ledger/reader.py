"""What a ledger in a store says to those who look.

Reads an open connection and returns records; the seal of each row is checked. Writes nothing.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core import ledger
from judgeloop.core.money import to_usd
from judgeloop.core.records import JudgeIdentity, Usage
from judgeloop.core.verdict_key import KeyedJudge, KeyIngredients, as_text
from judgeloop.ledger import budgets, rows
from judgeloop.ledger.charges import summed
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.results import note_of

LATEST_VERDICTS = 1_000_000  # read of a larger ledger, if no runs are named: a third of a GiB
LATEST = 2_000  # attempts that are looked through for replies, of all judges
AMONG_THE_LATEST = "id > (SELECT coalesce(max(id), 0) FROM attempts) - ? AND judge = ? AND rehearsed = 0"
ELSEWHERE = "elsewhere"  # what merged ledgers spent, by their ids
KINDS = ("day", "night", "systems", "judge", "run", "state", ELSEWHERE)
OUTPUTS = 5  # the place of the first output among the numbers of a verdict
WIDTH = np.dtype(rows.NUMBER).itemsize
# Attempts that were sent, or may have been; a reservation of a call that was never sent is none.
SENT = (
    f"rehearsed = 0 AND state <> 'reserved' AND {rows.OWN_RUN} "
    f"AND coalesce(ended, '') NOT IN ('{ledger.End.UNSENT}', '{ledger.End.UNNEEDED}')"
)
# The attempts, the numbers of texts, the costs and the scores of verdicts.
Columns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64], NDArray[np.float64]]


@final
class LedgerReader:
    """Reads a ledger through an open connection, which its caller closes: nothing is written.

    Every method may raise `DamagedLedgerError`: a row is not as it was written.
    """

    def __init__(self, connection: LedgerConnection) -> None:
        """Nothing is read before a method is called."""
        self._connection = connection

    @property
    def id(self) -> str:
        """The ledger's random id."""
        return self._connection.sealer.ledger

    def runs(self) -> list[ledger.RecordedRun]:
        """Return all runs, the oldest first."""
        return [
            ledger.RecordedRun(row.id, row.created_at, row.charged_p, bool(row.finished), note_of(row))
            for row in rows.read(self._connection, rows.RunRow, "true ORDER BY seq")
        ]

    def working(self, runs: Iterable[str]) -> set[str]:
        """Return those of `runs` that a process works on now: of a file, one of this machine."""
        return {run for run in runs if self._connection.is_locked(run)}

    def headlines(self) -> dict[str, str]:
        """Return the decisions of all runs that have a result, by run."""
        return {row.run: row.headline for row in rows.read(self._connection, rows.ResultRow, "true")}

    def result(self, run: str) -> ledger.KeptResult | None:
        """Return the result of a run with its texts; None if it has none."""
        row = rows.one(self._connection, rows.ResultRow, "run", run)
        if row is None:
            return None
        named = rows.by(self._connection, rows.JudgedRow, "digest", *json.loads(row.digests))
        texts = {text.digest: text.text for text in named}
        return ledger.KeptResult(row.headline, row.text, row.document, texts, row.created_at)

    def silent(self, run: str) -> dict[str, str]:
        """Return what was said of each call of a run whose reply had no verdict, by key."""
        where = f"run = ? AND ended = '{ledger.End.ABSTAINED}' ORDER BY id"
        found = rows.read(self._connection, rows.AttemptRow, where, run)
        return {row.key: row.outcome or "" for row in found}

    def attempts(self, item_id: str) -> list[ledger.RecordedAttempt]:
        """Return all attempts on an item, the oldest first."""
        return list(map(recorded, rows.by(self._connection, rows.AttemptRow, "item_id", item_id)))

    def balances(self) -> list[ledger.Balance]:
        """Return every budget, that of every run first, then by name."""
        return budgets.balances(self._connection)

    def spending(self) -> dict[str, dict[str, ledger.Charged]]:
        """Return the charges by day, night, systems, judge, run and state, each in order.

        `elsewhere`, if there are any, has those of ledgers that were merged into this one, by their
        ids: they count in no other group. Attempts that were only rehearsed cost nothing and are left out.
        """
        found: dict[str, dict[str, ledger.Charged]] = {kind: {} for kind in KINDS}
        noted = {run.id: run.note for run in self.runs()}
        for row in self._sums():
            tokens = Usage(row.input_tokens, row.output_tokens)
            charged = ledger.Charged(row.attempts, row.charged_p, tokens)
            day, run, judge, state = json.loads(row.name)
            _, mark, origin = run.partition(ledger.ORIGIN)
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
                found[kind][name] = found[kind].get(name, ledger.Charged()) + charged
        always = {*KINDS} - {"night", ELSEWHERE}
        return {kind: dict(sorted(groups.items())) for kind, groups in found.items() if groups or kind in always}

    def _sums(self) -> Iterator[rows.SumRow]:
        """Yield the sums of what has ended, then those of what has not."""
        yield from rows.read(self._connection, rows.SumRow, "attempts > 0")
        yield from summed(rows.read(self._connection, rows.AttemptRow, "ended IS NULL")).values()

    def requests(self) -> Iterator[ledger.Request]:
        """Yield every request in the order of the attempts."""
        for row in rows.read(self._connection, rows.AttemptRow, f"{SENT} ORDER BY id"):
            yield _request(row)

    def request_ids(self) -> set[str]:
        """Return the providers' ids of all requests that are settled."""
        settled = rows.read(self._connection, rows.AttemptRow, "request_id IS NOT NULL")
        return {str(row.request_id) for row in settled}

    def reply_lengths(self, judge: JudgeIdentity) -> list[int]:
        """Return the output tokens of this very judge's latest replies.

        They are those with a verdict, and those that were cut off: these are at least as long.
        Without them a repeated run would pay again for a reply that it cuts off at the same limit.
        """
        return [
            int(json.loads(row.usage)["output_tokens"])
            for row in self._latest(judge, ledger.End.VERDICT, ledger.End.TRUNCATED)
            if row.usage is not None
        ]

    def _latest(self, judge: JudgeIdentity, *ends: ledger.End) -> Iterator[rows.AttemptRow]:
        """Yield the attempts with one of these ends among the latest."""
        wanted = KeyedJudge.of(judge)
        among = ", ".join("?" * len(ends))
        where = f"{AMONG_THE_LATEST} AND ended IN ({among}) ORDER BY id"
        for row in rows.read(self._connection, rows.AttemptRow, where, LATEST, judge.name, *ends):
            ingredients = recorded(row).ingredients
            if ingredients is not None and ingredients.judge == wanted:
                yield row

    def models(self, run: str) -> dict[str, list[str]]:
        """Return the models that servers named in replies to `run`, the first first, by judge."""
        found: dict[str, list[str]] = {}
        for judge, model in self._connection.execute(
            "SELECT judge, model FROM attempts WHERE run = ? AND model IS NOT NULL AND model != '' "
            "GROUP BY judge, model ORDER BY min(id)",
            (run,),
        ):
            found.setdefault(judge, []).append(model)
        return found

    def history(
        self, run: str | None, of_runs: Collection[str] = (), outputs: Collection[str] = (), *, only_on: bool = False
    ) -> ledger.RecordedVerdicts:
        """Return the verdicts that were recorded before `run` began; all if it has not begun.

        If `of_runs` has any run, the verdicts of all others are left out; else those before the latest
        million. Of the digests of outputs only those in `outputs` are returned as texts: there may be
        as many. With `only_on`, the verdicts on other outputs are left out, too.
        """
        begun = None if run is None else rows.one(self._connection, rows.RunRow, "id", run)
        texts = self._texts("text", map(as_text, {*of_runs, *outputs}))
        among = [texts.get(as_text(name), -1) for name in of_runs]
        last = self._last_verdict() if begun is None else begun.seen
        where, values = "seq > ?", list[object]([last - LATEST_VERDICTS])
        if of_runs:
            where, values = self._asked_by(of_runs)
        if only_on:
            if not (known := [texts[text] for text in map(as_text, outputs) if text in texts]):
                return ledger.NO_VERDICTS
            shown, more = self._shown(known)
            where, values = f"{where} AND {shown}", [*values, *more]
        # In the order written: to sort rows by their attempts, SQLite would copy them all.
        found = rows.read_many(self._connection, rows.VerdictRow, f"seq <= ? AND {where} ORDER BY seq", last, *values)
        parts = (_columns(some, among) for some in found)
        none = (
            np.empty(0, dtype=np.int64),
            ledger.NO_VERDICTS.numbers,
            ledger.NO_VERDICTS.costs_p,
            ledger.NO_VERDICTS.scores,
        )
        attempts, numbers, costs_p, scores = map(np.concatenate, zip(none, *parts, strict=True))
        named = np.unique(numbers[:, :OUTPUTS]).tolist()
        used = self._texts("id", named)
        for missing in set(named).difference(used.values()):
            raise rows.damaged(self._connection, rows.TextRow, missing, "is missing")
        order = np.argsort(attempts, kind="stable")
        return ledger.RecordedVerdicts(texts | used, numbers[order], scores[order], costs_p[order])

    def _last_verdict(self) -> int:
        (last,) = self._connection.execute("SELECT coalesce(max(seq), 0) FROM verdicts").fetchone()
        return int(last)

    def _asked_by(self, runs: Collection[str]) -> tuple[str, list[object]]:
        """Return the condition that one of some runs asked for a verdict."""
        among = ", ".join("?" * len(runs))
        return f"key IN (SELECT key FROM attempts WHERE run IN ({among}))", [*runs]  # noqa: S608 - our own names

    def _texts(self, column: str, values: Iterable[object]) -> dict[str, int]:
        """Return the numbers by text of the texts with these values in a column."""
        return {row.text: row.id for row in rows.by(self._connection, rows.TextRow, column, *values)}

    def _shown(self, outputs: Sequence[int]) -> tuple[str, list[object]]:
        """Return the condition that a verdict shows one of some outputs, by their numbers."""
        digits = [np.array(number, rows.NUMBER).tobytes().hex().upper() for number in outputs]
        shown = [
            self._connection.among(self._connection.digits_of("ingredients", begin, WIDTH), digits)
            for begin in (1 + WIDTH * OUTPUTS, 1 + WIDTH * (OUTPUTS + 1))
        ]
        where = " OR ".join(condition for condition, _ in shown)
        return f"({where})", [value for _, values in shown for value in values]


def recorded(row: rows.AttemptRow) -> ledger.RecordedAttempt:
    """Return the row of an attempt as others see it."""
    ingredients = json.loads(row.note).get("ingredients", {})
    return ledger.RecordedAttempt(
        row.id,
        row.run,
        row.key,
        row.judge,
        row.item_id,
        row.state,
        row.outcome or "",
        row.charged_p,
        row.began_at,
        row.ended_at,
        KeyIngredients.from_note(ingredients),
    )


def _request(row: rows.AttemptRow) -> ledger.Request:
    usage = {} if row.usage is None else json.loads(row.usage)
    return ledger.Request(
        row.began_at,
        row.ended_at,
        row.run,
        row.judge,
        row.model or None,
        row.request_id or None,
        row.item_id,
        row.state,
        usage.get("input_tokens"),
        usage.get("cache_read_tokens"),
        usage.get("output_tokens"),
        to_usd(row.charged_p),
    )


def _columns(found: Sequence[tuple[Any, ...]], among: Sequence[int]) -> Columns:
    """Return the rows of verdicts as columns; if there are runs `among`, only of these."""
    _, attempts, costs_p, scores, _, _, ingredients, _ = zip(*found, strict=True)
    numbers = np.frombuffer(b"".join(ingredients), rows.NUMBER).reshape(-1, rows.INGREDIENTS)
    chosen = np.isin(numbers[:, 0], among) if among else slice(None)
    return (
        np.array(attempts, dtype=np.int64)[chosen],
        numbers[chosen],
        np.array(costs_p, dtype=np.int64)[chosen],
        np.array(scores, dtype=np.float64)[chosen],
    )
