"""Every error that judgeloop raises on purpose.

```
JudgeloopError
├── InputError              a file, a field or a value that somebody gave is wrong: exit code 2, nothing was spent
│   ├── DataError           … in a data file; says the file, the line and the field
│   └── UnpricedError       a budget was set for a model that has no known price
├── LedgerError             the ledger cannot be opened, read or written
│   └── NoLedgerError           … because the file that was named is something else; an InputError too
├── SessionError            the rules of a run were broken by a driver or a selector
└── JudgeError              one attempt at a verdict failed
    ├── TransientJudgeError     worth another attempt: rate limit, overload, time-out
    ├── JudgeRejectedError      no attempt can succeed: bad key, no credit, unknown parameter; stops the run
    └── JudgeQuitError          the judge, a person, has left; what was answered is kept
```

Halting is not here: a run that stops says so with a `StopReason`. Nor is a reply without a verdict: that is
an `Abstention`.
"""

from __future__ import annotations


class JudgeloopError(Exception):
    """Any error that judgeloop raises on purpose."""


class InputError(JudgeloopError):
    """What somebody gave is wrong; the message says what was expected, found, and how to mend it."""


class DataError(InputError):
    """A data file is wrong; the message begins with the file, and the line where there is one."""

    def __init__(self, path: object, problem: str, *, line: int | None = None) -> None:
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}")


class UnpricedError(InputError):
    """A budget cannot be kept for a model that has no known price."""


class LedgerError(JudgeloopError):
    """The ledger cannot be opened, read or written; no request leaves without it."""


class NoLedgerError(LedgerError, InputError):
    """The file that was named is no ledger, or one of another version; it is left as it is."""


class SessionError(JudgeloopError):
    """A driver or a selector broke a rule of the session: a fault in code, not in data."""


class JudgeError(JudgeloopError):
    """One attempt at a verdict failed.

    `billed` says what is known of the charge: False when the provider surely charges nothing (the request
    never left, or was turned away), True when it may have been charged, so that the worst case stays booked.
    """

    def __init__(self, message: str, *, billed: bool) -> None:
        super().__init__(message)
        self.billed = billed


class TransientJudgeError(JudgeError):
    """Another attempt may succeed.

    `retry_after_s` is what the server asked for, in seconds; `crowded` says that it wants fewer calls at a time.
    """

    def __init__(
        self,
        message: str,
        *,
        billed: bool,
        retry_after_s: float | None = None,
        crowded: bool = False,
    ) -> None:
        super().__init__(message, billed=billed)
        self.retry_after_s = retry_after_s
        self.crowded = crowded


class JudgeRejectedError(JudgeError):
    """No attempt can succeed until somebody mends something; the run stops at once."""


class JudgeQuitError(JudgeError):
    """The judge, a person, has left; the run halts as if interrupted."""

    def __init__(self) -> None:
        super().__init__("the judge has left", billed=False)
