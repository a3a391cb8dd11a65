"""Find out which language model is better, with few judgments, a hard budget and a stated risk.

This module defines the public names. Each name is imported on first use, so that
`import judgeloop` is fast. The import reads, writes and configures nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeloop.api.questions import agree as agree
    from judgeloop.api.questions import agree_async as agree_async
    from judgeloop.api.questions import agree_dry_run as agree_dry_run
    from judgeloop.api.questions import assert_better as assert_better
    from judgeloop.api.questions import assert_not_worse as assert_not_worse
    from judgeloop.api.questions import compare as compare
    from judgeloop.api.questions import compare_async as compare_async
    from judgeloop.api.questions import compare_dry_run as compare_dry_run
    from judgeloop.api.questions import estimate as estimate
    from judgeloop.api.questions import estimate_async as estimate_async
    from judgeloop.api.questions import estimate_dry_run as estimate_dry_run
    from judgeloop.api.questions import select as select
    from judgeloop.api.questions import select_async as select_async
    from judgeloop.api.questions import select_dry_run as select_dry_run
    from judgeloop.api.questions import spent_usd as spent_usd
    from judgeloop.core.errors import ErrorKind as ErrorKind
    from judgeloop.core.errors import InputError as InputError
    from judgeloop.core.errors import JudgeError as JudgeError
    from judgeloop.core.errors import JudgeloopError as JudgeloopError
    from judgeloop.core.errors import LedgerError as LedgerError
    from judgeloop.engine.state import Progress as Progress
    from judgeloop.judges.function import function_judge as function_judge
    from judgeloop.judges.recorded import ScriptedJudge as ScriptedJudge
    from judgeloop.questions.agree.result import Agreed as Agreed
    from judgeloop.questions.compare.result import Comparison as Comparison
    from judgeloop.questions.estimate.result import Estimation as Estimation
    from judgeloop.questions.select.result import Selection as Selection
    from judgeloop.runs.forecast import Forecast as Forecast

_HOMES = {
    "Agreed": "questions.agree.result",
    "Forecast": "runs.forecast",
    "ErrorKind": "core.errors",
    "Estimation": "questions.estimate.result",
    "InputError": "core.errors",
    "JudgeError": "core.errors",
    "JudgeloopError": "core.errors",
    "LedgerError": "core.errors",
    "Progress": "engine.state",
    "Comparison": "questions.compare.result",
    "ScriptedJudge": "judges.recorded",
    "Selection": "questions.select.result",
    "agree": "api.questions",
    "agree_async": "api.questions",
    "agree_dry_run": "api.questions",
    "assert_better": "api.questions",
    "assert_not_worse": "api.questions",
    "compare": "api.questions",
    "compare_async": "api.questions",
    "compare_dry_run": "api.questions",
    "estimate": "api.questions",
    "estimate_async": "api.questions",
    "estimate_dry_run": "api.questions",
    "function_judge": "judges.function",
    "select": "api.questions",
    "select_async": "api.questions",
    "select_dry_run": "api.questions",
    "spent_usd": "api.questions",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - made from the dictionary, so that they cannot differ


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'judgeloop' has no attribute {name!r}")
    value = getattr(import_module(f"judgeloop.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
