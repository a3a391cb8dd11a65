"""The parts of every result: what was asked, of which data, and what the judges said.

Their docstrings say what each field of the JSON holds. The question's own `result.py` has its decision.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from judgeloop.core.ends import OutputEnd
from judgeloop.core.jsonable import Part, Sentence
from judgeloop.core.keys import SOURCE
from judgeloop.core.outcomes import AnsweredBy, ControlTally, Finished, Generated
from judgeloop.core.records import Abstention, Label, Pool, Population, Verdict
from judgeloop.methods.stats.agreement import kappa
from judgeloop.methods.stats.intervals import chance_of_so_many, wilson_interval
from judgeloop.methods.stats.neighbours import ALARM
from judgeloop.report.leanings import Leanings, leanings_of
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.words import count, sentence, visible

HUMAN = "human"  # the name of a person as a judge

# If more of the verdicts surely change with the order, it says more than the outputs do.
MANY_FLIPS, SHOWN = 1 / 3, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(Part):
    """What was asked, and how: all that is known before the first judgment.

    - `systems`: the names of the systems
    - `judges`: the names of the judges
    - `judge_parameters`: of each judge what, beside its name, makes its verdicts others, such as its endpoint
    - `vote`: how a panel decides; null for a single judge
    - `rule`: the stopping rule
    - `risk_threshold`: the risk at which the rule stops
    - `guarantee`: what the risk asked for guarantees; null if nothing is proved
    - `selector`: the selector
    - `represent`: the vectors that the selector uses; null without any
    - `order`: the order of presentation; null if it cannot change a verdict
    - `about`: the items that the decision is about: the set, or items like these
    - `seed`: the seed of all random numbers
    - `calls_per_item`: the most calls for a judgment; in both orders the second may not be needed
    - `max_judgments`: the setting, of which `limit` of a comparison is what the items allow; null where all are
      there already
    - `limits`: all settings of it, if it was changed within the run: after how many draws each began to hold
    - `required_winner`: the system that must win; null if none must
    - `controlled`: true if judges that are models had to pass controls first
    - `controls_from`: whose answers these controls show; empty where none are asked
    - `advised`: true if judges that are models were asked controls, and one that does not pass is only warned of
    - `max_abstentions`: the share of items without a verdict above which the run stops
    - `fail_on_warning`: true if a warning makes exit code 5 of 0
    - `prompt`: the id of the prompt that the judges read; empty if none of them reads one
    - `rubric`: the criteria in that prompt; empty without any
    - `prices`: the price of each judge, and where it is from; empty if nothing costs
    - `old_prices`: the judges and systems whose prices are old, with their age in days
    - `asked_anew`: which judges are functions without an identity; empty if none are
    - `tier`: the service tier asked for and its price; empty for the standard tier
    - `run`: the run's id
    - `night`: the night of a suite that it belongs to; empty for none
    - `most_usd`: the most that the budget of a run may be, as `JUDGELOOP_MAX_USD` says; null without that
    - `version`: the version of judgeloop
    """

    COMPUTED = ("judge",)

    systems: tuple[str, ...]
    judges: tuple[str, ...]
    judge_parameters: tuple[dict[str, str], ...] = ()
    vote: str | None
    rule: str
    risk_threshold: float
    guarantee: str | None
    selector: str
    represent: str | None = None
    order: str | None
    about: Population = Population.THESE_ITEMS
    seed: int
    calls_per_item: int
    max_judgments: int | None = None
    limits: tuple[tuple[int, int], ...] = ()
    required_winner: str | None
    controlled: bool = False
    controls_from: str = ""
    advised: bool = False
    max_abstentions: float
    fail_on_warning: bool = False
    prompt: str = ""
    rubric: str = ""
    prices: Sentence = ""
    old_prices: dict[str, int] = field(default_factory=dict)
    asked_anew: Sentence = ""
    tier: str = ""
    run: str
    night: str = ""
    most_usd: float | None = None
    version: str

    @property
    def judge(self) -> str:
        """The name of the judge, or of several joined by " + "."""
        return " + ".join(self.judges)

    @property
    def by_source(self) -> tuple[str, ...]:
        """The judges that are known by the source of their code: once that is changed, they are other judges."""
        both = zip(self.judges, self.judge_parameters, strict=False)
        return tuple(name for name, parameters in both if SOURCE in parameters)

    @property
    def by_hand(self) -> bool:
        """Whether people alone judge; of two for each item the names end in a number."""
        return bool(self.judges) and all(name.partition(":")[0] == HUMAN for name in self.judges)

    @property
    def one_each(self) -> bool:
        """Whether two people judged each item, one in each order of presentation."""
        return self.by_hand and len(self.judges) > 1

    @property
    def one_order(self) -> bool:
        """Whether each item was shown in one order of two, drawn at random."""
        return self.order == "random"

    @property
    def sampled(self) -> bool:
        """Whether the items are a sample of what the decision is about."""
        return self.about is Population.ITEMS_LIKE_THESE

    @property
    def warnings(self) -> list[Note]:
        """Old prices, and judges whose verdicts are not found again."""
        prices = self.old_prices.items()
        found = [note(NoteCode.PRICES_OLD, judge=judge, days=days) for judge, days in prices]
        anew = sentence(self.asked_anew)
        return [*found, note(NoteCode.ASKED_ANEW, why=anew)] if self.asked_anew else found


@dataclass(frozen=True, slots=True, kw_only=True)
class DataNotes(Part):
    """What is to be known of the data.

    `usual_empty` is the number of the baseline's empty outputs, and `usual_ends` of those that are not whole.

    - `items`: number of items in the set
    - `families`: number of families that are drawn in place of items; null where items are
    - `drawn`: number of items that may be judged, if families are drawn; else null
    - `by_prompt`: true if the items of a family have the same prompt, as no column names families
    - `neighbours`: the p-value of a test of whether verdicts within ten lines of each other agree more than others;
      null for few verdicts, and where the result is about these items alone
    - `left_out`: a sentence on the items that were left out; empty if none were
    - `beyond`: rows, in words, of items that the items file does not ask for, and further outputs to an item of which
      another file has fewer; empty if there are none
    - `guessed`: a sentence on the columns that were guessed; empty if none were
    - `repeated`: the systems that gave the same output to many items, with the number of items
    - `empty`: the systems that gave an output without text to some items, with the number of items
    - `ended`: how many outputs of each system are not whole, by their end: `cut`, `filtered`, `failed`, `unknown`
    - `thoughts`: the files of which outputs hold thoughts in tags, with the number of items
    - `unanswered`: on how many of these no answer stands behind the thoughts
    """

    HIDDEN = frozenset({"usual_empty", "usual_ends"})

    items: int
    left_out: str = ""
    beyond: str = ""
    guessed: Sentence = ""
    repeated: dict[str, int] = field(default_factory=dict)
    empty: dict[str, int] = field(default_factory=dict)
    ended: dict[str, dict[str, int]] = field(default_factory=dict)
    thoughts: dict[str, int] = field(default_factory=dict)
    unanswered: dict[str, int] = field(default_factory=dict)
    usual_empty: int = 0
    usual_ends: int = 0
    families: int | None = None
    drawn: int | None = None
    by_prompt: bool = False
    neighbours: float | None = None

    @property
    def unit(self) -> str:
        """What counts once: an item, or those that are no independent draws, together."""
        return "item" if self.families is None else "prompt" if self.by_prompt else "family"

    @property
    def several(self) -> bool:
        """Whether several items of each family are judged, whose mean counts."""
        return self.families not in {None, self.drawn}

    @property
    def units(self) -> str:
        """How many families were drawn from, in words; empty where items were drawn."""
        return "" if self.families is None else count(self.families, f"{'different ' * self.by_prompt}{self.unit}")

    @property
    def warnings(self) -> list[Note]:
        """Items left out; neighbours that agree; outputs that repeat, hold thoughts, or are more often not whole."""
        same, empty = self.repeated.items(), self.empty.items()
        partial = note(NoteCode.ITEMS_LEFT_OUT, items=self.items, left_out=self.left_out)
        return [
            *([partial] if self.left_out else []),
            *([note(NoteCode.NEIGHBOURS, p=self.neighbours)] if (self.neighbours or 1) <= ALARM else []),
            *(note(NoteCode.OUTPUT_REPEATED, system=name, repeated=number, items=self.items) for name, number in same),
            *(
                note(NoteCode.OUTPUTS_EMPTY, system=name, empty=number)
                for name, number in empty
                if number > self.usual_empty
            ),
            *(
                note(
                    NoteCode.OUTPUTS_NOT_WHOLE,
                    system=name,
                    outputs=sum(ends.values()),
                    ended=ends,
                    said=said_ends(ends),
                )
                for name, ends in self.ended.items()
                if sum(ends.values()) > self.usual_ends
            ),
            *(
                note(NoteCode.THOUGHTS_JUDGED, system=name, thoughts=n, items=self.items, without=self.unanswered[name])
                for name, n in self.thoughts.items()
            ),
        ]


def said_ends(ends: Mapping[str, int]) -> str:
    """How many outputs ended in which way, in words.

    >>> said_ends({"cut": 12, "filtered": 1})
    '12 cut at a limit of tokens, 1 stopped by a filter'
    """
    return ", ".join(f"{number:,} {OutputEnd(end).said}" for end, number in ends.items())


@dataclass(frozen=True, slots=True)
class AskedBefore:
    """How often the outputs of a run met before on its items by its judges, whatever was asked of them.

    - `risks`: the risk of each such run, in the order in which they began
    - `answered`: how many of them had an answer
    - `known`: of two systems, how many verdicts that the ledger holds prefer each, if most are for the other one than
      the result names; empty else
    - `by_others`: how many more runs compared the same two outputs, by one of these judges alone or with others
    - `named`: which of two systems the latest of these runs named, by its id, if it is the other one; empty else
    """

    risks: tuple[float, ...] = ()
    answered: int = 0
    known: tuple[int, ...] = ()
    by_others: int = 0
    named: dict[str, str] = field(default_factory=dict)

    @property
    def times(self) -> int:
        """How often these outputs met before, by these judges or by one of them."""
        return len(self.risks) + self.by_others


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of a panel's judges, over the `items` judged by all of them.

    All gave the `same` verdict on so many of them; `interval` is a 95 % interval for that share.
    `name` is that of the coefficient of agreement beyond chance, and `value` its value; "" and None
    where it is not defined.
    """

    name: str
    value: float | None
    items: int
    same: int
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(Part):
    """What the judges said, in numbers.

    - `judged`: number of verdicts
    - `asked`: number of queries
    - `abstentions`: number of items without a verdict in the decision
    - `abstentions_beside`: number of items without a verdict that were asked for the groups
    - `ahead`: number of queries asked ahead whose answers were not needed
    - `further`: number of verdicts after the decision, for the groups
    - `rounds`: how often the run waited for answers
    - `both_orders`: number of verdicts in the decision that were asked in both orders of presentation
    - `flips`: how many of these changed with the order
    - `both_in_all`: as `both_orders`, with verdicts beside the decision, such as those for groups
    - `flips_in_all`: how many of these changed with the order
    - `judge_models`: the model names that each judge's server reported
    - `agreement`: the agreement of a panel's judges, as a share and beyond chance; null for one judge
    - `controls`: what each judge made of its controls, in the order of `judges`: numbers that were right,
      tied, wrong or without a verdict, and the end; null for a judge without controls
    - `generated`: what each system gave that answers live; empty without any
    - `leanings`: what the judge leans to, by its verdicts on two outputs: a place, its own word, length
    - `answered_by`: of each judge the models whose verdicts were used, one a call, with their dates; empty for one
      whose replies name no model
    - `superseded`: of each judge how many verdicts of which other models do not count, and were asked again
    - `decided_at`: when an earlier command had this result (UTC), if nothing was asked now; else empty
    """

    COMPUTED = ("flip_rate", "flip_interval")

    judged: int
    asked: int
    abstentions: int
    abstentions_beside: int = 0
    ahead: int
    further: int = 0
    rounds: int
    both_orders: int = 0
    flips: int = 0
    both_in_all: int = 0
    flips_in_all: int = 0
    judge_models: tuple[tuple[str, ...], ...]
    agreement: Agreement | None
    controls: tuple[ControlTally | None, ...] = ()
    generated: tuple[Generated, ...] = ()
    answered_by: tuple[tuple[AnsweredBy, ...], ...] = ()
    superseded: tuple[dict[str, int], ...] = ()
    leanings: Leanings = field(default_factory=Leanings)
    decided_at: str = ""

    @property
    def flip_rate(self) -> float | None:
        """The share of verdicts that changed with the order, of those asked in both orders."""
        return self.flips / self.both_orders if self.both_orders else None

    @property
    def and_beside(self) -> str:
        """How many verdicts changed with those beside the decision, as the end of a sentence; empty without any."""
        if self.both_in_all <= self.both_orders:
            return ""
        return f"; with those beside the decision {self.flips_in_all:,} of {self.both_in_all:,}"

    @property
    def flip_interval(self) -> tuple[float, float] | None:
        """A 95 % interval for `flip_rate`."""
        return wilson_interval(self.flips, self.both_orders) if self.both_orders else None

    @property
    def warnings(self) -> list[Note]:
        """A judge of which it is shown that it says otherwise in the other order in more than a third."""
        if chance_of_so_many(self.flips_in_all, self.both_in_all, MANY_FLIPS) > SHOWN:
            return []
        return [note(NoteCode.MANY_FLIPS, flips=self.flips_in_all, both=self.both_in_all)]


def changes(models: Sequence[AnsweredBy]) -> str:
    """The models that answered for a judge, the oldest first, with dates and numbers of verdicts.

    >>> old = AnsweredBy("haiku-1", 53, "2026-11-20T02:00:00.000+00:00", "2026-11-25T02:00:00.000+00:00")
    >>> changes([old, AnsweredBy("haiku-2", 1, "2026-11-26T02:00:00.000+00:00", "2026-11-26T02:00:00.000+00:00")])
    '53 by haiku-1 (2026-11-20 to 2026-11-25), 1 by haiku-2 (2026-11-26)'
    """
    dated = ((one, sorted({one.first[:10], one.last[:10]})) for one in models)
    return ", ".join(f"{one.verdicts:,} by {visible(one.model)} ({' to '.join(dates)})" for one, dates in dated)


def counts_of(
    finished: Finished[Any], *, both_orders: int = 0, flips: int = 0, pool: Pool | None = None, one_order: bool = False
) -> Counts:
    """The counts of a run, of whose decision `both_orders` verdicts were asked so, and `flips` changed.

    `pool` and `one_order` are as in `leanings_of`.
    """
    ending = finished.ending
    aside = [label for label in ending.labels if label.choice.key not in ending.deciding]
    answers = [label.answer for label in (*aside, *ending.further)]
    beside = [answer for answer in answers if isinstance(answer, Verdict)]
    return Counts(
        judged=ending.estimate.tally.judged,
        asked=ending.asked,
        abstentions=ending.estimate.tally.abstentions,
        abstentions_beside=sum(isinstance(label.answer, Abstention) for label in ending.further),
        ahead=ending.ahead,
        further=sum(isinstance(label.answer, Verdict) for label in ending.further),
        rounds=ending.rounds,
        both_orders=both_orders,
        flips=flips,
        both_in_all=both_orders + sum(verdict.both for verdict in beside),
        flips_in_all=flips + sum(verdict.flipped for verdict in beside),
        judge_models=finished.models,
        agreement=agreement_of(ending.labels),
        controls=finished.controls,
        generated=finished.generated,
        answered_by=finished.answered_by,
        superseded=finished.superseded,
        leanings=leanings_of([*ending.labels, *ending.further], finished.pool or pool, one_order=one_order),
        decided_at=finished.decided_at,
    )


def agreement_of(labels: Sequence[Label]) -> Agreement | None:
    """The agreement of a panel's judges; None if not two of them judged an item."""
    verdicts = [label.answer for label in labels if isinstance(label.answer, Verdict)]
    rows = [
        [Verdict(score).preference for score in verdict.votes if score is not None]
        for verdict in verdicts
        if verdict.votes and None not in verdict.votes
    ]
    if not rows:
        return None
    same = sum(len(set(row)) == 1 for row in rows)
    name, value = kappa(rows) or ("", None)
    return Agreement(name, value, len(rows), same, wilson_interval(same, len(rows)))
