"""The command `ledger` with its subcommands: they print what the ledger holds, check it, and settle it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from judgeloop.cli.options import CONTEXT, JSON, PanelArgument, settings_command
from judgeloop.cli.output import as_flags, is_terminal
from judgeloop.core.errors import InputError
from judgeloop.core.money import show_usd, to_pico, to_usd
from judgeloop.core.work import Lasting, lasting
from judgeloop.report.words import count, visible
from judgeloop.settings import fields
from judgeloop.settings.run_settings import LedgerSettings
from judgeloop.settings.setting import DOLLARS_FORM, Parse
from judgeloop.settings.values import amount

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgeloop.diagnostics.settling import Settled
    from judgeloop.ledger.records import Charged, RecordedRun

EXIT_DAMAGED = 1
HEADINGS = {"judge": "judge or system asked"}
ASKED = {"earmark": "earmark: set aside for judges until the outputs are there"}
# What the states of attempts mean that their names do not say.
STATES = {
    "abandoned": "sent, and may have been billed; charged at its maximum cost until it is settled",
    "released": "certainly not billed; not charged",
    "reserved": "not sent yet; its maximum cost is held until it is sent, and free again when its run goes on",
    "sent": "waiting for the reply; charged at its maximum cost",
}


@dataclass(frozen=True, kw_only=True)
class ShowLedgerSettings(LedgerSettings):
    """The settings of `ledger show`."""

    unknown: bool = fields.money_setting("List the calls of unknown cost instead, which may be settled.").field(False)


@dataclass(frozen=True, kw_only=True)
class CreateSettings(LedgerSettings):
    """The settings of `ledger create`."""

    writer: str | None = fields.place_setting(
        "Role of the server that may book in the new ledger, and change no budget.", metavar="ROLE"
    ).field(None)
    reader: str | None = fields.place_setting("Role of the server that may read the new ledger.", metavar="ROLE").field(
        None
    )

    @property
    def roles(self) -> dict[str, str]:
        """The roles that are given, by what they may do."""
        given = {"writer": self.writer, "reader": self.reader}
        return {kind: name for kind, name in given.items() if name}


@dataclass(frozen=True, kw_only=True)
class MergeSettings(LedgerSettings):
    """The settings of `ledger merge`."""

    own: bool = fields.place_setting("Count what the other ledgers spent for the runs and budgets of this one.").field(
        False
    )
    prefer: str | None = fields.place_setting(
        "Ledger whose verdict is used where two differ. Default: neither is.", metavar="PATH|ADDRESS"
    ).field(None)


@dataclass(frozen=True, kw_only=True)
class PruneSettings(LedgerSettings):
    """The settings of `ledger prune`."""

    older_than: str = fields.place_setting(
        "Delete what began before: a number of days, or a date such as 2026-01-31.", metavar="DAYS|DATE"
    ).field()
    verdicts: bool = fields.place_setting("Also delete verdicts. They are paid for again if they are needed.").field(
        False
    )


@dataclass(frozen=True, kw_only=True)
class SettleSettings(LedgerSettings):
    """The settings of `ledger settle`."""

    run: str | None = fields.money_setting(
        "Settle every call of unknown cost of this run, or of this night, each at DOLLARS. 0 is safe only if the "
        "provider's bill shows none of them: nothing checks it.",
        metavar="RUN|NIGHT",
    ).field(None)
    file: Path | None = fields.money_setting(
        "CSV, JSON or JSON lines with attempt or request_id, and cost, such as a provider's export of requests."
    ).field(None)
    others: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = fields.money_setting(
        "What the calls cost that are not in the file. 0 says that it has every request of their time.",
        metavar="DOLLARS",
    ).field(None)


def ledger() -> click.Command:
    """The command `ledger` with its subcommands."""
    address = PanelArgument(
        ["address"],
        metavar="ADDRESS",
        required=False,
        help="A new file, or postgresql://USER@HOST/DATABASE. Default: --ledger.",
    )
    sources = PanelArgument(
        ["sources"],
        metavar="FROM...",
        required=True,
        nargs=-1,
        help="Ledgers to take from: files, or postgresql://USER@HOST/DATABASE.",
    )
    attempt = PanelArgument(
        ["attempt"], metavar="ATTEMPT", required=False, help="A call's number in `ledger show --unknown`."
    )
    dollars = PanelArgument(["dollars"], metavar="DOLLARS", required=False, help="What it cost; 0: it was not billed.")
    arguments = {_create: (address,), _merge: (sources,), _settle: (attempt, dollars)}
    callbacks: dict[Callable[..., None], type[LedgerSettings]] = {
        _show: ShowLedgerSettings,
        _export: LedgerSettings,
        _create: CreateSettings,
        _verify: LedgerSettings,
        _merge: MergeSettings,
        _prune: PruneSettings,
        _settle: SettleSettings,
    }
    return click.Group(
        "ledger",
        commands=[
            settings_command(
                f"ledger {one.__name__[1:]}",
                one,
                config,
                switches=(JSON,) if one is _show else (),
                arguments=arguments.get(one, ()),
            )
            for one, config in callbacks.items()
        ],
        no_args_is_help=True,
        help="Show charges, check the ledger, merge others into it, and settle calls of unknown cost.",
        context_settings=CONTEXT,
    )


def _show(*, json: bool, **given: Any) -> None:
    """Show charges and tokens by day, night, systems, judge or system asked, run and state.

    With --unknown: the calls of unknown cost, which may be settled.
    """
    from judgeloop.ledger.opening import open_reader

    config = ShowLedgerSettings.of(**given)
    if config.unknown:
        _show_unknown(config, json=json)
        return
    with lasting("adding up charges"), open_reader(config.ledger) as reader:
        found, runs = reader.spending(), reader.runs()
    if json:
        values = {
            kind: {
                name: {
                    "attempts": group.attempts,
                    "input_tokens": group.tokens.input_tokens,
                    "output_tokens": group.tokens.output_tokens,
                    "usd": float(to_usd(group.charged_p)),
                }
                for name, group in groups.items()
            }
            for kind, groups in found.items()
        }
        print(dumps(values, indent=2))
        return
    names = {run.id: _named(run) for run in runs}
    by_time = [*(run.id for run in runs if run.id in found["run"]), *found["run"]]
    found["run"] = {name: found["run"][name] for name in by_time}
    print("\n".join(map(visible, _spent(found, names | ASKED))))


def _show_unknown(config: ShowLedgerSettings, *, json: bool) -> None:
    from judgeloop.diagnostics.settling import unknown

    with lasting("looking for calls of unknown cost"):
        found = unknown(config.ledger)
    if not json:
        print("\n".join(_lines(found)))
        if found.unknown:
            print(
                "settle one: judgeloop ledger settle ATTEMPT DOLLARS; "
                "all of a run, each at DOLLARS: judgeloop ledger settle --run RUN DOLLARS"
            )
        return
    values = [
        {
            "attempt": one.number,
            "began_at": one.began_at,
            "ended_at": one.ended_at,
            "run": one.run,
            "judge": one.judge,
            "item": one.item_id,
            "charged_usd": float(to_usd(one.charged_p)),
            "outcome": one.outcome,
        }
        for one in found.unknown
    ]
    print(dumps(values, indent=2))


def _export(**given: Any) -> None:
    """Print every request as CSV, to check an invoice.

    Columns: time, run, judge, model, request id, item, tokens, dollars, night, systems.
    """
    from judgeloop.ledger.opening import open_reader
    from judgeloop.ledger.records import Request, RunNote
    from judgeloop.report.labels import csv_line

    with open_reader(LedgerSettings.of(**given).ledger) as reader:
        notes = {run.id: run.note for run in reader.runs()}
        rows = reader.requests()
        first = list(islice(rows, 1))  # an error comes before the heading
        print(csv_line((*Request._fields, "night", "systems")))
        seen = nullcontext(Lasting(None, 0)) if is_terminal() else lasting("requests exported", reader.most_requests)
        with seen as step:  # where the lines themselves are seen, they show how far it is
            for row in step.over(chain(first, rows)):
                note = notes.get(row.run, RunNote())
                dollars = f"{row.usd:f}"  # without a power of ten
                print(csv_line((*row[:-1], dollars, note.night, note.names)))


def _named(run: RecordedRun) -> str:
    """The id of a run with its systems and its night."""
    night = f"night {run.note.night}" if run.note.night else ""
    return "  ".join(filter(None, (run.id, run.note.names, night)))


def _spent(found: dict[str, dict[str, Charged]], names: dict[str, str]) -> list[str]:
    """The lines on what was spent: a table for each kind of group, and the total.

    `names` says more of runs and of who was asked.
    """
    from judgeloop.ledger.records import Charged

    by_state = found["state"]
    if not any(found.values()):
        return ["no charges yet"]
    lines = []
    for kind, groups in found.items():
        lines.append(_columns("charged", "attempts", "tokens in", "tokens out", HEADINGS.get(kind, kind)))
        said = names if kind in {"judge", "run"} else {}
        lines += [_charged(said.get(name, name), group) for name, group in groups.items()]
    lines.append(_charged("total", sum(by_state.values(), Charged())))
    return lines + [f"{state}: {STATES[state]}" for state in by_state if state in STATES]


def _charged(name: str, group: Charged) -> str:

    numbers = group.attempts, group.tokens.input_tokens, group.tokens.output_tokens
    return _columns(show_usd(group.charged_p), *(f"{number:,}" for number in numbers), name)


def _columns(*values: str) -> str:
    """A line of the table: four numbers or their headings, and a name."""
    *numbers, name = values
    widths = 12, 8, 12, 11
    shown = [f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True)]
    return "  ".join([*shown, name])


def _create(*, address: str | None, **given: Any) -> None:
    """Make a new ledger, with nothing in it.

    On a server, as who owns the database. A team's runs then take a role that may write, and its readers one that
    may not.
    """
    from judgeloop.ledger.opening import create_ledger

    config = CreateSettings.of(**given | ({} if address is None else {"ledger": address}))
    create_ledger(config.ledger, config.roles)
    print(f"the new ledger is {visible(str(config.ledger))}")


def _verify(**given: Any) -> None:
    """Check whether the ledger is sound: the file, its tables, all sums, all checksums. Changes nothing.

    Exit codes: 0 the ledger is sound, 1 it is damaged.
    """
    from judgeloop.ledger.upkeep import verify

    config = LedgerSettings.of(**given)
    found = verify(config.ledger)
    for problem in found.problems:
        print(visible(as_flags(problem)))
    rows = ", ".join(f"{number:,} {table}" for table, number in found.rows.items())
    said = "is not sound" if found.problems else "is sound"
    print(f"{visible(str(config.ledger))} {said}: {rows}")
    raise click.exceptions.Exit(EXIT_DAMAGED if found.problems else 0)


def _merge(*, sources: tuple[str, ...], **given: Any) -> None:
    """Take the verdicts, outputs and attempts of other ledgers into one: of ledgers that you trust.

    What others spent is shown, and counts for no budget here. Merging twice changes nothing.

    Exit codes: 0 all is merged, 1 verdicts differ and are not used, 2 usage.
    """
    from judgeloop.ledger.merging import merge

    config = MergeSettings.of(**given)
    every = merge(config.ledger, sources, own=config.own, prefer=config.prefer)
    counted = "counted here" if config.own else "not counted here"
    for found in every:
        taken = count(found.verdicts, "verdict"), count(found.outputs, "output")
        spent = f"{count(found.attempts, 'attempt')}, {show_usd(found.spent_p)}, {counted}"
        lines = [f"{found.source}: {' and '.join(taken)} taken; {spent}"]
        if found.open:
            lines.append(f"  left there: {count(found.open, 'open reservation')}")
        lines += [f"  differs, and is not used: {said}" for said in found.disputed]
        print("\n".join(map(visible, lines)))
    if any(found.disputed for found in every):
        print(f"to use one of two verdicts that differ: --prefer {config.ledger}, or a source")
        raise click.exceptions.Exit(EXIT_DAMAGED)


def _prune(**given: Any) -> None:
    """Delete what is old, and shrink the file. What was charged stays counted.

    Calls without a verdict are summed up by day, run, judge and state. Calls of unknown cost stay, with those of the
    days around them.
    """
    from judgeloop.ledger.upkeep import day_before, prune

    config = PruneSettings.of(**given)
    before = day_before(config.older_than, datetime.now(UTC).date())
    found = prune(config.ledger, before, verdicts=config.verdicts)
    print(
        f"{count(found.attempts, 'call')} and {count(found.verdicts, 'verdict')} from before "
        f"{before} deleted; what was charged stays counted"
    )
    if found.sizes is not None:
        print("{:,} bytes before, {:,} bytes after".format(*found.sizes))


def _settle(*, attempt: str | None, dollars: str | None, **given: Any) -> None:
    """Settle calls of unknown cost: one, those of a run or a night, or those in a file.

    They count at their maximum cost until somebody says what they cost, such as a provider's export of requests.
    """
    from judgeloop.diagnostics.settling import settle, settle_file, settle_run

    config = SettleSettings.of(**given)
    typed = [one for one in (attempt, dollars) if one is not None]
    if len(typed) != (0 if config.file else 1 if config.run else 2) or (config.file and config.run):
        raise InputError("expected ATTEMPT and DOLLARS, or `run=RUN` and DOLLARS, or `file`")
    if config.file:
        print("\n".join(_lines(settle_file(config.ledger, config.file, config.others))))
        return
    if config.others is not None:
        raise InputError("`others`: expected with `file`")
    of_run, each = config.run, typed[-1]
    try:
        number, cost = 0 if of_run else int(typed[0]), Decimal(each.removeprefix("$"))
        to_pico(cost)
    except (ValueError, InvalidOperation):
        said = "" if of_run else "a number of `judgeloop ledger show --unknown`, and "
        raise InputError(f"{' '.join(typed)}: expected {said}dollars from 0") from None
    if of_run:
        print(_lines(settle_run(config.ledger, of_run, cost))[-1])
    else:
        print("\n".join(_lines(settle(config.ledger, number, cost))))


def _lines(found: Settled) -> list[str]:
    """A line for each attempt of unknown cost, one on all, and one on what is left."""
    settled = {settlement.attempt: settlement for settlement in found.settled}
    lines, now_p = [], 0
    for row in found.unknown:
        now = settled.get(row.number)
        now_p += row.charged_p if now is None else now.cost_p
        said = f"{row.number}  {row.began_at}  run {row.run}  {row.judge}  item {row.item_id}"
        said += f"  held {show_usd(row.charged_p)}: {row.outcome}"
        if now is not None:
            said += f"; now {show_usd(now.cost_p)}, {now.outcome}"
        lines.append(visible(said))
    before_p = sum(row.charged_p for row in found.unknown)
    total = f"{count(len(found.unknown), 'call')} of unknown cost, {show_usd(before_p)} held"
    if settled:
        total += f"; {len(settled):,} settled, now charged {show_usd(now_p)}"
    lines.append(total)
    if found.left:
        lines.append(f"{count(found.left, 'request')} of the file are of no call here, and are left")
    return lines
