"""The questions as Python functions: `compare`, `select`, `estimate` and `agree`, with the types of their parameters.

They are declared here; `calling.py` makes what answers, and for each a form that is awaited and a dry
run. What answers a question is imported when it is asked.

Each setting that a program may set stands here once, with the type that a program may pass. The settings themselves
are declared in the configurations (`settings/run_settings.py`), and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict, Unpack, overload

from judgeloop.api.calling import Caller
from judgeloop.core.money import to_usd
from judgeloop.core.protocols import Judge
from judgeloop.engine.state import Progress
from judgeloop.questions.catalogue import AGREE, COMPARE, ESTIMATE, SELECT
from judgeloop.report.terminal import render
from judgeloop.settings.run_settings import SECOND, LedgerSettings

if TYPE_CHECKING:
    from judgeloop.api.in_memory import Rows
    from judgeloop.questions.agree.result import Agreed
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.estimate.result import Estimation
    from judgeloop.questions.select.result import Selection

    # A file, or rows in memory, also with the name of their system: `api/in_memory.py` says which
    # kinds of rows.
    Given: TypeAlias = str | PathLike[str] | Rows | Callable[..., Any]
    Data: TypeAlias = Given | tuple[str, Given]
    Several: TypeAlias = Mapping[str, Data] | Sequence[Data]

File: TypeAlias = str | PathLike[str]
# A judge's name, a function, or an object of one's own.
OneJudge: TypeAlias = str | Callable[..., Any] | Judge
Judges: TypeAlias = OneJudge | Sequence[OneJudge]
Dollars: TypeAlias = Decimal | float | str
Duration: TypeAlias = float | str
OrderName: TypeAlias = Literal["both", "random", "fixed"]
VoteName: TypeAlias = Literal["majority", "mean", "unanimous"]


class CallArguments(TypedDict, total=False):
    """The parameters that are no settings.

    - `environment`: variables such as API keys, by default those of the process.
    - `progress`: called with a `Progress` after each answer.
    - `version`: identifies what the function that judges does (`judges/function.py`).
    - `raise_on_failure`: raise a `JudgeloopError` with the result's text if the run broke off.
    """

    environment: Mapping[str, str] | None
    progress: Callable[[Progress[Any]], object] | None
    version: str | None
    raise_on_failure: bool


class RunArguments(CallArguments, total=False):
    """The settings that all questions share."""

    judge: Required[Judges]
    judge_base_url: str | None
    key_command: str | None
    judge_name: str | Sequence[str] | None
    judge_price: str | PathLike[str] | tuple[float, float] | None
    tier: str | None
    judge_timeout: float | None
    judge_max_tokens: int | None
    judge_effort: str | None
    tie_margin: float | None
    verdict: str | None
    lenient_replies: bool | None
    prompt: str | None
    rubric: str | None
    allow_plugins: bool | None
    budget: Dollars | None
    charge_to: str | Sequence[str] | None
    ledger: File | None
    ledger_must_exist: bool | None
    items: Data | None
    allow_partial: bool | None
    map: str | Sequence[str] | Mapping[str, str] | None
    system: str | Sequence[str] | None
    missing: str | None
    names: Sequence[str] | None
    strip_thoughts: Sequence[str] | None
    epoch: str | None
    max_item_bytes: int | None
    seed: int | None
    risk: float | None
    min_judgments: int | None
    max_judgments: int | None
    max_abstentions: float | None
    about: str | None
    controls: str | None
    judge_model: str | Sequence[str] | None
    fail_on_warning: bool | None
    night: str | None
    deadline: Duration | None
    concurrency: int | None
    ahead: int | str | None
    rpm: int | None
    tpm: int | None
    page: bool | None
    people: str | Sequence[str] | None
    human_price: Dollars | None
    people_per_item: int | None
    shared: float | None
    repeated: float | None
    checks: bool | None
    page_host: str | None
    page_port: int | None
    page_url: str | None
    report_texts: str | None
    cache_dir: File | None


class ContestArguments(RunArguments, total=False):
    """The settings of questions in which systems meet each other."""

    require_winner: str | None
    order: OrderName | None
    vote: VoteName | None
    max_flips: float | None


class CompareArguments(ContestArguments, total=False):
    """The keywords of `compare`."""

    proxy: Judges | None
    selector: str | None
    represent: str | None
    vectors: File | None
    rule: str | None
    near_tie: float | None
    family_members: int | None
    min_gap: float | None
    not_worse: float | None
    by_group: str | None
    by_criterion: bool | None
    give_up: float | None


class SelectArguments(ContestArguments, total=False):
    """The keywords of `select`."""

    baseline: str | None
    proxy: OneJudge | None
    selector: str | None
    weak_judges: int | None
    epsilon: tuple[float, float] | str | None
    rule: str | None
    min_gap: float | None


class EstimateArguments(RunArguments, total=False):
    """The keywords of `estimate`."""

    proxy: OneJudge | None
    selector: str | None
    represent: str | None
    vectors: File | None
    layer: str | int | None
    clusters: int | str | None
    allocation: str | None
    confidence: str | None
    confidence_by: str | None
    half_width: float | None
    interval: str | None
    require_score: float | None


class AgreeArguments(RunArguments, total=False):
    """The keywords of `agree`."""

    truth: Required[File | Several]
    scale: str | None
    order: OrderName | None
    half_width: float | None
    require_agreement: float | None
    zone: float | None
    require_kappa: float | None
    not_worse_than_a_person: float | None
    judge_all: bool | None
    again: bool | None


NOT_WORSE = 0.1  # a gap
_COMPARE = Caller(COMPARE, CompareArguments)
_SELECT = Caller(SELECT, SelectArguments)
_ESTIMATE = Caller(ESTIMATE, EstimateArguments)
_AGREE = Caller(AGREE, AgreeArguments)


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


@_AGREE.answered
def agree(outputs: Several, **settings: Unpack[AgreeArguments]) -> Agreed:
    """Find out whether a judge may be trusted: how well it agrees with people.

    `outputs` holds the outputs of two systems, or of one that is rated, as in `select`. `truth` is a file of labels,
    or a list of files and tables of rows, each of one or more people; `human` asks at the terminal. The other
    parameters are as in `compare`.

    Raises:
        InputError: an argument or a file is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    raise NotImplementedError  # `_AGREE` answers


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
agree_async, agree_dry_run = _AGREE.awaited(agree), _AGREE.dry_run(agree)


def spent_usd(ledger: File | None = None) -> float:
    """What all runs of a ledger were charged, those of `generate` and `doctor` too, in dollars.

    `ledger` is a file or a server's address; None is the default of the command line.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    from judgeloop.ledger.opening import open_reader

    given = {} if ledger is None else {"ledger": ledger}
    with open_reader(LedgerSettings.of(**given).ledger) as reader:
        return float(to_usd(sum(one.charged_p for one in reader.spending()["state"].values())))
