"""The server of the page: few routes, all JSON, for whoever has a link. It runs on the event loop of the run.

No reply has the name of a system, the id of an item, another person's answer, or who leads. Hosts and origins are
checked, because any page that is open in the browser can send requests to this machine. There are no cookies, which
other servers of this machine would get.
"""

import asyncio
import contextlib
import json
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, final
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import SoFar
from judgeloop.page.desk import Desk, Given, Sheet, TakenError
from judgeloop.page.links import OWNER, PERSON, Links
from judgeloop.page.overview import Price, overview
from judgeloop.page.policy import page_and_policy
from judgeloop.page.texts import shown, tree_of

POLL_S, LOOK_S = 25.0, 0.5  # how long a request for the next call waits, and how often it looks
SOON_S = 0.3  # how long the first one waits, after which a person hears that they wait
WATCH_S = 5.0  # how long an owner's request waits for a change
WRONG_S = 0.2  # that a wrong link waits
LARGEST = 16_384  # bytes of a request
NEXT_PORTS = 20  # that are tried if one is taken
LATELY_S, GOODBYE_S = 6.0, 10.0  # a window that asked so lately is told that the run is over, within so long
FEWEST_TIMES = 3  # answers before a time is told
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Opening:
    """What the first screen says: the `rubric`, and whether one answer is rated, people are paid, and given checks.

    `each` people judge each item.
    """

    rubric: str
    rates: bool
    paid: bool
    checks: bool = False
    each: int = 1


@dataclass(frozen=True, slots=True)
class Money:
    """What the owner sees of it: the price of so many seconds of a call, the most of a call, and the budget, if any."""

    price: Price
    longest: float
    budget: float | None


@final
class Pages:
    """The routes: they ask the desk, and put its answers into JSON."""

    def __init__(
        self,
        desk: Desk,
        links: Links,
        opening: Opening,
        standing: Callable[[], SoFar | None],
        money: Money | None = None,
    ) -> None:
        """Serve a desk; `standing` says how far the run is, and `money` is None where nobody is paid."""
        self.desk, self.links, self.opening, self._standing, self._money = desk, links, opening, standing, money
        self.told: set[str] = set()  # who has heard that the run is over
        self._asks: Counter[str] = Counter()  # the requests of each that wait for an answer
        self._asked_at: dict[str, float] = {}  # when each asked, or had an answer, last
        self.changed = asyncio.Event()
        self._texts: dict[str, dict[str, Any]] = {}
        self.page, self.policy = page_and_policy()

    def routes(self) -> list[Route]:
        """All routes."""
        return [
            Route("/", self._page),
            Route("/api/enter", self._enter, methods=["POST"]),
            Route("/api/next", self._of_a_person(self._next)),
            Route("/api/watch/{id}", self._of_a_person(self._watch)),
            Route("/api/owner", self._of_a_person(self._overview, owner=True)),
            *(
                Route(f"/api/owner/{name}", self._of_a_person(route, owner=True), methods=["POST"])
                for name, route in {"link": self._link, "person": self._person, "stop": self._stop}.items()
            ),
            *(
                Route(f"/api/{name}", self._of_a_person(route), methods=["POST"])
                for name, route in {
                    "answer": self._answer, "undo": self._undo, "pause": self._pause, "beat": self._beat
                }.items()
            ),
        ]  # fmt: skip

    def wake(self) -> None:
        """Let those who wait for the next call look again."""
        self.changed.set()
        self.changed = asyncio.Event()

    async def _page(self, request: Request) -> Response:
        del request
        return HTMLResponse(self.page, headers={"content-security-policy": self.policy})

    async def _enter(self, request: Request) -> Response:
        said, now = await _body(request), time.monotonic()
        if self.links.is_flooded(now):
            return _error("too many wrong links", 429)
        token = said.get("token")
        found = self.links.enter(token if isinstance(token, str) else "", now)
        if found is None:
            await asyncio.sleep(WRONG_S)
            return _error("no such link", 403)
        name, session = found
        self.wake()  # another window of this person hears that it is not the one
        return JSONResponse(
            {
                "session": session,
                "name": name,
                "owner": name == OWNER,
                "start": asdict(self.opening) | {"rubric": shown(self.opening.rubric), "people": len(self.desk.people)},
                **({"progress": {}} if name == OWNER else {"time": self._time(name), "progress": self._progress(name)}),
            }
        )

    def _of_a_person(
        self, route: Callable[[str, Request], Awaitable[Response]], *, owner: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            kind, _, session = request.headers.get("authorization", "").partition(" ")
            name = self.links.name_of(session) if kind == "Bearer" else None
            if name is None:
                return _error("elsewhere" if self.links.is_elsewhere(session) else "enter", 401)
            if (name == OWNER) is not owner:
                return _error("no such link", 403)
            self._asked_at[name] = time.monotonic()
            self._asks[name] += 1
            try:
                return await route(name, request)
            finally:
                self._asks[name] -= 1
                self._asked_at[name] = time.monotonic()

        return guarded

    def listening(self) -> set[str]:
        """Whose windows are open, and have not heard that the run is over: they ask, or asked a moment ago."""
        lately = time.monotonic() - LATELY_S
        return {name for name, at in self._asked_at.items() if self._asks[name] or at > lately} - self.told

    async def _next(self, name: str, request: Request) -> Response:
        """The next call of a person, as soon as there is one; or that the run is over."""
        until = time.monotonic() + (SOON_S if "soon" in request.query_params else POLL_S)
        person = self.desk.people[name]
        held = person.last
        while not self.desk.over and self._enters(name, request):
            if person.failed:
                self.told.add(name)
                return JSONResponse({"over": "failed", "progress": self._progress(name)})
            sheet = self.desk.take(name, now := time.monotonic())
            if sheet is not None:
                return JSONResponse({"pair": await self._shown(name, sheet), "progress": self._progress(name)})
            if self.desk.stops and person.last is None:
                break
            if now >= until or person.last is not held:
                waits = {"wait": True, "others": self.desk.is_busy(name), "awaits": bool(self.desk.awaits)}
                waits |= {"money": self.desk.lacks_money} | self._last_of(name)
                return JSONResponse(waits | {"progress": self._progress(name)})
            await self._change()
        return self._ended(name)

    async def _watch(self, name: str, request: Request) -> Response:
        """Whether the call on a person's screen is still theirs: answers once it is not, or after a while."""
        until, person = time.monotonic() + POLL_S, self.desk.people[name]
        held = person.last
        while not self.desk.over and self._enters(name, request):
            of = request.path_params["id"]
            theirs, now = person.hand is not None and person.hand.id == of, time.monotonic()
            if not (theirs or self.desk.resume(name, of, now) or self.desk.comes_back(name, of, now)):
                return JSONResponse({"gone": self._lost(of)})
            if now >= until or person.last is not held:
                return JSONResponse(self._last_of(name))
            await self._change()
        return self._ended(name)

    async def _overview(self, name: str, request: Request) -> Response:
        """What the owner sees: at once, or, where they `wait`, once something has changed."""
        if "wait" in request.query_params and not self.desk.over:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.changed.wait(), WATCH_S)
        money, lines = self._money, self.desk.lines
        price = None if money is None else money.price
        said = overview(self.desk, lines, self._standing(), price, time.monotonic())
        said["stops"] = self.desk.stops
        if money is not None:
            said |= {"aside": said["in_hand"] * money.longest, "budget": money.budget}
        if self.desk.over:
            self.told.add(name)
            said["over"] = self.desk.over
        return JSONResponse(said)

    async def _link(self, name: str, request: Request) -> Response:
        """The link of a person, for the owner to send; a new one if the one before went astray."""
        del name
        said = await _body(request)
        who = said.get("name")
        if not isinstance(who, str) or who not in self.links.tokens:
            return _error("no such person", 404)
        if said.get("new") is True:
            self.links.make(who)
            self.wake()
        return JSONResponse({"token": self.links.tokens[who]})

    async def _person(self, name: str, request: Request) -> Response:
        """Let another person judge."""
        del name
        who = (await _body(request)).get("name")
        if not isinstance(who, str) or PERSON.fullmatch(who) is None:
            return _error("expected a name of up to 40 letters and digits", 400)
        if who.casefold() in {one.casefold() for one in self.desk.people}:
            return _error("this name is taken", 409)
        self.desk.join(who)
        self.links.make(who)
        self.wake()
        return JSONResponse({"token": self.links.tokens[who]})

    async def _stop(self, name: str, request: Request) -> Response:
        """End the run once people have answered what they have in hand."""
        del name, request
        self.desk.stops = True
        self.wake()
        return JSONResponse({})

    def _lost(self, of: str) -> str:
        """Why a person has lost a call: they were away, or had it in an earlier process."""
        return "away" if self.desk.was_here(of) else "taken"

    def _enters(self, name: str, request: Request) -> bool:
        """Whether a request still comes from the window in which a person judges."""
        return self.links.name_of(request.headers["authorization"].partition(" ")[2]) == name

    async def _change(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.changed.wait(), LOOK_S)

    def _ended(self, name: str) -> Response:
        if not (over := self.desk.over or ("stopped" if self.desk.stops else "")):
            return _error("elsewhere", 401)
        self.told.add(name)
        return JSONResponse({"over": over, "progress": self._progress(name)})

    async def _answer(self, name: str, request: Request) -> Response:
        said = await _body(request)
        key, of, seconds, note = (said.get(one) for one in ("key", "id", "seconds", "note"))
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < float("inf")
        if not (isinstance(key, str) and isinstance(of, str) and number and isinstance(note or "", str)):
            return _error("expected id, key and seconds", 400)
        beside = {one: said[one] for one in ("seen", "plain", "marked") if isinstance(said.get(one), bool)}
        note = (note or "").encode("utf-8", "replace").decode()
        try:
            self.desk.answer(name, Given(key, float(seconds), note), of, time.monotonic(), **beside)  # type: ignore[arg-type]
        except TakenError:
            return self._ended(name) if self.desk.over else _error(self._lost(of), 409)
        except ValueError as error:
            return _error(str(error), 400)
        self.wake()
        return JSONResponse({"saved": True, "progress": self._progress(name)})

    async def _undo(self, name: str, request: Request) -> Response:
        del request
        found = self.desk.undo(name, time.monotonic())
        if found is None:
            return _error("final", 409)
        sheet, said = found
        pair = await self._shown(name, sheet) | {"said": said.key, "note": said.note}
        return JSONResponse({"pair": pair, "progress": self._progress(name)})

    async def _pause(self, name: str, request: Request) -> Response:
        del request
        self.desk.pause(name, time.monotonic())
        return JSONResponse({"progress": self._progress(name)})

    async def _beat(self, name: str, request: Request) -> Response:
        del request
        self.desk.beat(name, time.monotonic())
        return JSONResponse({})

    async def _shown(self, name: str, sheet: Sheet) -> dict[str, Any]:
        call, person = sheet.call, self.desk.people[name]
        texts = [call.item.prompt, call.item.reference or "", *call.outputs]
        prompt, reference, *outputs = [await self._text(text) for text in texts]
        return {
            "id": sheet.id,
            "number": person.judged + person.skips + 1,
            "kind": "rating" if len(outputs) == 1 else "pair",
            "prompt": prompt,
            "reference": None if call.item.reference is None else reference,
            "outputs": outputs,
            "skipped": self.desk.skipped_before(name, sheet),
            **self._last_of(name),
        }

    def _last_of(self, name: str) -> dict[str, Any]:
        """The answer that a person may take back, if any."""
        last = self.desk.people[name].last
        said = None if last is None else last.said
        return {"last": said and said.key, "noted": said is not None and bool(said.note)}

    async def _text(self, text: str) -> dict[str, Any]:
        if text not in self._texts:
            visible = shown(text)
            self._texts[text] = {"text": visible, "tree": await asyncio.to_thread(tree_of, visible)}
        return self._texts[text]

    def _time(self, name: str) -> dict[str, float]:
        """About how many seconds a call takes a person, and all people the rest of those that usually decide.

        By what was known before the first answer, so that nothing of it tells who leads, and by the person's own pace.
        """
        standing, own = self._standing(), self.desk.people[name].seconds
        each = median(own) if len(own) >= FEWEST_TIMES else None if standing is None else standing.each_s
        if standing is None or each is None:
            return {}
        whole = standing.usual[1] if standing.usual else standing.most if standing.needs is not None else None
        rest = max(0, (whole or 0) - standing.judged - self.desk.held)
        usual = {"usual_s": each * self.desk.each * rest} if rest else {}
        return {"each_s": each, **usual}

    def _progress(self, name: str) -> dict[str, Any]:
        """How far the run is. A forecast that moves tells who leads, unless one person alone gave all the answers."""
        standing, person, pace = self._standing(), self.desk.people[name], self.desk.pace
        said: dict[str, Any] = {"mine": person.judged, "skips": person.skips, "seconds": sum(person.seconds)}
        held = self.desk.held
        # Nothing tells a check; nor does it where the first answer to an item counts for nothing so far.
        checks = 0 if self.desk.each > 1 else sum(one.judged_checks for one in self.desk.people.values())
        judged = held + checks
        if standing is None:
            return said | {"judged": judged}
        said |= {"judged": standing.judged + judged, "most": standing.most, "again": standing.again}
        said["skipped"] = standing.skipped
        said["affords"] = standing.affords
        if standing.usual is not None:
            said["usual"] = standing.usual
        if standing.needs is not None:
            said["needs"] = standing.needs
        said["left"] = standing.left(held + self.desk.held_skips)
        if len(self.desk.people) == 1 and (standing.more is not None or standing.affords is None):
            said["more"] = more = standing.likely(held)
            said["near"] = standing.is_near(held)
            if more is not None and pace is not None and len(person.seconds) >= FEWEST_TIMES:
                said["minutes"] = [one * pace / 60 for one in more]
        return said


def app_of(pages: Pages, hosts: Sequence[str], origins: Sequence[str]) -> ASGIApp:
    """The routes behind the guard: only requests of this page, to this host, of little JSON."""
    app = Starlette(routes=pages.routes())

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        heads = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = _refused(scope, heads, hosts, origins)

        async def sends(message: Message) -> None:
            if message["type"] == "http.response.start":
                had = dict(message["headers"])
                more = {name.encode(): value.encode() for name, value in HEADERS.items()}
                more.setdefault(b"content-security-policy", had.get(b"content-security-policy", b"default-src 'none'"))
                message["headers"] = [*(had | more).items()]
            await send(message)

        await (refused or app)(scope, receive, sends)

    return guarded


def _refused(scope: Scope, heads: dict[str, str], hosts: Sequence[str], origins: Sequence[str]) -> Response | None:
    """Why a request is not answered; None if it is."""
    foreign = heads.get("origin", origins[0]) not in origins
    if heads.get("host") not in hosts or foreign or heads.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return PlainTextResponse("not here", 421)
    if scope["method"] != "POST":
        return None
    if heads.get("content-type", "").partition(";")[0].strip() != "application/json":
        return PlainTextResponse("JSON only", 415)
    length = heads.get("content-length", "")
    if not length.isascii() or not length.isdigit():
        return PlainTextResponse("a length is needed", 411)
    return PlainTextResponse("too long", 413) if int(length) > LARGEST else None


async def _body(request: Request) -> dict[str, Any]:
    """The object in a request; empty if there is none."""
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _error(what: str, status: int) -> JSONResponse:
    return JSONResponse({"error": what}, status)


class _Quiet(uvicorn.Server):
    """A server that leaves signals to the run."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@final
class PageServer:
    """The server on a port."""

    def __init__(self, pages: Pages, host: str, port: int, url: str | None) -> None:
        """Serve at a host and the first port that is free; behind a proxy `url` is the address that people see."""
        self._pages = pages
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        self.url = (url or f"http://127.0.0.1:{self.port}").rstrip("/")
        public, local = urlsplit(self.url).netloc, [f"127.0.0.1:{self.port}", f"localhost:{self.port}"]
        parts = urlsplit(self.url)
        app = app_of(pages, [public, *local], [f"{parts.scheme}://{public}", *(f"http://{one}" for one in local)])
        config = uvicorn.Config(
            app,
            log_config=None,
            lifespan="off",
            access_log=False,
            ws="none",
            http="h11",
            loop="none",
            limit_concurrency=64,
            h11_max_incomplete_event_size=LARGEST,
            server_header=False,
        )
        self._server = _Quiet(config)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not self._task.done():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Tell those who wait that the run is over, and stop."""
        if self._task is None:
            return
        self._pages.wake()
        until = time.monotonic() + GOODBYE_S
        while self._pages.listening() and time.monotonic() < until:  # noqa: ASYNC110 - a moment at the end
            await asyncio.sleep(0.05)
        self._server.should_exit = True
        self._server.force_exit = True
        await asyncio.wait_for(self._task, GOODBYE_S)


def _bound(host: str, port: int) -> socket.socket:
    """A socket at the first free port from this one on.

    Raises:
        InputError: there is none.
    """
    for at in range(port, min(port + NEXT_PORTS, 65536)) if port else [0]:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, at))
        except OSError as error:
            one.close()
            why = error
            continue
        return one
    raise InputError(f"`page_port={port}`: no page can be served at {host}: {why.strerror or why}")
