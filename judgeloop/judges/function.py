"""A judge that is a function of the user's, sync or async: `python:MODULE:FUNCTION`, or passed in.

`python:MODULE:CLASS` is a judge of a class of the user's (`protocols.Judge`), made without arguments.

For a comparison the function returns "A", "B", "tie" or a score from 0 to 1, for a rating a score,
and None for no verdict. What it returns is checked. The cost of a call is not known and counts as
zero. A name loads the user's code, so it needs `--allow-plugins`.

A verdict is found again by the judge's identity. A function at the top of a module has one: its
name and its module's source. Any other function (a lambda, a closure, a method, a cell of a
notebook) has one only if the caller gives a version. Without it every judge made of it is a new
one, and is asked anew.
"""

import functools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, final

from judgeloop.core import records
from judgeloop.core.errors import ErrorKind, InputError, JudgeError
from judgeloop.core.keys import SOURCE
from judgeloop.core.protocols import Judge, Questions
from judgeloop.judges.base import BaseJudge, JudgeOptions
from judgeloop.providers import user_code

LABELS = {"A": 1.0, "B": 0.0, "tie": 0.5}
CONTEXT = ("prompt", "reference")  # what a function may leave out of its parameters
OUTPUTS = (("first", "second"), ("output",))  # the outputs' parameters: to compare, and to rate


@final
class PluginJudge(BaseJudge):
    """Calls the user's function; a sync function runs in a thread of its own.

    A comparison calls `function(prompt=…, first=…, second=…, reference=…)`, a rating
    `function(prompt=…, output=…, reference=…)`. A function that does not take `prompt` or
    `reference` is called without it.
    """

    def __init__(
        self,
        name: str,
        function: user_code.Plugin,
        parameters: Mapping[str, str] | None = None,
        *,
        unknown: str | None = None,
    ) -> None:
        """`name` is MODULE:FUNCTION as typed.

        `parameters` tell the function from others of this name, by default by its source. `unknown`
        says why nothing does, so that its verdicts are not found again; None if something does.
        """
        self.unknown = unknown
        self._name = name
        self._function = function
        self._parameters = parameters
        signature = user_code.signature_of(function)
        taken = signature.parameters.values() if signature else ()
        any_name = signature is None or any(each.kind is each.VAR_KEYWORD for each in taken)
        # What it is not told of the context, because it does not take it.
        self._left_out = frozenset() if any_name else frozenset(CONTEXT) - {each.name for each in taken}

    @functools.cached_property
    def identity(self) -> records.JudgeIdentity:
        """The function's name and a hash of its module's source: new source makes a new judge."""
        given = self._parameters
        parameters = {SOURCE: user_code.source_digest(self._function)} if given is None else given
        return records.JudgeIdentity("python", self._name, parameters, mark=":")

    def check(self, questions: Questions, items: Sequence[records.Item], max_missing: float) -> None:
        """Refuse a function that cannot be called with the outputs.

        Raises:
            InputError: it lacks a parameter, or needs one that no question has.
        """
        del items, max_missing
        outputs = OUTPUTS[len(next(iter(questions), ())) == 1]
        signature = user_code.signature_of(self._function)
        if signature is None:
            return
        try:
            signature.bind(**dict.fromkeys(self._given(outputs)))
        except TypeError:
            raise InputError(
                f"`judge=python:{self._name}`: expected a function that takes {', '.join(outputs)} by "
                f"name, and {' and '.join(CONTEXT)} if it wants them; found the parameters {signature}"
            ) from None

    def _given(self, outputs: tuple[str, ...]) -> list[str]:
        """The names of the arguments that the function gets."""
        return [name for name in (*CONTEXT, *outputs) if name not in self._left_out]

    async def judge(self, call: records.Call) -> records.Reply:
        """Call the function and check what it returns.

        Raises:
            JudgeError: the function raised an exception.
        """
        rating = len(call.outputs) == 1
        texts = {"prompt": call.item.prompt, "reference": call.item.reference}
        texts |= zip(OUTPUTS[rating], call.outputs, strict=True)
        material = {name: texts[name] for name in self._given(OUTPUTS[rating])}
        try:
            returned = await user_code.called(self._function, material)
        except user_code.PluginError as error:
            why = f"python:{self._name} {error}"
            raise JudgeError(ErrorKind.REJECTED, why, billed=False) from error
        return records.Reply(answer_from(returned, rating=rating), cost_p=0)


def answer_from(returned: object, *, rating: bool = False) -> records.Answer:
    """A plugin's return value as a verdict, or an abstention that says what is wrong.

    In a comparison the value is a label or a score from 0 to 1; in a `rating` only a score.
    """
    if returned is None:
        return records.Abstention("the function gave no verdict")
    labels = {} if rating else LABELS
    if isinstance(returned, str) and returned in labels:
        return records.Verdict(labels[returned])
    if isinstance(returned, int | float) and not isinstance(returned, bool) and 0 <= returned <= 1:
        return records.Verdict(float(returned))
    expected = ", ".join((*labels, "a score from 0 to 1"))
    return records.Abstention(f"the function returned {repr(returned)[:60]}; expected {expected} or None")


def make_judge(spec: str, options: JudgeOptions) -> Judge:
    """Create the judge `python:MODULE:FUNCTION`, or that of a class; raises as `load_function` does."""
    setting = f"judge=python:{spec}"
    found = user_code.load_function(spec, setting, allowed=options.allow_plugins)
    return _of_class(found, setting) if isinstance(found, type) else PluginJudge(spec, found)


def _of_class(kind: type[Any], setting: str) -> Judge:
    """The judge that a class makes without arguments.

    Raises:
        InputError: it makes none; the message says what it lacks.
    """
    try:
        made = kind()
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"`{setting}`: {kind.__name__}() raised {type(error).__name__}: {error}") from error
    if not isinstance(made, Judge):
        lacking = [name for name in vars(Judge) if not name.startswith("_") and not hasattr(made, name)]
        raise InputError(
            f"`{setting}`: expected a function, or a class of judges, such as one derived from "
            f"judgeloop.parts.BaseJudge; {kind.__name__} lacks {', '.join(sorted(lacking))}"
        )
    return made


def function_judge(function: user_code.Plugin, *, version: str | None = None, name: str | None = None) -> PluginJudge:
    """A judge that calls `function`, sync or async; see `PluginJudge` for its parameters.

    `version` identifies what the function does: give another one when it changes. `name` is shown
    in results, by default the function's module and name.

    Raises:
        InputError: `function` cannot be called.
    """
    if not callable(function):
        raise InputError(f"`judge`: expected a function, found {type(function).__name__}")
    named = function if hasattr(function, "__qualname__") else type(function)
    shown = name or f"{named.__module__}:{named.__qualname__}"
    if version is not None:
        return PluginJudge(shown, function, {"version": str(version)})
    unknown = user_code.why_unknown(function)
    if unknown is None:
        return PluginJudge(shown, function, {SOURCE: user_code.source_digest(function)})
    return PluginJudge(shown, function, {"asked anew": uuid.uuid4().hex}, unknown=unknown)
