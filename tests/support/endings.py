"""Expects an attempt to end in a certain way."""

from __future__ import annotations

import pytest
from _pytest.raises import RaisesExc

from judgeloop.core.errors import ErrorKind, JudgeError


def ends(kind: ErrorKind, match: str | None = None) -> RaisesExc[JudgeError]:
    """Expect a JudgeError of this kind, whose message matches the expression."""
    return pytest.raises(JudgeError, match=match, check=lambda error: error.kind is kind)
