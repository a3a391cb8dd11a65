"""Reads the user's own prices: a TOML file with a table for each judge, under the judge's name.

    ["openai/my-model"]
    input_per_mtok = 0.15
    output_per_mtok = 0.60
    checked_on = 2026-11-20

    ["openai/my-model".flex]
    input_per_mtok = 0.075
    output_per_mtok = 0.30

Amounts are dollars per million tokens. `cache_read_per_mtok`, `cache_write_per_mtok` and
`checked_on`, the date on which somebody last looked the price up, are optional. So is the table
`flex`, the price at the tier `flex`. `providers/prices.py` looks up published prices.
"""

import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError
from judgeloop.core.money import Price, Rate, rate_per_mtok
from judgeloop.formats.tables import read_text

FLEX = "flex"  # the name of the table of a cheaper tier, within the table of a judge


def read_price(name: str, path: Path) -> Price | None:
    """Read the price of the judge `name` from a TOML file; None if the file has no such table.

    Cached tokens without a price of their own cost as much as other input tokens.

    Raises:
        DataError: the file is not TOML, or the table is wrong.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, f"this is no TOML: {error}") from None
    table = tables.get(name)
    if table is None:
        return None
    cheaper = table.pop(FLEX, None) if isinstance(table, dict) else None
    price = _price(name, table, path)
    return price if cheaper is None else replace(price, flex=_price(f"{name}.{FLEX}", cheaper, path))


def _price(name: str, table: Any, path: Path) -> Price:
    known = {
        "input_per_mtok", "output_per_mtok", "cache_read_per_mtok", "cache_write_per_mtok",
        "checked_on",
    }  # fmt: skip
    try:
        if unknown := set(table) - known:
            raise ValueError(f"unknown field {min(unknown)!r}")  # noqa: TRY301 - the handler below adds the context
        checked = table.pop("checked_on", None)
        if checked is not None and type(checked) is not date:
            raise ValueError(f"checked_on is a date such as 2026-11-20, not {checked!r}")  # noqa: TRY301 - the same
        rates = {field: Rate(rate_per_mtok(str(value))) for field, value in table.items()}
        plain = rates["input_per_mtok"]
        return Price(
            input=plain,
            output=rates["output_per_mtok"],
            cache_read=rates.get("cache_read_per_mtok", plain),
            cache_write=rates.get("cache_write_per_mtok", plain),
            source=str(path),
            checked=checked,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            path, f"[{name!r}] needs input_per_mtok and output_per_mtok, in dollars per million tokens: {error}"
        ) from None
