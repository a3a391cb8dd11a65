"""`ledger reconcile`: settles attempts of unknown cost from a provider's export of requests.

The export has a row for each request: its id, its time, and its cost or its tokens. A request whose
id the ledger has is left out. Each of the others may be that of one unknown attempt: one by the same
model, after the reservation and before the attempt was given up. Attempts get the dearest requests,
so no run is charged too little.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.ledger import RecordedAttempt, Settlement
from judgeloop.core.money import Price, cost, to_pico
from judgeloop.core.records import Usage
from judgeloop.diagnostics.config import ReconcileConfig
from judgeloop.formats.tables import Row, parse_row, read_rows, read_text
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.providers.pricing import price_from_text

CLOCKS = timedelta(minutes=2)  # by which the provider's clock and ours may differ
LATEST = datetime.max.replace(tzinfo=UTC)
IDS = ("request_id", "x_request_id", "id")
TIMES = ("time", "timestamp", "created_at", "created", "start_time", "startTime")


def _count(value: object) -> object:
    """Refuse digits that Python would read and no provider writes, such as `1_0`.

    Raises:
        ValueError: the text is not of digits alone.
    """
    if isinstance(value, str) and value and not (value.isascii() and value.isdecimal()):
        raise ValueError("expected a number of tokens")
    return value


Tokens = Annotated[int | None, BeforeValidator(_count), Field(ge=0)]


class _Exported(BaseModel):
    """A row of an export; the names of its columns differ from provider to provider."""

    model_config = ConfigDict(extra="ignore")

    request: str = Field(validation_alias=AliasChoices(*IDS))
    time: datetime = Field(validation_alias=AliasChoices(*TIMES))
    model: str = ""
    cost: str | float | None = Field(None, validation_alias=AliasChoices("cost", "cost_usd", "spend"))
    input_tokens: Tokens = Field(None, validation_alias=AliasChoices("input_tokens", "prompt_tokens"))
    output_tokens: Tokens = Field(None, validation_alias=AliasChoices("output_tokens", "completion_tokens"))


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the provider billed; its cost is in picodollars."""

    id: str
    time: datetime
    model: str
    cost_p: int


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The attempts that were of unknown cost, and what is known of them now.

    `left` is the number of requests that fit one of them and were not used.
    """

    unknown: tuple[RecordedAttempt, ...]
    settled: tuple[Settlement, ...]
    left: int = 0


def reconcile(config: ReconcileConfig) -> Reconciled:
    """Find the unknown attempts; settle those that the export tells about, if one is given.

    Raises:
        InputError: there is no ledger, or the export is not as expected; nothing is settled.
        LedgerError: the ledger cannot be read or written.
    """
    with open_reader(config.ledger) as reader, closing(open_ledger(config.ledger)) as ledger:
        if config.usage is None:
            return Reconciled(tuple(ledger.unknown()), ())
        price = None if config.judge_price is None else price_from_text(config.judge_price)
        nothing = config.complete and _lists_nothing(config.usage)
        rows = [] if nothing else read_rows(config.usage)
        requests = merged(_request(config.usage, row, price) for row in rows)
        unknown, known = ledger.unknown(), reader.request_ids()
        found, left = matched(unknown, [request for request in requests if request.id not in known])
        settled = [
            Settlement(each.number, one.cost_p, one.id, f"billed as request {one.id}")
            for each in unknown
            if (one := found.get(each.number))
        ]
        if config.complete and requests:
            _check_period(config, unknown, requests)
        if config.complete and not left:  # else one of those left may be that of an attempt
            none = "the provider has no such request"
            settled += [Settlement(one.number, 0, None, none) for one in unknown if one.number not in found]
        ledger.reconcile(settled)
        return Reconciled(tuple(unknown), tuple(settled), left)


def _lists_nothing(path: Path) -> bool:
    """Return whether an export has no request: an empty array, or the header of a table alone."""
    text = read_text(path).strip()
    names = {name.strip(' "') for name in re.split("[,;\t]", text)}
    return text == "[]" or not (names.isdisjoint(IDS) or names.isdisjoint(TIMES) or "\n" in text)


def _check_period(config: ReconcileConfig, unknown: Sequence[RecordedAttempt], requests: Sequence[Request]) -> None:
    """Refuse an export whose first and last requests do not enclose the attempts.

    Raises:
        InputError: says which period is missing.
    """
    began = sorted(datetime.fromisoformat(each.began_at) for each in unknown)
    times = sorted(request.time for request in requests)
    if not began:
        return
    if not (times[0] <= began[0] + CLOCKS and began[-1] - CLOCKS <= times[-1]):
        raise InputError(
            f"`complete`: the export {config.usage} has requests from {times[0]:%F %R} to "
            f"{times[-1]:%F %R} UTC, and the calls of unknown cost began from {began[0]:%F %R} to "
            f"{began[-1]:%F %R} UTC; nothing is settled. Export all requests of a longer time, or leave "
            "out `complete`"
        )


def merged(requests: Iterable[Request]) -> list[Request]:
    """Return one request for each id; one request settles one attempt.

    Exports overlap: a row that is there twice counts once. A provider may have several rows for
    what one request cost: their costs are added.
    """
    found: dict[str, Request] = {}
    for request in dict.fromkeys(requests):
        before = found.get(request.id)
        cost_p = request.cost_p + (before.cost_p if before else 0)
        found[request.id] = replace(before or request, cost_p=cost_p)
    return list(found.values())


def matched(unknown: Sequence[RecordedAttempt], requests: Iterable[Request]) -> tuple[dict[int, Request], int]:
    """Return the request of each attempt that got one, by the attempt's number, and how many are left.

    The dearest request comes first, into the earliest attempt that it fits. At the first one for
    which no such attempt is free the matching ends. So the attempts that got a request are charged
    at least their true cost: no other requests that fit are dearer. The others stay charged at
    their worst case. What is left are the requests that fit an attempt and were not used.
    """
    windows = list(map(_Window.of, unknown))
    fitting = [one for one in requests if any(window.admits(one) for window in windows)]
    found: dict[int, Request] = {}
    for request in sorted(fitting, key=lambda request: request.cost_p, reverse=True):
        fits = (window.attempt for window in windows if window.admits(request))
        free = next((attempt for attempt in fits if attempt not in found), None)
        if free is None:
            break
        found[free] = request
    return found, len(fitting) - len(found)


@dataclass(frozen=True, slots=True)
class _Window:
    """Which requests may be that of an attempt: the times between, and a model that begins so."""

    attempt: int
    since: datetime
    until: datetime
    model: str

    @classmethod
    def of(cls, row: RecordedAttempt) -> Self:
        """Return the window of an attempt."""
        ended = datetime.fromisoformat(row.ended_at) + CLOCKS if row.ended_at else LATEST
        began = datetime.fromisoformat(row.began_at) - CLOCKS
        return cls(row.number, began, ended, row.judge.partition("/")[2])

    def admits(self, request: Request) -> bool:
        """Return whether the request may be that of the attempt."""
        in_time = self.since <= request.time <= self.until
        return in_time and (not request.model or request.model.startswith(self.model))


def _request(path: Any, row: Row, price: Price | None) -> Request:
    """Return a row of the export as a request.

    Raises:
        DataError: it lacks its id, its time, or what it cost.
    """
    exported = parse_row(path, row, _Exported)
    time = exported.time if exported.time.tzinfo else exported.time.replace(tzinfo=UTC)
    return Request(exported.request, time, exported.model, _cost_p(path, row, exported, price))


def _cost_p(path: Any, row: Row, exported: _Exported, price: Price | None) -> int:
    if exported.cost not in {None, ""}:
        try:
            return to_pico(str(exported.cost))
        except ValueError as error:
            raise DataError(path, f"cost: {error}", line=row.line) from None
    if price is None or exported.input_tokens is None or exported.output_tokens is None:
        raise DataError(
            path,
            "expected the column cost (in dollars), or input_tokens and output_tokens together "
            "with `judge_price=IN,OUT`",
            line=row.line,
        )
    return cost(Usage(exported.input_tokens, exported.output_tokens), price)
