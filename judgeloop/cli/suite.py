"""The command `suite`: many questions in one file, asked in one night within one budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.options import DETAILS, OF_RUNS, settings_command
from judgeloop.cli.output import EVERY, as_flags, columns, logs_json, of_ledger, paint, say, show
from judgeloop.core.errors import EXIT_USAGE, InputError, JudgeloopError, some
from judgeloop.core.money import show_usd, to_usd
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.report.lost import LOST, LOWEST
from judgeloop.report.page import Fact, Page, PageTable, Section, costs, decided, named
from judgeloop.report.terminal import MOST_LINES, TOGETHER, WARNING, render, wrapped
from judgeloop.report.words import NAMED, PLAIN, per_cent, visible
from judgeloop.settings.setting import COMMAND_LINE, ENVIRONMENT, Role, caller

if TYPE_CHECKING:
    from decimal import Decimal

    from judgeloop.engine.state import Interruption, Observe
    from judgeloop.report.result import RunResult
    from judgeloop.runs.forecast import Forecast
    from judgeloop.runs.prepared import Prepared
    from judgeloop.settings.sources import Read
    from judgeloop.suite.line import Line
    from judgeloop.suite.night import Ended
    from judgeloop.suite.settings import Pair, SuiteSettings
    from judgeloop.suite.summary import Summary

ASKED = {Role.RUN, Role.KEY, Role.CONTENT, Role.REPORT}  # the parts of a run that a pair's own table says most of
MOST_WARNED = 3  # pairs or groups of them whose warnings a forecast shows
FORECAST = ("pair", "items", "most calls", "expected cost", "worst cost")
SHARED = "together: controls that pairs share are counted once."
MORE = " Expected to take {}, and {} is left: some pairs may stay undecided."
GUESSED = " (a guess, often too high)"  # without verdicts on such pairs
HELP = """Ask many questions within one budget, all at the same time.

FILE has a table for each pair. It is data, as a judgeloop.toml that is found: the caller's settings win, and only the
caller names addresses, keys and code. The budget is shared equally, and what a decided pair leaves goes to the others.
Rerun the command to continue the night; no verdict is paid twice, unless another model answers behind the judge of a
gate.

\b
Example:
  judgeloop suite nightly.toml --budget '$3' -o night.html -o night.xml

Exit codes: the worst of the pairs, 130 interrupted, 2 usage, 1 error, 4 the judge or a system failed, 5 a gate failed,
3 undecided, 0 all passed; 1 if another process works on this night."""


def suite() -> click.Command:
    """The command `suite`."""
    from judgeloop.suite.settings import SuiteSettings

    configs = (SuiteSettings, *(one.settings() for one in QUESTIONS))
    return settings_command("suite", _suite, *configs, switches=(*OF_RUNS, DETAILS), text=HELP)


def _suite(*, dry_run: bool, json: bool, quiet: bool, details: bool, output: tuple[Path, ...], **given: Any) -> None:
    from judgeloop.cli.files import OF_NIGHTS, check_outputs, json_text, unfinished
    from judgeloop.cli.questions import say_not_written
    from judgeloop.formats.own_files import check_folder

    read: Read = click.get_current_context().obj
    if dry_run:
        say_not_written()
        _forecast(*_read(given, read), read, as_json=json)
        return
    from judgeloop.formats.rows import each_file_once
    from judgeloop.ledger.opening import budgets_of
    from judgeloop.suite.changes import compared
    from judgeloop.suite.summary import Summary

    with unfinished(output, "suite"):
        pairs, config = _read(given, read)
        check_outputs(output, [config.file, config.ledger], OF_NIGHTS)
        for path in output:
            if path.suffix == ".html":
                check_folder(path.with_suffix(""))  # of its reports
        night = config.name_of_night
        results: dict[str, RunResult] = {}
        quiet_log = quiet or (json and not logs_json())
        ends, before_p = _run(pairs, config, night, read, results, quiet=quiet_log)
        with each_file_once():
            lines = _to_finish([(_line(one), one.pair) for one in ends], config, read)
        lines = [replace(one, lost=_lost(results.get(one.name))) for one in lines]
        last = compared(config.ledger, night, lines)
        found = Summary(
            night=night,
            budget_p=config.budget_p or 0,
            lines=last.lines,
            before_p=before_p,
            last_night=last.last_night,
            absent=last.absent,
            other_models=last.other_models,
            again=last.again,
            ledger=of_ledger(),
            drawn_on=min(budgets_of(config.ledger, config.charge_to), key=lambda one: one.left_p, default=None),
        )
        for pair, text in found.warned(passed=False) if quiet_log else ():
            say(f"{config.night}, {pair}: {WARNING} {text}", "warning", pair=pair)
        if quiet_log and found.changed:
            say(f"{WARNING} {found.changed}", "judge_changed")
        if quiet_log and found.absent:
            say(f"{WARNING} {found.missed}", "warning", absent=[*found.absent])
        if quiet_log and found.exit_code:
            say(found.headline, "night", exit_code=found.exit_code)
        values = json_text(found.to_json(), read.files)
        try:
            show(values if json else f"{_text(found, output, quiet=quiet, details=details)}\n")
        finally:
            shown_as = {one.name: results[one.name] for one in pairs if one.name in results}
            _write(found, values, shown_as, output)
        raise click.exceptions.Exit(found.exit_code)


def _text(found: Summary, output: Sequence[Path], *, quiet: bool, details: bool) -> str:
    """A night as it is printed: all of it, or its first lines and where the rest is, in as many rows as fit."""
    from judgeloop.suite.summary import LONGEST_WHY

    report = f"Report: {', '.join(map(str, output))}. " if output else ""
    if quiet or details:
        shown = render(found.page, width=columns(), paint=paint, short=quiet)
        more = f"{found.without_pass} {report}".strip() if quiet else ""
        return f"{shown}\n\n{wrapped(more, columns())}" if more else shown
    command = f"judgeloop runs --night {found.night}{of_ledger()}".replace(" ", TOGETHER)
    again = [one.name for one in found.lines if one.asks_again]
    asks = f", which also asks the unfinished pair{'s' * (len(again) > 1)} {some(again)}" if again else ""
    more = wrapped(f"{report}All of it: rerun with --details{asks}. Each pair: {command}", columns())
    # Rows of other pairs give way to whole sentences on trouble, and these to one line each.
    whole = [(most, LONGEST_WHY) for most in range(MOST_LINES, found.trouble - 1, -1)]
    for most, longest in (*whole, *((most, columns()) for most in range(MOST_LINES, -1, -1))):
        pages = found.brief(most, longest)
        text = "\n\n".join([*(render(one, width=columns(), paint=paint) for one in pages), more])
        if sum(map(bool, text.split("\n"))) <= MOST_LINES:
            break
    return text


def _read(given: Mapping[str, Any], read: Read) -> tuple[list[Pair], SuiteSettings]:
    """The pairs and the settings of the suite: the caller's over those of its file.

    Raises:
        InputError: a setting or the file is wrong, or there is no budget.
    """
    from judgeloop.runs.inputs import check_ledger
    from judgeloop.settings.run_settings import within_ceiling
    from judgeloop.settings.setting import declared
    from judgeloop.settings.values import today
    from judgeloop.suite.settings import CALLER, Layer, SuiteSettings, in_order, pairs_of, read_suite

    own = {ENVIRONMENT, COMMAND_LINE}
    said = {name: value for name, value in given.items() if value is not None}
    by_caller = {name: value for name, value in said.items() if read.origins.get(name, COMMAND_LINE) in own}
    by_files = {name: value for name, value in said.items() if name not in by_caller}
    base = Layer(" and ".join(read.files), by_files, read.named is not None)
    flags = Layer(CALLER, by_caller)
    file = Path(given["file"])
    named = read.named is not None and file.resolve() == read.named.resolve()
    suite = read_suite(file, click.get_current_context().meta[EVERY], trusted=named)
    values: dict[str, Any] = {"file": file, "night": str(today())}
    for layer in in_order((base, suite.common, flags)):
        values |= {name: layer.values[name] for name in layer.values.keys() & declared(SuiteSettings)}
    config = SuiteSettings.of(**values)
    if "budget" not in values or config.budget is None:
        raise InputError(
            "`budget`: expected dollars for all pairs together, found none; give it on the command line, or "
            f"as budget = 3.00 in [suite] of {file}"
        )
    check_ledger(config)
    return pairs_of(replace(suite, night=str(config.night)), base, flags), within_ceiling(config, read.environment)


def _forecast(pairs: list[Pair], config: SuiteSettings, read: Read, *, as_json: bool) -> None:
    """Print the forecast of each pair within its share of the budget, and what all may cost together."""
    import asyncio

    from judgeloop.cli.files import json_text
    from judgeloop.cli.progress import WARM_UP_S, computing
    from judgeloop.formats.rows import each_file_once
    from judgeloop.ledger.opening import runs_of
    from judgeloop.runs.judging import WITHOUT_LIMIT

    budget_p = config.budget_p or 0
    with computing(quiet=as_json, told_from_s=WARM_UP_S):
        with each_file_once():
            made = {pair.name: _offline(pair, config, read) for pair in pairs}
        wrong = {
            name: _as_keys(str(one).removesuffix(WITHOUT_LIMIT))  # a suite has a budget
            for name, one in made.items()
            if isinstance(one, JudgeloopError)
        }
        share_p = budget_p // max(1, len(made) - len(wrong))
        ready = [(pair, one) for pair in pairs if not isinstance(one := made[pair.name], JudgeloopError)]
        found = asyncio.run(_foreseen(ready, config, read, to_usd(share_p))) if ready else {}
    if as_json:
        values = {name: found[name].to_dict(as_flags) if name in found else {"error": wrong[name]} for name in made}
        _, _, worst = _together(list(found.values()))
        known = bool(found) and all(one.priced for one in found.values())
        about = {"job": "suite", "dry_run": True, "budget_usd": float(to_usd(budget_p))}
        about |= {"worst_usd": float(to_usd(worst)) if known else None, "pairs": values}
        print(json_text(about, read.files), end="")
    else:
        every = (one.result.spend.ledger_left_p for one in found.values())
        spent_p = sum(one.charged_p for one in runs_of(config.ledger) if one.note.night == config.name_of_night)
        left_p = max(0, budget_p - spent_p)
        limit_p = min([left_p, *(one for one in every if one is not None)])
        how = f", and {show_usd(spent_p)} is spent" if spent_p else f"; a pair begins with at most {show_usd(share_p)}"
        stops = f"The night stops at {show_usd(budget_p)}{how}."
        if limit_p < left_p:
            stops = f"The night stops at {show_usd(limit_p)}: a budget of the ledger has no more left."
        if (expected_p := _together(list(found.values()))[1]) > limit_p:
            assumed = any(one.assumed for one in found.values() if not one.decided)
            further = " more" * bool(spent_p) + GUESSED * assumed
            stops += MORE.format(show_usd(expected_p) + further, show_usd(limit_p))
        own = [pair.name for pair, one in ready if pair.values["budget"] and (one.config.budget_p or 0) <= share_p]
        if low := [name for name in own if found[name].falls_short]:
            stops += f" A budget of its own is probably too low: {some(low)}."
        page = _forecast_page(found, wrong, stops).said(as_flags)
        print(render(page, width=columns(), paint=paint))
    if wrong:
        raise click.exceptions.Exit(EXIT_USAGE)


async def _foreseen(
    pairs: Sequence[tuple[Pair, Prepared[Any]]], config: SuiteSettings, read: Read, share: Decimal | None = None
) -> dict[str, Forecast]:
    """The forecast of each pair within its share, or its own budget, all through one open ledger."""
    from judgeloop.cli.questions import Asking
    from judgeloop.runs.begin import ledger_of

    with closing(ledger_of(config, offline=True)) as ledger:
        found: dict[str, Forecast] = {}
        for pair, ready in pairs:
            budgets = [one for one in (share, ready.config.budget) if one is not None]
            own = replace(ready.config, budget=min(budgets, default=None))
            found[pair.name] = await Asking(pair.question).foreseen(replace(ready, config=own, ledger=ledger), read)
        return found


def _forecast_page(found: Mapping[str, Forecast], wrong: Mapping[str, str], stops: str) -> Page:
    """A table with a line for each pair and one for all, what is warned of, and what is `wrong`."""
    from judgeloop.runs.forecast import OPENING, usual
    from judgeloop.suite.in_common import PairText, Rows, grouped

    def rows(texts: Mapping[str, str]) -> Rows:
        return grouped((PairText(name, one, one) for name, one in texts.items()), len(found) + len(wrong))

    lines = [(visible(name), f"{one.result.items:,}", *_figures([one])) for name, one in found.items()]
    together = _figures(list(found.values()))
    lines.append(("together", "", *together))
    equal = [None if one.decided else usual(one.equal) for one in found.values()]
    shown: tuple[str, ...] = FORECAST
    note = ""
    if any(equal):
        chances = [per_cent(one.passes) if one else "" for one in equal]
        lines = [(*line, one) for line, one in zip(lines, [*chances, ""], strict=True)]
        ties = {per_cent(one.ties) for one in equal if one}
        shown = (*FORECAST, "equal passes")
        share = f"{ties.pop()} ties" if len(ties) == 1 else "the ties of its expected case"
        note = f"equal passes: how often a system that is equal would pass if the money lasts, with {share}."
    if together[0] != f"{sum(one.calls.worst for one in found.values()):,}":
        note = f"{SHARED} {note}".strip()
    warned = rows({name: " ".join(one.warnings) for name, one in found.items() if one.warnings})
    if len(warned) > MOST_WARNED:
        more = len(warned) - MOST_WARNED
        warned = (*warned[more:], ("", f"{more} more like these: --json has their figures."))
    assumed = rows({name: one.basis for name, one in found.items() if not one.decided})
    whole = Fact("more", Section.DECISION, "", "--json has the whole forecast of each pair.", first=True)
    return Page(
        (
            decided(OPENING),
            Fact("stops", Section.DECISION, "", stops, first=True),
            whole,
            *named(Section.WARNING, warned),
            *named(Section.EVIDENCE, assumed),
            *named(Section.WARNING, rows(wrong)),
        ),
        (PageTable("", shown, tuple(lines), note, Section.DECISION),) if found else (),
    )


def _figures(forecasts: Sequence[Forecast]) -> tuple[str, ...]:
    """The most calls, and the expected and the worst cost, of some forecasts together."""
    most, expected_p, worst_p = _together(forecasts)
    if not all(one.priced for one in forecasts):
        return f"{most:,}", "not known", "not known"
    return f"{most:,}", show_usd(expected_p), show_usd(worst_p)


def _together(forecasts: Sequence[Forecast]) -> tuple[int, int, int]:
    """The most calls, and the expected and the worst cost in picodollars: controls that pairs share are asked once."""
    most = sum(one.calls.worst for one in forecasts)
    expected_p, worst_p = (sum(getattr(one.cost_p, case) for one in forecasts) for case in ("expected", "worst"))
    asked = set[str]()
    for one in forecasts:
        for at, controls in enumerate(one.of_controls):
            for quote in (controls[key] for key in controls.keys() & asked):
                most, worst_p = most - 1, worst_p - quote.cost_p
                expected_p -= 0 if at else quote.likely_cost_p
            asked |= controls.keys()
    return most, expected_p, worst_p


def _offline(pair: Pair, config: SuiteSettings, read: Read) -> Prepared[Any] | JudgeloopError:
    """A pair that is ready for a forecast, or why it cannot be asked."""
    from judgeloop.suite.night import prepared

    try:
        return prepared(pair, config, read.environment, offline=True)
    except JudgeloopError as error:
        return error


def _to_finish(lines: Sequence[tuple[Line, Pair]], config: SuiteSettings, read: Read) -> list[Line]:
    """Lines with what a dry run forecasts of those that more money may finish."""
    import asyncio

    short = [(pair, _offline(pair, config, read)) for line, pair in lines if line.used_up and not line.hopeless]
    ready = [(pair, one) for pair, one in short if not isinstance(one, JudgeloopError)]
    found = asyncio.run(_foreseen(ready, config, read)) if ready else {}

    def finished(line: Line) -> Line:
        if (foreseen := found.get(line.name)) is None or not foreseen.priced:
            return line
        cost = foreseen.cost_p  # the last call, too, is held at its maximum
        likely_p = line.likely_p or cost.expected + line.next_p
        return replace(line, wants_p=cost.worst, likely_p=min(cost.worst, likely_p))

    return [finished(line) for line, _ in lines]


def _run(
    pairs: list[Pair], config: SuiteSettings, night: str, read: Read, results: dict[str, RunResult], *, quiet: bool
) -> tuple[list[Ended], int]:
    """Ask all pairs, alone in this night, and say how far it is; return as `run_suite` does.

    As a pair ends, its result is kept as its own command would, and stands in `results` as it is shown. A log has a
    line for it; a terminal has each pair once, in the summary.
    """
    from judgeloop.cli.progress import Outages, counting
    from judgeloop.cli.questions import Asking, driven
    from judgeloop.engine.state import unobserved
    from judgeloop.ledger.opening import open_ledger
    from judgeloop.questions.kept import keep
    from judgeloop.suite.night import alone, run_suite

    told: dict[str, str] = {}  # the first pair that ended for each cause
    ended = set[str]()
    outages = Outages()

    def tell(end: Ended) -> None:
        line = _line(end)
        if end.result is not None:
            result = Asking(end.pair.question).as_reported(end.ran, end.result, read)
            if end.ran.booked:
                keep(end.ran, result)
            results[end.pair.name] = result
        ended.add(line.name)
        counted(len(ended), len(pairs))
        if line.exit_code if quiet else logs_json():  # the log of a quiet night that passed is empty
            first = told.setdefault(line.why, line.name) if line.why else line.name
            said = line.headline if first == line.name else f"no result, by the same cause as {first}"
            cost = f" ({costs(show_usd(line.charged_p))})" if line.run else ""
            when = f"{config.night}, " if quiet else ""  # a log that nights are appended to
            say(visible(f"{when}{line.name}: {said}{cost}"), "pair", **line.to_json())

    def watch(pair: Pair, ready: Prepared[Any]) -> AbstractContextManager[Observe[Any]]:
        if quiet or not logs_json():
            return nullcontext(outages.observe)
        return Asking(pair.question).watching(ready, pair.name)

    def ask(*, interruption: Interruption, observe: Observe[Any]) -> Coroutine[Any, Any, tuple[list[Ended], int]]:
        del observe  # each pair is watched by itself
        return run_suite(
            pairs, config, read.environment, ledger, night, interruption=interruption, tell=tell, watch=watch
        )

    ledger = open_ledger(config.ledger, config.charge_to)
    try:
        with alone(config, ledger, night), counting("pairs", quiet=quiet or logs_json()) as counted:
            counted(0, len(pairs))
            return driven(ask, nullcontext(unobserved))
    finally:
        ledger.close()


def _lost(result: RunResult | None) -> tuple[str, ...]:
    """The first items that a failed gate lost, as its own page names them."""
    return tuple(one.text for one in (result.page.facts if result else ()) if one.label in {LOST, LOWEST})


def _line(end: Ended) -> Line:
    line = end.line
    headline, why, *warnings = map(_as_keys, (line.headline, line.why, *line.warnings))
    advice, stopped = (_as_keys(one, first=True) for one in (line.advice, line.stopped))
    return replace(line, headline=headline, why=why, advice=advice, stopped=stopped, warnings=tuple(warnings))


def _as_keys(text: str, *, first: bool = False) -> str:
    """`text` with settings as keys, where they are proposed and the pair's own table may have them; others as flags.

    A message that begins with a setting is about what was given; advice may propose one `first`.
    """
    every = click.get_current_context().meta[EVERY].by_name

    def keyed(found: re.Match[str]) -> str:
        field, value = every.get(found["name"]), found["value"]
        if (
            field is None
            or not (first or found.start())
            or field.setting.may_set is caller
            or field.setting.role not in ASKED
        ):
            return found[0]
        if value is None:
            return f"{field.key} = true" if field.type is bool else field.key
        return f"{field.key} = {value}" if PLAIN.fullmatch(value) else f'{field.key} = "{value}"'

    return as_flags(NAMED.sub(keyed, text))


def _write(found: Summary, values: str, results: Mapping[str, RunResult], output: Sequence[Path]) -> None:
    """Write the summary to every file; a page's links lead to reports in a folder of its name.

    Reports of an earlier night are removed from there: they must not pass for those of this one.
    """
    from judgeloop.cli.files import FORMS, JUNIT, remove_other, write_output, write_text
    from judgeloop.formats.own_files import make_folder
    from judgeloop.suite.settings import slug

    def page(path: Path) -> str:
        folder, links = path.with_suffix(""), {}
        make_folder(folder)
        for number, line in enumerate(found.lines, 1):
            if (result := results.get(line.name)) is not None:
                links[line.name] = f"{folder.name}/{number:02}-{slug(line.name)}.html"
                write_output(path.parent / links[line.name], result)
        written = {path.parent / link for link in links.values()}
        remove_other(folder.glob("[0-9][0-9]*-*.html"), written)
        return found.to_html(links)

    own: dict[str, Callable[[Path], str]] = {
        ".html": page,
        ".json": lambda _: values,
        JUNIT: lambda _: found.to_junit(),
    }
    for path in output:
        form = own.get(path.suffix)
        write_text(path, form(path) if form else FORMS[path.suffix](found))
