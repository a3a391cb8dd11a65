"""Expects an attempt to end in a certain way, or takes its reply."""

from __future__ import annotations

import asyncio

import pytest
from _pytest.raises import RaisesExc

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Abstention, Call, Reply


def ends(*kinds: ErrorKind, match: str | None = None) -> RaisesExc[JudgeError]:
    """Expect a JudgeError of one of these kinds, whose message matches the expression."""
    return pytest.raises(JudgeError, match=match, check=lambda error: error.kind in kinds)


def passes(match: str | None = None) -> RaisesExc[JudgeError]:
    """Expect a JudgeError after which another attempt may succeed."""
    return pytest.raises(JudgeError, match=match, check=lambda error: error.kind.asks_again)


async def reply_from(judge: Judge, call: Call) -> Reply:
    """The reply to a call, as a run takes it: an item that cannot be judged is an abstention."""
    try:
        return await judge.judge(call)
    except JudgeError as error:
        if error.kind is not ErrorKind.ITEM:
            raise
        return Reply(Abstention(str(error)), cost_p=None if error.billed else 0)


def replied(judge: Judge, call: Call) -> Reply:
    """The reply of a judge that is asked once and then closed."""

    async def story() -> Reply:
        try:
            return await reply_from(judge, call)
        finally:
            await judge.aclose()

    return asyncio.run(story())
