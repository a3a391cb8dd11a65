"""Find out which language model is better, with few judgments, a hard budget and a stated risk.

This module defines the public names. Each name is imported on first use, so that
`import judgeloop` is fast. The import reads, writes and configures nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeloop.compare.call import compare as compare
    from judgeloop.compare.call import compare_async as compare_async
    from judgeloop.compare.call import compare_dry_run as compare_dry_run
    from judgeloop.compare.call import compare_recorded as compare_recorded
    from judgeloop.compare.config import CompareConfig as CompareConfig
    from judgeloop.compare.config import compare_config as compare_config
    from judgeloop.compare.recorded_result import RecordedResult as RecordedResult
    from judgeloop.compare.result import Result as Result
    from judgeloop.core.errors import InputError as InputError
    from judgeloop.core.errors import JudgeError as JudgeError
    from judgeloop.core.errors import JudgeloopError as JudgeloopError
    from judgeloop.core.errors import LedgerError as LedgerError
    from judgeloop.engine.halt import Interruption as Interruption
    from judgeloop.engine.loop import Progress as Progress
    from judgeloop.engine.loop import drive as drive
    from judgeloop.engine.session import Limits as Limits
    from judgeloop.engine.session import Session as Session
    from judgeloop.engine.terms import Terms as Terms
    from judgeloop.estimate.call import estimate as estimate
    from judgeloop.estimate.call import estimate_async as estimate_async
    from judgeloop.estimate.call import estimate_dry_run as estimate_dry_run
    from judgeloop.estimate.config import EstimateConfig as EstimateConfig
    from judgeloop.estimate.result import Estimated as Estimated
    from judgeloop.judges.function import function_judge as function_judge
    from judgeloop.judges.scripted import ScriptedJudge as ScriptedJudge
    from judgeloop.run.dry_run import DryRun as DryRun
    from judgeloop.select.call import select as select
    from judgeloop.select.call import select_async as select_async
    from judgeloop.select.call import select_dry_run as select_dry_run
    from judgeloop.select.config import SelectConfig as SelectConfig
    from judgeloop.select.result import Selected as Selected

_HOMES = {
    "CompareConfig": "compare.config",
    "DryRun": "run.dry_run",
    "EstimateConfig": "estimate.config",
    "Estimated": "estimate.result",
    "InputError": "core.errors",
    "Interruption": "engine.halt",
    "JudgeError": "core.errors",
    "JudgeloopError": "core.errors",
    "LedgerError": "core.errors",
    "Limits": "engine.session",
    "Progress": "engine.loop",
    "RecordedResult": "compare.recorded_result",
    "Result": "compare.result",
    "ScriptedJudge": "judges.scripted",
    "SelectConfig": "select.config",
    "Selected": "select.result",
    "Session": "engine.session",
    "Terms": "engine.terms",
    "compare": "compare",
    "compare_async": "compare.call",
    "compare_config": "compare.config",
    "compare_dry_run": "compare.call",
    "compare_recorded": "compare.call",
    "drive": "engine.loop",
    "estimate": "estimate",
    "estimate_async": "estimate.call",
    "estimate_dry_run": "estimate.call",
    "function_judge": "judges.function",
    "select": "select",
    "select_async": "select.call",
    "select_dry_run": "select.call",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - made from the dictionary, so that they cannot differ


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'judgeloop' has no attribute {name!r}")
    module = import_module(f"judgeloop.{_HOMES[name]}")
    # `compare`, `select` and `estimate` are packages that can be called.
    value = module if _HOMES[name] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
