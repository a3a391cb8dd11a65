"""The server of the page without a port: who gets in, what a reply says, and what a request may be."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.office import HOST, Office, call

from judgeloop.core.protocols import SoFar
from judgeloop.page import desk, server
from judgeloop.page.policy import page_and_policy


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(server, "WRONG_S", 0.0)
    monkeypatch.setattr(server, "POLL_S", 0.05)
    monkeypatch.setattr(server, "LOOK_S", 0.01)


def story(folder, steps, *people, calls=4, standing=None):
    async def told():
        office = Office(folder, people or ("anna",), standing)
        office.add(*map(call, range(calls)))
        try:
            return await steps(office)
        finally:
            office.journal.close()

    return asyncio.run(asyncio.wait_for(told(), 60))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8765"}, 421),
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": "http://evil.example"}, 421),
        ({"origin": "null"}, 421),
        ({"sec-fetch-site": "cross-site"}, 421),
        ({"sec-fetch-site": "same-site"}, 421),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_only_this_page_at_this_host_may_enter(tmp_path, headers, status):
    async def steps(office):
        body = json.dumps({"token": office.links.tokens["anna"]}).encode()
        more = {"content-type": "application/json"} | headers
        reply = await office.client().post("/api/enter", content=body, headers=more)
        assert "set-cookie" not in reply.headers, "other servers of this machine would get a cookie"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-frame-options"] == "DENY" if status != 421 else True
        return reply.status_code

    assert story(tmp_path, steps) == status


def test_a_long_body_and_one_without_a_length_are_refused(tmp_path):
    async def steps(office):
        async def unsized():
            yield b"{}"

        headers = {"content-type": "application/json"}
        long = await office.client().post("/api/enter", json={"token": "x" * 20_000})
        endless = await office.client().post("/api/enter", content=unsized(), headers=headers)
        return long.status_code, endless.status_code

    assert story(tmp_path, steps) == (413, 411)


@pytest.mark.parametrize(
    "body",
    [b"", b"[1]", b"{", b'{"token": NaN}', b'{"token": 9223372036854775808}', b'{"token": "\\ud800"}', b"[" * 9000],
    ids=repr,
)
def test_what_is_no_token_gets_nobody_in(tmp_path, body):
    async def steps(office):
        reply = await office.client().post("/api/enter", content=body, headers={"content-type": "application/json"})
        return reply.status_code

    assert story(tmp_path, steps) == 403


def test_many_wrong_links_are_not_looked_at(tmp_path):
    async def steps(office):
        found = [(await office.client().post("/api/enter", json={"token": "x"})).status_code for _ in range(12)]
        right = await office.client().post("/api/enter", json={"token": office.links.tokens["anna"]})
        return found, right.status_code

    assert story(tmp_path, steps) == ([403] * 10 + [429] * 2, 429)


def test_every_route_but_the_page_needs_a_session(tmp_path):
    async def steps(office):
        client = office.client(authorization="Bearer x")
        found = [(await client.get("/api/next")).status_code, (await client.get("/api/watch/x")).status_code]
        posted = [await client.post(f"/api/{name}", json={}) for name in ("answer", "undo", "pause", "beat")]
        found += [one.status_code for one in posted]
        return found, (await client.get("/")).status_code, (await client.get("/docs")).status_code

    assert story(tmp_path, steps) == ([401] * 6, 200, 404)


def test_the_page_loads_nothing_and_runs_its_own_script_alone():
    page, policy = page_and_policy()
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
    assert "unsafe" not in policy
    for outside in ("http://", "https://", " src=", "innerHTML", "document.write", "eval("):
        assert outside not in page


def test_no_reply_names_a_system_an_item_or_another_person(tmp_path):
    async def steps(office):
        anna, ben = await office.entered("anna"), await office.entered("ben-secret")
        said = [anna.entered | {"session": ""}, await anna.next(), await ben.next()]
        pair = said[1]["pair"]
        said.append(await anna.post("answer", id=pair["id"], key="b", seconds=2, note="because"))
        said += [await anna.next(), await anna.post("undo"), await anna.post("pause")]
        return json.dumps(said)

    found = story(tmp_path, steps, "anna", "ben-secret", standing=SoFar(3, 200, 9, (5, 40)))
    assert "secret" not in found
    assert "task 0" in found


def test_people_get_different_calls_and_each_answers_their_own(tmp_path):
    async def steps(office):
        anna, ben = await office.entered("anna"), await office.entered("ben")
        hers, his = (await anna.next())["pair"], (await ben.next())["pair"]
        assert hers["prompt"]["text"] != his["prompt"]["text"]
        assert (await anna.next())["pair"]["id"] == hers["id"], "it stays hers"
        foreign = await ben.post("answer", id=hers["id"], key="a", seconds=1)
        right = await anna.post("answer", id=hers["id"], key="a", seconds=1)
        again = await anna.post("answer", id=hers["id"], key="a", seconds=1)  # its reply was lost
        await anna.next()
        late = await anna.post("answer", id=hers["id"], key="b", seconds=1)
        return foreign[0], right[0], again[0], late[0], office.desk.people["anna"].judged, office.sheets[0].said.key

    assert story(tmp_path, steps, "anna", "ben") == (409, 200, 200, 200, 1, "a")


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "q"}, {"key": "1"}, {"key": 3}, {"seconds": -1}, {"seconds": "3"}, {"seconds": True}, {"seconds": None},
        {"note": 3}, {"id": 4}, {"key": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_answer_is_none(tmp_path, wrong):
    async def steps(office):
        anna = await office.entered()
        pair = (await anna.next())["pair"]
        status, _ = await anna.post("answer", **{"id": pair["id"], "key": "a", "seconds": 1} | wrong)
        return status, office.desk.people["anna"].judged

    assert story(tmp_path, steps) == (400, 0)


def test_an_answer_can_be_taken_back_once_until_the_next(tmp_path):
    async def steps(office):
        anna = await office.entered()
        first = await anna.says("a", note="well")
        pair = (await anna.next())["pair"]
        assert (pair["last"], pair["noted"]) == ("a", True)
        status, back = await anna.post("undo")
        assert (status, back["pair"]["said"], back["pair"]["note"]) == (200, "a", "well")
        assert back["pair"]["prompt"] == first["prompt"]
        assert back["progress"]["mine"] == 0
        assert (back["pair"]["last"], back["pair"]["noted"]) == (None, False)
        assert (await anna.post("undo"))[0] == 409
        await anna.says("b")
        await anna.says("t")
        assert not office.sheets[1].settled.done(), "it can be taken back"
        return office.sheets[0].settled.result().key

    assert story(tmp_path, steps) == "b"


def test_a_second_window_ends_the_first(tmp_path):
    async def steps(office):
        first = await office.entered()
        pair = (await first.next())["pair"]
        second = await office.entered()
        assert (await first.post("beat")) == (401, {"error": "elsewhere"})
        return (await second.next())["pair"]["id"] == pair["id"]

    assert story(tmp_path, steps)


def test_of_a_hundred_windows_the_last_judges(tmp_path):
    async def steps(office):
        windows = [await office.entered() for _ in range(100)]
        found = await asyncio.gather(*(one.client.get("/api/next") for one in windows))
        return [one.status_code for one in found], len(office.links._sessions)

    assert story(tmp_path, steps) == ([401] * 99 + [200], 1)


def test_a_person_who_waits_gets_what_comes_and_hears_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "POLL_S", 30)

    async def steps(office):
        anna = await office.entered()
        waits = asyncio.create_task(anna.next())
        await asyncio.sleep(0.03)
        office.add(call(7))
        pair = (await waits)["pair"]
        watches = asyncio.create_task(anna.client.get(f"/api/watch/{pair['id']}"))
        await asyncio.sleep(0.03)
        office.desk.leave("decided")
        office.pages.wake()
        late = await anna.post("answer", id=pair["id"], key="a", seconds=1)
        return pair["prompt"]["text"], (await watches).json()["over"], late[1]["over"], (await anna.next())["over"]

    assert story(tmp_path, steps, calls=0) == ("task 7", "decided", "decided", "decided")


def test_several_people_are_not_told_a_forecast_that_moves(tmp_path):
    async def steps(office):
        anna = await office.entered("anna")
        for _ in range(3):
            await anna.says("a", seconds=60)
        return (await anna.next())["progress"]

    standing = SoFar(20, 200, 30, (12, 45))
    alone = story(tmp_path / "alone", steps, standing=standing)
    assert alone["more"] == [6, 57], "three were given since"
    assert len(alone["minutes"]) == 2
    assert alone["left"] == 177
    close = story(tmp_path / "close", steps, standing=SoFar(20, 200, 0, (12, 45)))
    assert close["more"] is None, "what was foreseen did not decide"
    assert (close["left"], close["near"]) == (177, False)
    unknown = story(tmp_path / "unknown", steps, standing=SoFar(20, 200, None, (12, 45)))
    assert (unknown["more"], unknown["left"]) == (None, 177)
    near = story(tmp_path / "near", steps, standing=SoFar(20, 200, 8, (12, 45)))
    assert (near["more"], near["near"]) == (None, True)
    limit = story(tmp_path / "limit", steps, standing=SoFar(20, 28, 8, (12, 45)))
    assert (limit["left"], limit["near"]) == (5, False), "only the limit is near"
    assert "minutes" not in close
    both = story(tmp_path / "both", steps, "anna", "ben", standing=standing)
    assert not both.keys() & {"more", "near", "minutes"}
    assert both["left"] == 177
    assert both["usual"] == [12, 45]
    assert both["judged"] == 23


def test_the_first_screen_says_how_long_it_takes_by_texts_and_then_by_the_persons_own_pace(tmp_path):
    async def steps(office):
        entered = [(await office.entered("anna")).entered["time"]]
        anna = await office.entered("anna")
        for _ in range(3):
            await anna.says("a", seconds=20)
        entered += [(await office.entered(name)).entered["time"] for name in ("anna", "ben")]
        return entered

    standing = SoFar(0, 200, usual=(12, 45), each_s=60.0)
    first, anna, ben = story(tmp_path / "known", steps, "anna", "ben", standing=standing)
    assert first == {"each_s": 60.0, "usual_s": 45 * 60.0}
    assert ben == {"each_s": 60.0, "usual_s": 42 * 60.0}, "what is left, by nobody else's pace"
    assert anna["each_s"] < 20, "as long as they were on the screen"
    assert anna["usual_s"] == 42 * anna["each_s"]
    low = SoFar(0, 30, each_s=60.0, needs=62)
    (first, *_) = story(tmp_path / "low", steps, "anna", "ben", standing=low)
    assert first["usual_s"] == 30 * 60.0, "most runs end at the limit"
    first, anna, ben = story(tmp_path / "unknown", steps, "anna", "ben", standing=SoFar(0, 200))
    assert (first, [*anna], ben) == ({}, ["each_s"], {})


def test_whose_window_is_open_is_waited_for_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "POLL_S", 30)

    async def steps(office):
        anna, ben = await office.entered("anna"), await office.entered("ben")
        entered = office.pages.listening()
        waits = asyncio.create_task(anna.next())
        await ben.post("beat")
        while not office.desk.people["anna"].here:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)
        lately = office.pages.listening()
        monkeypatch.setattr(server, "LATELY_S", 0.0)
        later = office.pages.listening()
        office.desk.leave("decided")
        office.pages.wake()
        await waits
        return entered, lately, later, office.pages.listening()

    assert story(tmp_path, steps, "anna", "ben", calls=0) == (set(), {"anna", "ben"}, {"anna"}, set())


def test_a_skip_is_not_judged(tmp_path):
    async def steps(office):
        anna = await office.entered()
        await anna.says("a")
        await anna.says("s")
        await anna.says("s")
        return (await anna.next())["progress"]

    said = story(tmp_path, steps, standing=SoFar(20, 200, skipped=4))
    assert (said["judged"], said["mine"], said["skips"]) == (17, 1, 2)
    assert said["left"] == 178, "a skip that may be taken back is one less, too"


def test_the_first_screen_says_what_is_asked(tmp_path):
    async def steps(office):
        anna = await office.entered("anna")
        return anna.entered["start"]

    said = {"rubric": "Be kind.", "rates": False, "paid": False, "checks": False, "each": 1, "people": 2}
    assert story(tmp_path, steps, "anna", "ben") == said


def test_seconds_are_at_most_those_since_it_was_shown(tmp_path):
    async def steps(office):
        anna = await office.entered()
        await anna.says("a", seconds=10_000)
        return office.sheets[0].said.seconds

    assert story(tmp_path, steps) < 30


def test_a_window_keeps_its_pair_over_a_restart_whatever_comes_first(tmp_path):
    async def before(office):
        anna = await office.entered("anna")
        return (await anna.next())["pair"]["id"]

    async def after(office):
        anna, ben = await office.entered("anna"), await office.entered("ben")
        assert "last" in (await anna.client.get(f"/api/watch/{of}")).json(), "it is not back, and not gone"
        office.add(call(0))
        assert "wait" in await ben.next(), "it is kept"
        office.add(call(1))
        assert "last" in (await anna.client.get(f"/api/watch/{of}")).json()
        status, _ = await anna.post("answer", id=of, key="b", seconds=3)
        assert (status, office.sheets[0].said.key) == (200, "b")
        return (await ben.next())["pair"]["prompt"]["text"]

    of = story(tmp_path, before, "anna", "ben", calls=1)
    assert story(tmp_path, after, "anna", "ben", calls=0) == "task 1"


def test_a_person_hears_at_once_that_they_wait_and_may_take_the_last_answer_back(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "POLL_S", 30)
    monkeypatch.setattr(server, "SOON_S", 0.05)
    monkeypatch.setattr(desk, "LAST_S", 0.3)

    async def steps(office):
        anna, ben = await office.entered("anna"), await office.entered("ben")
        await anna.next()
        await ben.next()
        await anna.says("a")
        soon = (await anna.client.get("/api/next?soon")).json()
        assert (soon["others"], soon["last"]) == (True, "a")
        assert (await anna.post("undo"))[0] == 200
        await anna.says("b")
        later = await anna.next()
        assert (later["others"], later["last"]) == (True, None), "it counts, and she hears it"
        await ben.says("t")
        last = (await ben.client.get("/api/next?soon")).json()
        return office.sheets[0].settled.result().key, last["others"], last["last"]

    assert story(tmp_path, steps, "anna", "ben", calls=2) == ("b", False, "t")
