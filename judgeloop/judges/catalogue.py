"""The catalogue of judges: a row per kind, with its factory, its needs and its forms of reply.

The models are those of `providers/catalogue.py`. Settings, help, checks and documentation read this table. It
imports nothing heavy: a row's function imports a judge's file when the judge is created.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from judgeloop.core.errors import InputError, did_you_mean, nearest_to
from judgeloop.providers.catalogue import DECIDERS, DECISION, PROVIDERS, ProviderRow

if TYPE_CHECKING:
    from judgeloop.core.protocols import Judge
    from judgeloop.judges.base import JudgeOptions


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One kind of judge.

    - `kind`, `mark`, `rest`: the parts of the name as typed. `rest` is the placeholder that the
      help shows. `mark` and `rest` are empty for a judge that is named by its kind alone.
    - `make`: creates the judge, of the rest of the name and the options.
    - `verdicts`: the forms of reply that the judge supports; empty if there is no choice.
    - `remote`: True if the judge is asked over a network.
    - `reads_file`: True if the rest of the name is the path of a file.
    - `runs_code`: True if it loads code that is not judgeloop's.
    - `flex`: True if it may be asked for at the cheaper tier `flex`.
    - `alone`: True if the rest of the name may be left out after the mark.
    - `reads`: the settings that it judges by, of the prompt and the reply.
    - `models`: how the names of its well-known models begin, for a model named alone.
    """

    kind: str
    mark: str
    rest: str
    make: Callable[[str, JudgeOptions], Judge]
    verdicts: tuple[str, ...] = ()
    remote: bool = False
    reads_file: bool = False
    runs_code: bool = False
    flex: bool = False
    alone: bool = False
    reads: frozenset[str] = frozenset()
    models: tuple[str, ...] = ()

    @property
    def decides(self) -> bool:
        """True of decision models, which write no text."""
        return self.verdicts == (DECISION,)

    @property
    def form(self) -> str:
        """The name with its placeholder, such as `openai/MODEL`, for help and messages."""
        return f"{self.kind}{self.mark}{self.rest}"


def _chat(provider: ProviderRow) -> Callable[[str, JudgeOptions], Judge]:
    def make(model: str, options: JudgeOptions) -> Judge:
        from judgeloop.judges.chat import chat_judge

        return chat_judge(provider.chat(), model, options)

    return make


def _decision(provider: ProviderRow) -> Callable[[str, JudgeOptions], Judge]:
    def make(model: str, options: JudgeOptions) -> Judge:
        from judgeloop.judges.decisions import decision_judge

        return decision_judge(provider.chat(), model, options)

    return make


def _metric(name: str, options: JudgeOptions) -> Judge:
    from judgeloop.judges.metric import MetricJudge

    return MetricJudge(name, tie_margin=options.tie_margin)


def _recorded(name: str, options: JudgeOptions) -> Judge:
    del options
    # The scores are in the files of a comparison, which makes the judge from them.
    raise InputError(
        f"`judge=recorded:{name}`: only `compare`, with no other judge, reads recorded scores; a "
        "table of scores is a judge for any question: `judge=replay:FILE`"
    )


def _replay(file: str, options: JudgeOptions) -> Judge:
    from judgeloop.judges.recorded import ReplayJudge, recorded_verdicts

    table = recorded_verdicts(Path(file), options.pool)
    return ReplayJudge(table, tie_margin=options.tie_margin, against=options.against)


def _human(rest: str, options: JudgeOptions) -> Judge:
    del rest
    from judgeloop.judges.wage import Wage

    wage, rubric = Wage(options.human_price), options.template.rubric
    if options.page is None:
        from judgeloop.judges.human import HumanJudge

        return HumanJudge(rubric=rubric, wage=wage)
    from judgeloop.judges.page import PageJudge, check_extra

    check_extra()
    return PageJudge(rubric=rubric, wage=wage, options=options.page)


def _function(name: str, options: JudgeOptions) -> Judge:
    from judgeloop.judges.function import make_judge

    return make_judge(name, options)


_READ_BY_MODELS = frozenset({"prompt", "rubric", "verdict", "lenient_replies", "judge_effort", "judge_max_tokens"})
JUDGES: tuple[JudgeRow, ...] = (
    *(
        JudgeRow(
            one.name,
            "/",
            one.rest,
            _chat(one),
            one.forms,
            remote=True,
            flex=one.flex,
            models=one.models,
            reads=_READ_BY_MODELS,
        )
        for one in PROVIDERS
    ),
    *(
        JudgeRow(
            one.name,
            "/",
            one.rest,
            _decision(one),
            one.forms,
            remote=True,
            models=one.models,
            reads=frozenset({"prompt", "rubric"}),
        )
        for one in DECIDERS
    ),
    JudgeRow("metric", ":", "NAME", _metric),
    JudgeRow("recorded", ":", "NAME", _recorded, alone=True),
    JudgeRow("replay", ":", "FILE", _replay, reads_file=True),
    JudgeRow("human", "", "", _human, reads=frozenset({"rubric"})),
    JudgeRow("python", ":", "MODULE:FUNCTION", _function, runs_code=True),
)
RECORDED = "recorded"
NO_JUDGE = "`judge`: expected the name of a judge, found none"
EXAMPLES = "; for example `judge=openai/gpt-4.1`, or `judge=metric:token-f1`, which needs references and no key"
# How names begin that other programs use for providers and models, which judgeloop reaches by
# their OpenAI-compatible servers.
ELSEWHERE = (
    "azure", "bedrock", "deepseek", "gemini", "gemma", "google/", "groq", "litellm", "llama", "mistral", "ollama",
    "openrouter", "qwen", "together", "vertex",
)  # fmt: skip
LONGEST_NAME = 64  # characters
_OWN_FILE = re.compile(r"(?:\./)?([\w/]+)\.py(?::+(\w+))?")  # code that is named by its file
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_NAME - 1}}}")
FORMS = ", ".join(row.form for row in JUDGES)
VERDICT_FORMS = tuple(dict.fromkeys(form for row in JUDGES for form in row.verdicts))


def judge_from_spec(spec: str, options: JudgeOptions) -> Judge:
    """Create the judge that `spec` names.

    Raises:
        InputError: there is no such judge, or an option is missing or wrong.
    """
    row, rest = parse_spec(spec)
    if options.price is not None:
        from judgeloop.core.money import is_price_file
        from judgeloop.providers.pricing import price_from_text

        if not is_price_file(options.price):
            price_from_text(options.price)  # a wrong price is an error even if the judge is free
    writes = bool(row.verdicts) and not row.decides  # a decision model answers in its own form whatever others do
    if writes and options.verdict not in row.verdicts:
        decider = {"openai": "openai-decisions", "vllm": "systemone"}.get(row.kind)
        hint = f" (did you mean {decider}/{rest}?)" if decider and options.verdict == DECISION else ""
        raise InputError(
            f"`verdict={options.verdict}`: {row.form} does not support this form of reply{hint}; "
            f"expected {' or '.join(row.verdicts)}"
        )
    if options.lenient and writes and options.verdict == "logprob":
        raise InputError(
            "`lenient_replies`: with `verdict=logprob` a verdict is read from probabilities, not "
            "from text; leave one of the two out"
        )
    if row.remote and not row.flex and options.tier != "standard":
        flexible = " and ".join(row.form for row in JUDGES if row.flex)
        raise InputError(
            f"`tier={options.tier}`: {row.form} has no cheaper tier; only {flexible} can be asked so, "
            "and the server says whether the model has it"
        )
    return row.make(rest, replace(options, server=options.names.get(spec, "")))


def parse_spec(spec: str) -> tuple[JudgeRow, str]:
    """The row that `spec` names, and the rest of the name.

    The name is split at the first `:` or `/`, whichever mark the row has: `openai/a/b` gives the
    row `openai` and `a/b`, and so does `openai:a/b`.

    Raises:
        InputError: there is no such judge, or the rest of the name is missing.
    """
    at = min((spec.index(mark) for mark in ":/" if mark in spec), default=len(spec))
    kind, separator, rest = spec[:at], spec[at : at + 1], spec[at + 1 :]
    row = next((row for row in JUDGES if row.kind == kind), None)
    if kind == "openai" and rest.startswith("decisions:"):  # as promptfoo names them
        meant = rest.removeprefix("decisions:")
        raise InputError(f"`judge={spec}`: there is no such judge (did you mean openai-decisions/{meant}?)")
    if separator and not rest and not (row and row.alone):
        raise InputError(f"`judge={spec}`: the name ends after {separator!r}; expected one of {FORMS}")
    if row is None or bool(row.mark) != bool(separator):
        raise InputError(f"`judge={spec}`: there is no such judge{_meant(spec, kind)}; expected one of {FORMS}")
    return row, rest


def _meant(spec: str, kind: str) -> str:
    """The judge that was probably meant, as a part of a message, or ""."""
    lower, rest = spec.lower(), spec[len(kind) + 1 :]
    if lower.startswith(("http://", "https://")):
        return " (an address is given by `judge_base_url`, the model by openai/MODEL)"
    if own := _OWN_FILE.fullmatch(spec):
        return f" (did you mean python:{own[1].replace('/', '.')}:{own[2] or 'FUNCTION'}?)"
    for row in JUDGES:
        if row.models and lower.startswith(row.models):
            return f" (did you mean {row.kind}{row.mark}{lower}?)"
    if lower.startswith(ELSEWHERE):
        return f" (did you mean openai/{rest or spec} with `judge_base_url=URL`, its server?)"
    from judgeloop.judges.metric import METRICS

    rows = {row.kind: row for row in JUDGES}
    metrics = {name.lower(): name for name in METRICS} if kind == spec else {}
    if metric := metrics.get(nearest_to(lower, [*metrics, *rows]) or ""):
        return f" (did you mean metric:{metric}?)"
    nearest = rows.get(nearest_to(kind.lower(), rows) or "")
    end = nearest and (rest if nearest.mark and rest else nearest.rest)
    return f" (did you mean {nearest.kind}{nearest.mark}{end}?)" if nearest else ""


def is_remote(spec: str) -> bool:
    """Whether `spec` names a judge that is asked over a network, and may cost money."""
    return any(row.remote and row.kind == re.split("[:/]", spec)[0] for row in JUDGES)


def is_decision(spec: object) -> bool:
    """Whether `spec` names a decision model."""
    return isinstance(spec, str) and any(row.decides and row.kind == re.split("[:/]", spec)[0] for row in JUDGES)


def is_recorded(spec: object) -> bool:
    """Whether `spec` names recorded scores, which are in the files that are compared."""
    return isinstance(spec, str) and re.split("[:/]", spec)[0] == RECORDED


def is_table(spec: object) -> bool:
    """Whether `spec` names a table of recorded verdicts, which are all there before anything is asked."""
    return isinstance(spec, str) and spec.partition(":")[0] == "replay"


def recorded_files(specs: tuple[str, ...]) -> list[Path]:
    """The files that the judges named by `specs` read."""
    kinds = {row.kind for row in JUDGES if row.reads_file}
    parts = (spec.partition(":") for spec in specs)
    return [Path(rest) for kind, _, rest in parts if kind in kinds]


def judge_name(provider: str, model: str) -> str:
    """A judge's name as typed, from the provider and model recorded in the ledger."""
    if not model:
        return provider
    row = next((row for row in JUDGES if row.kind == provider), None)
    return f"{provider}{(row.mark or ':') if row else '/'}{model}"


def server_names(given: Sequence[str], judges: Sequence[str], asked: Sequence[str]) -> dict[str, str]:
    """The name of each judge's server, by the judge as typed.

    A local server or a gateway may have another address every day. Verdicts are found again by the
    judge's identity, and the address is a part of it; a name keeps the identity. Only the caller
    may give one, because a name decides whose verdicts are used.

    `given` holds the setting's values: NAME for the only judge, or JUDGE=NAME. `judges` are the
    judges of the panel, and `asked` are all judges of the run, with a proxy.

    Raises:
        InputError: a name is not valid, is given twice, or belongs to no judge that has a server.

    >>> server_names(["lab"], ["vllm/m"], ["vllm/m"])
    {'vllm/m': 'lab'}
    """
    found: dict[str, str] = {}
    servers = [judge for judge in judges if is_remote(judge)]
    for value in given:
        judge, mark, name = value.rpartition("=")
        if not mark and len(servers) > 1:
            each = ", ".join(f"{judge}=NAME" for judge in servers)
            raise InputError(
                f"`judge_name={name}`: expected a name for each of {len(servers)} judges ({each}), one a "
                f"line in the variable or a list in a settings file; found {name!r} for all"
            )
        judge = judge if mark else (servers or judges)[0]
        if _NAME.fullmatch(name) is None:
            raise InputError(
                f"`judge_name`: expected up to {LONGEST_NAME} letters, digits, '.', '_' and '-', beginning "
                f"with a letter or a digit; found {name[: LONGEST_NAME + 1]!r}"
            )
        if judge not in asked:
            raise InputError(
                f"`judge_name={judge}={name}`: {judge!r} is no judge of this run"
                f"{did_you_mean(judge, asked)}; expected {' or '.join(asked)}"
            )
        if not is_remote(judge):
            raise InputError(f"`judge_name={name}`: {judge} has no server that could have a name")
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
