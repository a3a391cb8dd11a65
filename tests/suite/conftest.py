"""One date for all tests of suites: a night is named after it, and is a part of each draw.

On another date other items are judged, and a pair whose outcome hangs on the draw may end otherwise.
"""

from datetime import date

import pytest

from judgeloop.settings import written

TODAY = date(2026, 2, 7)


@pytest.fixture(autouse=True)
def today(monkeypatch):
    """The date of today, which a night has where none is given; a process that is started has the real one."""
    monkeypatch.setattr(written, "today", lambda: TODAY)
    return TODAY
