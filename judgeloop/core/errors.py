"""The exception classes that judgeloop raises, and the exit codes of the command line.

```
JudgeloopError
├── InputError              user input is wrong (file, field or value); exit code 2, nothing spent
│   ├── DataError           an error in a data file; the message names file, line and field
│   ├── NoFileError         there is nothing at a path
│   ├── NoKeyError          a judge or a system has no key
│   └── UnpricedError       a budget is set, but the model has no known price
├── LedgerError             the ledger cannot be opened, read or written
│   ├── DamagedLedgerError  a row of the ledger is not as it was written; it is not used
│   └── NoLedgerError       the file is not a ledger of this version; also an InputError
├── SessionError            a driver or a selector broke a rule of the session
└── JudgeError              one attempt at a verdict failed; its `ErrorKind` says what happens next
```

A run that halts returns a `StopReason` (`core/outcomes.py`), not an exception. A reply without a
verdict is an `Abstention` (`core/records.py`).
"""

from collections.abc import Iterable
from enum import StrEnum

# Exit codes, which results and errors map to.
EXIT_ERROR = 1
EXIT_USAGE = 2  # a flag or a file is wrong; nothing was spent
EXIT_UNDECIDED = 3
EXIT_JUDGE = 4  # the judge or a system failed
EXIT_OTHER_WON = 5  # or a required score was missed
EXIT_INTERRUPTED = 130
EXIT_OUTPUT_CLOSED = 141  # nobody reads standard output; 128 + SIGPIPE, as a shell reports it
MOST_NAMED = 5  # systems or files that a sentence names


class JudgeloopError(Exception):
    """Base class of all errors that judgeloop raises on purpose."""


class InputError(JudgeloopError):
    """User input is wrong; the message says what was expected, what was found, how to fix it."""


def install(extra: str) -> str:
    """How to install an extra, from the copy: no index has a package of this name yet.

    >>> install("embed")
    "an extra: in your copy of judgeloop, pip install '.[embed]'"
    """
    return f"an extra: in your copy of judgeloop, pip install '.[{extra}]'"


class DataError(InputError):
    """A data file is wrong; the message begins with the file and, if known, the line.

    `unit` is what `line` counts, if not lines: `row`, `sample`, `result`.
    """

    def __init__(self, path: object, problem: str, *, line: int | None = None, unit: str = "line") -> None:
        where = f"{path}" if line is None else f"{path}, {unit} {line}"
        super().__init__(f"{where}: {problem}")


class NoFileError(InputError):
    """There is nothing at `path`."""

    def __init__(self, path: object, near: str = "") -> None:
        super().__init__(f"{path}: there is no such file{near}")
        self.path = str(path)


class NoKeyError(InputError):
    """A judge or a system at a provider's own address has no key."""


class UnpricedError(InputError):
    """A budget is set, but the model has no known price, so the budget cannot be enforced."""


class LedgerError(JudgeloopError):
    """The ledger cannot be opened, read or written; no request is sent without a ledger."""


class NoLedgerError(LedgerError, InputError):
    """The file is not a ledger, or a ledger of another version; it is not changed."""


class DamagedLedgerError(LedgerError):
    """A row of the ledger was changed, or is not signed with the ledger's key; it is not used."""


class SessionError(JudgeloopError):
    """A driver or a selector broke a rule of the session: an error in code, not in data."""


class ErrorKind(StrEnum):
    """How an attempt without a reply ended. `engine/attempts.py` has one rule for each kind."""

    RETRY = "retry"  # another attempt may succeed: a time-out, an error of the server
    UNREACHABLE = "unreachable"  # nothing answers at the address; it is tried for a while
    CROWDED = "crowded"  # the server asks for fewer calls in flight
    SCARCE = "scarce"  # as CROWDED: the tier asked for has no capacity, which no item can change
    CHANGED = "changed"  # the judge asks again in another form, because the server refused this one
    ITEM = "item"  # the item cannot be judged: too long, or stopped by a filter
    REFUSED = "refused"  # refused for an unknown reason: that of the item, or of every request
    BLOCKED = "blocked"  # as REFUSED, by a firewall: of the item only if others were answered
    REJECTED = "rejected"  # no attempt can succeed: bad key, no credit, unknown parameter
    QUIT = "quit"  # the human judge has left; earlier answers are kept

    @property
    def asks_again(self) -> bool:
        """Whether another attempt at the same call may succeed."""
        return self in {ErrorKind.RETRY, ErrorKind.UNREACHABLE, ErrorKind.CROWDED, ErrorKind.SCARCE, ErrorKind.CHANGED}


class JudgeError(JudgeloopError):
    """One attempt at a verdict failed.

    - `kind`: what happens next.
    - `billed`: False if the provider certainly charges nothing, because the request was not sent or
      was rejected. True if it may have charged: the worst case then stays booked.
    - `wait_s`: the seconds that the server asks to wait; None if it does not ask.
    - `too_long`: True if the texts of the item are too long for the model.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, billed: bool, wait_s: float | None = None, too_long: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.billed = billed
        self.wait_s = wait_s
        self.too_long = too_long


def some(names: Iterable[str]) -> str:
    """The first names, and the number of the others; a single other is named, too.

    >>> some("abcdef"), some("abcdefgh")
    ('a, b, c, d, e, f', 'a, b, c, d, e and 3 more')
    """
    first = list(names)
    more = len(first) - MOST_NAMED
    if more <= 1:
        return ", ".join(first)
    return f"{', '.join(first[:MOST_NAMED])} and {more:,} more"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to a mistyped name, as the end of a message, or "".

    >>> did_you_mean("difuse", ["random", "diffuse"])
    ' (did you mean diffuse?)'
    """
    nearest = nearest_to(name, known)
    return "" if nearest is None else f" (did you mean {nearest}?)"


def nearest_to(name: str, known: Iterable[str]) -> str | None:
    """The known name that is nearest to a mistyped name; None if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), n=1)), None)
