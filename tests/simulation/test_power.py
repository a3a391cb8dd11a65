"""Power fails at any moment: what was acknowledged is on the disk, and the ledger is whole."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from simulation.disk import available, logged

from judgeloop.core.errors import JudgeloopError
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger import sqlite
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.ledger.sqlite import SqliteConnection

CALLS = 12
IMAGES = 400
RUN = "0" * 16

pytestmark = [pytest.mark.simulation, pytest.mark.skipif(not available(), reason="needs SQLite as a shared library")]


def wanted(number):
    return [[Reservation(f"k{number}", 10, item_id="i", judge="j", note={"x": "y" * 900})]]


async def calls(path, disk):
    """Book some calls, and note on the disk what the ledger has acknowledged."""
    ledger = open_ledger(path)
    disk.note("made")
    for number in range(CALLS):
        ((ticket,),) = await ledger.reserve(RUN, wanted(number), None)
        await ledger.sending(ticket)
        disk.note(f"sent k{number}")
        await ledger.settle(ticket, Reply(Verdict(1.0, "because " * 40), cost_p=7))
        disk.note(f"held k{number}")
    await ledger.aclose()


async def found(path):
    """Return what a ledger holds after power failed: keys of verdicts, and what is charged."""
    ledger = open_ledger(path)
    await ledger.recover(RUN)
    held = await ledger.verdicts([f"k{number}" for number in range(CALLS)])
    spend = await ledger.spend(RUN, None)
    await ledger.aclose()
    return set(held), spend.run_p


def lost(disk, path, folder, seed):
    """Return what was acknowledged and is gone in one image of the disk."""
    rng = np.random.default_rng(seed)
    cut = int(rng.integers(1, len(disk.events) + 1))
    noted = disk.noted(cut)
    if "made" not in noted:
        return set()
    place = folder / f"{seed}"
    place.mkdir()
    for name, data in disk.image(cut, rng).items():
        if name.startswith(str(path)):
            (place / name.removeprefix(f"{path.parent}/")).write_bytes(data)
    held, charged_p = asyncio.run(found(place / path.name))
    gone = {note for note in noted if note.startswith("held") and note[5:] not in held}
    sent = sum(note.startswith("sent") for note in noted)
    if charged_p < 7 * sent:
        gone.add(f"{charged_p} charged of {sent} calls that were sent")
    return gone


def test_after_power_failed_nothing_acknowledged_is_lost(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with logged() as disk:
        asyncio.run(calls(path, disk))
    assert {"write", "sync", "delete"} <= {event.kind for event in disk.events}
    for seed in range(IMAGES):
        assert lost(disk, path, tmp_path, seed) == set(), f"image {seed}"


def test_a_ledger_that_does_not_synchronise_is_found_out(tmp_path, monkeypatch):
    class Careless(SqliteConnection):
        def raw(self, sql, *given):
            careless = sql.startswith("PRAGMA synchronous")
            return super().raw("PRAGMA synchronous = OFF" if careless else sql, *given)

    path = tmp_path / "ledger.sqlite"
    monkeypatch.setattr(sqlite, "SqliteConnection", Careless)
    with logged() as disk:
        asyncio.run(calls(path, disk))
    monkeypatch.undo()

    def broken(seed):
        try:
            return bool(lost(disk, path, tmp_path, seed))
        except JudgeloopError:
            return True

    assert any(map(broken, range(20)))
