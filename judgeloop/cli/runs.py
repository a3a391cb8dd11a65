"""The commands `runs …`: the runs of a ledger, the result of one and what turned before it, a pair's trend."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from annotated_types import Gt, Le, Lt

from judgeloop.cli.options import (
    CONTEXT,
    DETAILS,
    JSON,
    QUIET,
    RESULT_FILES,
    DefaultGroup,
    PanelArgument,
    PanelOption,
    settings_command,
)
from judgeloop.cli.output import all_of_it, as_flags, columns, paint
from judgeloop.core.errors import InputError
from judgeloop.core.records import Population, Shown
from judgeloop.core.work import lasting
from judgeloop.report.page import Page, Section, decided
from judgeloop.report.terminal import render, wrapped
from judgeloop.report.words import visible_lines
from judgeloop.settings import fields
from judgeloop.settings.checking import Configuration
from judgeloop.settings.run_settings import LedgerSettings
from judgeloop.settings.setting import declared, one_of
from judgeloop.settings.sources import inside

if TYPE_CHECKING:
    from judgeloop.ledger.opening import Address
    from judgeloop.questions.compare.trend import Run

_ID = frozenset("0123456789abcdef")  # what a run's id is made of
DAY = 10  # characters of a time up to its day
PAIR = ("FIRST", "SECOND")


@dataclass(frozen=True, kw_only=True)
class RunsSettings(LedgerSettings):
    """The settings of `runs list`."""

    since: str | None = fields.place_setting(
        "List runs that were worked on since this day, in local time: today, yesterday, a number of "
        "days, or a date such as 2026-01-31.",
        metavar="DAY",
        example="yesterday",
    ).field(None)
    night: str | None = fields.place_setting(
        "List runs of the nights whose names begin so, such as 2026-01-31.", metavar="NIGHT"
    ).field(None)


@dataclass(frozen=True, kw_only=True)
class ShowSettings(LedgerSettings):
    """The settings of `runs show`; without `report_texts`, that of the run holds."""

    report_texts: Annotated[str | None, one_of(tuple(Shown))] = fields.REPORT_TEXTS.field(None)


@dataclass(frozen=True, kw_only=True)
class ReadSettings(Configuration):
    """What is asked of a run that is done. It is typed: files and variables say what is asked of new runs."""

    not_worse: Annotated[float | None, Gt(0), Lt(1)] = fields.report_setting(
        "Say whether the second system of a comparison is not worse by this gap, read off its bounds: at the run's "
        "risk, and at no cost. Exit code 0: it is not; 5: it is worse; 3: neither is shown; 4: the verdicts are not "
        "to be relied on.",
        fields.OUTPUT,
        example=0.1,
    ).field(None)
    risk: Annotated[float | None, Gt(0), Le(1)] = fields.report_setting(
        "The risk that --not-worse may have: at least the run's.", fields.OUTPUT
    ).field(None)
    about: Annotated[str | None, one_of(tuple(Population))] = fields.report_setting(
        "What --not-worse has to be about: what the run is about.", fields.OUTPUT
    ).field(None)


@dataclass(frozen=True)
class _TrendSwitches:
    output: Path | None = fields.place_setting(
        "Also write the picture to this file: .svg.", may_set=inside, short="-o"
    ).field(None)


class Runs(DefaultGroup):
    """A group that lists the runs if no subcommand is given, and shows a run if its id is."""

    default = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the beginning of a run's id as `runs show`."""
        if args and args[0] not in self.commands and set(args[0]) <= _ID:
            args = ["show", *args]
        return super().parse_args(ctx, args)


def runs() -> click.Command:
    """The command `runs` with its subcommands."""
    run = PanelArgument(
        ["run"],
        metavar="[RUN]",
        required=False,
        help="The run's id, or its beginning; without it, the latest run that has a result here.",
    )
    pair = PanelArgument(
        ["systems"],
        metavar=f"[{' '.join(PAIR)}]",
        required=False,
        nargs=-1,
        help="The systems of a comparison, as patterns such as 'new-*'; without them, those of the latest.",
    )
    (picture,) = declared(_TrendSwitches).values()
    return Runs(
        "runs",
        commands=[
            settings_command("runs list", _list, RunsSettings, switches=(JSON,)),
            settings_command(
                "runs show",
                _show,
                ShowSettings,
                switches=(JSON, QUIET, DETAILS, RESULT_FILES),
                arguments=(run, *map(PanelOption, declared(ReadSettings).values())),
            ),
            settings_command("runs trend", _trend, LedgerSettings, switches=(picture,), arguments=(pair,)),
        ],
        help="List the runs of a ledger, show one again, or follow a pair over its runs.",
        context_settings=CONTEXT,
    )


def _list(*, json: bool, **given: Any) -> None:
    """List the runs of a ledger, the last worked on first: begin, exit code or state, cost, systems, judge, decision.

    A command that is repeated, also with another --require-winner or --require-score, is the same run, which shows
    its last result. A lost run ended without a result, an unjudged one has no judge, and one elsewhere was taken from
    another ledger. A pair of a night that could not be asked has the reason. A replaced run does not count any more:
    its night was started again since.
    """
    from judgeloop.diagnostics.past_runs import lines, local_day, past_runs, replaced
    from judgeloop.settings.values import today

    config = RunsSettings.of(**given)
    since = "" if config.since is None else local_day(config.since, today())
    found = past_runs(config.ledger, since, config.night or "")
    gone = replaced(found)
    if json:
        print(dumps([run.to_json() | {"replaced": run.id in gone} for run in found], indent=2))
        return
    since = "" if config.since is None else f" since {config.since}"
    if config.night and not found:
        raise InputError(f"`night`: no runs{since} of a night that begins with {config.night} in {config.ledger}")
    nothing = f"no runs{since}"
    print("\n".join(map(as_flags, lines(found, gone) or [nothing])))


def _show(*, run: str | None, json: bool, quiet: bool, details: bool, output: tuple[Path, ...], **given: Any) -> None:
    """Print the result of a run again, or write it to files with -o: the ledger has all of it.

    With --details, also which items turned since the run before of the same systems, those with another output first.
    """
    from judgeloop.cli.files import check_outputs, json_text, write_outputs
    from judgeloop.diagnostics.past_runs import before, with_result
    from judgeloop.questions.compare.reading import reading
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.kept import result_of, stored
    from judgeloop.report.turned import turned_since

    asked = ReadSettings.of(**{name: given.pop(name) for name in declared(ReadSettings)})
    config = ShowSettings.of(**given)
    check_outputs(output, [config.ledger])
    shown = with_result(config.ledger, run)
    with lasting("reading the result"):
        kept = stored(config.ledger, shown.id)
    if asked != ReadSettings():
        _check_reading(asked, details=details, output=output)
        found = result_of(kept, texts=False)
        if not isinstance(found, Comparison):
            raise InputError(f"--not-worse: the run {shown.id} is no comparison of two systems")
        answer = reading(found, asked.not_worse or 0.0, asked.risk, asked.about).said(as_flags)
        code = answer.outcome.exit_code if answer.outcome else 0
        read = {
            "run": found.setup.run,
            "not_worse": asked.not_worse,
            "outcome": answer.outcome,
            "sentence": answer.headline,
            "warnings": [one.text for one in answer.facts if one.section is Section.WARNING],
            "exit_code": code,
        }
        text = f"{render(answer, width=columns(), paint=paint, short=True)}\n"
        print(json_text(read) if json else text, end="")
        click.get_current_context().exit(code)
    with lasting("reading the result"):
        result = result_of(kept, shown=config.report_texts)
    values = result.to_json(as_flags) if json else {}
    sealed = result.sealed()
    files = f"Report: {', '.join(map(str, output))}. " if output else ""
    more = "" if quiet or sealed is not result else f"{files}{all_of_it(shown.id, page=not output)}"
    text = f"{render(sealed.page.said(as_flags), width=columns(), paint=paint, short=True, more=more)}\n"
    if details:
        about = {1: "this system", 2: "these two files in this order"}.get(
            len(result.setup.systems), "just these systems"
        )
        none = decided(
            f"Nothing to compare it with: no earlier `{result.job}` of {about} by this judge has a result here."
        )
        earlier, page = before(config.ledger, shown), Page((none,))
        then = result_of(stored(config.ledger, earlier.id)) if earlier else None
        if earlier and then and then.job == result.job:
            since = turned_since(then, result)
            values |= {"before": earlier.id, "turned": [one._asdict() for one in since.turned]}
            page = since.page(earlier.id)
        text = visible_lines(f"{kept.text}\n{render(page, width=columns())}\n")
    print(json_text(values) if json else text, end="")
    write_outputs(output, result, all_of_it=details)


def _check_reading(asked: ReadSettings, **beside: object) -> None:
    """Refuse what says nothing beside a reading, of which nothing is stored.

    Raises:
        InputError: names the flag.
    """
    if asked.not_worse is None:
        raise InputError(f"--{'about' if asked.risk is None else 'risk'} is about what --not-worse reads off a run")
    for name, given in beside.items():
        if given:
            raise InputError(f"--{name} has no effect with --not-worse {asked.not_worse:g}, of which nothing is stored")


def _trend(*, systems: tuple[str, ...] | None, output: Path | None, **given: Any) -> None:
    """Show the gap of a pair of systems over its past runs, and test whether it drifts.

    The test needs runs with draws of their own. Pairs of one night are shown apart.
    """
    from judgeloop.cli.files import check_output, write_text
    from judgeloop.questions.compare.trend import meaning, page_of, picture, trend_of
    from judgeloop.report.svg import Drawing

    patterns = systems or ()
    if len(patterns) not in {0, len(PAIR)}:
        raise InputError(f"{' '.join(PAIR)}: expected both, or none, found {len(patterns)}")
    ledger = LedgerSettings.of(**given).ledger
    if output is not None:
        check_output(output, [ledger], (".svg",))
    trends = [trend_of(runs) for runs in _by_pair(ledger, patterns)]
    if output is not None:
        write_text(output, f"{Drawing(picture(trends))}\n")
    files = [*[None] * (len(trends) - 1), str(output) if output else None]
    pages = [render(page_of(one), files=file, width=columns()) for one, file in zip(trends, files, strict=True)]
    print("\n\n".join([*pages, *filter(None, [wrapped(meaning(trends), columns())])]))


def _by_pair(ledger: Address, patterns: tuple[str, ...]) -> list[list[Run]]:
    """Comparisons with their nights or days, the oldest first; by pair if a night has several.

    Else a pattern may name the candidate of each night, and all count as one pair.

    Raises:
        InputError: there is none.
    """
    found = _of_pair(ledger, patterns)
    pairs: dict[tuple[str, ...], list[Run]] = {}
    for run in found:
        pairs.setdefault(run.result.setup.systems, []).append(run)
    nights = [night for runs in pairs.values() for night in {run.name for run in runs}]
    return [found] if len(nights) == len(set(nights)) else [pairs[one] for one in sorted(pairs)]


def _of_pair(ledger: Address, patterns: tuple[str, ...]) -> list[Run]:
    """The comparisons of a pair with their nights or days, the oldest first.

    Raises:
        InputError: there is none.
    """
    from judgeloop.diagnostics.past_runs import past_runs
    from judgeloop.formats.rows import stem
    from judgeloop.questions.compare.result import Comparison
    from judgeloop.questions.compare.trend import Run
    from judgeloop.questions.kept import result_of, stored

    found: list[Run] = []
    dated = ((run.recorded.note.night or run.recorded.began_at[:DAY], run) for run in past_runs(ledger))
    by_night = sorted(dated, key=lambda one: (one[0], one[1].recorded.began_at), reverse=True)
    with lasting("runs read", len(by_night)) as step:
        for night, run in step.over(by_night):
            note = run.recorded.note
            if run.decision is None or len(note.systems) != len(PAIR):
                continue
            both = zip(note.systems, patterns, strict=False)
            if not all(name in {pattern, stem(pattern)} or fnmatchcase(name, pattern) for name, pattern in both):
                continue
            result = result_of(stored(ledger, run.id), texts=False)
            if isinstance(result, Comparison):
                patterns = patterns or note.systems
                found.append(Run(night, result, note.outputs))
    if not found:
        pair = f" of {' and '.join(patterns)}" if patterns else ""
        raise InputError(f"no comparison{pair} in {ledger} has a result; `judgeloop runs` lists all runs")
    return found[::-1]
