"""The desk at which people judge: who has which call in hand, what was said, and what may still be taken back.

No clock and no network: the time is passed in. Rules:

1. A call is with one person at most. Whoever is away for `KEPT_S` may lose it to somebody else: what others answer
   after it counts for nothing before it is answered.
2. The last answer of each person is held, so that it can be taken back, until they answer the next, have nothing
   else to judge for `LAST_S`, leave, or `HELD_S` pass. It is in the journal before. Where somebody waits because the
   money of those that are held is needed for the next call, all count at once.
3. A skip goes to another person first. It is an answer once all who are there have skipped.
4. What the journal has and no run has booked is given to the same call again, and nobody is asked. So it is with
   skips, until the run has ended by itself: the command after it asks them again.
5. Who has a call on the screen when the process dies goes on with it in the next one. It is kept for them for
   `HELD_S`, and what they say of it counts if nobody else has it, even before the run has asked it again.
6. A second reading is another person's than the first, or the same one's, as it asks. It is none if nobody who may
   give it is there for `LEASE_S`, and at once if all who may have failed checks.
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

KEPT_S = 120.0
LEASE_S = 600.0
HELD_S = 300.0
LAST_S = 5.0  # after an answer that may be the last
AWAY_S = 90.0  # without a sign, which windows send each 30 s while somebody is there
PAIR, RATING, SKIP = ("a", "b", "t", "x"), ("1", "2", "3", "4", "5"), "s"
LONGEST_NOTE = 2000  # characters
SPREAD = 0.618  # of the checks lie between those at which two people begin, however many people there are


class Given(NamedTuple):
    """What a person said of a call, in how many seconds, and why; nobody said it now if it is `bygone`."""

    key: str
    seconds: float
    note: str = ""
    by: str = ""
    bygone: bool = False


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
    kept_for: str = ""  # who had it when an earlier process died

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
    paused: bool = False
    hand: Sheet | None = None
    last: Sheet | None = None  # whose answer is held
    sent: set[str] = field(default_factory=set)  # the ids of the showings whose answers were taken
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
        self,
        people: Sequence[str],
        journal: PageJournal,
        checks: Sequence[CheckItem] = (),
        each: int = 1,
        now: float = 0.0,
    ) -> None:
        """Take up what the journal has; people get `checks` among the calls, of which so many are for `each` item.

        Beside the `people` are those who joined them earlier. Nobody is taken to be away right after `now`.
        """
        joined = [line["by"] for line in journal.lines if line["what"] == "joined"]
        self.people: dict[str, Person] = {name: Person(name) for name in (*people, *joined)}
        self._checks, self.each = checks, each
        self.sheets: list[Sheet] = []  # in the order asked
        self.over = ""  # why nothing more is asked
        self._lets_go = False  # of what nobody has in hand
        self.stops = False  # nothing new is given to anybody
        self.read = 0  # how many of the items judged for good are second readings
        self.reads_again = False  # has a call been asked that is read a second time, which comes after all others
        self.lacks_money = False  # for the next call, until one that is held or in hand is paid
        self.flying = 0  # items that are judged for good, and of which the run has not told yet
        self._journal = journal
        self._known: dict[str, Given] = {}
        self._skipped: set[tuple[str, str]] = set()  # of earlier processes
        self._skips: dict[str, dict[str, Given]] = {}  # those of them that hold, by the key of the call
        self._none: set[str] = set()  # the keys of what was settled as skipped
        self._had: dict[str, Mapping[str, Any]] = {}  # showings without an answer, of calls that are not back, by key
        self._latest: dict[str, str] = {}  # the key of what each was shown last by an earlier process
        self._issued: set[str] = set()  # ids of showings by this process
        self._by_pair: dict[str, dict[str, Given]] = {}  # what was said of a pair's calls, by their keys
        self._began, self._goes_on = now, any(line["what"] == "shown" for line in journal.lines)
        self._replay(journal.lines)

    def _replay(self, lines: Iterable[Mapping[str, Any]]) -> None:
        said: dict[tuple[str, str], Given] = {}
        for line in lines:
            match line["what"]:
                case "shown":
                    self._had[line["key"]], self._latest[line["by"]] = line, line["key"]
                case "none":
                    self._none.add(line["key"])
                case "ended":
                    for of_run in (self._skips, self._none, self._had):
                        of_run.clear()
                case "answer" | "check" | "undo":
                    self._replay_said(line, said)
        for person in self.people.values():
            person.failed = failed([*person.checks.values()])

    def _replay_said(self, line: Mapping[str, Any], said: dict[tuple[str, str], Given]) -> None:
        key, by = line["key"], line["by"]
        self._known.pop(key, None)
        person = self.people.get(by)
        if line["what"] == "undo":
            self._forget(key)
            self._skipped.discard((key, by))
            self._skips.get(key, {}).pop(by, None)
            before = said.pop((key, by), None)
            if person and before:
                self._take_back(person, key, before)
            return
        given = said[key, by] = Given(line["said"], line["seconds"], line["note"], by)
        self._had.pop(key, None)
        if (pair := line.get("pair")) is not None:
            self._by_pair.setdefault(pair, {})[key] = given
        if person:
            person.sent.add(line["id"])
            self._take_in(person, key, given, line.get("result"))
        if line["what"] == "answer":
            self._know(key, given)

    def _know(self, key: str, given: Given) -> None:
        """Keep what was said of a call until the run asks it again."""
        if given.key == SKIP:
            self._skipped.add((key, given.by))
            self._skips.setdefault(key, {})[given.by] = given
        else:
            self._known[key] = given

    def _take_in(self, person: Person, key: str, given: Given, result: int | None) -> None:
        """Count an answer, or a check with its `result`; a skip of the same call in an earlier run counts no more."""
        person.skips -= (key, person.name) in self._skipped
        self._skipped.discard((key, person.name))
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
        had, none = self._had.pop(sheet.key, None), sheet.key in self._none
        self.reads_again |= sheet.call.reading is not None
        sheet.skipped |= {} if none else self._skips.get(sheet.key, {})
        if self.over:
            sheet.settled.set_exception(gone())
        elif self.all_failed and sheet.key not in self._known:
            sheet.settled.set_exception(self._nobody())
        elif (known := self._known.pop(sheet.key, None)) is not None:
            sheet.said = known
            self._settle(sheet)
        elif none:  # and booked then
            sheet.said = Given(SKIP, 0.0, "skipped", bygone=True)
            self._settle(sheet)
        elif sheet.skipped and not self._is_for_anybody(sheet):
            *_, sheet.said = sheet.skipped.values()
            self._settle(sheet)
        else:
            if had is not None and self._latest[had["by"]] == sheet.key and had["by"] in self.people:
                sheet.kept_for = had["by"]
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
        person.here, person.there, person.paused = True, now, False
        if person.hand is None and not self.over:
            self.tick(now)
            person.hand = None if self.stops else next(iter(self._free_for(name, now)), None)
            if person.hand is not None and (check := self._check_of(person)) is not None and self._is_due(person):
                person.hand = check
            if person.hand is not None:
                self._show(person.hand, name, now)
            elif person.last and now - person.last.said_at > LAST_S:
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
        sheet.holder, sheet.since, sheet.there, sheet.kept_for = name, now, now, ""
        self._note(sheet, name, self._id(sheet.key, name, secrets.token_hex(8)))

    def _note(self, sheet: Sheet, name: str, of: str) -> None:
        """Give a showing its id, and let the journal know of it."""
        sheet.id = of
        self._issued.add(of)
        self._journal.write("shown", id=of, key=sheet.key, by=name, keys=sheet.keys, pair=sheet.pair)

    def _id(self, key: str, name: str, nonce: str) -> str:
        """The id of a showing, by which this process and the next know which call it was, and nobody else."""
        said = f"{nonce} {key} {name}".encode()
        return f"{nonce}.{hmac.new(bytes.fromhex(self._journal.secret), said, 'sha256').hexdigest()[:24]}"

    def _free_for(self, name: str, now: float) -> list[Sheet]:
        """What a person may have next, first of all what they had when an earlier process died."""
        free = [
            one for one in self.sheets if one.is_open and self._may(one, name) and not self._is_kept(one, name, now)
        ]
        return sorted(free, key=lambda one: one.kept_for != name)

    def _is_kept(self, sheet: Sheet, name: str, now: float) -> bool:
        """Whether a call is kept for somebody else, who had it when an earlier process died."""
        by = sheet.kept_for
        return by not in {"", name} and not self.people[by].failed and now <= self._began + HELD_S

    def _shown_as(self, person: Person, of: str, now: float) -> Sheet | None:
        """The call of a showing to a person, if they have it, or nobody has."""
        check, nonce = self._check_of(person), of.partition(".")[0]
        hand, free = [person.hand] if person.hand else [], self._free_for(person.name, now)
        theirs = [*hand, *free, *([] if check is None else [check])]
        found = (one for one in theirs if self._id(one.key, person.name, nonce) == of)
        return None if person.failed else next(found, None)

    def resume(self, name: str, of: str, now: float) -> bool:
        """Give a person the call of a showing by an earlier process back, unless somebody has it."""
        person = self.people[name]
        if of in self._issued or of in person.sent or (sheet := self._shown_as(person, of, now)) is None:
            return False
        if person.hand not in {None, sheet}:
            self._give_back(person)
        person.here, person.there, person.paused, person.hand = True, now, False, sheet
        sheet.holder, sheet.since, sheet.there, sheet.kept_for = name, now - LEASE_S, now, ""
        self._note(sheet, name, of)
        return True

    def comes_back(self, name: str, of: str, now: float) -> bool:
        """Whether the run may soon ask again what a person was shown by an earlier process."""
        return now <= self._began + HELD_S and self._had_as(name, of) is not None

    def _had_as(self, name: str, of: str) -> Mapping[str, Any] | None:
        """The latest showing, by an earlier process, of a call that is not back and that nobody answered since."""
        mine = (one for one in self._had.values() if one["by"] == name and not self.over)
        return next((one for one in mine if self._id(one["key"], name, of.partition(".")[0]) == of), None)

    def was_here(self, of: str) -> bool:
        """Whether this process has shown it."""
        return of in self._issued

    def _may(self, sheet: Sheet, name: str) -> bool:
        """Whether a person may answer a call: of a pair, not who has another call of it, or answered or skipped it."""
        if not sheet.pair:
            return sheet.may(name)
        gave = {given.by for key, given in self._by_pair.get(sheet.pair, {}).items() if key != sheet.key}
        for one in self.sheets:
            if one.pair == sheet.pair and one is not sheet:
                gave |= {one.holder or "", *one.skipped}
        return name not in gave and sheet.may(name)

    def _is_for_anybody(self, sheet: Sheet) -> bool:
        """Whether there is a person who may answer a call, and has not failed, whether or not they are there."""
        return any(self._may(sheet, one.name) for one in self.people.values() if not one.failed)

    def answered(self, before: Iterable[tuple[str, str]]) -> None:
        """Know who answered a call of which pair in another run."""
        for pair, name in before:
            self._by_pair.setdefault(pair, {})[f"by {name} before"] = Given("", 0.0, by=name)

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
        sheet = self._shown_as(person, of, now)
        had = self._had_as(name, of) if sheet is None and not person.failed else None
        if sheet is not None:
            key, keys, pair = sheet.key, sheet.keys, sheet.pair
        elif had is not None:
            key, keys, pair = had["key"], had["keys"], had["pair"]
        else:
            self._journal.write("beside", id=of, said=given.key, by=name)
            raise TakenError
        if given.key not in keys:
            raise ValueError(f"expected one of {', '.join(keys)}")
        longest = LEASE_S if sheet is None or not self.was_here(of) else now - sheet.since
        seconds, result = (sheet.spent if sheet else 0.0) + max(0.0, min(given.seconds, longest)), None
        if sheet is None or sheet.check is None:
            seconds += person.owed
        else:
            result = beside["result"] = sheet.check.result(given.key)
        given = given._replace(seconds=round(seconds, 1), by=name, note=given.note[:LONGEST_NOTE])
        if pair:
            self._by_pair.setdefault(pair, {})[key] = given
            beside["pair"] = pair
        self._journal.write(
            "answer" if result is None else "check",
            id=of, key=key, said=given.key, seconds=given.seconds, note=given.note, by=name, **beside,
        )  # fmt: skip
        person.sent.add(of)  # a client sends one again before it goes on
        person.there = now
        self._take_in(person, key, given, result)
        before, person.last = person.last, sheet
        if sheet is not None:
            person.hand = None if person.hand is sheet else person.hand
            sheet.holder, sheet.said, sheet.said_at, sheet.kept_for = name, given, now, ""
        else:  # the run has not asked it again so far
            del self._had[key]
            self._know(key, given)
        if before is not None:
            self._stands(before)
        self._return_money(now)

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
        person.there, person.paused = now, True
        self._let_stand(person)

    def beat(self, name: str, now: float) -> None:
        """A person is there."""
        person = self.people[name]
        person.there = now
        if person.hand is not None:
            person.hand.there = now

    def tick(self, now: float) -> None:
        """Let what was held for long stand, and give what is with nobody who is there to others."""
        comes = self._goes_on and now - self._began <= AWAY_S  # anybody, who may not have reached this process yet
        there = {
            one.name
            for one in self.people.values()
            if (comes or (one.there is not None and now - one.there <= LEASE_S)) and not one.failed
        }
        for sheet in self.sheets:
            sheet.asked_at = now if sheet.asked_at is None else sheet.asked_at
            if sheet.is_open and not any(self._may(sheet, name) for name in there):
                self._without(sheet, late=now - sheet.asked_at > LEASE_S)
        self._return_money(now)
        for person in self.people.values():
            if person.last is not None:
                nothing = person.hand is None and (self.stops or not self._free_for(person.name, now))
                if now - person.last.said_at > (LAST_S if nothing else HELD_S):
                    self._let_stand(person)
            hand = person.hand
            if hand is not None and now - hand.there > KEPT_S and self._others(person.name, hand):
                self._give_back(person)
                self._let_stand(person)
        if self._lets_go:
            self.let_go(now)

    def _without(self, sheet: Sheet, *, late: bool) -> None:
        """What becomes of a call that nobody who is there may answer; it waits while somebody may still come."""
        if sheet.skipped:  # nobody else comes
            *_, sheet.said = sheet.skipped.values()
            self._settle(sheet)
        elif sheet.call.reading is not None and (late or not self._is_for_anybody(sheet)):
            sheet.said = Given(SKIP, 0.0, "nobody was there who may give it", bygone=True)
            self._settle(sheet)
        elif sheet.pair and not self._is_for_anybody(sheet):
            skips = [given for one in self.sheets if one.pair == sheet.pair for given in one.skipped.values()]
            if not skips:
                sheet.settled.set_exception(self._nobody())
                return
            sheet.said = skips[-1]._replace(seconds=0.0)  # who skipped one call of an item has skipped the item
            self._settle(sheet)

    def _return_money(self, now: float) -> None:
        """Let all that is held stand where somebody who is there waits for its money: nobody waits for an undo."""
        waits = (one for one in self.people.values() if one.hand is None and not one.failed and not self.stops)
        there = (one for one in waits if one.there is not None and now - one.there <= AWAY_S)
        if self.lacks_money and any(not self._free_for(one.name, now) for one in there):
            for person in self.people.values():
                self._let_stand(person)

    def let_go(self, now: float) -> None:
        """Ask no more of what nobody has in hand who is there; those who have something finish it."""
        self._lets_go = True
        for sheet in self.sheets:
            away = sheet.holder is not None and sheet.said is None and now - sheet.there > AWAY_S
            if (sheet.is_open or away) and not sheet.settled.done():
                sheet.settled.set_exception(gone())

    def leave(self, why: str) -> None:
        """Let all go: what was said stands, and nothing more is asked."""
        error = gone(stopped=self.stops)
        ends, self.over = why != "stopped" and not self.over, self.over or why
        for person in self.people.values():
            self._let_stand(person)
            person.hand = None
        for sheet in [*self.sheets]:
            if not sheet.settled.done():
                sheet.settled.set_exception(error)
        self.sheets.clear()
        if ends:
            self._journal.write("ended")

    def is_idle(self, now: float) -> bool:
        """Whether nobody who is there has anything in hand, or to take back."""
        there = (one for one in self.people.values() if one.hand is None or now - one.hand.there <= AWAY_S)
        return all(one.hand is None and one.last is None for one in there)

    def is_busy(self, name: str) -> bool:
        """Whether others than a person have something in hand."""
        return any(one.holder not in {None, name} for one in self._unanswered)

    @property
    def awaits(self) -> list[Sheet]:
        """What nobody has in hand: where a person gets none of it, it is for somebody else."""
        return [] if self.stops else [one for one in self._unanswered if one.is_open]

    @property
    def _unanswered(self) -> list[Sheet]:
        return [one for one in self.sheets if one.said is None and not one.settled.done()]

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
        """How many items are judged of which the run has not heard."""
        return len({sheet.pair or sheet for sheet in self.sheets if self._judges(sheet)}) + self.flying

    @property
    def held_skips(self) -> int:
        """How many skips may be taken back."""
        held = (one.said for one in self.sheets if not one.settled.done())
        return sum(said is not None and said.key == SKIP for said in held)

    def _judges(self, sheet: Sheet) -> bool:
        """Whether an answer that may be taken back makes an item judged: no skip does, nor a verdict of one of two."""
        if sheet.said is None or sheet.said.key == SKIP or sheet.settled.done():
            return False
        given = self._by_pair.get(sheet.pair, {}).values()
        return not sheet.pair or len({one.by for one in given if one.key != SKIP}) >= self.each

    @property
    def pace(self) -> float | None:
        """The usual seconds of an answer of all who are there; None before the first."""
        found = [second for person in self.people.values() for second in person.seconds]
        return median(found) if found else None

    def _others(self, name: str, sheet: Sheet) -> bool:
        others = (one for one in self.people.values() if not one.failed and one.name != name)
        return any(self._may(sheet, one.name) for one in others if self._goes_on or one.here)

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
                    sheet.settled.set_exception(self._nobody())

    def _nobody(self) -> JudgeError:
        """The error of a call that nobody is left for, or too few for two an item."""
        wrong = [one.name for one in self.people.values() if one.failed]
        left = [one.name for one in self.people.values() if not one.failed]
        why = "everybody who may judge has failed checks; look at them in the journal, and ask other people"
        if left:
            failed_ = f"{' and '.join(wrong)} failed checks, and " if wrong else ""
            why = f"{failed_}two people an item take one more: `people={','.join(left)},NAME`"
        return JudgeError(ErrorKind.REJECTED, why, billed=False)

    def _settle(self, sheet: Sheet) -> None:
        assert sheet.said is not None
        if not sheet.settled.done():
            if sheet.check is None and sheet.said.key == SKIP and not sheet.said.bygone:
                self._journal.write("none", key=sheet.key)
            others = (one for one in self.sheets if sheet.pair and one.pair == sheet.pair and one is not sheet)
            if sheet.check is None and self._judges(sheet) and all(one.settled.done() for one in others):
                self.flying += 1
                self.read += sheet.call.reading is not None
                self._by_pair.pop(sheet.pair, None)  # an item counts once
            sheet.settled.set_result(sheet.said)


def gone(*, stopped: bool = False) -> JudgeError:
    """The error of a call that people were let go from, perhaps because it was stopped on the page of the owner."""
    why = "it was stopped on the owner's page" if stopped else "the people have left"
    return JudgeError(ErrorKind.QUIT, why, billed=False)
