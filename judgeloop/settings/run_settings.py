"""The settings that all questions share: judges, items, stopping, budget, pace and files; and those of single commands.

Each field is declared with its help, what it is part of, and who may set it (`setting.py`). The
question's own `settings.py` declares the others.
"""

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, TypeVar

from annotated_types import Ge, Gt, Le, MinLen

from judgeloop.core.errors import InputError
from judgeloop.core.money import is_price_file, to_pico
from judgeloop.core.protocols import Judge
from judgeloop.core.records import MODELS_ABSTAIN, PEOPLE_SKIP, USUAL_FLIPS, Order, Population, Shown, Vote
from judgeloop.formats.own_files import HOME, LEDGER
from judgeloop.formats.tables import Source
from judgeloop.judges.catalogue import VERDICT_FORMS, is_decision, recorded_files
from judgeloop.providers.endpoint import TIERS
from judgeloop.settings import fields
from judgeloop.settings.checking import Configuration
from judgeloop.settings.setting import DOLLARS_FORM, Form, Gate, Parse, Role, Setting, anybody, declared, like, one_of
from judgeloop.settings.sources import inside, lower
from judgeloop.settings.values import amount, listed, price_text, share_or_none
from judgeloop.systems.catalogue import FORMS, files_of, source, sources
from judgeloop.systems.options import KEYS

REFERENCES = "the references"  # whose answers controls show, if no system's
ANY_MODEL = "any"  # may answer for a judge
SECOND = "B"  # the second of two systems, as a required winner
ANY_SHARE = 1.0  # of verdicts may change with the order
SHARE_OR_NONE: Form = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"const": "none"}],
    "description": "a share from 0 to 1, or none",
}
_OPTION = re.compile(rf".\.({'|'.join(KEYS)})=")  # what is said of a live system, in `doctor`
CEILING = "JUDGELOOP_MAX_USD"  # the ceiling of every budget, set by the person who pays


@dataclass(frozen=True, kw_only=True)
class MoneySettings(Configuration):
    """What may be spent, in dollars, and where it is booked."""

    budget: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = fields.money_setting(
        "Limit of dollars for this run, repeated commands included, or none.",
        may_set=lower,
        metavar="DOLLARS",
        common=True,
    ).field(Decimal("5.00"))
    charge_to: Annotated[tuple[str, ...], Parse(listed)] = fields.money_setting(
        "Budget of the ledger that the run also draws on; judgeloop budget set makes it.",
        may_set=anybody,
        metavar="NAME",
        many=True,
        adds=True,
        example=("nightly",),
    ).field(())
    ledger: fields.Ledger = LEDGER
    ledger_must_exist: bool = fields.place_setting(
        "Refuse to run without a ledger, in place of making one.", file_only=True
    ).field(False)

    @property
    def budget_p(self) -> int | None:
        """The budget in picodollars; None without a budget."""
        return None if self.budget is None else to_pico(self.budget)


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(MoneySettings):
    """The judges, their prompt and prices. Money in dollars, times in seconds."""

    judge: Annotated[tuple[str | Judge, ...], MinLen(1)] = fields.JUDGES.field()
    judge_base_url: str | None = fields.judge_setting(
        "Address of an OpenAI-compatible server.", common=True, example="http://localhost:8000/v1"
    ).field(None)
    key_command: str | None = Setting(
        "Command that prints the key of the judge's server, such as a token of a cloud. It runs without a shell, and again "
        "when the server refuses the key.",
        fields.JUDGE,
        Role.PLACE,
        metavar="COMMAND",
        file_only=True,
        example="az account get-access-token --resource https://cognitiveservices.azure.com",
    ).field(None)
    judge_name: tuple[str, ...] = fields.judge_setting(
        "Name that stands for the server's address in the keys of verdicts, so that they are found "
        "again at another address. For one judge of several: JUDGE=NAME.",
        metavar="[JUDGE=]NAME",
        many=True,
        file_only=True,
    ).field(())
    judge_price: Annotated[str | None, Parse(price_text)] = Setting(
        "Dollars per million input and output tokens, or a TOML file of prices.",
        fields.JUDGE,
        Role.MONEY,
        metavar="IN,OUT|FILE",
        common=True,
        example="2,8",
    ).field(None)
    tier: Annotated[str, one_of(TIERS)] = fields.money_setting(
        "Service tier of OpenAI models: standard, flex (cheaper and slower) or flex-or-standard "
        "(standard while flex has no capacity).",
        may_set=anybody,
    ).field("standard")
    judge_timeout: Annotated[float, Gt(0)] = Setting(
        "Seconds until an attempt times out.", fields.JUDGE, Role.PACE, anybody, file_only=True
    ).field(120.0)
    judge_max_tokens: Annotated[int | None, Ge(16)] = fields.judge_setting(
        "Maximum number of tokens in a reply. By default 512, and more for a model that thinks.", may_set=anybody
    ).field(None)
    judge_effort: Annotated[
        str | None, like(r"[a-z]+|[1-9]\d*", "a word such as low, medium or high, or a number of tokens")
    ] = fields.judge_setting(
        "How hard a model that thinks is to think: none, minimal, low, medium, high, or what else its "
        "provider offers (anthropic: also a number of tokens).",
        may_set=anybody,
    ).field(None)
    tie_margin: fields.TieMargin = None
    verdict: Annotated[str, one_of(VERDICT_FORMS)] = fields.judge_setting(
        "Form of the reply: schema, choice (vllm), tool (anthropic) or logprob; decision models have their own.",
        may_set=anybody,
    ).field("schema")
    lenient_replies: bool = fields.judge_setting(
        "Also read a reply with thoughts (<think>…</think>) before the answer, a Markdown fence "
        "around it, or its label in another case.",
        may_set=anybody,
    ).field(False)
    prompt: str | None = fields.judge_setting(
        "Prompt: your own .md file, or the name of a prompt of judgeloop.", may_set=inside
    ).field(None)
    rubric: str | None = fields.judge_setting(
        "Criteria to judge by: text or a file.", may_set=inside, common=True, example="Which answer is more helpful?"
    ).field(None)
    allow_plugins: fields.AllowPlugins = False

    @property
    def price_file(self) -> Path | None:
        """The file of the caller's own prices; None without one."""
        price = self.judge_price
        return Path(price) if price is not None and is_price_file(price) else None

    @property
    def every_judge(self) -> tuple[str | Judge, ...]:
        """Every judge that is asked: its name, or an object of the caller's."""
        return self.judge

    @property
    def specs(self) -> tuple[str, ...]:
        """Every judge that is asked by its name, as typed by the user."""
        return named(self.every_judge)


@dataclass(frozen=True, kw_only=True)
class RunSettings(JudgeSettings):
    """The settings of every run that asks judges about systems' outputs."""

    items: Source | None = fields.items_setting(
        "File of prompts and references, joined with the outputs by id or prompt.",
        may_set=inside,
        common=True,
        example="items.jsonl",
    ).field(None)
    system: fields.LiveSystems = ()
    missing: Annotated[str, one_of(fields.MISSING)] = fields.run_setting(
        "What an item is on which a system that answers live fails by itself: lost, or abstain.",
        fields.ITEMS,
        file_only=True,
    ).field(fields.MISSING[0])
    allow_partial: bool = fields.items_setting(
        "Judge only the items that all files have, and tables of verdicts (replay:FILE).",
        may_set=anybody,
        gate=Gate.GROUND,
    ).field(False)
    map: fields.ColumnMap = None
    names: Annotated[tuple[str, ...], Parse(listed)] = fields.items_setting(
        "The systems' names, in the order of their files, in place of those in the files; an empty one changes nothing.",
        metavar="NAME,...",
    ).field(())
    strip_thoughts: Annotated[tuple[str, ...], Parse(listed)] = fields.items_setting(
        "Systems whose files hold thoughts in tags: of their outputs only what stands behind `</think>` is judged.",
        may_set=anybody,
        metavar="NAME,...",
        file_only=True,
    ).field(())
    epoch: Annotated[str | None, fields.EPOCH] = replace(fields.WHICH_EPOCH, file_only=True).field(None)
    max_item_bytes: Annotated[int, Ge(1)] = fields.run_setting(
        "Maximum bytes of an item with its outputs.", fields.ITEMS, file_only=True
    ).field(1_000_000)
    seed: fields.Seed = 0
    night: fields.Night = None
    risk: Annotated[float, Gt(0), Le(1)] = fields.run_setting(
        "Stop once the stated risk of naming the wrong winner is at most this (above 0, up to 1).",
        fields.STOPPING,
        common=True,
    ).field(0.1)
    about: Annotated[str, one_of(tuple(Population))] = fields.run_setting(
        "What the result is about: items (these alone), or like-these (these are a random sample of "
        "them). like-these takes random draws and a guaranteed rule.",
        fields.STOPPING,
    ).field(Population.THESE_ITEMS.value)
    min_judgments: fields.MinJudgments = 5
    max_judgments: fields.MaxJudgments = 200
    max_abstentions: fields.MaxAbstentions = None
    fail_on_warning: bool = fields.report_setting(
        "Exit with code 5 in place of 0 if the result has a warning.",
        fields.STOPPING,
        file_only=True,
        gate=Gate.CONDITION,
    ).field(False)
    deadline: fields.Deadline = None
    concurrency: fields.Concurrency = 8
    ahead: Annotated[str, fields.AHEAD] = fields.pace_setting(
        "Number of items to ask about before the stopping rule says that they are needed: faster, but may cost more. "
        "auto: as long as few verdicts turn out not to be needed, at most 5 % in the mean, or four where that is more.",
        metavar="NUMBER",
    ).field(fields.AUTO)
    rpm: fields.CallsAMinute = None
    tpm: fields.TokensAMinute = None
    controls: Annotated[str | None, one_of(("on", "off"))] = fields.report_setting(
        "Test first whether each judge can tell an answer to the question from an answer to another "
        "question: on or off. "
        "Exit code 4: it cannot. Default: on for a comparison that has to be won or passed, and for decision models "
        "(with a rubric of yours, a warning).",
        fields.JUDGE,
        gate=Gate.CONDITION,
    ).field(None)
    judge_model: Annotated[tuple[str, ...], Parse(listed)] = fields.judge_setting(
        "Model that has to answer, as replies name it, or any; for one judge of several JUDGE=NAME. By default a gate "
        "counts the verdicts of the model that answers now, and asks those of another again, which costs them twice.",
        metavar="[JUDGE=]NAME",
        many=True,
        file_only=True,
        example=("gpt-4.1-2025-04-14",),
    ).field(())
    page: bool = fields.judge_setting(
        "With --judge human: people judge on a page in their browsers, in place of at the terminal."
    ).field(False)
    people: Annotated[tuple[str, ...], Parse(listed)] = Setting(
        "The people who judge on the page; each gets a link.",
        fields.JUDGE,
        Role.PLACE,
        metavar="NAME,...",
        example=("anna", "ben"),
    ).field(())
    people_per_item: Annotated[int, Ge(1), Le(2)] = fields.judge_setting(
        "How many people judge each item: two are a panel, of which each sees the other order, and who differ give a tie.",
        metavar="NUMBER",
    ).field(1)
    human_price: Annotated[Decimal | None, Parse(amount, DOLLARS_FORM)] = Setting(
        "Dollars for an hour of people's time, of which at most five minutes an item are paid.",
        fields.JUDGE,
        Role.MONEY,
        metavar="DOLLARS",
        example="40",
    ).field(None)
    shared: fields.Share | None = fields.place_setting(
        "Share of the judged items that a second person judges after the decision: how well people agree.", example=0.2
    ).field(None)
    repeated: fields.Share | None = fields.place_setting(
        "Share of them that whoever judged them is shown once more: how often one says the same again.",
        file_only=True,
        example=0.1,
    ).field(None)
    checks: bool = fields.place_setting(
        "Give people items with a known answer among the others: two in a person's first eight, then one in twenty. Whoever "
        "is wrong twice is asked no more.",
        file_only=True,
    ).field(False)
    page_host: str = fields.place_setting(
        "Address on which the page listens; any but 127.0.0.1 needs page-url.", file_only=True
    ).field("127.0.0.1")
    page_port: Annotated[int, Ge(0), Le(65535)] = fields.place_setting(
        "Port of the page; the next free one if it is taken, and any free one for 0.", file_only=True
    ).field(8765)
    page_url: Annotated[str | None, like(r"https?://[^/?#]+/?", "an address such as https://judge.example")] = (
        fields.place_setting(
            "Address at which people reach the page, through a proxy that adds TLS.",
            file_only=True,
            example="https://judge.example",
        ).field(None)
    )
    report_texts: Annotated[str, one_of(tuple(Shown))] = fields.REPORT_TEXTS.field(Shown.ALL.value)
    cache_dir: fields.CacheDir = HOME / "cache"

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """Lower the default minimum of judgments to a smaller maximum; put the night into the seed."""
        if (night := str(values.get("night", "")).replace("-", "")).isdecimal():
            values = values | {"seed": f"{values.get('seed') or ''}{night}"}
        most, least = str(values.get("max_judgments", "")), declared(cls)["min_judgments"].default
        if "min_judgments" not in values and most.isdecimal() and 0 < int(most) < least:
            return values | {"min_judgments": int(most)}
        return values

    @property
    def usual_limit(self) -> str:
        """For what `max_judgments` is the default, which is also the limit of whoever gives the same; empty if not.

        A rule is chosen anew: beside a table of verdicts, one that was given would be a limit, too.
        """
        fixed = {"max_judgments", "min_judgments", "rule"}
        rest = {name: getattr(self, name) for name in declared(type(self)) if name not in fixed}
        usual = self.completed(rest).get("max_judgments", declared(type(self))["max_judgments"].default)
        return f"the default{self.limit_of}" if usual == self.max_judgments else ""

    @property
    def limit_of(self) -> str:
        """What the default of the limit depends on, in words; empty where it depends on nothing."""
        return ""

    @property
    def most_ahead(self) -> int | None:
        """How many steps are asked ahead of the stopping rule; None for as many as will probably be needed."""
        return None if self.ahead == fields.AUTO else int(self.ahead)

    def most_abstentions(self, *, by_hand: bool = False) -> float:
        """The share of items that may be without a verdict."""
        usual = PEOPLE_SKIP if by_hand else MODELS_ABSTAIN
        return usual if self.max_abstentions is None else self.max_abstentions

    @property
    def order(self) -> Order:
        """The order of presentation: there is none where a single output is shown."""
        return Order.FIXED

    @property
    def vote(self) -> Vote:
        """How a panel decides: ratings are averaged."""
        return Vote.MEAN

    @property
    def require_winner(self) -> str | None:
        """The system that has to win; None if any may."""
        return None

    @property
    def gated(self) -> bool:
        """Whether a judge must pass controls for exit code 0, unless the caller says otherwise."""
        return False

    @property
    def is_gate(self) -> bool:
        """Whether the verdicts of a judge have to be those of one model: something has to hold, or controls speak."""
        return self.must_pass or self.gated or self.require_winner is not None

    @property
    def must_pass(self) -> bool:
        """Whether judges that are models must be tested by controls, and pass."""
        return self.gated if self.controls is None else self.controls == "on"

    @property
    def controlled(self) -> bool:
        """Whether controls are asked: where they must be passed, and of decision models, some of which cannot tell."""
        return self.must_pass or (self.controls is None and any(map(is_decision, self.judge)))

    @property
    def advised(self) -> bool:
        """Whether what controls show is only a warning: criteria of the caller's own may ignore the question."""
        return self.controlled and not self.must_pass and (self.rubric or self.prompt) is not None

    @property
    def models(self) -> dict[str, str]:
        """The model that has to answer for each judge, or `any`, by the judge as typed.

        Raises:
            InputError: one is said of no judge, or of all judges of a panel.
        """
        found: dict[str, str] = {}
        for given in self.judge_model:
            judge, mark, name = given.rpartition("=")
            if not mark and (given == ANY_MODEL or len(self.specs) == 1):
                found |= dict.fromkeys(self.specs, given)
            elif judge not in self.specs or not name:
                raise InputError(
                    f"`judge_model={given}`: expected {ANY_MODEL}, or JUDGE=NAME with {' or '.join(self.specs)} for JUDGE"
                )
            else:
                found[judge] = name
        return found

    def sources(self, systems: tuple[str, ...]) -> tuple[str, str]:
        """Whose answers controls show, and whose if these are too few: references first."""
        return REFERENCES, systems[0]

    @property
    def population(self) -> Population:
        """The items that the result is about, unless one order of two leaves more to chance."""
        return Population(self.about)

    @property
    def rates(self) -> bool:
        """Whether judges rate a single output in each call, and do not compare two."""
        return True

    def against(self, systems: tuple[str, ...]) -> str | None:
        """The system that all others are compared with; None if there is no such system."""
        del systems
        return None

    @property
    @abstractmethod
    def output_files(self) -> tuple[Source | str, ...]:
        """Each system: its outputs, or the name of one that answers live."""

    def questions(self, systems: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The pairs of systems that may be compared on an item, or the systems to rate.

        By default all systems are in one question.

        Raises:
            InputError: a named system is not among `systems`.
        """
        return [systems]

    def files_read(self) -> list[Path]:
        """Every file that the run reads, and its ledger."""
        given = [*files_of(self.output_files), self.items, self.price_file, self.ledger, *recorded_files(self.specs)]
        given.append(getattr(self, "vectors", None))
        return [path for path in given if isinstance(path, Path)]


@dataclass(frozen=True, kw_only=True)
class ContestSettings(RunSettings):
    """The settings of questions in which judges compare the outputs of two systems."""

    require_winner: str | None = fields.report_setting(
        "Exit with code 5 if another (B: the second) wins.",
        fields.STOPPING,
        metavar="NAME",
        common=True,
        example="new",
        gate=Gate.CONDITION,
    ).field(None)
    order: fields.ShownOrder = Order.BOTH
    vote: Vote = fields.run_setting(
        "How a panel decides: majority, mean or unanimous.", fields.JUDGE, file_only=True
    ).field(Vote.MAJORITY)
    max_flips: Annotated[float | None, Parse(share_or_none, SHARE_OR_NONE), Ge(0), Le(1)] = fields.report_setting(
        "Exit with code 4 if it is shown, at 0.05, that a larger share of the verdicts changes with the order: 0 to 1, "
        "or none. Default: 0.5 for a comparison that has to be won or passed.",
        fields.STOPPING,
        file_only=True,
        gate=Gate.CONDITION,
    ).field(None)

    @property
    def gated(self) -> bool:
        """Whether the exit code says whether a condition holds."""
        return self.required or self.max_flips not in {None, ANY_SHARE}

    @property
    def required(self) -> bool:
        """Whether the answer has to be one of those that the caller wants."""
        return self.require_winner is not None

    def most_flips(self, *, by_hand: bool = False) -> float | None:
        """The share of verdicts that may change with the order; None if any may, in a fixed order, and for people."""
        blind = by_hand or self.order is Order.FIXED
        usual = USUAL_FLIPS if self.required and not blind else None
        given = usual if self.max_flips is None else self.max_flips
        return None if given == ANY_SHARE else given

    def trusted(self, systems: tuple[str, ...]) -> str:
        """The system whose outputs controls show: the baseline."""
        return self.against(systems) or systems[self.require_winner == systems[0]]

    def sources(self, systems: tuple[str, ...]) -> tuple[str, str]:
        """Whose answers controls show, and whose if these are too few: the baseline's first."""
        return self.trusted(systems), REFERENCES

    @property
    def rates(self) -> bool:
        """False: the judge sees two outputs at a time."""
        return False


@dataclass(frozen=True, kw_only=True)
class LedgerSettings(Configuration):
    """The settings of every command that only reads a ledger."""

    ledger: fields.Ledger = LEDGER


@dataclass(frozen=True, kw_only=True)
class DoctorSettings(JudgeSettings):
    """The settings of `doctor`: what it checks, judges or systems or both."""

    judge: tuple[str | Judge, ...] = fields.JUDGES.field(())
    outputs: Annotated[tuple[Source | str, ...], Parse(sources)] = fields.items_setting(
        "With --truth: the two systems whose outputs are labelled, or one that is rated: files of outputs.",
        argument="[OUTPUTS]",
    ).field(())
    truth: tuple[Path, ...] = fields.items_setting(
        "Labels of people, as in agree: says how often the judge agrees with them. It is asked about their items, within "
        "the budget.",
        may_set=inside,
        metavar="FILE",
        many=True,
        common=True,
        example=("labels.csv",),
    ).field(())
    system: tuple[str, ...] = Setting(
        "A system that answers live to check, and its settings as NAME.KEY=VALUE.",
        fields.ITEMS,
        Role.KEY,
        metavar="NAME",
        many=True,
        adds=True,
        common=True,
        example=("openai/gpt-5-mini",),
    ).field(())

    @property
    def systems(self) -> list[str]:
        """The systems to check, as typed."""
        return [one for one in self.system if not _OPTION.search(one)]

    @property
    def options(self) -> list[str]:
        """What the caller says of them."""
        return [one for one in self.system if _OPTION.search(one)]


Answerer = Annotated[
    Path | str, Parse(source), Setting(f"The system that answers: {FORMS}.", fields.ITEMS, Role.KEY, argument="SYSTEM")
]
ExportOnly = Annotated[
    bool, fields.report_setting("Write the outputs that are in the ledger, and ask for none.", fields.MONEY)
]


@dataclass(frozen=True, kw_only=True)
class GenerateSettings(MoneySettings):
    """All settings of `generate`; those that it shares with a run have the same names and defaults."""

    outputs: Answerer
    items: Path = fields.items_setting(
        "File of prompts to answer.", may_set=inside, common=True, example="items.jsonl"
    ).field()
    system: fields.LiveSystems = ()
    allow_plugins: fields.AllowPlugins = False
    map: fields.ColumnMap = None
    first: Annotated[int | None, Ge(1)] = fields.run_setting(
        "Only the first so many items, in the random order in which compare draws with the same seed.",
        fields.SELECTION,
        common=True,
        example=100,
    ).field(None)
    seed: fields.Seed = 0
    max_abstentions: fields.MaxAbstentions = None
    export_only: ExportOnly = False
    deadline: fields.Deadline = None
    concurrency: fields.Concurrency = 8
    rpm: fields.CallsAMinute = None
    tpm: fields.TokensAMinute = None


def named(judges: Iterable[object]) -> tuple[str, ...]:
    """The judges that are given by name."""
    return tuple(one for one in judges if isinstance(one, str))


C = TypeVar("C", bound=MoneySettings)


def within_ceiling(config: C, environment: Mapping[str, str]) -> C:
    """`config` with a budget of at most the ceiling.

    The default budget is lowered to the ceiling. A budget that was given is never changed.

    Raises:
        InputError: the budget that was given exceeds the ceiling, or the ceiling is no amount.
    """
    ceiling = ceiling_of(environment)
    if ceiling is None or (config.budget is not None and config.budget <= ceiling):
        return config
    if config.budget is declared(type(config))["budget"].default:  # not given: the very value
        return replace(config, budget=ceiling)
    given = "none" if config.budget is None else config.budget
    raise InputError(
        f"`budget={given}`: {CEILING} allows no run more than ${ceiling}; give at most that, or ask "
        "the person who set the variable"
    )


def ceiling_of(environment: Mapping[str, str]) -> Decimal | None:
    """The most that a budget may be, in dollars; None without a limit.

    Raises:
        InputError: it is no amount.
    """
    given = environment.get(CEILING)
    if given is None or not given.strip():
        return None
    try:
        ceiling = amount(given.strip())
    except ValueError:
        ceiling = None
    if ceiling is None:
        raise InputError(f"{CEILING}: expected dollars such as 5.00, found {given!r}")
    return ceiling
