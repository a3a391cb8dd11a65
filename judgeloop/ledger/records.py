"""The records that pass between a ledger and others. Money is in integer picodollars.

Who books does so through a `Ledger` (`ledger/ledger.py`), and who looks through a `LedgerReader`
(`ledger/reader.py`). `ledger/opening.py` opens both by an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.money import show_usd
from judgeloop.core.records import NO_TOKENS, Output, Usage, Verdict

KEY_VARIABLE = "JUDGELOOP_LEDGER_KEY"
NO_KEY = (
    f"{KEY_VARIABLE}: a ledger is signed no longer. It is a file that one trusts or not, like code: let a gate read a "
    "ledger that only trusted jobs write (docs/explanation/security.md), and unset the variable"
)
ORIGIN = "@"  # RUN@ORIGIN is a run that was taken from another ledger, and spent its own money


@dataclass(frozen=True, slots=True)
class Reservation:
    """A planned call: its verdict's key, worst-case cost in picodollars, and a note to record.

    With `output` it is a call to a system, whose name stands in the place of the judge's, and its key is
    that of an output. Outputs that were recorded before `since` (ISO 8601) do not count then.
    """

    key: str
    cost_p: int
    item_id: str
    judge: str
    note: Mapping[str, Any]
    rehearsed: bool = False
    output: bool = False
    since: str = ""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A granted reservation; `attempt` is the attempt's number in the ledger."""

    attempt: int
    key: str
    cost_p: int
    rehearsed: bool = False
    output: bool = False
    since: str = ""


class End(StrEnum):
    """How an attempt ended. The sentence beside it is for people; no program reads it."""

    VERDICT = "verdict"
    OUTPUT = "output"  # a system's reply, also one that says how it failed
    ABSTAINED = "abstained"  # a reply without a verdict
    TRUNCATED = "truncated"  # a reply that reached the limit of tokens
    REFUSED = "refused"  # the provider refused the request
    FAILED = "failed"  # an error of the server, of the network or of the judge
    TIMED_OUT = "timed_out"
    LOST = "lost"  # sent, and then its process or its caller gave up: the reply is not known
    UNSENT = "unsent"  # reserved, and never sent
    UNNEEDED = "unneeded"  # never sent, because its verdict was known or settled meanwhile
    RECONCILED = "reconciled"  # settled by hand, or from a provider's export of requests
    PRUNED = "pruned"  # the sum of attempts that were deleted


@dataclass(frozen=True, slots=True)
class Clearance:
    """Whether a reserved call may be sent: it may, unless its answer is known or it is busy.

    `known` is the verdict or the output that another run has brought meanwhile; the reservation is
    then released. `busy` is the run that makes the same call now; empty if none does.
    """

    known: Verdict | Output | None = None
    busy: str = ""


@dataclass(frozen=True, slots=True)
class RunNote:
    """What a run is, in names, and who worked on it last.

    `night` is the one that it belongs to, and `pair` its name in there, empty for none. `process` worked on it last,
    in words, from `since` on (ISO 8601, UTC), and kept a result with this `exit_code`; None if it kept none. Of
    `results` that were kept, the ledger has the last. It was run at `risk`, 1 if that promises nothing. `asked` has
    some of its questions about a baseline (`runs/earlier.py`). Runs of one `question` differ in the `seed`
    alone; with the same one, as of an unchanged pair of several nights, they are one test. Of the verdicts of judges on
    two systems, `decided` preferred one and `tied` were ties. `outputs` has a digest of each system's outputs, empty
    for one that answers live. `met` says which outputs meet on which items by which judges, whatever is asked of them
    and whatever their names are, and `asking` what is asked: draws, limit, rule, risk, null, population. `changed`
    counts how often the run ended because its judge did: it begins anew then, which is another asking.
    `refused` says why a pair of a night could not be asked, and `how` in a word; it has no systems and no judges then.
    `files` are those of the outputs. `limits` are those of judgments that held: after how many draws which one began.
    `any_limit` is the same for runs that differ in them alone, empty where they are different tests. `margins` are
    those of what is asked, by setting, and `stakes` the version of the stakes of bets, 0 without any.
    """

    systems: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    night: str = ""
    pair: str = ""
    process: str = ""
    since: str = ""
    exit_code: int | None = None
    results: int = 0
    risk: float = 1.0
    asked: tuple[str, ...] = ()
    question: str = ""
    seed: int | None = None
    decided: int = 0
    tied: int = 0
    outputs: tuple[str, ...] = ()
    met: str = ""
    asking: str = ""
    changed: int = 0
    refused: str = ""
    how: str = ""
    files: tuple[str, ...] = ()
    limits: tuple[tuple[int, int], ...] = ()
    any_limit: str = ""
    margins: tuple[tuple[str, float], ...] = ()
    stakes: int = 0

    @property
    def test(self) -> tuple[str, int] | None:
        """What tells this run's test from others; None if that is not known."""
        return None if not self.question or self.seed is None else (self.question, self.seed)

    @property
    def names(self) -> str:
        """The names of the systems, for a sentence."""
        return " and ".join(self.systems)


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run: its id, when it began (ISO 8601, UTC), and what it was charged.

    `finished` is True once it has ended by itself, not for lack of money, time or a server.
    """

    id: str
    began_at: str
    charged_p: int
    finished: bool = False
    note: RunNote = RunNote()


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt as recorded. Times are in ISO 8601 (UTC).

    `state` is reserved, sent, settled, released or abandoned; `outcome` says for people how it
    ended. `ingredients` are those of its key; None if they were not recorded.
    """

    number: int
    run: str
    key: str
    judge: str
    item_id: str
    state: str
    outcome: str
    charged_p: int
    began_at: str
    ended_at: str | None
    ingredients: KeyIngredients | None


@dataclass(frozen=True, slots=True)
class Charged:
    """A group of attempts: how many, what they were charged, and the tokens that replies reported.

    An attempt that is in flight, or whose outcome is unknown, is charged at its worst case.
    """

    attempts: int = 0
    charged_p: int = 0
    tokens: Usage = NO_TOKENS

    def __add__(self, other: Charged) -> Charged:
        """Both groups together."""
        return Charged(self.attempts + other.attempts, self.charged_p + other.charged_p, self.tokens + other.tokens)


class Unanswered(NamedTuple):
    """How many replies of a model to a call had no verdict, what the last said, and when (ISO 8601, UTC)."""

    key: str
    model: str
    times: int
    outcome: str
    at: str


class AskedAgain(NamedTuple):
    """How many verdicts a run had asked again of another model, how many of them on controls, and all their cost."""

    verdicts: int = 0
    controls: int = 0
    cost_p: int = 0


NONE_AGAIN = AskedAgain()


class Request(NamedTuple):
    """A request to a judge; times are in UTC (ISO 8601), tokens those that its reply reported.

    `usd` is what it was charged: at its worst case if its cost is not known.
    """

    began_at: str
    ended_at: str | None
    run: str
    judge: str
    model: str | None
    request_id: str | None
    item_id: str
    state: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    usd: Decimal


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The result of a run, as it is kept with its texts.

    - `headline`: the decision. `text`: the result as it was printed. `exit_code`: that of the command.
    - `document`: all its values, as JSON; for each text that was judged its digest. `texts`: these texts.
    - `at`: when this decision was first kept (ISO 8601, UTC); empty while it is not.
    - `decided`, `tied`: as in a `RunNote`. `judge_changed`: it ended because the judge did.
    """

    headline: str
    text: str
    document: str
    texts: Mapping[str, str]
    at: str = ""
    exit_code: int | None = None
    decided: int = 0
    tied: int = 0
    judge_changed: bool = False


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an attempt of unknown cost did cost; `request` is the provider's id of its request.

    Without a request the attempt was never billed. `outcome` says so for people.
    """

    attempt: int
    cost_p: int
    request: str | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget that runs of a ledger draw on, and what its present period has been charged.

    - `name`: empty for the budget of every run.
    - `per`, `day_starts`: its period (day, week, month or total), and when a day begins (12:00+01:00).
    - `since`, `until`: when the period began and when the next begins (ISO 8601, UTC); empty in total.
    - `charged_p`: what it has been charged; `held`: how much of that open attempts hold back, by run.
    """

    name: str
    limit_p: int
    per: str
    day_starts: str
    since: str
    until: str
    charged_p: int
    held: Mapping[str, int]

    @property
    def left_p(self) -> int:
        """What is left of it in this period."""
        return max(0, self.limit_p - self.charged_p)

    @property
    def held_p(self) -> int:
        """What open attempts hold back."""
        return sum(self.held.values())

    @property
    def amount(self) -> str:
        """Its limit in words, such as `$5.00 a day`."""
        return f"{show_usd(self.limit_p)} {'in total' if self.per == 'total' else f'a {self.per}'}"

    @property
    def title(self) -> str:
        """Its name and limit in words."""
        if self.name:
            return f"budget {self.name} of {self.amount}"
        return f"budget of {self.amount} for every run"

    @property
    def again(self) -> str:
        """When it starts again, in words."""
        if not self.until:
            return "it does not start again"
        return f"it starts again at {self.until[:16].replace('T', ' ')} UTC"
