"""The owner's view: how far the people are and what they cost, and nothing of who leads."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest
from support.office import Office, Window, call

from judgeloop.core.protocols import SoFar
from judgeloop.core.records import SecondReading
from judgeloop.page import desk, server
from judgeloop.page.desk import Desk
from judgeloop.page.links import Links
from judgeloop.page.server import Money

PAID = Money(lambda seconds: seconds / 10, 30.0, 80.0)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(server, "LOOK_S", 0.01)
    monkeypatch.setattr(server, "WATCH_S", 0.05)


def story(folder, steps, *people, money=PAID):
    async def told():
        office = Office(folder, people, SoFar(20, 200, 30, (12, 45)), money)
        office.add(*map(call, range(6)))
        try:
            return await steps(office)
        finally:
            office.journal.close()

    return asyncio.run(asyncio.wait_for(told(), 60))


async def watching(office):
    reply = await office.client().post("/api/enter", json={"token": office.links.owner})
    return Window(office.client(authorization=f"Bearer {reply.json()['session']}"), reply.json())


def test_the_owner_sees_who_did_how_much_and_what_is_in_hand(tmp_path):
    async def steps(office):
        owner = await watching(office)
        anna, ben = await office.entered("anna"), await office.entered("ben")
        await anna.says("a", seconds=0, seen=False)
        await anna.says("b", seconds=0, seen=True)
        await anna.says("s", seconds=0, seen=False)
        await anna.post("undo")
        await ben.says("s", seconds=0, seen=False)
        return (await owner.client.get("/api/owner")).json()

    said = story(tmp_path, steps, "anna", "ben", "chi")
    each = {one["name"]: [one["state"], one["judged"], one["skips"], one["unseen"]] for one in said["people"]}
    assert each == {"anna": ["judging", 2, 0, 1], "ben": ["waiting", 0, 1, 0], "chi": ["unopened", 0, 0, 0]}
    assert (said["judged"], said["in_hand"], said["aside"], said["budget"]) == (22, 1, 30.0, 80.0)
    assert said["usual"] == [12, 45]


def test_the_owner_sees_who_pauses_and_that_second_readers_are_awaited(tmp_path):
    async def steps(office):
        owner, anna = await watching(office), await office.entered("anna")
        await anna.says("a", seconds=0)
        await anna.post("pause")
        office.add(replace(call(7), reading=SecondReading("anna", same=False)))
        return [(await owner.client.get("/api/owner")).json()]

    (said,) = story(tmp_path, steps, "anna", "ben")
    assert (said["people"][0]["state"], said["for_another"], said["for_same"]) == ("paused", 1, 0)


def test_cost_and_time_are_of_the_answers_that_stand(tmp_path):
    async def steps(office):
        owner, anna = await watching(office), await office.entered("anna")
        office.desk.take("anna", 0.0)
        office.desk.people["anna"].hand.since -= 100
        await anna.says("a", seconds=40)
        return (await owner.client.get("/api/owner")).json()

    said = story(tmp_path, steps, "anna")
    assert (said["seconds"], said["usd"]) == (40, 4.0)
    assert said["people"][0]["usual"] == 40


def test_nothing_says_who_leads_or_what_systems_are_called_and_no_forecast_moves(tmp_path):
    async def steps(office, keys):
        owner, anna = await watching(office), await office.entered("anna")
        for key in keys:
            await anna.says(key, seconds=0)
        said = (await owner.client.get("/api/owner")).json()
        return json.dumps(
            [owner.entered | {"session": ""}, said | {"people": [one | {"away": 0} for one in said["people"]]}]
        )

    first = story(tmp_path / "a", lambda office: steps(office, "aaa"), "anna")
    second = story(tmp_path / "b", lambda office: steps(office, "bbt"), "anna")
    assert "secret" not in first
    assert first == second, "the sides of the answers change nothing"


def test_the_owner_does_not_judge_and_people_do_not_see_the_owners_view(tmp_path):
    async def steps(office):
        owner, again, anna = await watching(office), await watching(office), await office.entered("anna")
        found = [(await owner.client.get(f"/api/{one}")).status_code for one in ("next", "watch/x")]
        found += [(await owner.post(one))[0] for one in ("answer", "undo", "pause", "beat")]
        found.append((await anna.client.get("/api/owner")).status_code)
        found += [(await anna.post(f"owner/{one}", name="anna"))[0] for one in ("link", "person", "stop")]
        return found, [(await one.client.get("/api/owner")).status_code for one in (owner, again)]

    assert story(tmp_path, steps, "anna") == ([403] * 10, [200, 200])


def test_a_link_is_made_anew_and_the_one_before_and_its_window_end(tmp_path):
    async def steps(office):
        owner, anna = await watching(office), await office.entered("anna")
        first = office.links.tokens["anna"]
        assert await owner.post("owner/link", name="anna") == (200, {"token": first})
        assert (await anna.next())["pair"], "it still works"
        status, made = await owner.post("owner/link", name="anna", new=True)
        assert status == 200
        assert made["token"] != first
        assert await anna.post("beat") == (401, {"error": "enter"})
        entered = [
            (await office.client().post("/api/enter", json={"token": one})).status_code
            for one in (first, made["token"], office.links.tokens["ben"])
        ]
        found = [(await owner.post("owner/link", name=name))[0] for name in ("chi", "/owner", 3)]
        return entered, found, Links(["anna"], office.journal).tokens["anna"] == made["token"]

    assert story(tmp_path, steps, "anna", "ben") == ([403, 200, 200], [404] * 3, True)


def test_another_person_joins_and_stays_after_a_restart(tmp_path):
    async def steps(office):
        owner, anna = await watching(office), await office.entered("anna")
        wrong = [(await owner.post("owner/person", name=name))[0] for name in ("", "a/b", "Anna", 3)]
        status, made = await owner.post("owner/person", name="chi")
        assert status == 200
        hers = (await anna.next())["pair"]
        chi = await office.entered("chi")
        pair = (await chi.next())["pair"]
        assert pair["id"] != hers["id"]
        assert (await chi.post("answer", id=pair["id"], key="b", seconds=0))[0] == 200
        again = Desk(["anna"], office.journal)
        return wrong, again.people["chi"].judged, Links([*again.people], office.journal).tokens["chi"] == made["token"]

    assert story(tmp_path, steps, "anna") == ([400, 400, 409, 400], 1, True)


def test_a_stop_gives_nothing_new_and_lets_people_finish(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "POLL_S", 0.05)

    async def steps(office):
        owner, anna, ben = await watching(office), await office.entered("anna"), await office.entered("ben")
        pair = (await anna.next())["pair"]
        assert (await owner.post("owner/stop"))[0] == 200
        assert (await ben.next())["over"] == "stopped"
        assert not office.desk.is_idle(time.monotonic())
        assert (await anna.post("answer", id=pair["id"], key="b", seconds=0))[0] == 200
        waits = await anna.next()
        assert (waits["last"], waits["others"]) == ("b", False), "it can be taken back, as any last answer"
        assert not office.desk.is_idle(time.monotonic())
        again = (await anna.post("undo"))[1]["pair"]
        assert (await anna.post("answer", id=again["id"], key="a", seconds=0))[0] == 200
        assert (await anna.next())["last"] == "a"
        monkeypatch.setattr(desk, "LAST_S", 0.0)
        assert (await anna.next())["over"] == "stopped"
        assert office.sheets[0].settled.result().key == "a", "it stands"
        return office.desk.is_idle(time.monotonic()), (await owner.client.get("/api/owner")).json()["stops"]

    assert story(tmp_path, steps, "anna", "ben") == (True, True)


def test_the_owner_waits_for_a_change_and_hears_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "WATCH_S", 30)

    async def steps(office):
        owner, anna = await watching(office), await office.entered("anna")
        waits = asyncio.create_task(owner.client.get("/api/owner?wait"))
        await asyncio.sleep(0.03)
        await anna.says("a")
        first = (await waits).json()
        waits = asyncio.create_task(owner.client.get("/api/owner?wait"))
        await asyncio.sleep(0.03)
        office.desk.leave("decided")
        office.pages.wake()
        return first, (await waits).json(), office.pages.told

    first, last, told = story(tmp_path, steps, "anna", money=None)
    assert "over" not in first
    assert "usd" not in first
    assert last["over"] == "decided"
    assert told == {"/owner"}
