"""The three questions as Python functions: `compare`, `select` and `estimate`.

They are declared here; `calling.py` makes what answers, and for each a form that is awaited and a dry
run. `arguments.py` has the types of the parameters. What answers a question is imported when it is
asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack, overload

from judgeloop.api.arguments import CompareArguments, EstimateArguments, SelectArguments
from judgeloop.api.calling import Caller
from judgeloop.questions.catalogue import COMPARE, ESTIMATE, SELECT
from judgeloop.report.terminal import render
from judgeloop.settings.run_settings import SECOND

if TYPE_CHECKING:
    from judgeloop.api.arguments import Data, Several
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.estimate.result import Estimation
    from judgeloop.questions.select.result import Selection

NOT_WORSE = 0.1  # a gap
_COMPARE = Caller(COMPARE, CompareArguments)
_SELECT = Caller(SELECT, SelectArguments)
_ESTIMATE = Caller(ESTIMATE, EstimateArguments)


@overload
def compare(first: Data, second: Data, **settings: Unpack[CompareArguments]) -> Comparison: ...


@overload
def compare(
    *, prompts: Iterable[str], a: Iterable[str], b: Iterable[str], **settings: Unpack[CompareArguments]
) -> Comparison: ...


@_COMPARE.answered
def compare(*data: Any, **settings: Any) -> Comparison:
    """Find out which of two systems is better, inside a running event loop or not.

    `first` and `second` are the systems' outputs: files, or rows in memory; or a function that
    answers, at the top of a module. Or `prompts`, `a` and `b` are lists of texts, or columns of a data
    frame: the systems A and B.
    `judge` is a judge's name, a function or several judges. The other parameters are the settings
    of the command line, with `_` for `-`; a value of None counts as not given. Where an event
    loop runs, as in a notebook, the call waits for a thread of its own.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    raise NotImplementedError  # `_COMPARE` answers


@_SELECT.answered
def select(outputs: Several, **settings: Unpack[SelectArguments]) -> Selection:
    """Find the best of many systems, inside a running event loop or not.

    `outputs` holds each system's outputs, files or rows in memory: a list, or a dictionary by name.
    The other parameters are as in `compare`.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    raise NotImplementedError  # `_SELECT` answers


@_ESTIMATE.answered
def estimate(outputs: Data, **settings: Unpack[EstimateArguments]) -> Estimation:
    """Estimate one system's mean score, inside a running event loop or not.

    `outputs` holds the system's outputs: a file, or rows in memory. The other parameters are as in
    `compare`.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    raise NotImplementedError  # `_ESTIMATE` answers


def assert_better(first: Data, second: Data, **settings: Unpack[CompareArguments]) -> Comparison:
    """Assert that `second` is better than `first`, as a test of pytest; return the result.

    The arguments are those of `compare`. As with `require_winner`, the judge has to pass controls, unless
    `controls="off"`.

    Raises:
        AssertionError: that is not shown; the message is the result's, and says what to do.
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    return _asserted(compare(first, second, **(settings | {"require_winner": SECOND})))


def assert_not_worse(first: Data, second: Data, **settings: Unpack[CompareArguments]) -> Comparison:
    """Assert that `second` is not worse than `first` by `not_worse` or more; return the result.

    The arguments are those of `compare`, and `not_worse` is one of them, by default 0.1: the share of
    items won less the share lost.

    Raises:
        AssertionError: that is not shown; the message is the result's, and says what to do.
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    settings.setdefault("not_worse", NOT_WORSE)
    return _asserted(compare(first, second, **settings))


def _asserted(result: Comparison) -> Comparison:
    if result.exit_code:
        raise AssertionError(render(result.page, short=True))
    return result


compare_async, compare_dry_run = _COMPARE.awaited(compare), _COMPARE.dry_run(compare)
select_async, select_dry_run = _SELECT.awaited(select), _SELECT.dry_run(select)
estimate_async, estimate_dry_run = _ESTIMATE.awaited(estimate), _ESTIMATE.dry_run(estimate)
