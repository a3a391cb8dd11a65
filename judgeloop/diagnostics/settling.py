"""`ledger settle`: books what attempts of unknown cost did cost, as somebody found out.

A file names each attempt by its number (`attempt`) or by the provider's id of its request (`request_id`), and says
its `cost` in dollars; other columns are ignored. Nothing is settled if anything in it is refused.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.money import show_usd, to_pico
from judgeloop.diagnostics.past_runs import past_run
from judgeloop.formats.tables import Row, read_rows
from judgeloop.ledger.opening import Address, open_ledger, open_reader
from judgeloop.ledger.records import RecordedAttempt, Settlement

NUMBER, REQUEST, COST = "attempt", "request_id", "cost"
MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Settled:
    """The attempts that were of unknown cost, what is known of some now, and how many rows of the file are left."""

    unknown: tuple[RecordedAttempt, ...]
    settled: tuple[Settlement, ...] = ()
    left: int = 0


def unknown(address: Address) -> Settled:
    """The attempts that may be settled.

    Raises:
        InputError: there is no ledger.
        LedgerError: it cannot be read or written.
    """
    with open_reader(address), closing(open_ledger(address)) as ledger:
        return Settled(tuple(ledger.unknown()))


def settle(address: Address, number: int, cost: Decimal) -> Settled:
    """Book the cost of one attempt, in dollars.

    Raises:
        InputError: there is no ledger, or the attempt is not one of unknown cost.
        LedgerError: it cannot be read or written.
    """
    with open_reader(address) as reader, closing(open_ledger(address)) as ledger:
        unknown = ledger.unknown()
        if number not in {one.number for one in unknown}:
            raise InputError(f"ATTEMPT {number}: {_why_not(number, reader.named([number], []).get(number))}")
        settled = [_settlement(number, to_pico(cost), "")]
        ledger.settle_unknown(settled)
        return Settled(tuple(unknown), tuple(settled))


def settle_run(address: Address, run: str, cost: Decimal) -> Settled:
    """Book the same cost for each attempt of unknown cost of a run, or of all runs of a night, in dollars.

    `run` is the beginning of a run's id, or the whole name of a night.

    Raises:
        InputError: there is no ledger, or no such run; several begin so; or none of its attempts is of unknown cost.
        LedgerError: it cannot be read or written.
    """
    with open_reader(address) as reader, closing(open_ledger(address)) as ledger:
        runs = {one.id for one in reader.runs() if one.note.night == run} or {past_run(address, run).id}
        unknown = tuple(one for one in ledger.unknown() if one.run in runs)
        if not unknown:
            raise InputError(f"RUN {run}: expected calls of unknown cost, found none")
        settled = tuple(_settlement(one.number, to_pico(cost), "") for one in unknown)
        ledger.settle_unknown(settled)
        return Settled(unknown, settled)


def settle_file(address: Address, file: Path, others: Decimal | None) -> Settled:
    """Book the costs in a file; `others` is what those cost that it does not name, of its time.

    A request of no attempt here is left, and one that was settled by its reply: such are in every export. The time
    of a file is from the first to the last attempt that it names.

    Raises:
        InputError: there is no ledger, or a row is not as expected; nothing is settled.
        LedgerError: it cannot be read or written.
    """
    rows = [(row, *_named(file, row)) for row in read_rows(file)]
    with open_reader(address) as reader, closing(open_ledger(address)) as ledger:
        unknown = {one.number: one for one in ledger.unknown()}
        known = reader.named(
            [name for _, name, _ in rows if isinstance(name, int)],
            [name for _, name, _ in rows if isinstance(name, str)],
        )
        costs: dict[int, Settlement] = {}
        nobodys = 0
        for row, name, cost_p in rows:
            attempt = known.get(name)
            if isinstance(name, str) and (attempt is None or attempt.state in {"settled", "released"}):
                nobodys += attempt is None
            elif attempt is None or attempt.number not in unknown:
                raise DataError(file, _why_not(name, attempt), line=row.line)
            else:
                one = _settlement(attempt.number, cost_p, name if isinstance(name, str) else "")
                if costs.setdefault(one.attempt, one).cost_p != cost_p:
                    raise DataError(file, f"{name}: expected one cost, found a second one", line=row.line)
        if others is not None:
            more = _others(unknown, [one.began_at for one in known.values()], nobodys, costs)
            costs |= {number: _settlement(number, to_pico(others), "") for number in more}
        ledger.settle_unknown(list(costs.values()))
        return Settled(tuple(unknown.values()), tuple(costs.values()), nobodys)


def _others(
    unknown: dict[int, RecordedAttempt], times: Sequence[str], nobodys: int, costs: dict[int, Settlement]
) -> list[int]:
    """The attempts of the time of a file that it does not name.

    Raises:
        InputError: the file does not say what they cost.
    """
    if nobodys:
        raise InputError(
            f"`others`: {nobodys} of the file's requests are of no attempt here, and may be those of the calls of "
            "unknown cost; nothing is settled. Leave `others` out, or leave requests out that judgeloop did not make"
        )
    if not times:
        raise InputError("`others`: the file names no attempt here, so its time is not known; nothing is settled")
    return [
        number for number, one in unknown.items() if number not in costs and min(times) <= one.began_at <= max(times)
    ]


def _settlement(number: int, cost_p: int, request: str) -> Settlement:
    if not cost_p:
        return Settlement(number, 0, None, "settled by hand: not billed")
    return Settlement(number, cost_p, request, f"settled by hand: billed {show_usd(cost_p)}")


def _why_not(name: int | str, attempt: RecordedAttempt | None) -> str:
    """In words, why an attempt cannot be settled."""
    if attempt is None:
        said = "the ledger has no such attempt"
    elif attempt.ended_at is None:
        said = "it is open: its process goes on"
    else:
        said = f"it is settled, at {show_usd(attempt.charged_p)}"
    return f"{name}: expected a call of unknown cost, but {said}; `judgeloop ledger show --unknown` lists them"


def _named(file: Path, row: Row) -> tuple[int | str, int]:
    """Which attempt a row names, by its number or its request, and its cost in picodollars.

    Raises:
        DataError: it names none, or the cost is not one.
    """
    number, request = (str(row.fields.get(name) or "").strip() for name in (NUMBER, REQUEST))
    try:
        cost_p = to_pico(str(row.fields[COST]).strip())
    except (KeyError, ValueError) as error:
        found = error if isinstance(error, ValueError) else "no such column"
        raise DataError(file, f"cost: expected dollars, such as 0.0012; {found}", line=row.line) from None
    if not number and not request:
        raise DataError(file, f"expected the column {NUMBER} or {REQUEST}", line=row.line)
    if number and not (number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS):
        raise DataError(file, f"attempt: expected a number of `ledger show --unknown`, found {number!r}", line=row.line)
    return int(number) if number else request, cost_p
