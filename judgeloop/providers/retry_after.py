"""Reads how long a server asks to wait, from the headers of its answer."""

from __future__ import annotations

import email.utils
import math
from collections.abc import Mapping
from datetime import UTC, datetime


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that `headers` ask for; None if absent or invalid."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        seconds = _seconds(text, unit_s) if text else None
        if seconds is not None:
            return seconds
    return None


def _seconds(text: str, unit_s: float) -> float | None:
    try:
        seconds = float(text) * unit_s
    except ValueError:
        try:
            when = email.utils.parsedate_to_datetime(text)
        except (ValueError, OverflowError, TypeError):
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - datetime.now(UTC)).total_seconds()
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
