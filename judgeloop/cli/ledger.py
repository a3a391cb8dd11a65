"""The commands `ledger show`, `export`, `verify`, `salvage` and `reconcile`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli import flags
from judgeloop.cli.naming import as_flags
from judgeloop.cli.panel_command import CONTEXT, PanelCommand
from judgeloop.cli.progress import explained
from judgeloop.diagnostics.config import ReconcileConfig, SalvageConfig, VerifyConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from judgeloop.diagnostics.reconcile import Reconciled
    from judgeloop.ledger.spending import Charged

EXIT_DAMAGED = 1
# What the states of attempts mean that their names do not say.
STATES = {
    "abandoned": "sent, but without a reply; charged at its worst case until it is reconciled",
    "released": "set aside for a call that was not sent, or that failed unbilled; nothing is charged",
    "reserved": "set aside for a call that is not sent yet",
    "sent": "in flight; charged at its worst case until the reply comes",
}


def show() -> click.Command:
    """Return the command `ledger show`."""
    return _command(
        VerifyConfig,
        _show,
        "Show what was spent, and how many tokens were used: by day, judge, run and state.",
        flags.as_json(),
    )


def export() -> click.Command:
    """Return the command `ledger export`."""
    return _command(
        VerifyConfig,
        _export,
        "Print a line for every request as CSV: time, run, judge, model, request id, item, tokens, dollars. "
        "To compare with an invoice.",
    )


def verify() -> click.Command:
    """Return the command `ledger verify`."""
    return _command(
        VerifyConfig,
        _verify,
        "Check every row of a ledger: its checksum, its signature if JUDGELOOP_LEDGER_KEY is set, its tables "
        "and its sums. Changes nothing.\n\nExit codes: 0 all can be believed, 1 something cannot.",
    )  # fmt: skip


def salvage() -> click.Command:
    """Return the command `ledger salvage`."""
    return _command(
        SalvageConfig,
        _salvage,
        "Copy every row of a ledger that can be believed to a new file. Runs stay charged for what was lost.",
    )


def reconcile() -> click.Command:
    """Return the command `ledger reconcile`."""
    return _command(
        ReconcileConfig,
        _reconcile,
        "List the attempts of which nobody knows whether they were billed, and settle them from a provider's "
        "export of requests. They are charged at their worst case until then.",
    )  # fmt: skip


def _command(
    config: type, callback: Callable[..., None], help_: str, *own: click.Parameter
) -> click.Command:
    """Return a command with the settings of `config` and its `own`, named as its function."""
    return PanelCommand(
        callback.__name__.removeprefix("_"),
        callback=callback,
        params=[*flags.parameters_of(config), *own],
        help=help_,
        context_settings=CONTEXT,
    )


def _show(*, as_json: bool, **given: Any) -> None:
    import json

    from judgeloop.core.money import to_usd
    from judgeloop.ledger.spending import spending
    from judgeloop.report.escaping import visible

    with explained():
        found = spending(VerifyConfig.of(**given).ledger)
        if as_json:
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
            print(json.dumps(values, indent=2))
            return
        print("\n".join(map(visible, _spent(found))))


def _export(**given: Any) -> None:
    from itertools import chain, islice

    from judgeloop.ledger.requests import Request, requests_of
    from judgeloop.report.labels import csv_line

    with explained():
        rows = requests_of(VerifyConfig.of(**given).ledger)
        first = list(islice(rows, 1))  # an error comes before the heading
        print(csv_line(Request._fields))
        for row in chain(first, rows):
            print(csv_line((*row[:-1], f"{row.usd:f}")))  # dollars without a power of ten


def _spent(found: dict[str, dict[str, Charged]]) -> list[str]:
    """Return the lines on what was spent: a table for each kind of group, and the total."""
    from judgeloop.ledger.spending import Charged

    by_state = found["state"]
    if not by_state:
        return ["no spending yet"]
    lines = []
    for kind, groups in found.items():
        lines.append(_columns("charged", "attempts", "tokens in", "tokens out", kind))
        lines += [_charged(name, group) for name, group in groups.items()]
    lines.append(_charged("total", sum(by_state.values(), Charged())))
    return lines + [f"{state}: {STATES[state]}" for state in by_state if state in STATES]


def _charged(name: str, group: Charged) -> str:
    from judgeloop.core.money import show_usd

    numbers = group.attempts, group.tokens.input_tokens, group.tokens.output_tokens
    return _columns(show_usd(group.charged_p), *(f"{number:,}" for number in numbers), name)


def _columns(*values: str) -> str:
    """Return a line of the table: four numbers or their headings, and a name."""
    *numbers, name = values
    widths = 12, 8, 12, 11
    shown = [f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True)]
    return "  ".join([*shown, name])


def _verify(**given: Any) -> None:
    from judgeloop.ledger.inspection import inspect
    from judgeloop.report.escaping import visible

    with explained():
        config = VerifyConfig.of(**given)
        found = inspect(config.ledger)
        for problem in found.problems:
            print(visible(as_flags(problem)))
        rows = ", ".join(f"{count:,} {table}" for table, count in found.rows.items())
        kind = "checksums and signatures" if found.signed else "checksums"
        print(f"{kind} of {visible(str(config.ledger))} hold for {rows}")
        raise click.exceptions.Exit(EXIT_DAMAGED if found.problems else 0)


def _salvage(**given: Any) -> None:
    from judgeloop.history.remembered import extend_segments
    from judgeloop.ledger.salvage import salvage as copy
    from judgeloop.report.escaping import visible

    with explained():
        config = SalvageConfig.of(**given)
        found = copy(config.ledger, config.to, sign=config.sign)
        extend_segments(config.to)
        for table, count in found.copied.items():
            print(f"{table}: {count:,} copied, {found.left[table]:,} left behind")
        print(f"the new ledger is {visible(str(config.to))}; name it with --ledger")


def _reconcile(**given: Any) -> None:
    from judgeloop.diagnostics.reconcile import reconcile as settle

    with explained():
        print("\n".join(_lines(settle(ReconcileConfig.of(**given)))))


def _lines(found: Reconciled) -> list[str]:
    """Return a line for each unknown attempt, and one on all."""
    from judgeloop.core.money import show_usd
    from judgeloop.report.escaping import visible

    told = {settlement.attempt: settlement for settlement in found.settled}
    lines, left_p = [], 0
    for row in found.unknown:
        now = told.get(row.id)
        left_p += row.charged_p if now is None else now.cost_p
        said = f"{row.began_at}  run {row.run}  {row.judge}  item {row.item_id}"
        said += f"  charged {show_usd(row.charged_p)}: {row.outcome}"
        if now is not None:
            said += f"; now {show_usd(now.cost_p)}, {now.outcome}"
        lines.append(visible(said))
    before_p = sum(row.charged_p for row in found.unknown)
    unknown = f"{len(found.unknown):,} unknown attempts, charged {show_usd(before_p)}"
    now_ = f"; {len(told):,} settled, now charged {show_usd(left_p)}" if told else ""
    return [*lines, unknown + now_]
