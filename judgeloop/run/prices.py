"""Says what the tokens of judges cost, how old the prices are, and warns of old ones.

Prices change without notice, and a run counts its budget in the prices that it knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from judgeloop.core.money import show_price
from judgeloop.core.protocols import Judge
from judgeloop.providers.prices import Metered

LONGEST_AGE_DAYS = 90


def today() -> date:
    """Return today's date, in UTC."""
    return datetime.now(UTC).date()


def price_sentence(judges: Sequence[Judge]) -> str:
    """Return the price of each judge, and where it is from; empty if nothing costs."""
    prices = [
        (judge.identity.name, price, show_price(price))
        for judge in judges
        if isinstance(judge, Metered) and (price := judge.price) is not None
    ]
    told = [(name, f"{text}, from {price.source}") for name, price, text in prices if text]
    if len(judges) == 1:
        return "".join(text for _, text in told)
    return "; ".join(f"{name} {text}" for name, text in told)


def age_of(judge: Judge, now: date) -> int | None:
    """Return the age of a judge's prices in days; None if they have no date, or it is to come."""
    price = judge.price if isinstance(judge, Metered) else None
    if price is None or price.checked is None or price.checked > now:
        return None
    return (now - price.checked).days


def age_sentence(judge: Judge, now: date) -> str:
    """Return a sentence on the age of a judge's prices, with a warning if they are old, or ""."""
    age = age_of(judge, now)
    if age is None:
        return ""
    text = f"the prices were last checked {'today' if age == 0 else f'{age} days ago'}"
    if age <= LONGEST_AGE_DAYS:
        return text
    return f"{text}, and may have changed: update genai-prices, or give `judge_price`"


def old_prices(judges: Sequence[Judge], now: date) -> str:
    """Return a warning that names the judges whose prices are old; empty if none are."""
    warnings = [
        f"{judge.identity.name}: {age_sentence(judge, now)}"
        for judge in judges
        if (age_of(judge, now) or 0) > LONGEST_AGE_DAYS
    ]
    return "; ".join(warnings)
