"""The judge `human` on a page: one person or several judge in their browsers, each at a link of their own."""

import asyncio
import shlex
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from getpass import getuser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from judgeloop.core import records
from judgeloop.core.errors import InputError
from judgeloop.core.keys import digest
from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.outcomes import CUT_OFF, Checked, StopKind
from judgeloop.core.protocols import SoFar
from judgeloop.judges.base import BaseJudge, PageOptions
from judgeloop.judges.human import AT_ONCE
from judgeloop.judges.wage import LONGEST_S, Wage
from judgeloop.page.desk import Desk, Given, Sheet, gone
from judgeloop.page.journal import PageJournal
from judgeloop.report.words import count, ends_open, only_again, planned

if TYPE_CHECKING:
    from judgeloop.page.links import Links
    from judgeloop.page.server import Pages, PageServer

FORM = "page 1"  # what a key means; part of the judge's identity
ALONE = ""  # the name of a person who judges alone, without one
SCORES = {"a": 1.0, "b": 0.0, "t": 0.5, "x": 0.5, "1": 0.0, "2": 0.25, "3": 0.5, "4": 0.75, "5": 1.0}
BOTH_BAD = "both bad"
ENDS = {  # of which people hear
    StopKind.BUDGET: "budget",
    StopKind.ABSTENTIONS: "skips",
    StopKind.JUDGMENT_LIMIT: "open",
    StopKind.POOL_EXHAUSTED: "open",
}
TICK_S, TELL_S = 1.0, 30.0


@final
class PageJudge(BaseJudge):
    """People who answer calls in their browsers; the server runs from the first call to the end of the run."""

    by_hand = True

    def __init__(self, *, rubric: str | None, wage: Wage, options: PageOptions) -> None:
        """`rubric` is what to judge by, and `wage` what the people's time costs."""
        self._rubric, self._wage, self._options = rubric, wage, options
        self._people = options.people or (ALONE,)
        self._journal_path: Path | None = None
        self._standing: SoFar | None = None
        self._opening: asyncio.Task[None] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._journal: PageJournal | None = None
        self._server: PageServer | None = None
        self.pages: Pages | None = None
        self.desk: Desk | None = None
        self._before: list[tuple[str, str]] = []
        self._usual: tuple[int, int] | None = None
        self._lacks_money = False
        self._why = ""

    @property
    def at_once(self) -> int:
        """How many items all are given."""
        return AT_ONCE * len(self._people) // self._options.each

    @property
    def identity(self) -> records.JudgeIdentity:
        """People, the form that they answer, and the rubric; where two judge each item, the first of them."""
        return self.identity_of("1" if self._options.each > 1 else "")

    def identity_of(self, which: str) -> records.JudgeIdentity:
        """As `identity`, of the first or the second person of an item."""
        by = {} if self._rubric is None else {"rubric": digest({"rubric": self._rubric})}
        return records.JudgeIdentity("human", which, by | {"form": FORM}, mark=":")

    def quote(self, call: records.Call) -> records.Quote:
        """The price of the people's time."""
        return self._wage.quote(call)

    def begin(self, run: str, folder: str, before: Sequence[tuple[records.Call, str]] = ()) -> None:
        """Keep the journal beside the ledger; who answered a call `before` is not the second person of its item."""
        self._journal_path = Path(folder) / f"people-{run}.jsonl"
        self._before = [(self._pair_of(call), name) for call, name in before]

    def _shown(self, call: records.Call) -> dict[str, Any]:
        """What is shown of a call, beside the outputs."""
        return {"judge": dict(self.identity.parameters), "prompt": call.item.prompt, "reference": call.item.reference}

    def _pair_of(self, call: records.Call) -> str:
        """What the calls of the two people of an item have in common; empty where one person judges it."""
        return digest(self._shown(call) | {"outputs": sorted(call.outputs)}) if self._options.each > 1 else ""

    def hear(self, standing: SoFar) -> None:
        """Show it to people; each answer that the run tells of is no longer counted here."""
        before = 0 if self._standing is None else self._standing.judged
        if self.desk is not None:
            self.desk.flying = max(0, self.desk.flying - max(0, standing.judged - before))
        fits = self._usual is not None and self._usual[1] <= standing.most  # not where it is decided
        self._standing = standing if self._usual is None else replace(standing, usual=self._usual if fits else None)

    async def judge(self, call: records.Call) -> records.Reply:
        """Put a call on the desk, and wait until somebody has answered it.

        Raises:
            JudgeError: the people were let go.
        """
        return await self.judge_as(self.identity, call)

    async def judge_as(self, who: records.JudgeIdentity, call: records.Call) -> records.Reply:
        """As `judge`, for the first or the second person of an item.

        Raises:
            JudgeError: the people were let go.
        """
        if self._why:
            raise gone(stopped=self.desk is not None and self.desk.stops)
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(rates=len(call.outputs) == 1))
        await asyncio.shield(self._opening)
        assert self.desk is not None
        assert self.pages is not None
        pair = self._pair_of(call)
        again = {} if call.reading is None else {"again": call.reading.same}
        key = digest(self._shown(call) | {"outputs": call.outputs} | again | ({"person": who.model} if pair else {}))
        settled: asyncio.Future[Given] = asyncio.get_running_loop().create_future()
        sheet = Sheet(call, key, settled, pair=pair)
        self.desk.add(sheet)
        self.pages.wake()
        try:
            given = await settled
        finally:
            self.desk.drop(sheet)
        if given.bygone:  # nobody came, or what was skipped then was booked then
            return records.Reply(_answer(given), cost_p=0)
        seconds = sheet.seconds
        return records.Reply(
            _answer(given), cost_p=self._wage.cost_p(seconds), person=given.by, seconds=round(seconds, 1)
        )

    async def _open(self, *, rates: bool) -> None:
        """Open the journal and the server, and say where the page is."""
        from judgeloop.page.links import Links
        from judgeloop.page.server import Money, Opening, Pages, PageServer

        assert self._journal_path is not None
        self._journal = PageJournal(self._journal_path)
        self.desk = Desk(self._people, self._journal, self._options.checks, self._options.each, now=time.monotonic())
        self.desk.answered(self._before)
        self.desk.lacks_money = self._lacks_money
        foreseen = self._standing
        if len(self._people) > 1 and foreseen is not None and foreseen.needs is None:  # a lower limit may end before
            self._usual = self._journal.usual(foreseen.usual)
            self.hear(foreseen)
        links = Links([*self.desk.people], self._journal)
        paid, checks = self._wage.an_hour is not None, bool(self._options.checks)
        opening = Opening(self._rubric or "", rates=rates, paid=paid, checks=checks, each=self._options.each)
        wage, most_p = self._wage, self._options.budget_p
        money = None
        if wage.an_hour is not None:
            budget = None if most_p is None else float(to_usd(most_p))
            money = Money(
                lambda seconds: float(to_usd(wage.cost_p(seconds))), float(to_usd(wage.cost_p(LONGEST_S))), budget
            )
        self.pages = Pages(self.desk, links, opening, lambda: self._standing, money)
        self._server = PageServer(self.pages, self._options.host, self._options.port, self._options.url)
        await self._server.start()
        self._ticking = asyncio.create_task(self._tick())
        self._say(links, foreseen, "answer" if rates else "pair")

    async def _tick(self) -> None:
        """Let what was held for long stand, whether or not a window asks; tell the terminal how far all are."""
        assert self.desk is not None
        said, said_at, failed = self._progress(), time.monotonic(), set[str]()
        while True:
            for one in self.desk.checked:
                if one.asked_no_more and one.name not in failed:
                    failed.add(one.name)
                    print(
                        f"{one.name} was wrong in {one.wrong} of {one.asked} checks, and is asked no more; what "
                        f"{one.name} answered stays", file=sys.stderr, flush=True,
                    )  # fmt: skip
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            self.desk.tick(now)
            if self.desk.stops and self.desk.is_idle(now):
                self.leave(StopKind.INTERRUPTED)
            if now - said_at >= TELL_S and self._progress() != said:
                said, said_at = self._progress(), now
                print(said, file=sys.stderr, flush=True)

    def _progress(self) -> str:
        """How far all are. Who leads is told to nobody before the end, and so no forecast either."""
        assert self.desk is not None
        standing, two = self._standing or SoFar(0, 0), self._options.each > 1
        each = [
            f"{one.name} {one.judged - one.judged_checks}{f' and {skips} skipped' if skips else ''}"
            for one in self.desk.people.values()
            if one.name
            for skips in [one.skips - (len(one.checks) - one.judged_checks)]
        ]
        said = f"{standing.judged + self.desk.held:,} of at most {standing.most:,} judged{' by two' if two else ''}"
        said += f", {standing.skipped:,} skipped by one of them or both" if two and standing.skipped else ""
        return f"{said}{': ' if each else ''}{', '.join(each)}"

    def _say(self, links: "Links", foreseen: SoFar | None, thing: str) -> None:
        """Print a link for each person, how it is reached from another machine, and what a dry run foresees now."""
        assert self._server is not None
        url, port = self._server.url, self._server.port
        print("The page on which to judge; a link is a password, and works in one window at a time:", file=sys.stderr)
        for name, token in links.tokens.items():
            print(f"  {f'{name}: ' if name else ''}{url}/#{token}", file=sys.stderr)
        if self._options.people:
            print(f"  yours, to see how far they are: {url}/#{links.owner}", file=sys.stderr)
        if self._options.url is None:
            here = shlex.quote(f"{_user()}@{socket.gethostname()}")
            print(f"  from another machine first: ssh -L {port}:127.0.0.1:{port} {here}", file=sys.stderr)
        elif not url.startswith("https://"):
            print("  without https, outputs and links can be read on the way", file=sys.stderr)
        if foreseen is not None:
            print(self._planned(foreseen, thing), file=sys.stderr)
        aside_p, budget_p = self._wage.cost_p(LONGEST_S), self._options.budget_p
        if aside_p and budget_p is not None and (holds := budget_p // aside_p) <= len(self._people):
            print(
                f"The budget of {show_usd(budget_p)} holds {holds} at a time, as {show_usd(aside_p)} is set aside for each "
                "in hand: an answer counts at once, and cannot be taken back.", file=sys.stderr,
            )  # fmt: skip
        print("Ctrl-C stops; what was judged is kept, and the same command goes on.", file=sys.stderr, flush=True)

    def _planned(self, standing: SoFar, thing: str) -> str:
        """How many more are judged, as far as it is known before the next answer, and how long that takes."""
        known, each, needs = standing.judged, standing.each_s, standing.needs
        if standing.only_again:
            return f"{only_again(standing.only_again)} ({known:,} judged)."
        low, usual = standing.usual or (0, standing.most)
        rest, left = min(max(0, usual - known), standing.left()), standing.left()
        more = " more" if known else ""
        again, usually = standing.again, standing.usually_again
        answers = rest * self._options.each
        time = f", about {planned(each * answers)} of people's time" if each and rest else ""
        time = f", each by two people: {answers:,} answers{time}" if answers > rest else time
        ends = (
            ""
            if (one := standing.affords) is None
            else f"; the budget pays for about {count(max(0, one - known), f'{more} {thing}'.strip())}"
            f"{f', at {each:.0f} s each' if each else ''}"
        )
        known_ = f" ({known:,} {'is' if known == 1 else 'are'} known)" if known else ""
        if again and again >= left:
            return f"{left:,} of what is judged {'is' if left == 1 else 'are'} read a second time; all else is known{time}."
        if rest in {0, left}:  # as many whatever they say, where that is also the fewest
            twice = f", {again:,} of them twice: {left:,} answers" if again else ""
            said = f"{'' if low >= standing.most else 'At most '}{left - again:,}{more} are judged{twice}"
            ends = ends or ("" if needs is None else f"; {ends_open(max(0, needs - known), more)}")
        elif again:
            said = f"Usually about {rest:,}{more} answers, {usually:,} of them second readings{known_}{time}"
            return f"{said}; at most {left:,}{more}, {again:,} of them second readings{ends}."
        else:
            said = f"Usually about {rest:,}{more} are judged, at most {left:,}{more}"
        return f"{said}{known_}{time}{ends}."

    def lacks_money(self, lacks: bool) -> None:  # noqa: FBT001 - the one thing that it says
        """Answers that are held count as soon as somebody waits for their money."""
        self._lacks_money = lacks
        if self.desk is not None:
            self.desk.lacks_money = lacks

    def let_go(self) -> None:
        """People finish what they have in hand."""
        if self.desk is not None:
            self.desk.let_go(time.monotonic())

    def checked(self) -> list[Checked]:
        """What came of the checks; of earlier commands, by their journal, if no page was opened in this one."""
        if self.desk is not None:
            return self.desk.checked
        path = self._journal_path
        if not self._options.checks or path is None or not path.is_file():
            return []
        journal = PageJournal(path)
        try:
            return Desk(self._people, journal).checked
        finally:
            journal.close()

    def leave(self, why: StopKind | None, *, left: bool = False) -> None:
        """What was answered counts; who is asked is let go, and told that it is over."""
        left |= why in CUT_OFF and self.desk is not None and self.desk.reads_again  # after all that counts
        self._why = "left" if left else "decided" if why is None else ENDS.get(why, "stopped")
        if self.desk is not None:
            self.desk.leave(self._why)
        if self.pages is not None:
            self.pages.wake()

    async def aclose(self) -> None:
        """Tell all windows that the run is over, and close the server and the journal."""
        if self._opening is None:
            return
        server, self._server = self._server, None
        if not self._opening.done():
            self._opening.cancel()
        if not self._why:
            self.leave(None)
        if self._ticking is not None:
            self._ticking.cancel()
        if server is not None:
            await server.close()
        if self._journal is not None:
            self._journal.close()


@final
class SecondPerson(BaseJudge):
    """Another person than the first of an item, at the same page; they see the outputs the other way round."""

    by_hand = True

    def __init__(self, first: PageJudge) -> None:
        """The page is that of the first."""
        self._first = first

    @property
    def identity(self) -> records.JudgeIdentity:
        """As that of the first, but for the number."""
        return self._first.identity_of("2")

    def quote(self, call: records.Call) -> records.Quote:
        """The price of the person's time."""
        return self._first.quote(call)

    async def judge(self, call: records.Call) -> records.Reply:
        """Put a call on the desk, and wait until somebody has answered it.

        Raises:
            JudgeError: the people were let go.
        """
        return await self._first.judge_as(self.identity, call)


def check_extra() -> None:
    """Refuse a page where what serves it is not installed.

    Raises:
        InputError: says how to install it.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn", "markdown_it")):
        raise InputError("`page` needs packages that are not installed: pip install 'judgeloop[page]'")


def _answer(given: Given) -> records.Answer:
    """What a key says: a skip is no verdict, and "both bad" a tie that says so."""
    if given.key == "s":
        return records.Abstention(given.note or records.SKIPPED)
    said: list[Any] = [BOTH_BAD] if given.key == "x" else []
    return records.Verdict(SCORES[given.key], reason=": ".join([*said, *([given.note] if given.note else [])]))


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        return "you"
