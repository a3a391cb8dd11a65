"""`estimate` for programs: its parameters, and its two forms, one of which is awaited.

`api/calling.py` answers the call; `api/arguments.py` has the parameters that all questions share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Unpack, overload

from judgeloop.api.arguments import OneJudge, RunArguments
from judgeloop.api.calling import Question, signed
from judgeloop.engine.state import Progress
from judgeloop.questions.estimate.config import EstimateConfig
from judgeloop.questions.estimate.prepare import prepare
from judgeloop.questions.estimate.result import Estimated
from judgeloop.questions.estimate.run import forecast, run
from judgeloop.run.dry_run import DryRun

if TYPE_CHECKING:
    from judgeloop.api.arguments import Data


class EstimateArguments(RunArguments, total=False):
    """The keywords of `estimate`."""

    proxy: OneJudge | None
    history: str | PathLike[str] | None
    selector: str | None
    represent: str | None
    layer: str | int | None
    clusters: int | str | None
    allocation: str | None
    confidence: str | None
    confidence_by: str | None
    half_width: float | None
    interval: str | None
    require_score: float | None


QUESTION = Question(EstimateConfig, ("outputs",), prepare, run, forecast)
SIGNED = signed(EstimateConfig, EstimateArguments, ("outputs",), Estimated)


@overload
def estimate(
    config: EstimateConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Estimated: ...


@overload
def estimate(outputs: Data, **settings: Unpack[EstimateArguments]) -> Estimated: ...


@SIGNED
def estimate(*data: Any, **settings: Any) -> Estimated:
    """Estimate one system's mean score, inside a running event loop or not.

    `outputs` holds the system's outputs: a file, or rows in memory.
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
async def estimate_async(
    config: EstimateConfig,
    environment: Mapping[str, str] | None = None,
    *,
    progress: Callable[[Progress[Any]], object] | None = None,
) -> Estimated: ...


@overload
async def estimate_async(outputs: Data, **settings: Unpack[EstimateArguments]) -> Estimated: ...


@SIGNED
async def estimate_async(*data: Any, **settings: Any) -> Estimated:
    """Estimate one system's mean score, as `estimate` does, in the running event loop.

    A task that is cancelled waits for the calls in flight, which are paid for, before it ends; a
    task that is cancelled twice gives them up.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
        asyncio.CancelledError: the task was cancelled; what was paid for is kept.
    """
    return await QUESTION.call_async(data, settings)


@signed(EstimateConfig, EstimateArguments, ("outputs",), DryRun)
def estimate_dry_run(outputs: Data, **settings: Unpack[EstimateArguments]) -> DryRun:
    """Return what `estimate` would take, with the same arguments: judgments, calls and cost.

    No key is needed, nobody is asked, and nothing is spent.

    Raises:
        InputError: an argument or a file is wrong.
        LedgerError: the ledger cannot be opened.
    """
    return QUESTION.dry_run((outputs,), dict(settings))
