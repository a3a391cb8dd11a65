"""`compare` for programs: its parameters, and its two forms, one of which is awaited.

`api/calling.py` answers the call; `api/arguments.py` has the parameters that all questions share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, overload

from judgeloop.api.arguments import ContestArguments
from judgeloop.api.calling import Question, signed
from judgeloop.engine.state import Progress
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.prepare import prepare
from judgeloop.questions.compare.result import Result
from judgeloop.questions.compare.run import forecast, run
from judgeloop.run.dry_run import DryRun

if TYPE_CHECKING:
    from judgeloop.api.arguments import Data


class CompareArguments(ContestArguments, total=False):
    """The keywords of `compare`."""

    selector: str | None
    history: str | PathLike[str] | None
    represent: str | None
    combine: str | None
    clustering: str | None
    representative: str | None
    rule: str | None
    near_tie: float | None
    not_worse: float | None
    give_up: float | None


QUESTION = Question(CompareConfig, ("first", "second"), prepare, run, forecast)
SIGNED = signed(CompareConfig, CompareArguments, ("first", "second"), Result)


@overload
def compare(
    config: CompareConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Result: ...


@overload
def compare(first: Data, second: Data, **settings: Unpack[CompareArguments]) -> Result: ...


@SIGNED
def compare(*data: Any, **settings: Any) -> Result:
    """Find out which of two systems is better, inside a running event loop or not.

    `first` and `second` are the systems' outputs: files, or rows in memory.
    `judge` is a judge's name, a function or several judges. The other parameters are the settings
    of the command line, with `_` for `-`; a value of None counts as not given. A checked
    configuration may be passed in place of all. Where an event loop runs, as in a notebook, the
    call waits for a thread of its own.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    return QUESTION.call(data, settings)


@overload
async def compare_async(
    config: CompareConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Result: ...


@overload
async def compare_async(
    first: Data, second: Data, **settings: Unpack[CompareArguments]
) -> Result: ...


@SIGNED
async def compare_async(*data: Any, **settings: Any) -> Result:
    """Find out which of two systems is better, as `compare` does, in the running event loop.

    A task that is cancelled waits for the calls in flight, which are paid for, before it ends; a
    task that is cancelled twice gives them up.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
        asyncio.CancelledError: the task was cancelled; what was paid for is kept.
    """
    return await QUESTION.call_async(data, settings)


@signed(CompareConfig, CompareArguments, ("first", "second"), DryRun)
def compare_dry_run(first: Data, second: Data, **settings: Unpack[CompareArguments]) -> DryRun:
    """Return what `compare` would take, with the same arguments: judgments, calls and cost.

    No key is needed, nobody is asked, and nothing is spent.

    Raises:
        InputError: an argument or a file is wrong.
        LedgerError: the ledger cannot be opened.
    """
    return QUESTION.dry_run(
        (
            first,
            second,
        ),
        dict(settings),
    )
