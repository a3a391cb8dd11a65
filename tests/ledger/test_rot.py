"""Disks rot: a bit that flips in a ledger's file gives no false verdict, and `ledger verify` finds it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil

import pytest
from support.booked import key_of, write
from support.database import opened

from judgeloop.core.errors import DamagedLedgerError, LedgerError
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.upkeep import verify

ITEMS = {f"k{number}": 1.0 for number in range(40)}
FLIPS = 90


def scores(address):
    async def look():
        ledger = open_ledger(address)
        try:
            found = await ledger.verdicts([key_of(item) for item in ITEMS])
        finally:
            await ledger.aclose()
        return [(verdict.score, verdict.reason) for verdict in found.values()]

    return asyncio.run(look())


@pytest.mark.parametrize(
    "change", ["score = 0.0", "reason = 'other'", "probabilities = '{\"first\": 0}'", "crc = crc + 1"]
)
def test_a_verdict_that_was_changed_is_not_used(address, change):
    write(address, ITEMS)
    assert len(scores(address)) == len(ITEMS)
    with opened(address) as connection:
        connection.execute(f"UPDATE verdicts SET {change} WHERE seq = 7")
    with pytest.raises(DamagedLedgerError, match="was changed after it was written"):
        scores(address)
    assert [problem.partition(" is not")[0] for problem in verify(address).problems] == ["row 7 of verdicts"]


@pytest.mark.parametrize(
    "change", ["text = 'other'", "failed = 'other', text = NULL", "ended = 'cut'", "crc = crc + 1"]
)
def test_an_output_that_was_changed_is_not_used(address, change):
    async def look():
        ledger = open_ledger(address)
        try:
            return await ledger.outputs(["o"])
        finally:
            await ledger.aclose()

    write(address, {}, outputs=["o"])
    assert len(asyncio.run(look())) == 1
    with opened(address) as connection:
        connection.execute(f"UPDATE outputs SET {change}")
    with pytest.raises(DamagedLedgerError, match="was changed after it was written"):
        asyncio.run(look())
    assert [problem.partition(" is not")[0] for problem in verify(address).problems] == ["row 1 of outputs"]


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("results", "headline = 'old is better'"),
        ("results", "headline_crc = headline_crc + 1"),
        ("results", "text = 'other'"),
        ("results", "document = '{ }'"),
        ("results", "digests = '[]'"),
        ("results", "crc = crc + 1"),
        ("judged", "text = 'other'"),
    ],
)
def test_a_result_that_was_changed_is_not_shown(address, table, change):
    write(address, ITEMS)
    with opened(address) as connection:
        connection.execute(f"UPDATE {table} SET {change} WHERE seq = 1")
    with open_reader(address) as reader:
        with pytest.raises(DamagedLedgerError, match="was changed after it was written"):
            reader.result("night")
        with pytest.raises(DamagedLedgerError) if "headline" in change else contextlib.nullcontext():
            assert reader.headlines() == {"night": "new is better"}
    assert [problem.partition(" is not")[0] for problem in verify(address).problems] == [f"row 1 of {table}"]


def test_flipped_bits_give_no_false_verdict(tmp_path):
    sound = write(tmp_path / "sound.sqlite", ITEMS)
    data = bytearray(sound.read_bytes())
    reasons = [at for at in range(len(data) - 3) if data[at : at + 3] == b"why"]
    chosen = random.Random(1)
    for number in range(FLIPS):
        at = chosen.choice(reasons) + chosen.randrange(3) if number % 3 == 0 else chosen.randrange(100, len(data))
        rotten = tmp_path / f"{number}.sqlite"
        shutil.copy(sound, rotten)
        flipped = bytearray(data)
        flipped[at] ^= 1 << chosen.randrange(8)
        rotten.write_bytes(flipped)
        try:
            found = scores(rotten)
        except LedgerError:
            found = []
        assert set(found) <= {(1.0, "why")}, at
        if number % 3 == 0:
            with contextlib.suppress(LedgerError):
                assert verify(rotten).problems != (), at
