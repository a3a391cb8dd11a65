"""The desk at which people judge: who has which call in hand, what was said, and what may still be taken back.

No clock and no network: the time is passed in. Rules:

1. A call is with one person at most. Whoever is away for `LEASE_S` may lose it to somebody else.
2. The last answer of each person is held, so that it can be taken back, until they answer the next, have nothing
   else to judge, leave, or `HELD_S` pass. It is in the journal before.
3. A skip goes to another person first. It is an answer once all who are there have skipped.
4. What the journal has and no run has booked is given to the same call again, and nobody is asked.
5. Who has a call on the screen when the process dies goes on with it in the next one.
6. A second reading is another person's than the first, or the same one's, as it asks. It is none if nobody who may
   give it is there for `LEASE_S`.
7. Of two who judge a pair each, neither is the other: whoever has one of its calls, or has answered it, gets no other.
8. A check (`checks.py`) is given when it is due, before an item that counts. No run waits for it: its time is that of
   the next answer that counts. Whoever fails is asked no more.
"""

import asyncio
import concurrent.futures
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple, final

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import Checked
from judgeloop.core.records import Call
from judgeloop.page.checks import CheckItem, counted, failed, place
from judgeloop.page.journal import PageJournal

LEASE_S = 600.0
HELD_S = 300.0
AWAY_S = 90.0  # without a sign, which windows send each 30 s while somebody is there
PAIR, RATING, SKIP = ("a", "b", "t", "x"), ("1", "2", "3", "4", "5"), "s"
LONGEST_NOTE = 2000  # characters
SPREAD = 0.618  # of the checks lie between those at which two people begin, however many people there are


class Given(NamedTuple):
    """What a person said of a call, in how many seconds, and why."""

    key: str
    seconds: float
    note: str = ""
    by: str = ""


@dataclass(eq=False, slots=True)
class Sheet:
    """A call that waits for an answer, under the `key` of what it shows.

    `holder` has it since `since`, under the `id` of this showing, and was last there at `there`. `said` is held, to be
    taken back; `skipped` has the skips of others. `spent` are the seconds before an answer that was taken back. `check`
    is None for a call that counts. `pair` is the same of two calls that two people have to answer, and empty of others.
    """

    call: Call
    key: str
    settled: asyncio.Future[Given] | concurrent.futures.Future[Given]
    holder: str | None = None
    id: str = ""
    since: float = 0.0
    there: float = 0.0
    said: Given | None = None
    said_at: float = 0.0
    skipped: dict[str, Given] = field(default_factory=dict)
    spent: float = 0.0
    asked_at: float | None = None  # when somebody first looked for those who may answer it
    check: CheckItem | None = None
    pair: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that answer it."""
        return (*(RATING if len(self.call.outputs) == 1 else PAIR), SKIP)

    @property
    def seconds(self) -> float:
        """How long the answer took, with the time of those who skipped."""
        assert self.said is not None
        return self.said.seconds + sum(one.seconds for by, one in self.skipped.items() if by != self.said.by)

    @property
    def is_open(self) -> bool:
        """Whether nobody has it, and nobody has answered it."""
        return self.holder is None and not self.settled.done()

    def may(self, name: str) -> bool:
        """Whether a person may answer it."""
        reading = self.call.reading
        return name not in self.skipped and (reading is None or (name == reading.by) is reading.same)


@dataclass(eq=False, slots=True)
class Person:
    """What a person has in hand, what they said last, and what they did."""

    name: str
    here: bool = False  # has opened the page since the process began
    hand: Sheet | None = None
    last: Sheet | None = None  # whose answer is held
    sent: dict[str, str] = field(default_factory=dict)  # the answers that were taken, by the id of the showing
    judged: int = 0
    skips: int = 0
    seconds: list[float] = field(default_factory=list)
    there: float | None = None  # when they last did something
    checks: dict[str, int] = field(default_factory=dict)  # the results, by the key of the check
    judged_checks: int = 0  # those that were not skipped
    owed: float = 0.0  # seconds of checks, which the next answer that counts takes
    failed: bool = False


class TakenError(Exception):
    """A call is with somebody else, or was answered."""


@final
class Desk:
    """The calls that wait, and the people who answer them."""

    def __init__(
        self, people: Sequence[str], journal: PageJournal, checks: Sequence[CheckItem] = (), each: int = 1
    ) -> None:
        """Take up what the journal has; people get `checks` among the calls, of which so many are for `each` item.

        Beside the `people` are those who joined them earlier.
        """
        joined = [line["by"] for line in journal.lines if line["what"] == "joined"]
        self.people: dict[str, Person] = {name: Person(name) for name in (*people, *joined)}
        self._checks, self._each = checks, each
        self.sheets: list[Sheet] = []  # in the order asked
        self.over = ""  # why nothing more is asked
        self._lets_go = False  # of what nobody has in hand
        self.stops = False  # nothing new is given to anybody
        self.flying = 0  # verdicts that are settled, and of which the run has not told yet
        self._journal = journal
        self._known: dict[str, Given] = {}
        self._skipped: set[tuple[str, str]] = set()
        self._issued: set[str] = set()  # ids of showings by this process
        self._by_pair: dict[str, dict[str, str]] = {}  # who answered a pair's calls, by their keys
        self._replay(journal.lines)

    def _replay(self, lines: Iterable[Mapping[str, Any]]) -> None:
        said: dict[tuple[str, str], Given] = {}
        for line in lines:
            if line["what"] not in {"answer", "check", "undo"}:
                continue
            key, by = line["key"], line["by"]
            self._known.pop(key, None)
            person = self.people.get(by)
            if (pair := line.get("pair")) is not None:
                self._by_pair.setdefault(pair, {})[key] = by
            if line["what"] == "undo":
                self._forget(key)
                self._skipped.discard((key, by))
                before = said.pop((key, by), None)
                if person and before:
                    self._take_back(person, key, before)
                continue
            given = said[key, by] = Given(line["said"], line["seconds"], line["note"], by)
            if line["what"] == "answer" and given.key == SKIP:
                self._skipped.add((key, by))
            elif line["what"] == "answer":
                self._known[key] = given
            if person:
                person.sent = {line["id"]: given.key}
                self._take_in(person, key, given, line.get("result"))
        for person in self.people.values():
            person.failed = failed([*person.checks.values()])

    @staticmethod
    def _take_in(person: Person, key: str, given: Given, result: int | None) -> None:
        """Count an answer, or a check with its `result`."""
        person.judged += given.key != SKIP
        person.skips += given.key == SKIP
        person.seconds.append(given.seconds)
        person.owed = 0.0 if result is None else person.owed + given.seconds
        if result is not None:
            person.checks[key] = result
            person.judged_checks += given.key != SKIP

    @staticmethod
    def _take_back(person: Person, key: str, given: Given) -> None:
        person.judged -= given.key != SKIP
        person.skips -= given.key == SKIP
        person.seconds.pop()
        if person.checks.pop(key, None) is not None:
            person.owed -= given.seconds
            person.judged_checks -= given.key != SKIP

    def add(self, sheet: Sheet) -> None:
        """Take a call; it is settled at once if the journal has its answer."""
        if self.over:
            sheet.settled.set_exception(gone())
        elif self.all_failed and sheet.key not in self._known:
            sheet.settled.set_exception(nobody())
        elif (known := self._known.pop(sheet.key, None)) is not None:
            sheet.said = known
            self._settle(sheet)
        else:
            self.sheets.append(sheet)
            self._lets_go = False

    def join(self, name: str) -> None:
        """Let another person judge."""
        self._journal.write("joined", by=name)
        self.people[name] = Person(name)

    def drop(self, sheet: Sheet) -> None:
        """Forget a call that nobody waits for any more."""
        if sheet in self.sheets:
            self.sheets.remove(sheet)
        for person in self.people.values():
            person.hand = None if person.hand is sheet else person.hand
            person.last = None if person.last is sheet else person.last

    def take(self, name: str, now: float) -> Sheet | None:
        """What a person judges next: what they have in hand, or the first call that is free; None if there is none."""
        person = self.people[name]
        if person.failed:
            return None
        person.here, person.there = True, now
        if person.hand is None and not self.over:
            self.tick(now)
            free = (one for one in self.sheets if one.is_open and self._may(one, name))
            person.hand = None if self.stops else next(free, None)
            if person.hand is not None and (check := self._check_of(person)) is not None and self._is_due(person):
                person.hand = check
            if person.hand is not None:
                self._show(person.hand, name, now)
            else:
                self._let_stand(person)  # nobody waits for an undo that may never come
        if person.hand is not None:
            person.hand.there = now
        return person.hand

    def _check_of(self, person: Person) -> Sheet | None:
        """The next check of a person; None if there is none. People begin at different ones."""
        number = len(person.checks)
        if number >= len(self._checks):
            return None
        first = int([*self.people].index(person.name) * SPREAD * len(self._checks))
        check = self._checks[(first + number) % len(self._checks)]
        key = f"check {number} of {person.name}"
        return Sheet(check.call, key, concurrent.futures.Future(), check=check)  # which needs no loop

    def _is_due(self, person: Person) -> bool:
        """Whether a person has given so many answers that the next check comes."""
        given = person.judged + person.skips - len(person.checks)
        return given >= place(self._journal.secret, person.name, len(person.checks))

    def _show(self, sheet: Sheet, name: str, now: float) -> None:
        sheet.holder, sheet.since, sheet.there = name, now, now
        sheet.id = self._id(sheet, name, secrets.token_hex(8))
        self._issued.add(sheet.id)

    def _id(self, sheet: Sheet, name: str, nonce: str) -> str:
        """The id of a showing, by which this process and the next know which call it was, and nobody else."""
        said = f"{nonce} {sheet.key} {name}".encode()
        return f"{nonce}.{hmac.new(bytes.fromhex(self._journal.secret), said, 'sha256').hexdigest()[:24]}"

    def resume(self, name: str, of: str, now: float) -> bool:
        """Give a person the call of a showing by an earlier process back, unless somebody has it."""
        person, nonce = self.people[name], of.partition(".")[0]
        check = self._check_of(person)
        given = [one for one in self.sheets if one.is_open] + ([] if check is None else [check])
        mine = (one for one in given if self._id(one, name, nonce) == of)
        if person.failed or person.hand is not None or of in self._issued or (sheet := next(mine, None)) is None:
            return False
        person.here, person.there, person.hand = True, now, sheet
        sheet.holder, sheet.since, sheet.there, sheet.id = name, now - LEASE_S, now, of
        return True

    def _may(self, sheet: Sheet, name: str) -> bool:
        """Whether a person may answer a call: of a pair, not who has another call of it, or answered or skipped it."""
        if not sheet.pair:
            return sheet.may(name)
        gave = {by for key, by in self._by_pair.get(sheet.pair, {}).items() if key != sheet.key}
        for one in self.sheets:
            if one.pair == sheet.pair and one is not sheet:
                gave |= {one.holder or "", *one.skipped}
        return name not in gave and sheet.may(name)

    def answered(self, before: Iterable[tuple[str, str]]) -> None:
        """Know who answered a call of which pair in another run."""
        for pair, name in before:
            self._by_pair.setdefault(pair, {})[f"by {name} before"] = name

    def _forget(self, key: str) -> None:
        for given in self._by_pair.values():
            given.pop(key, None)

    def skipped_before(self, name: str, sheet: Sheet) -> bool:
        """Whether a person has skipped a call in an earlier process."""
        return (sheet.key, name) in self._skipped

    def answer(self, name: str, given: Given, of: str, now: float, **beside: Any) -> None:
        """Take an answer to the showing `of`; one that arrives twice is taken once.

        Raises:
            TakenError: the call is with somebody else; the answer is kept in the journal, and never counts.
            ValueError: such a call has no such answer.
        """
        person = self.people[name]
        if of in person.sent:
            return
        if person.hand is None:
            self.resume(name, of, now)
        sheet = person.hand
        if sheet is None or sheet.id != of:
            self._journal.write("beside", id=of, said=given.key, by=name)
            raise TakenError
        if given.key not in sheet.keys:
            raise ValueError(f"expected one of {', '.join(sheet.keys)}")
        seconds, result = sheet.spent + max(0.0, min(given.seconds, now - sheet.since)), None
        if sheet.check is None:
            seconds += person.owed
        else:
            result = beside["result"] = sheet.check.result(given.key)
        given = given._replace(seconds=round(seconds, 1), by=name, note=given.note[:LONGEST_NOTE])
        if sheet.pair:
            self._by_pair.setdefault(sheet.pair, {})[sheet.key] = name
            beside["pair"] = sheet.pair
        self._journal.write(
            "answer" if result is None else "check",
            id=of, key=sheet.key, said=given.key, seconds=given.seconds, note=given.note, by=name, **beside,
        )  # fmt: skip
        person.sent = {of: given.key}  # a client sends one again before it goes on
        before, person.hand, person.last = person.last, None, sheet
        sheet.said, sheet.said_at = given, now
        person.there = now
        self._take_in(person, sheet.key, given, result)
        if before is not None:
            self._stands(before)

    def undo(self, name: str, now: float) -> tuple[Sheet, Given] | None:
        """Take the last answer back, and return its call and what was said; None if there is none to take back."""
        person = self.people[name]
        sheet = person.last
        if sheet is None or sheet.said is None:
            return None
        self._journal.write("undo", key=sheet.key, by=name)
        self._forget(sheet.key)
        self._take_back(person, sheet.key, sheet.said)
        if person.hand is not None:
            self._give_back(person)
        said = sheet.said
        sheet.said, sheet.spent = None, said.seconds
        person.hand, person.last = sheet, None
        self._show(sheet, name, now)
        return sheet, said

    def pause(self, name: str, now: float) -> None:
        """A person pauses: what they said stands, and what they have in hand stays theirs for a while."""
        person = self.people[name]
        person.there = now
        self._let_stand(person)

    def beat(self, name: str, now: float) -> None:
        """A person is there."""
        person = self.people[name]
        person.there = now
        if person.hand is not None:
            person.hand.there = now

    def tick(self, now: float) -> None:
        """Let what was held for long stand, and give what is with nobody who is there to others."""
        there = {
            one.name
            for one in self.people.values()
            if one.there is not None and now - one.there <= LEASE_S and not one.failed
        }
        for sheet in self.sheets:
            sheet.asked_at = now if sheet.asked_at is None else sheet.asked_at
            if not sheet.is_open or any(self._may(sheet, name) for name in there):
                continue
            if sheet.skipped:  # nobody else comes
                *_, sheet.said = sheet.skipped.values()
                self._settle(sheet)
            elif sheet.call.reading is not None and now - sheet.asked_at > LEASE_S:
                sheet.said = Given(SKIP, 0.0, "nobody was there who may give it")
                self._settle(sheet)
        for person in self.people.values():
            if person.last is not None and now - person.last.said_at > HELD_S:
                self._let_stand(person)
            hand = person.hand
            if hand is not None and now - hand.there > LEASE_S and self._others(person.name, hand):
                self._give_back(person)
        if self._lets_go:
            self.let_go(now)

    def let_go(self, now: float) -> None:
        """Ask no more of what nobody has in hand who is there; those who have something finish it."""
        self._lets_go = True
        for sheet in self.sheets:
            away = sheet.holder is not None and sheet.said is None and now - sheet.there > AWAY_S
            if (sheet.is_open or away) and not sheet.settled.done():
                sheet.settled.set_exception(gone())

    def leave(self, why: str) -> None:
        """Let all go: what was said stands, and nothing more is asked."""
        self.over = self.over or why
        for person in self.people.values():
            self._let_stand(person)
            person.hand = None
        for sheet in [*self.sheets]:
            if not sheet.settled.done():
                sheet.settled.set_exception(gone())
        self.sheets.clear()

    def is_idle(self, now: float) -> bool:
        """Whether nobody who is there has anything in hand."""
        return all(one.hand is None or now - one.hand.there > AWAY_S for one in self.people.values())

    @property
    def all_failed(self) -> bool:
        """Whether nobody is left who may judge."""
        return all(person.failed for person in self.people.values())

    @property
    def checked(self) -> list[Checked]:
        """What came of the checks of those who had any."""
        return [counted(one.name, [*one.checks.values()]) for one in self.people.values() if one.checks]

    @property
    def lines(self) -> Sequence[Mapping[str, Any]]:
        """All that was said, as the journal has it."""
        return self._journal.lines

    @property
    def held(self) -> int:
        """How many items have a verdict of which the run has not heard; a skip is none."""
        waits = (sheet.said for sheet in self.sheets if not sheet.settled.done())
        said = sum(given is not None and given.key != SKIP for given in waits)
        return (said + self.flying) // self._each

    @property
    def pace(self) -> float | None:
        """The usual seconds of an answer of all who are there; None before the first."""
        found = [second for person in self.people.values() for second in person.seconds]
        return median(found) if found else None

    def _others(self, name: str, sheet: Sheet) -> bool:
        there = (one for one in self.people.values() if one.here and not one.failed and one.name != name)
        return any(self._may(sheet, one.name) for one in there)

    def _give_back(self, person: Person) -> None:
        assert person.hand is not None
        person.hand.holder, person.hand.id, person.hand.spent = None, "", 0.0
        person.hand = None

    def _let_stand(self, person: Person) -> None:
        if person.last is not None:
            self._stands(person.last)

    def _stands(self, sheet: Sheet) -> None:
        """An answer can no longer be taken back; a skip goes to somebody else who is there."""
        given = sheet.said
        assert given is not None
        for person in self.people.values():
            person.last = None if person.last is sheet else person.last
        if sheet.check is not None:
            self._judge(self.people[given.by])
        elif given.key == SKIP and not self.over:
            sheet.skipped[given.by] = given
            if self._others(given.by, sheet):
                sheet.said, sheet.holder, sheet.spent = None, None, 0.0
                return
        self._settle(sheet)

    def _judge(self, person: Person) -> None:
        """Ask somebody who failed no more; if nobody is left, nothing more is answered."""
        person.failed = failed([*person.checks.values()])
        if person.failed and person.hand is not None:
            self._give_back(person)
        if person.failed:
            self._let_stand(person)  # they do not come back to take it back
        if self.all_failed:
            for sheet in [*self.sheets]:
                if not sheet.settled.done():
                    sheet.settled.set_exception(nobody())

    def _settle(self, sheet: Sheet) -> None:
        assert sheet.said is not None
        if not sheet.settled.done():
            self.flying += sheet.check is None and sheet.said.key != SKIP
            sheet.settled.set_result(sheet.said)


def gone() -> JudgeError:
    """The error of a call that people were let go from."""
    return JudgeError(ErrorKind.QUIT, "the people have left", billed=False)


def nobody() -> JudgeError:
    """The error of a call that nobody is left for."""
    why = "everybody who may judge has failed checks; look at them in the journal, and ask other people"
    return JudgeError(ErrorKind.REJECTED, why, billed=False)
