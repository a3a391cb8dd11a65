"""The periods of a budget: a day, a week from Monday, a month, or all time. Pure: times in, times out.

A day may begin at any time of it, at a fixed offset from UTC: one night is then one day. The offset does
not move with summer time. Times are texts in ISO 8601 (UTC, milliseconds), as the ledger writes them: the
later of two is the larger.
"""

import re
from datetime import UTC, datetime, time, timedelta

PERIODS = ("day", "week", "month", "total")
TOTAL = PERIODS[-1]
MIDNIGHT = "00:00+00:00"
DAY_STARTS = r"([01]\d|2[0-3]):[0-5]\d[+-](0\d|1[0-4]):[0-5]\d"
LONGEST_MONTH = timedelta(days=31)


def began(per: str, day_starts: str, at: str) -> str:
    """When the period began in which `at` lies; empty for `total`, which has no beginning.

    >>> began("day", "12:00+01:00", "2026-03-01T10:59:59.999+00:00")
    '2026-02-28T11:00:00.000+00:00'
    """
    if per == TOTAL:
        return ""
    begins = _first_moment(day_starts)
    day = (datetime.fromisoformat(at) - begins).date()
    if per == "week":
        day -= timedelta(days=day.weekday())
    elif per == "month":
        day = day.replace(day=1)
    first = datetime.combine(day, time(), UTC) + begins
    return first.isoformat(timespec="milliseconds")


def ends(per: str, day_starts: str, since: str) -> str:
    """When the next period begins after the one that began at `since`; empty for `total`.

    >>> ends("month", "00:00+00:00", "2026-02-01T00:00:00.000+00:00")
    '2026-03-01T00:00:00.000+00:00'
    """
    if per == TOTAL:
        return ""
    longest = {"day": timedelta(days=1), "week": timedelta(weeks=1)}.get(per, LONGEST_MONTH)
    within = datetime.fromisoformat(since) + longest
    return began(per, day_starts, within.isoformat(timespec="milliseconds"))


def _first_moment(day_starts: str) -> timedelta:
    """How long after midnight UTC a day begins; it may be before, or on the next day.

    >>> _first_moment("12:00+01:00") == timedelta(hours=11)
    True
    """
    found = re.fullmatch(r"(\d\d):(\d\d)([+-])(\d\d):(\d\d)", day_starts)
    assert found is not None, "checked where it was set"
    hours, minutes, sign, *offset = found.groups()
    east = timedelta(hours=int(offset[0]), minutes=int(offset[1]))
    begins = timedelta(hours=int(hours), minutes=int(minutes))
    return begins - east if sign == "+" else begins + east
