"""The options that every judge's factory takes beside the judge's name, and names of servers. Pure.

A local server or a gateway may have another address every day. Verdicts are found again by the
judge's identity, and the address is a part of it; a name keeps the identity. Only the caller may
give one (`settings/setting.py`), because a name decides whose verdicts are used: a repository's
file could pass its own server off as another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.judges.catalogue import is_remote
from judgeloop.judges.prompt import Template
from judgeloop.providers.catalogue import ChatOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(ChatOptions):
    """The options of a judge; each kind of judge uses the options that apply to it.

    Beside those of a chat model:

    - `template`: the prompt, for chat models.
    - `names`: the names of servers, by the judge as typed; `name` is that of this judge's server.
    - `tie_margin`: scores that differ by at most this are a tie (metrics, recorded verdicts).
    - `against`: the system that all others are compared with; None if there is no such system.
    - `lenient`: True to read a reply with thoughts before it or a fence around it (`parsing.py`).
    - `allow_plugins`: True to allow `python:` judges, which run the user's code.
    """

    template: Template
    names: Mapping[str, str] = field(default_factory=dict)
    tie_margin: float = 0.0
    against: str | None = None
    lenient: bool = False
    allow_plugins: bool = False


LONGEST = 64  # characters
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST - 1}}}")


def server_names(
    given: Sequence[str], judges: Sequence[str], asked: Sequence[str]
) -> dict[str, str]:
    """Return the name of each judge's server, by the judge as typed.

    `given` holds the setting's values: NAME for the only judge, or JUDGE=NAME. `judges` are the
    judges of the panel, and `asked` are all judges of the run, with a proxy.

    Raises:
        InputError: a name is not valid, is given twice, or belongs to no judge that has a server.

    >>> server_names(["lab"], ["vllm/m"], ["vllm/m"])
    {'vllm/m': 'lab'}
    """
    found: dict[str, str] = {}
    for value in given:
        judge, mark, name = value.rpartition("=")
        if not mark:
            judge = _only(judges, value)
        _check(judge, name, asked)
        if judge in found:
            raise InputError(f"`judge_name`: {judge} has two names, {found[judge]} and {name}")
        other = next((one for one, its in found.items() if its == name), None)
        if other is not None:
            raise InputError(
                f"`judge_name={name}`: {other} and {judge} need different names, because verdicts "
                "are found again by the name"
            )
        found[judge] = name
    return found


def _only(judges: Sequence[str], name: str) -> str:
    if len(judges) > 1:
        each = ", ".join(f"{judge}=NAME" for judge in judges)
        raise InputError(
            f"`judge_name={name}`: expected a name for each of {len(judges)} judges ({each}), one a "
            f"line in the variable or a list in a settings file; found {name!r} for all"
        )
    return judges[0]


def _check(judge: str, name: str, asked: Sequence[str]) -> None:
    if _NAME.fullmatch(name) is None:
        raise InputError(
            f"`judge_name`: expected up to {LONGEST} letters, digits, '.', '_' and '-', beginning "
            f"with a letter or a digit; found {name[: LONGEST + 1]!r}"
        )
    if judge not in asked:
        raise InputError(
            f"`judge_name={judge}={name}`: {judge!r} is no judge of this run"
            f"{did_you_mean(judge, asked)}; expected {' or '.join(asked)}"
        )
    if not is_remote(judge):
        raise InputError(f"`judge_name={name}`: {judge} has no server that could have a name")
