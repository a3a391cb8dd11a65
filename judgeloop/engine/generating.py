"""The outputs of systems that answer live: which are known, which are asked for, what is set aside.

Takes queries with missing outputs. Looks outputs up in the ledger, and plans the calls that bring
the others. Says what is set aside for the judges until the outputs are there (the earmark), and how
an item is judged on which a system failed. `batch.py` sends and books, in the same way as for judges.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import final

from judgeloop.core.ends import OutputEnd
from judgeloop.core.keys import digest, output_note
from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import Generated, StopKind, StopReason
from judgeloop.core.protocols import Judge, System
from judgeloop.core.records import NOBODY, TIE, Abstention, Answer, Call, Label, Output, Pool, Query, Quote, Verdict
from judgeloop.core.thoughts import holds_thoughts
from judgeloop.engine.asks import OutputAsk, Planned, asks_for, longest_in, plan_for
from judgeloop.engine.session import ABSTENTION_GRACE
from judgeloop.engine.state import Terms
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.records import Reservation
from judgeloop.providers.redaction import MASK

TWICE = 2  # the earmark reckons with outputs of twice the longest so far
MOST_CUT = 0.05  # the share of outputs that the default limit of tokens may cut
EARMARK = "earmark"
EMPTY = "its output is empty"
SHOWN = 3  # reasons why a system failed
BY_LABEL = ("too_long", "lost", "spared")  # the figures of a system that labels tell


@dataclass(slots=True)
class SystemCounts:
    """What a system gave on the items asked so far, in the order asked."""

    asked: int = 0
    without: int = 0
    cut: int = 0
    why: str = ""
    model: str = ""
    moved: str = ""


@final
class Sources:
    """The systems of a run that answer live, by name, and what is known of their outputs."""

    def __init__(
        self,
        systems: Mapping[str, System],
        judges: Sequence[Judge],
        terms: Terms,
        fresh: AbstractSet[str] = frozenset(),
    ) -> None:
        """Nothing is known before `look_up`; outputs are `fresh` whose calls this command has made."""
        self.systems = systems
        self._judges = judges
        self._terms = terms
        self._fresh = fresh
        self._asks: dict[tuple[str, str], OutputAsk] = {}  # by system and item
        self._known: dict[str, Output] = {}  # by key
        self._longest: dict[str, int] = {}  # bytes of the longest output so far, by system
        self._judged: set[str] = set()  # keys of the outputs of items that are decided
        self._seen = {name: SystemCounts() for name in systems}
        self._counted: set[str] = set()  # keys
        self._since = dict(terms.outputs_since)  # when the oldest output that counts was recorded
        self._left_out: dict[str, int] = {}  # how many were, as another model answers now
        self._forgotten: dict[str, str] = {}  # failures: from when on outputs count, by key
        self._broken_off: set[str] = set()  # keys of the outputs that a server broke off, or never sent

    async def look_up(self, queries: Iterable[Query], ledger: Ledger) -> None:
        """Take from the ledger what it has of the missing outputs."""
        asks = {ask.key: ask for query in queries for ask in self.asks(query)}
        for name in self.systems:
            own = {key for key, ask in asks.items() if ask.system == name}
            own -= self._known.keys() | self._forgotten.keys()
            found = await ledger.outputs(sorted(own), self._since.get(name, "")) if own else {}
            for key in found.keys() - self._known.keys():  # some were given meanwhile
                self.learn(asks[key], replace(found[key], fresh=key in self._fresh))

    def leave_out(self, name: str, before: str) -> None:
        """Forget the outputs of a system that were recorded before a time: another model gave them."""
        old = [key for key, output in self._outputs(name) if output.at < before]
        self._since[name], self._left_out[name] = before, len(old)
        for key in old:
            del self._known[key]

    def forget_failures(self) -> None:
        """Forget on which items a system failed, if these are too many for its run to go on."""
        for name in (name for name, system in self.systems.items() if not system.lasts):
            own = self._outputs(name)
            failed = {key: output.at for key, output in own if not (output.text or "").strip()}
            if len(failed) > self._terms.max_failed * max(ABSTENTION_GRACE, len(own)):
                self._forgotten |= {key: _after(at) for key, at in failed.items()}
                for key in failed:
                    del self._known[key]

    def _outputs(self, name: str) -> list[tuple[str, Output]]:
        """The known outputs of a system with their keys."""
        keys = (ask.key for (owner, _), ask in self._asks.items() if owner == name)
        return [(key, self._known[key]) for key in keys if key in self._known]

    def asks(self, query: Query) -> list[OutputAsk]:
        """The calls for the outputs that `query` lacks, known or not."""
        return [self._ask(query.systems[place], query) for place in query.missing]

    def _ask(self, name: str, query: Query) -> OutputAsk:
        found = self._asks.get((name, query.item.id))
        if found is None:
            system, call = self.systems[name], Call(query.item, (name,), ())
            run = "" if system.lasts else self._terms.run_id
            note = output_note(system.identity, system.sent(query.item), run)
            found = OutputAsk(name, call, digest(note), note)
            self._asks[name, query.item.id] = found
        return found

    def learn(self, ask: OutputAsk, output: Output) -> None:
        """Take an output that is recorded."""
        self._broken_off.discard(ask.key)
        self._known[ask.key] = self.systems[ask.system].read(output)

    def taken(self, asks: Sequence[OutputAsk], replies: Sequence[Answer | Output | None]) -> Abstention | None:
        """Take the outputs of a query; return the answer to it if a call for one failed."""
        lacked = None
        for ask, reply in zip(asks, replies, strict=True):
            if isinstance(reply, Output):
                self.learn(ask, reply)
            elif isinstance(reply, Abstention):
                self._broken_off.add(ask.key)
                why = f"{ask.system} gave no output: {reply.reason}"
                lacked = Abstention(why, of_system=True)
        return lacked

    def plan(self, query: Query) -> Planned:
        """The calls that answer `query`: for its outputs alone while any is missing."""
        whole = self._filled(query)
        if whole.missing:
            return Planned(whole, (), outputs=tuple(self.asks(whole)))
        if not self._judges or query.alone == NOBODY:
            return Planned(whole, (), unasked=Verdict(TIE, reason="no judge is asked"))
        if query.missing:
            self.judged([query])
            lost = self._lost(query)
            if lost is not None:
                return Planned(whole, (), unasked=lost)
        return plan_for(whole, self._judges, self._terms)

    def judged(self, queries: Iterable[Query]) -> None:
        """Note that the outputs which `queries` lacked are shown to a judge."""
        self._judged.update(ask.key for query in queries for ask in self.asks(query))

    def output_of(self, query: Query) -> Output | None:
        """The output of the only system of a query; None if it is not known."""
        return self._known.get(self._ask(query.systems[0], query).key)

    def _filled(self, query: Query) -> Query:
        """`query` with the outputs that are known."""
        if not query.missing:
            return query
        found = {place: self._known.get(ask.key) for place, ask in zip(query.missing, self.asks(query), strict=True)}
        outputs = list(query.outputs)
        for place, output in found.items():
            outputs[place] = (output and output.text) or ""
            name = query.systems[place]
            self._longest[name] = max(self._longest.get(name, 0), len(outputs[place].encode()))
        missing = tuple(place for place, output in found.items() if output is None)
        return replace(query, outputs=tuple(outputs), missing=missing)

    def _lost(self, query: Query) -> Answer | None:
        """The answer to a query on which a system failed by itself; None if none did.

        Who failed has lost the item, without a judge. Both failing is a tie.
        """
        why = self._failed(query)
        if not why:
            return None
        said = "; ".join(f"{name} gave no output: {reason}" for name, reason in why.items())
        if self._terms.missing_abstains:
            return Abstention(said, of_system=True)
        if len(why) == len(query.systems):
            return Verdict(TIE if len(why) > 1 else 0.0, reason=said)
        return Verdict(0.0 if query.systems[0] in why else 1.0, reason=said)

    def _failed(self, query: Query) -> dict[str, str]:
        """Which systems of a query failed by themselves, and how."""
        known = ((ask.system, self._known.get(ask.key)) for ask in self.asks(query))
        return {name: one.failed for name, one in known if one is not None and one.text is None}

    def quote(self, ask: OutputAsk) -> Quote:
        """The worst case of a call for an output."""
        return self.systems[ask.system].quote(ask.call)

    def reservation(self, ask: OutputAsk) -> Reservation:
        """The reservation to make before `ask` is sent."""
        quote = self.quote(ask)
        note = {"ingredients": dict(ask.note), "price": quote.price}
        since = self._forgotten.get(ask.key) or self._since.get(ask.system, "")
        item = ask.call.item.id
        return Reservation(ask.key, quote.cost_p, item, ask.system, note, output=True, since=since)

    def earmark(self, query: Query) -> Reservation:
        """What is set aside for the judges of a query while outputs are missing.

        It is never sent: exact reservations take its place once the outputs are there.
        """
        cost_p = sum(quote.cost_p for quote in self.judging(query))
        return Reservation(earmark_key(query), cost_p, query.item.id, EARMARK, {})

    def judging(self, query: Query) -> list[Quote]:
        """The quotes of the judges' calls about a query whose outputs are not known.

        The worst case reckons with outputs of twice the longest so far, at first with those that
        the limit of tokens probably allows.
        """
        live = [(place, query.systems[place]) for place in query.missing]
        longest = {
            place: TWICE * self._longest.get(name, 0) or self.systems[name].longest_bytes for place, name in live
        }
        likely = {place: self.systems[name].likely_bytes for place, name in live}
        return [
            replace(worst, likely_cost_p=usual.likely_cost_p)
            for worst, usual in zip(self._supposing(query, longest), self._supposing(query, likely), strict=True)
        ]

    def _supposing(self, query: Query, sizes: Mapping[int, int]) -> list[Quote]:
        """The quotes of the judges' calls, were the missing outputs of these sizes."""
        outputs = list(query.outputs)
        for place, size in sizes.items():  # texts that differ: about equal ones no judge is asked
            outputs[place] = "x" * size + str(place)
        supposed = replace(query, outputs=tuple(outputs), missing=())
        asks = asks_for(supposed, self._judges, self._terms)
        return [self._judges[ask.judge].quote(ask.call) for ask in asks]

    def wrong(self, queries: Sequence[Query], most_failed: float) -> StopReason | None:
        """Why the run cannot go on after `queries`.

        A system failed, said nothing or was cut too often, or another model answers in its name.

        It depends on what was asked, in that order, and not on the order of arrival.
        """
        for query in queries:
            for ask in self.asks(query):
                self._count(ask)
        found = (self._wrong_with(name, most_failed) for name in self._seen)
        why = next(filter(None, found), None)
        return None if why is None else StopReason(StopKind.SYSTEM_FAILED, why)

    def _wrong_with(self, name: str, most_failed: float) -> str:
        """Why the run cannot go on with a system; empty if it can."""
        system, seen = self.systems[name], self._seen[name]
        of = max(ABSTENTION_GRACE, seen.asked)
        if seen.without > most_failed * of:
            anew = f"; once that is fixed, `system={system.typed}.version=TEXT` has it asked anew"
            return (
                f"{name} gave no output to {seen.without:,} of {seen.asked:,} items, more than "
                f"{100 * most_failed:.0f} %; the last reason: {seen.why}{anew if system.lasts else ''}"
            )
        if seen.moved:
            return (
                f"the server of {name} answered as {seen.model}, and then as {seen.moved}; outputs of "
                f"two models are not compared as those of one. Give `system={system.typed}.version=TEXT` "
                "to begin anew"
            )
        if seen.cut > MOST_CUT * of and system.limit_is_default:
            return (
                f"the default limit of tokens cut {seen.cut:,} of {seen.asked:,} outputs of "
                f"{name}; say how long they may be: `system={system.typed}.max-tokens=NUMBER`"
            )
        return ""

    def _count(self, ask: OutputAsk) -> None:
        output, seen = self._known.get(ask.key), self._seen[ask.system]
        if output is None or ask.key in self._counted:
            return
        self._counted.add(ask.key)
        seen.asked += 1
        seen.cut += output.ended is OutputEnd.CUT
        seen.model = seen.model or output.model
        if output.model not in {"", seen.model}:
            seen.moved = output.model
        # Servers send empty texts of models whose thoughts they keep, or that failed: that tells nothing of a system.
        if not (output.text or "").strip():
            seen.without, seen.why = seen.without + 1, output.failed or EMPTY

    def figures(self, pool: Pool, labels: Sequence[Label]) -> tuple[Generated, ...]:
        """What each system gave, of all items of `pool`; `labels` are those of the run."""
        whole, counts = self.filled(pool), Counter[tuple[str, str]]()
        for label in labels:
            asked, answer = (label.choice.position, label.choice.systems), label.answer
            failed = list(self._failed(pool.query(*asked)))
            if isinstance(answer, Abstention) and answer.too_long:
                counts[longest_in(whole.query(*asked)), "too_long"] += 1
            elif len(failed) == 1 < len(label.choice.systems):
                counts[failed[0], "lost" if isinstance(answer, Verdict) else "spared"] += 1
        return tuple(
            self._figures(name, len(pool), {what: counts[name, what] for what in BY_LABEL}) for name in self.systems
        )

    def _figures(self, name: str, items: int, by_label: Mapping[str, int]) -> Generated:
        own = self._outputs(name)
        outputs = [output for _, output in own]
        texts = [output.text for output in outputs if output.text is not None]
        why = Counter(output.failed for output in outputs if output.text is None)
        fresh = [output for output in outputs if output.fresh]
        seconds = sorted(output.seconds for output in fresh)
        old = [output.at for output in outputs if not output.fresh]
        return Generated(
            system=name,
            asked=len(fresh),
            remembered=len(old),
            oldest=min(old, default=""),
            left_out=self._left_out.get(name, 0),
            unjudged=sum(key not in self._judged for key, _ in own),
            failed=sum(why.values()),
            why=tuple(why.most_common(SHOWN)),
            ended=self._ended(name),
            empty=sum(not text.strip() for text in texts),
            thoughts=sum(map(holds_thoughts, texts)),
            masked=sum(MASK in text for text in texts),
            **by_label,
            models=tuple(dict.fromkeys(output.model for output in outputs if output.model)),
            usd=_usd(fresh) if self.systems[name].priced else None,
            usd_of_all=_usd(outputs) / len(outputs) * items if outputs and self.systems[name].priced else None,
            output_tokens=sum(output.tokens or 0 for output in fresh),
            seconds_median=statistics.median(seconds) if seconds else None,
            seconds_p95=seconds[-(-19 * len(seconds) // 20) - 1] if seconds else None,
        )

    def _ended(self, name: str) -> dict[str, int]:
        """How many outputs of a system ended in which way, but for whole ones."""
        counts = Counter(output.ended for _, output in self._outputs(name))
        counts[OutputEnd.FAILED] += sum(
            ask.key in self._broken_off for (of, _), ask in self._asks.items() if of == name
        )
        return {str(end): counts[end] for end in OutputEnd if counts[end] and end is not OutputEnd.WHOLE}

    def filled(self, pool: Pool) -> Pool:
        """`pool` with the outputs that are known, and how they ended."""
        outputs = [list(texts) for texts in pool.outputs]
        known, ends = {number: set[int]() for number in pool.live}, dict(pool.ends)
        positions = {item.id: position for position, item in enumerate(pool.items)}
        for (name, item_id), ask in self._asks.items():
            output = self._known.get(ask.key)
            number, position = pool.systems.index(name), positions[item_id]
            if ask.key in self._broken_off:
                ends[number, position] = OutputEnd.FAILED
            if output is not None:
                if output.ended is not OutputEnd.WHOLE:
                    ends[number, position] = output.ended
                outputs[number][position] = output.text or ""
                known[number].add(position)
        return replace(
            pool,
            outputs=tuple(map(tuple, outputs)),
            known={number: frozenset(places) for number, places in known.items()},
            ends=ends,
        )


def _after(at: str) -> str:
    """The next time that a ledger can record after `at` (ISO 8601)."""
    later = datetime.fromisoformat(at) + timedelta(milliseconds=1)
    return later.isoformat(timespec="milliseconds")


def _usd(outputs: Sequence[Output]) -> float:
    return float(to_usd(sum(output.cost_p for output in outputs)))


def earmark_key(query: Query) -> str:
    """The key of the earmark of a query."""
    return f"{EARMARK} {digest([query.item.id, query.systems, query.outputs])}"
