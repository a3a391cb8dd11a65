"""Every judge by the first word of its name: what makes it, what it needs, which forms of reply it has.

A new provider is its own file and one row here. Settings, help, checks and documentation read this
table. It imports nothing heavy: the module that makes a judge is named as text, and imported when
the judge is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from judgeloop.core.errors import InputError

if TYPE_CHECKING:
    from judgeloop.core.protocols import Judge
    from judgeloop.judges.options import JudgeOptions


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """One kind of judge.

    Its name as typed is `kind`, `mark` and the rest, which the help calls `rest`; `mark` is empty
    for one that is named by its kind alone. `makes` is `module:function` in `judgeloop.judges`; the
    function takes the rest of the name and the options. `verdicts` are the forms of reply that it
    can be held to, empty for one that needs none. `remote` says that it is asked over a network,
    `reads_file` that the rest of its name is a file. `help` says in a few words who judges.
    """

    kind: str
    mark: str
    rest: str
    makes: str
    help: str
    verdicts: tuple[str, ...] = ()
    remote: bool = False
    reads_file: bool = False

    @property
    def form(self) -> str:
        """How it is typed, for help and messages."""
        return f"{self.kind}{self.mark}{self.rest}"


JUDGES: tuple[JudgeRow, ...] = (
    JudgeRow(
        "openai", "/", "MODEL", "openai:make_judge",
        "a model behind OpenAI's API, or behind any server that speaks it",
        ("schema", "logprob"), remote=True,
    ),
    JudgeRow(
        "anthropic", "/", "MODEL", "anthropic:make_judge", "a model behind Anthropic's API",
        ("schema", "tool"), remote=True,
    ),
    JudgeRow(
        "vllm", "/", "NAME", "vllm:make_judge", "a model behind a vLLM server",
        ("schema", "choice", "logprob"), remote=True,
    ),
    JudgeRow(
        "metric", ":", "NAME", "metric:make_judge",
        "a metric against references: rouge1, rouge2, rougeL, exact or token-f1",
    ),
    JudgeRow("replay", ":", "FILE", "replay:make_judge", "recorded verdicts", reads_file=True),
    JudgeRow("human", "", "", "human:make_judge", "a person at this terminal"),
    JudgeRow("python", ":", "MODULE:FUNCTION", "plugin:make_judge", "a function of your own"),
)  # fmt: skip
FORMS = ", ".join(row.form for row in JUDGES)
VERDICT_FORMS = tuple(dict.fromkeys(form for row in JUDGES for form in row.verdicts))


def judge_from_spec(spec: str, options: JudgeOptions) -> Judge:
    """The judge that `spec` names.

    Raises:
        InputError: nothing is called so, or something it needs is missing.
    """
    row, rest = parse_spec(spec)
    if options.price is not None:
        from judgeloop.judges.prices import price_from_text

        price_from_text(options.price)  # refused if wrong, also for a judge that is free
    if row.verdicts and options.verdict not in row.verdicts:
        raise InputError(
            f"`verdict={options.verdict}`: {row.form} has no such form of reply; "
            f"expected {' or '.join(row.verdicts)}"
        )
    module, _, function = row.makes.partition(":")
    judge: Judge = getattr(import_module(f"judgeloop.judges.{module}"), function)(rest, options)
    return judge


def parse_spec(spec: str) -> tuple[JudgeRow, str]:
    """The row that `spec` names, and the rest of its name.

    `openai/a/b` is openai and a/b, `replay:a/b` is replay and a/b; `openai:m` is taken for `openai/m`.

    Raises:
        InputError: there is no such judge, or the rest is missing.
    """
    at = min((spec.index(mark) for mark in ":/" if mark in spec), default=len(spec))
    kind, separator, rest = spec[:at], spec[at : at + 1], spec[at + 1 :]
    row = next((row for row in JUDGES if row.kind == kind), None)
    if separator and not rest:
        raise InputError(
            f"`judge={spec}`: the name ends after {separator!r}; expected one of {FORMS}"
        )
    if row is None or bool(row.mark) != bool(separator):
        raise InputError(f"`judge={spec}`: there is no such judge; expected one of {FORMS}")
    return row, rest


def recorded_files(specs: tuple[str, ...]) -> list[Path]:
    """The files that the judges named by `specs` read."""
    found = []
    for spec in specs:
        kind, _, rest = spec.partition(":")
        if any(row.reads_file and row.kind == kind for row in JUDGES):
            found.append(Path(rest))
    return found


def judge_name(provider: str, model: str) -> str:
    """A judge's name as typed, from what the ledger holds of it."""
    if not model:
        return provider
    row = next((row for row in JUDGES if row.kind == provider), None)
    return f"{provider}{row.mark if row else '/'}{model}"
