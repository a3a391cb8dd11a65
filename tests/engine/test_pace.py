from __future__ import annotations

import asyncio
import selectors

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.engine.pace import Pace

pytestmark = pytest.mark.anyio


class Patient(selectors.DefaultSelector):
    """Never waits: it moves the clock on by what it was to wait."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


class FakeTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose seconds pass at once."""

    def __init__(self):
        self._patient = Patient()
        super().__init__(self._patient)

    def time(self):
        return self._patient.now


@pytest.fixture
def anyio_backend():
    return "asyncio", {"loop_factory": FakeTimeLoop}


def played(story):
    """Run `story` in fake time."""
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        return runner.run(story())


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_crowd_lowers_the_calls_in_flight_and_replies_raise_them_again():
    pace = Pace(10)
    for _ in range(5):
        pace.was_crowded()
    seen: list[int | None] = [pace.allowed, pace.slowed_to]
    await asyncio.sleep(0.9)
    pace.was_crowded()
    seen.append(pace.allowed)
    await asyncio.sleep(0.2)
    pace.was_crowded()
    seen.append(pace.allowed)
    for _ in range(200):
        pace.went_well()
    assert [*seen, pace.allowed, pace.slowed_to] == [7, 7, 7, 4, 10, None]


@given(limit=st.integers(1, 20), events=st.lists(st.sampled_from(["crowd", "reply", "wait"]), max_size=60))
def test_the_calls_in_flight_are_never_below_one_nor_above_the_limit(limit, events):
    async def story():
        pace = Pace(limit)
        for event in events:
            if event == "wait":
                await asyncio.sleep(1)
                continue
            before = pace.allowed
            (pace.was_crowded if event == "crowd" else pace.went_well)()
            assert 1 <= pace.allowed <= limit
            assert pace.allowed <= before if event == "crowd" else pace.allowed >= before

    played(story)


async def test_a_lowered_pace_holds_back_calls_until_enough_have_left():
    pace = Pace(4)
    for _ in range(4):
        await pace.enter(0)
    pace.was_crowded()  # two are allowed
    waiting = asyncio.create_task(pace.enter(0))
    entered = []
    for _ in range(3):
        await settle()
        entered.append(waiting.done())
        pace.leave()
    await settle()
    assert [*entered, waiting.done()] == [False, False, False, True]


def most_in_a_minute(sent):
    """The most calls, and the most tokens, that began within any 60 seconds."""
    windows = [[tokens for when, tokens in sent if start <= when < start + 60] for start, _ in sent]
    return max(map(len, windows)), max(map(sum, windows))


async def sent_by(pace, calls):
    """When each call began, with its tokens; each after so many seconds of waiting before it is
    wanted."""
    sent = []

    async def call(at, tokens):
        await asyncio.sleep(at)
        if not pace.enter_now(tokens):
            await pace.enter(tokens)
        sent.append((asyncio.get_running_loop().time(), tokens))
        await asyncio.sleep(1)
        pace.leave()

    await asyncio.gather(*(call(at, tokens) for at, tokens in calls))
    return sent


calls_wanted = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 40)), min_size=1, max_size=40)


@settings(max_examples=25)
@given(calls=calls_wanted, rpm=st.integers(1, 8) | st.none(), tpm=st.integers(40, 100) | st.none())
def test_no_minute_has_more_calls_or_tokens_than_its_limits_and_every_call_passes(calls, rpm, tpm):
    async def story():
        return await sent_by(Pace(8, rpm, tpm), calls)

    sent = played(story)
    assert len(sent) == len(calls)
    most_calls, most_tokens = most_in_a_minute(sent)
    assert rpm is None or most_calls <= rpm
    assert tpm is None or most_tokens <= tpm


async def test_calls_go_as_soon_as_the_limits_let_them():
    sent = await sent_by(Pace(8, 2, None), [(0, 1)] * 5)
    assert [when for when, _ in sent] == [0, 0, 60, 60, 120]


async def test_a_call_above_the_limit_of_tokens_passes_alone():
    sent = await sent_by(Pace(8, None, 100), [(0, 60), (1, 500), (2, 60)])
    assert [tokens for _, tokens in sent] == [60, 500, 60]
    assert [when for when, _ in sent] == [0, 60, 120]


async def test_a_call_enters_at_once_only_where_there_is_a_place():
    pace = Pace(2, 3, 100)
    taken = [pace.enter_now(10), pace.enter_now(10), pace.enter_now(10)]
    pace.leave()
    taken.append(pace.enter_now(90))  # too many tokens
    taken.append(pace.enter_now(10))
    pace.leave()
    taken.append(pace.enter_now(0))  # too many calls
    await asyncio.sleep(60)
    assert [*taken, pace.enter_now(90)] == [True, True, False, False, True, False, True]


async def test_nobody_enters_at_once_while_somebody_waits():
    pace = Pace(1, None, 100)
    await pace.enter(100)
    pace.leave()
    waiting = asyncio.create_task(pace.enter(50))  # for tokens, not for a place
    await settle()
    assert (pace.enter_now(0), waiting.cancel()) == (False, True)


async def test_calls_that_wait_enter_in_the_order_in_which_they_came():
    pace, order = Pace(1), []

    async def call(number):
        await pace.enter(0)
        order.append(number)
        await asyncio.sleep(1)
        pace.leave()

    await asyncio.gather(*(call(number) for number in range(8)))
    assert order == list(range(8))


async def test_a_call_that_was_given_up_while_it_waited_leaves_its_turn_to_the_next():
    pace = Pace(1)
    await pace.enter(0)
    first, second = (asyncio.create_task(pace.enter(0)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    pace.leave()
    await settle()
    assert (first.cancelled(), second.done()) == (True, True)
