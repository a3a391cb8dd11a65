"""Find out which language model is better: judge only what settles it, under a hard budget, with a stated risk.

The names below are the public ones. Each is imported when it is first used, so that `import judgeloop` costs next to
nothing; nothing is read, written or configured on import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgeloop.compare.prepare import prepare as prepare
    from judgeloop.compare.result import Result as Result
    from judgeloop.compare.run import compare as compare
    from judgeloop.compare.run import foresee as foresee
    from judgeloop.compare.run import judge as judge
    from judgeloop.core.errors import InputError as InputError
    from judgeloop.core.errors import JudgeError as JudgeError
    from judgeloop.core.errors import JudgeloopError as JudgeloopError
    from judgeloop.core.errors import LedgerError as LedgerError
    from judgeloop.engine.batch import Interruption as Interruption
    from judgeloop.engine.batch import Terms as Terms
    from judgeloop.engine.loop import drive as drive
    from judgeloop.engine.session import Limits as Limits
    from judgeloop.engine.session import Session as Session
    from judgeloop.estimate.prepare import prepare_estimate as prepare_estimate
    from judgeloop.estimate.result import Estimated as Estimated
    from judgeloop.estimate.run import estimate as estimate
    from judgeloop.estimate.run import foresee_estimate as foresee_estimate
    from judgeloop.estimate.run import rate as rate
    from judgeloop.judges.scripted import ScriptedJudge as ScriptedJudge
    from judgeloop.run.settings import CompareConfig as CompareConfig
    from judgeloop.run.settings import EstimateConfig as EstimateConfig
    from judgeloop.run.settings import SelectConfig as SelectConfig
    from judgeloop.run.settings import compare_config as compare_config
    from judgeloop.select.prepare import prepare_selection as prepare_selection
    from judgeloop.select.result import Selected as Selected
    from judgeloop.select.run import foresee_all as foresee_all
    from judgeloop.select.run import judge_all as judge_all
    from judgeloop.select.run import select as select

_ROOMS = {
    "CompareConfig": "run.settings",
    "EstimateConfig": "run.settings",
    "Estimated": "estimate.result",
    "estimate": "estimate",
    "rate": "estimate.run",
    "foresee_estimate": "estimate.run",
    "prepare_estimate": "estimate.prepare",
    "InputError": "core.errors",
    "Interruption": "engine.batch",
    "JudgeError": "core.errors",
    "JudgeloopError": "core.errors",
    "LedgerError": "core.errors",
    "Limits": "engine.session",
    "Result": "compare.result",
    "SelectConfig": "run.settings",
    "Selected": "select.result",
    "ScriptedJudge": "judges.scripted",
    "Session": "engine.session",
    "Terms": "engine.batch",
    "compare": "compare",
    "compare_config": "run.settings",
    "drive": "engine.loop",
    "foresee": "compare.run",
    "foresee_all": "select.run",
    "judge": "compare.run",
    "judge_all": "select.run",
    "prepare": "compare.prepare",
    "prepare_selection": "select.prepare",
    "select": "select",
}

__all__ = sorted(_ROOMS)  # noqa: PLE0605 - the list is the dictionary's, so that they cannot differ


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'judgeloop' has no attribute {name!r}")
    module = import_module(f"judgeloop.{_ROOMS[name]}")
    value = (
        module if _ROOMS[name] == name else getattr(module, name)
    )  # a question's folder can be called
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return list(__all__)
