"""Find out which language model is better: judge only what settles it, under a hard budget, with a stated risk.

The names below are the public ones. Each is imported when it is first used, so that `import judgeloop` costs next to
nothing; nothing is read, written or configured on import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeloop.asking import Interruption as Interruption
    from judgeloop.asking import Terms as Terms
    from judgeloop.config import CompareConfig as CompareConfig
    from judgeloop.config import EstimateConfig as EstimateConfig
    from judgeloop.config import SelectConfig as SelectConfig
    from judgeloop.config import compare_config as compare_config
    from judgeloop.errors import InputError as InputError
    from judgeloop.errors import JudgeError as JudgeError
    from judgeloop.errors import JudgeloopError as JudgeloopError
    from judgeloop.errors import LedgerError as LedgerError
    from judgeloop.jobs.compare import compare as compare
    from judgeloop.jobs.compare import foresee as foresee
    from judgeloop.jobs.compare import judge as judge
    from judgeloop.jobs.estimate import estimate as estimate
    from judgeloop.jobs.estimate import foresee_estimate as foresee_estimate
    from judgeloop.jobs.estimate import rate as rate
    from judgeloop.jobs.preparing import prepare as prepare
    from judgeloop.jobs.preparing_estimate import prepare_estimate as prepare_estimate
    from judgeloop.jobs.preparing_selection import prepare_selection as prepare_selection
    from judgeloop.jobs.select import foresee_all as foresee_all
    from judgeloop.jobs.select import judge_all as judge_all
    from judgeloop.jobs.select import select as select
    from judgeloop.judges.scripted import ScriptedJudge as ScriptedJudge
    from judgeloop.loop import drive as drive
    from judgeloop.report.estimation import Estimated as Estimated
    from judgeloop.report.result import Result as Result
    from judgeloop.report.selection import Selected as Selected
    from judgeloop.session import Limits as Limits
    from judgeloop.session import Session as Session

_ROOMS = {
    "CompareConfig": "config",
    "EstimateConfig": "config",
    "Estimated": "report.estimation",
    "estimate": "jobs.estimate",
    "rate": "jobs.estimate",
    "foresee_estimate": "jobs.estimate",
    "prepare_estimate": "jobs.preparing_estimate",
    "InputError": "errors",
    "Interruption": "asking",
    "JudgeError": "errors",
    "JudgeloopError": "errors",
    "LedgerError": "errors",
    "Limits": "session",
    "Result": "report.result",
    "SelectConfig": "config",
    "Selected": "report.selection",
    "ScriptedJudge": "judges.scripted",
    "Session": "session",
    "Terms": "asking",
    "compare": "jobs.compare",
    "compare_config": "config",
    "drive": "loop",
    "foresee": "jobs.compare",
    "foresee_all": "jobs.select",
    "judge": "jobs.compare",
    "judge_all": "jobs.select",
    "prepare": "jobs.preparing",
    "prepare_selection": "jobs.preparing_selection",
    "select": "jobs.select",
}

__all__ = sorted(_ROOMS)  # noqa: PLE0605 - the list is the dictionary's, so that they cannot differ


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'judgeloop' has no attribute {name!r}")
    value = getattr(import_module(f"judgeloop.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
