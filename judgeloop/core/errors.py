"""The exception classes that judgeloop raises, and the exit codes of the command line.

```
JudgeloopError
├── InputError              user input is wrong (file, field or value); exit code 2, nothing spent
│   ├── DataError           an error in a data file; the message names file, line and field
│   └── UnpricedError       a budget is set, but the model has no known price
├── LedgerError             the ledger cannot be opened, read or written
│   ├── DamagedLedgerError  a row of the ledger is not as it was written; it is not used
│   └── NoLedgerError       the file is not a ledger of this version; also an InputError
├── SessionError            a driver or a selector broke a rule of the session
└── JudgeError              one attempt at a verdict failed
    ├── TransientJudgeError     another attempt may succeed: rate limit, overload, time-out
    ├── JudgeRejectedError      no attempt can succeed: bad key, no credit, unknown parameter
    └── JudgeQuitError          the human judge has left; earlier answers are kept
```

A run that halts returns a `StopReason` (`core/outcomes.py`), not an exception. A reply without a
verdict is an `Abstention` (`core/records.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

# Exit codes, which results and errors map to.
EXIT_ERROR = 1
EXIT_USAGE = 2  # a flag or a file is wrong; nothing was spent
EXIT_UNDECIDED = 3
EXIT_JUDGE = 4  # the judge failed
EXIT_OTHER_WON = 5  # or a required score was missed
EXIT_INTERRUPTED = 130
EXIT_OUTPUT_CLOSED = 141  # nobody reads standard output; 128 + SIGPIPE, as a shell reports it


class JudgeloopError(Exception):
    """Base class of all errors that judgeloop raises on purpose."""


class InputError(JudgeloopError):
    """User input is wrong; the message says what was expected, what was found, how to fix it."""


class DataError(InputError):
    """A data file is wrong; the message begins with the file and, if known, the line.

    `unit` is what `line` counts, if not lines: `row`, `sample`, `result`.
    """

    def __init__(
        self, path: object, problem: str, *, line: int | None = None, unit: str = "line"
    ) -> None:
        where = f"{path}" if line is None else f"{path}, {unit} {line}"
        super().__init__(f"{where}: {problem}")


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


class JudgeError(JudgeloopError):
    """One attempt at a verdict failed.

    `billed` is False when the provider certainly charges nothing (the request was not sent, or was
    rejected). It is True when the provider may have charged: the worst case then stays booked.
    """

    def __init__(self, message: str, *, billed: bool) -> None:
        super().__init__(message)
        self.billed = billed


class TransientJudgeError(JudgeError):
    """Another attempt may succeed.

    `retry_after_s` is the wait that the server asked for, in seconds. `crowded` is True when the
    server asks for fewer concurrent calls. `changed` is True when the judge sends its next request
    in another form, because the server refused this one. `scarce` is True when the server has no
    capacity at the tier asked for, which says nothing about the item.
    """

    def __init__(
        self,
        message: str,
        *,
        billed: bool,
        retry_after_s: float | None = None,
        crowded: bool = False,
        changed: bool = False,
        scarce: bool = False,
    ) -> None:
        super().__init__(message, billed=billed)
        self.retry_after_s = retry_after_s
        self.crowded = crowded
        self.changed = changed
        self.scarce = scarce


class JudgeRejectedError(JudgeError):
    """No attempt can succeed until the user fixes the cause; the run stops at once."""


class JudgeRefusedError(JudgeRejectedError):
    """A request was refused for an unknown reason: that of its item, or that of every request.

    The item is blamed, and the run goes on, unless many in a row are refused. `by_filter_billed`
    says whether it may be billed if it is a filter's refusal of this item. `at_first` is False if
    the item is blamed only once the judge has answered other calls.
    """

    def __init__(
        self, message: str, *, billed: bool, by_filter_billed: bool, at_first: bool = True
    ) -> None:
        super().__init__(message, billed=billed)
        self.by_filter_billed = by_filter_billed
        self.at_first = at_first


class JudgeQuitError(JudgeError):
    """The human judge has left; the run halts as if interrupted."""

    def __init__(self) -> None:
        super().__init__("the judge has left", billed=False)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the known name that is nearest to a mistyped name, as the end of a message, or "".

    >>> did_you_mean("difuse", ["random", "diffuse"])
    ' (did you mean diffuse?)'
    """
    nearest = nearest_to(name, known)
    return "" if nearest is None else f" (did you mean {nearest}?)"


def nearest_to(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a mistyped name; None if none is near."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), n=1)), None)
