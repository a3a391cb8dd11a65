"""What the time of people costs, and how long a call is likely to take them."""

from dataclasses import dataclass
from decimal import Decimal

from judgeloop.core.money import to_pico
from judgeloop.core.records import Call, Quote

LONGEST_S = 300.0  # of a call that are paid; the clock stands still while nobody is there
WORDS_A_MINUTE, TO_DECIDE_S = 240, 15.0  # how fast people read, and how long they think then
HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Wage:
    """Dollars an hour; None where nobody is paid."""

    an_hour: Decimal | None = None

    def cost_p(self, seconds: float) -> int:
        """What so many seconds of a call cost, in picodollars."""
        return 0 if self.an_hour is None else round(to_pico(self.an_hour) * min(seconds, LONGEST_S) / HOUR_S)

    def quote(self, call: Call) -> Quote:
        """The most that a call can cost, and what it is likely to."""
        price = "" if self.an_hour is None else f"people ${self.an_hour} an hour"
        return Quote(self.cost_p(LONGEST_S), self.cost_p(likely_s(call)), price=price)


def likely_s(call: Call) -> float:
    """How many seconds a call is likely to take."""
    words = sum(len(text.split()) for text in (call.item.prompt, call.item.reference or "", *call.outputs))
    return min(LONGEST_S, words / WORDS_A_MINUTE * 60 + TO_DECIDE_S)
