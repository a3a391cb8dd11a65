"""`select` for programs: its parameters, and its two forms, one of which is awaited.

`api/calling.py` answers the call; `api/arguments.py` has the parameters that all questions share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Required, Unpack, overload

from judgeloop.api.arguments import ContestArguments
from judgeloop.api.calling import Question, signed
from judgeloop.engine.state import Progress
from judgeloop.questions.select.config import SelectConfig
from judgeloop.questions.select.prepare import prepare
from judgeloop.questions.select.result import Selected
from judgeloop.questions.select.run import forecast, run
from judgeloop.run.dry_run import DryRun

if TYPE_CHECKING:
    from judgeloop.api.arguments import Several


class SelectArguments(ContestArguments, total=False):
    """The keywords of `select`."""

    baseline: Required[str]
    selector: str | None
    weak_judges: int | None
    epsilon: tuple[float, float] | str | None
    rule: str | None
    near_best: float | None


QUESTION = Question(SelectConfig, ("outputs",), prepare, run, forecast)
SIGNED = signed(SelectConfig, SelectArguments, ("outputs",), Selected)


@overload
def select(
    config: SelectConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Selected: ...


@overload
def select(outputs: Several, **settings: Unpack[SelectArguments]) -> Selected: ...


@SIGNED
def select(*data: Any, **settings: Any) -> Selected:
    """Find the best of many systems, inside a running event loop or not.

    `outputs` holds each system's outputs, files or rows in memory: a list, or a dictionary by name.
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
async def select_async(
    config: SelectConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Selected: ...


@overload
async def select_async(outputs: Several, **settings: Unpack[SelectArguments]) -> Selected: ...


@SIGNED
async def select_async(*data: Any, **settings: Any) -> Selected:
    """Find the best of many systems, as `select` does, in the running event loop.

    A task that is cancelled waits for the calls in flight, which are paid for, before it ends; a
    task that is cancelled twice gives them up.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
        asyncio.CancelledError: the task was cancelled; what was paid for is kept.
    """
    return await QUESTION.call_async(data, settings)


@signed(SelectConfig, SelectArguments, ("outputs",), DryRun)
def select_dry_run(outputs: Several, **settings: Unpack[SelectArguments]) -> DryRun:
    """Return what `select` would take, with the same arguments: judgments, calls and cost.

    No key is needed, nobody is asked, and nothing is spent.

    Raises:
        InputError: an argument or a file is wrong.
        LedgerError: the ledger cannot be opened.
    """
    return QUESTION.dry_run((outputs,), dict(settings))
