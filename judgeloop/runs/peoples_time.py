"""How long people will probably judge, what that costs, and how many items they read a second time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from judgeloop.core.money import to_usd
from judgeloop.core.records import Call
from judgeloop.engine.readings import RECENT
from judgeloop.judges.wage import HOUR_S, LONGEST_S, Wage, likely_s
from judgeloop.page.checks import checks_among
from judgeloop.report.words import count, planned, seconds
from judgeloop.settings.run_settings import RunSettings

CASES = ("low", "expected", "worst")


@dataclass(frozen=True, slots=True)
class PeoplesTime:
    """What a run takes of people, in the low, the expected and the worst case.

    They read so many items (`judgments`), and `again` of them a second time after the decision, in about `each_s`: what
    `known` answers took, or what such texts are supposed to. `cost_p` is in picodollars; zeros where nobody is paid.
    """

    judgments: tuple[int, ...]
    again: tuple[int, ...]
    each_s: float
    known: int
    seconds: tuple[float, ...]
    cost_p: tuple[int, ...]

    @property
    def said(self) -> str:
        """The expected case, in a sentence."""
        _, time, _ = self.seconds
        _, again, _ = self.again
        more = f", with {count(again, 'item')} that people read a second time" if again else ""
        pace = f"the pace of {count(self.known, 'answer')} so far" if self.known else "by the length of the texts"
        return f"The expected case is about {planned(time)} of people's time, at {seconds(self.each_s)} each ({pace}){more}."

    def to_json(self) -> dict[str, Any]:
        """The JSON values: hours, and dollars."""
        return {
            "again": dict(zip(CASES, self.again, strict=True)),
            "each_s": round(self.each_s, 1),
            "known": self.known,
            "hours": {name: round(one / HOUR_S, 4) for name, one in zip(CASES, self.seconds, strict=True)},
            "usd": {name: float(to_usd(one)) for name, one in zip(CASES, self.cost_p, strict=True)},
        }


def read_twice(judgments: int, config: RunSettings) -> int:
    """Of how many of so many judgments there is a second reading."""
    shared, repeated = config.shared or 0.0, config.repeated or 0.0
    return ceil(shared * judgments) + ceil(repeated * max(0, judgments - RECENT))


def checks(judgments: int, config: RunSettings) -> int:
    """How many items with a known answer people get who share so many judgments."""
    people = len(config.people)
    return people * checks_among(config.people_per_item * judgments // people) if config.checks else 0


def peoples_time(
    calls: Iterable[Call], judgments: Sequence[int], again: Sequence[int], config: RunSettings, pace: tuple[int, float]
) -> PeoplesTime:
    """The time for so many judgments like these calls, at the `pace` of so many answers that are known, if any.

    At most `LONGEST_S` of each is paid.
    """
    wage, found = Wage(config.human_price), [likely_s(call) for call in calls]
    known, usual = pace if pace[0] else (0, sum(found) / max(1, len(found)))
    every = [
        config.people_per_item * one + more + checks(one, config) for one, more in zip(judgments, again, strict=True)
    ]
    each = (usual, usual, LONGEST_S)
    times = tuple(number * one for number, one in zip(every, each, strict=True))
    cost_p = tuple(number * wage.cost_p(one) for number, one in zip(every, each, strict=True))
    return PeoplesTime(tuple(judgments), tuple(again), usual, known, times, cost_p)
