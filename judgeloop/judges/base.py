"""What most judges have in common, and the options that every judge is made with.

Most see texts only, cost nothing, and compare outputs as well as rate one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import cast

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Judge, Questions
from judgeloop.core.records import Call, Item, Pool, Quote
from judgeloop.judges.prompt import Template
from judgeloop.page.checks import CheckItem
from judgeloop.providers.endpoint import ChatOptions


class BaseJudge:
    """A judge of texts that costs nothing; the docstrings of `protocols.Judge` hold.

    A subclass adds `identity` and `judge`, and replaces what does not fit.
    """

    order_matters = True
    blind = True
    by_hand = False
    booked = True
    priced = True
    rates = True  # False if it compares two outputs and gives no score to one

    def check(self, questions: Questions, items: Sequence[Item], max_missing: float) -> None:
        """Accept every question that it can answer.

        Raises:
            InputError: it is to rate one output, and only compares.
        """
        del items, max_missing
        if not self.rates and any(len(systems) == 1 for systems in questions):
            name = cast("Judge", self).identity.name
            raise InputError(f"`judge={name}`: it compares two outputs and gives no score to one; name another judge")

    def quote(self, call: Call) -> Quote:
        """Zero cost."""
        del call
        return Quote(0, 0)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Which `people` judge on a page, and where it is served; behind a proxy `url` is the address that they see.

    `budget_p` is the run's, in picodollars, which its owner sees. `checks` are given to people among the others. `each`
    is how many people judge each item.
    """

    people: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8765
    url: str | None = None
    budget_p: int | None = None
    checks: tuple[CheckItem, ...] = ()
    each: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(ChatOptions):
    """The options of a judge; each kind of judge uses the options that apply to it.

    Beside those of a chat model:

    - `template`: the prompt, for chat models. `deciding`: that for decision models; None for the usual one.
    - `names`: the names of servers, by the judge as typed; `server` is that of this judge's.
    - `tie_margin`: scores that differ by at most this are a tie (metrics, recorded verdicts).
    - `pool`: the items and systems that are judged, which a table of labels does not name; None before they are read.
    - `against`: the system that all others are compared with; None if there is no such system.
    - `page`: that people judge on a page; None for one person at the terminal.
    - `human_price`: dollars an hour of people's time; None if it costs nothing.
    - `lenient`: True to read a reply with thoughts before it or a fence around it (`parsing.py`).
    - `allow_plugins`: True to allow `python:` judges, which run the user's code.
    """

    template: Template
    deciding: Template | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    tie_margin: float = 0.0
    pool: Pool | None = None
    against: str | None = None
    page: PageOptions | None = None
    human_price: Decimal | None = None
    lenient: bool = False
    allow_plugins: bool = False
