"""The command `ledger` with its subcommands: they print what the ledger holds, check it, and settle it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import chain, islice
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.panel_command import CONTEXT, PanelArgument, settings_command
from judgeloop.core.money import show_usd, to_usd
from judgeloop.diagnostics.config import (
    CreateConfig,
    LedgerConfig,
    LoadConfig,
    MergeConfig,
    PruneConfig,
    ReconcileConfig,
    SalvageConfig,
)
from judgeloop.report.words import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from judgeloop.core.ledger import Charged, RecordedRun
    from judgeloop.diagnostics.reconcile import Reconciled
    from judgeloop.ledger.merging import Merged

EXIT_DAMAGED = 1
HEADINGS = {"judge": "judge or system asked"}
ASKED = {"earmark": "earmark: set aside for judges until the outputs are there"}
# What the states of attempts mean that their names do not say.
STATES = {
    "abandoned": "sent, and may have been billed; charged at its maximum cost until it is reconciled",
    "released": "certainly not billed; not charged",
    "reserved": "not sent yet; charged at its maximum cost",
    "sent": "waiting for the reply; charged at its maximum cost",
}


def ledger() -> click.Command:
    """Return the command `ledger` with its subcommands."""
    run = PanelArgument(["run"], metavar="RUN", required=True, help="The run's id, or its beginning.")
    item = PanelArgument(["item"], metavar="ITEM", required=True, help="The item's id.")
    address = PanelArgument(
        ["address"],
        metavar="ADDRESS",
        required=False,
        help="A new file, or postgresql://USER@HOST/DATABASE. Default: --ledger.",
    )
    lines = PanelArgument(
        ["file"],
        metavar="FILE",
        required=True,
        type=click.File(encoding="utf-8", errors="surrogateescape"),
        help="File of JSON lines; - for standard input.",
    )
    sources = PanelArgument(["sources"], metavar="FROM...", required=True, nargs=-1, help="Ledgers to take from.")
    arguments = {_explain: (run, item), _create: (address,), _merge: (sources,), _load: (lines,)}
    callbacks: tuple[Callable[..., None], ...] = (
        _show, _export, _explain, _create, _verify, _salvage, _merge, _dump, _load, _prune, _reconcile,
    )  # fmt: skip
    return click.Group(
        "ledger",
        commands=[settings_command(f"ledger {one.__name__[1:]}", one, *arguments.get(one, ())) for one in callbacks],
        no_args_is_help=True,
        help="Show charges, explain a call, check the ledger, and settle calls of unknown cost.",
        context_settings=CONTEXT,
    )


def _show(*, json: bool, **given: Any) -> None:
    """Show charges and tokens by day, night, systems, judge or system asked, run and state."""
    from judgeloop.ledger.opening import open_reader

    with open_reader(LedgerConfig.of(**given).ledger) as reader:
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


def _export(**given: Any) -> None:
    """Print every request as CSV, to check an invoice.

    Columns: time, run, judge, model, request id, item, tokens, dollars, night, systems.
    """
    from judgeloop.core.ledger import Request, RunNote
    from judgeloop.ledger.opening import open_reader
    from judgeloop.report.labels import csv_line

    with open_reader(LedgerConfig.of(**given).ledger) as reader:
        notes = {run.id: run.note for run in reader.runs()}
        rows = reader.requests()
        first = list(islice(rows, 1))  # an error comes before the heading
        print(csv_line((*Request._fields, "night", "systems")))
        for row in chain(first, rows):
            note = notes.get(row.run, RunNote())
            dollars = f"{row.usd:f}"  # without a power of ten
            print(csv_line((*row[:-1], dollars, note.night, note.names)))


def _named(run: RecordedRun) -> str:
    """Return the id of a run with its systems and its night."""
    night = f"night {run.note.night}" if run.note.night else ""
    return "  ".join(filter(None, (run.id, run.note.names, night)))


def _spent(found: dict[str, dict[str, Charged]], names: dict[str, str]) -> list[str]:
    """Return the lines on what was spent: a table for each kind of group, and the total.

    `names` says more of runs and of who was asked.
    """
    from judgeloop.core.ledger import Charged

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
    """Return a line of the table: four numbers or their headings, and a name."""
    *numbers, name = values
    widths = 12, 8, 12, 11
    shown = [f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True)]
    return "  ".join([*shown, name])


def _explain(*, run: str, item: str, **given: Any) -> None:
    """Explain why a run called a judge for an item, or made no call.

    For each call: the nearest earlier call on the item, and what differs between them.
    """
    from judgeloop.diagnostics.explain import explain, render_explanation

    print(render_explanation(explain(LedgerConfig.of(**given).ledger, run, item)))


def _create(*, address: str | None, **given: Any) -> None:
    """Make a new ledger, with nothing in it.

    On a server, as who owns the database. A team's runs then take a role that may write, and its readers one that
    may not.
    """
    from judgeloop.ledger.opening import create_ledger

    config = CreateConfig.of(**given | ({} if address is None else {"ledger": address}))
    create_ledger(config.ledger, config.roles)
    print(f"the new ledger is {visible(str(config.ledger))}")


def _verify(**given: Any) -> None:
    """Check whether the ledger is sound.

    Checks each row's checksum, its signature if JUDGELOOP_LEDGER_KEY is set, tables and sums. Changes nothing.

    Exit codes: 0 the ledger is sound, 1 it is damaged.
    """
    from judgeloop.ledger.inspection import inspect

    config = LedgerConfig.of(**given)
    found = inspect(config.ledger)
    for problem in found.problems:
        print(visible(as_flags(problem)))
    rows = ", ".join(f"{number:,} {table}" for table, number in found.rows.items())
    kind = "checksums and signatures" if found.signed else "checksums"
    print(f"{kind} of {visible(str(config.ledger))} hold for {rows}")
    raise click.exceptions.Exit(EXIT_DAMAGED if found.problems else 0)


def _salvage(**given: Any) -> None:
    """Copy the sound rows of a damaged ledger to a new file. Charges for lost rows are kept."""
    from judgeloop.ledger.inspection import salvage

    config = SalvageConfig.of(**given)
    found = salvage(config.ledger, config.to, sign=config.sign)
    for table, copied in found.copied.items():
        print(f"{table}: {copied:,} copied, {found.left[table]:,} left behind")
    print(f"the new ledger is {visible(str(config.to))}; name it with --ledger")


def _merge(*, sources: tuple[str, ...], **given: Any) -> None:
    """Take the verdicts, outputs and attempts of other ledgers into one.

    What others spent is shown, and counts for no budget here. Merging twice changes nothing.

    Exit codes: 0 all is merged, 1 verdicts differ and are not used, 2 usage.
    """
    from judgeloop.ledger.merging import Believing, merge

    config = MergeConfig.of(**given)
    believing = Believing(config.their_key(os.environ), frozenset(config.trust_origin))
    paths = [Path(source) for source in sources]
    every = merge(config.ledger, paths, believing, own=config.own, prefer=config.prefer)
    _print_taken(every, own=config.own)
    if any(found.disputed for found in every):
        print(f"to use one of two verdicts that differ: --prefer {config.ledger}, or a source")
        raise click.exceptions.Exit(EXIT_DAMAGED)


def _print_taken(every: Sequence[Merged], *, own: bool) -> None:
    """Print what was taken from each source."""
    counted = "counted here" if own else "not counted here"
    for found in every:
        taken = count(found.verdicts, "verdict"), count(found.outputs, "output")
        spent = f"{count(found.attempts, 'attempt')}, {show_usd(found.spent_p)}, {counted}"
        lines = [f"{found.source}: {' and '.join(taken)} taken; {spent}"]
        if found.open:
            lines.append(f"  left there: {count(found.open, 'open reservation')}")
        lines += [f"  differs, and is not used: {said}" for said in found.disputed]
        print("\n".join(map(visible, lines)))


def _dump(**given: Any) -> None:
    """Print runs, calls, verdicts and outputs as JSON lines, for `ledger load` or a program of yours."""
    from judgeloop.ledger.dumping import dump

    for line in dump(LedgerConfig.of(**given).ledger):
        print(line)


def _load(*, file: TextIO, **given: Any) -> None:
    """Take what `ledger dump` printed, or verdicts from elsewhere, into a ledger.

    Lines have no checksums and no signatures: what is loaded is believed. Loading twice changes nothing.

    Exit codes: 0 all is loaded, 1 verdicts differ and are not used, 2 usage.
    """
    from judgeloop.ledger.dumping import load

    config = LoadConfig.of(**given)
    found = load(config.ledger, file, getattr(file, "name", "<stdin>"), own=config.own)
    _print_taken([found], own=config.own)
    if found.disputed:
        raise click.exceptions.Exit(EXIT_DAMAGED)


def _prune(**given: Any) -> None:
    """Delete what is old, and shrink the file. What was charged stays counted.

    Calls without a verdict are summed up by day, run, judge and state. Calls of unknown cost stay, with those of the
    days around them.
    """
    from judgeloop.ledger.pruning import day_before, prune

    config = PruneConfig.of(**given)
    before = day_before(config.older_than, datetime.now(UTC).date())
    found = prune(config.ledger, before, verdicts=config.verdicts)
    print(
        f"{count(found.attempts, 'call')} and {count(found.verdicts, 'verdict')} from before "
        f"{before} deleted; what was charged stays counted"
    )
    if found.sizes is not None:
        print("{:,} bytes before, {:,} bytes after".format(*found.sizes))


def _reconcile(**given: Any) -> None:
    """List calls of unknown cost, or settle them.

    They count at their maximum cost until a provider's export of requests shows what they cost.
    """
    from judgeloop.diagnostics.reconcile import reconcile

    print("\n".join(_lines(reconcile(ReconcileConfig.of(**given)))))


def _lines(found: Reconciled) -> list[str]:
    """Return a line for each attempt of unknown cost, one on all, and one on what is left."""
    settled = {settlement.attempt: settlement for settlement in found.settled}
    lines, now_p = [], 0
    for row in found.unknown:
        now = settled.get(row.number)
        now_p += row.charged_p if now is None else now.cost_p
        said = f"{row.began_at}  run {row.run}  {row.judge}  item {row.item_id}"
        said += f"  charged {show_usd(row.charged_p)}: {row.outcome}"
        if now is not None:
            said += f"; now {show_usd(now.cost_p)}, {now.outcome}"
        lines.append(visible(said))
    before_p = sum(row.charged_p for row in found.unknown)
    total = f"{count(len(found.unknown), 'call')} of unknown cost, charged {show_usd(before_p)}"
    if settled:
        total += f"; {len(settled):,} settled, now charged {show_usd(now_p)}"
    lines.append(total)
    if found.left:
        lines.append(f"{count(found.left, 'request')} of the export fit such a call and are left")
    return lines
