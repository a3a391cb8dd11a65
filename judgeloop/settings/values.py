"""Reads values as people write them: dollars, durations, shares in per cent, lists; and says which are secrets.

What is of another type is returned as it is, for pydantic to check (`checking.py`).
"""

import os
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from os import PathLike

from judgeloop.core.money import MOST_DOLLARS, to_pico
from judgeloop.systems.options import duration

_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)  # in the name of a variable


def amount(value: object) -> Decimal | None:
    """Parse dollars such as 5.00 or $5, or `none` as None."""
    if value is None or str(value).lower() in {"none", "inf"}:
        return None
    dollars = str(value).strip().removeprefix("$")
    try:
        cost_p = to_pico(dollars)
    except ValueError:
        raise ValueError(_expected(dollars)) from None
    if cost_p == 0 and dollars.startswith("."):
        raise ValueError(
            "expected dollars such as 5.00; a shell takes the $5 of $5.00 for a variable, so give 5.00, "
            "or '$5.00' in quotes"
        )
    return Decimal(dollars)


def _expected(text: str) -> str:
    """What was expected in place of an amount in another form.

    >>> _expected("2,50"), _expected("US$2")
    ("expected dollars, such as 2.50 or '$2.50'", "expected dollars, such as 2 or '$2'")
    """
    form = r"(?:USD?)?\s*\$?\s*([0-9]+)(?:[.,]([0-9]{1,2}))?\s*(?:\$|USD)?"
    if found := re.fullmatch(form, text, re.IGNORECASE):
        dollars = ".".join(filter(None, found.groups()))
        return f"expected dollars, such as {dollars} or '${dollars}'"
    currency = "US dollars" if set(text) & set("€£¥") else "dollars"
    return f"expected {currency} such as 5.00, up to {MOST_DOLLARS:,}, or none"


def per_cent(value: object) -> object:
    """Parse `5%` to 0.05; return anything else as it is.

    >>> per_cent("5%"), per_cent("0.05"), per_cent(0.05)
    (0.05, '0.05', 0.05)
    """
    if not isinstance(value, str) or not value.strip().endswith("%"):
        return value
    try:
        return float(Decimal(value.strip().removesuffix("%").strip()) / 100)
    except ArithmeticError:
        return value  # reported as no number


def seconds(value: object) -> object:
    """Parse a duration such as 90s, 30m or 2h to seconds."""
    if value is None or isinstance(value, int | float):
        return value
    try:
        return duration(str(value))
    except ValueError as error:
        raise ValueError(f"expected {error}") from None


def night_name(value: object) -> str | None:
    """Parse the name of a night: a date, and not one to come, of which no output could be."""
    if value is None:
        return None
    try:
        found = date.fromisoformat(str(value))
    except ValueError:
        raise ValueError("expected a date such as 2026-11-24") from None
    if found > today():
        raise ValueError("expected the date of today, or an earlier one")
    return found.isoformat()


def today() -> date:
    """The local date, after which a night is named."""
    return datetime.now().astimezone().date()


def night_began(night: str) -> str:
    """When a night begins: at midnight, local time, as the ledger writes a time (UTC)."""
    midnight = datetime.combine(date.fromisoformat(night), time()).astimezone(UTC)
    return midnight.isoformat(timespec="milliseconds")


def listed(value: object) -> object:
    """Parse `a,b`, or one number, to a list."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [value]
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]


def shares(value: object) -> object:
    """Parse `0.05,10%` to a list of shares."""
    found = listed(value)
    return [per_cent(part) for part in found] if isinstance(found, list) else found


def numbers(value: object) -> object:
    """Parse `5:200:5` (first, last, step) or `5,10,20` to a list."""
    if not isinstance(value, str) or ":" not in value:
        return listed(value)
    try:
        first, last, step = map(int, value.split(":"))
        return list(range(first, last + 1, step))
    except ValueError:
        raise ValueError("expected FIRST:LAST:STEP, such as 5:200:5, or numbers separated by commas") from None


def unless_auto(value: object) -> object:
    """Parse `auto` to None."""
    return None if value == "auto" else value


def share_or_none(value: object) -> object:
    """Parse `none` to the share that nothing exceeds.

    >>> share_or_none("none"), share_or_none("0.2")
    (1.0, '0.2')
    """
    return 1.0 if value == "none" else value


def price_text(given: object) -> object:
    """A pair of numbers, or the path of a file, as text; other values as they are.

    >>> price_text((0.15, 0.6)), price_text("1,4")
    ('0.15,0.6', '1,4')
    """
    if isinstance(given, PathLike):
        return str(given)
    return ",".join(map(str, given)) if isinstance(given, tuple | list) else given


def names_a_secret(name: str) -> bool:
    """Whether the name of a variable speaks of a secret."""
    return _SECRET.search(name) is not None


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """The values of variables whose names speak of a secret; the path of a file is none.

    >>> secrets_of({"MY_KEY": "sk-1", "HOME_KEY_FILE": "/", "PAGER": "less"})
    ['sk-1']
    """
    named = [value for name, value in environment.items() if names_a_secret(name)]
    return [one for one in named if one and not (os.sep in one and os.path.exists(one))]  # noqa: PTH110 - it may be no path
