"""A run that is ready to start: settings, inputs, parts, run id, terms; and the check for unused settings.

The budget bounds all money ever spent under a run's id, and a repeated command continues under the
same id. So the id is made of everything that can change the outcome: the question, the data, the
judges, and every setting that is not declared as pace, money, place or report (`setting.py`).
"""

import enum
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from judgeloop.catalogue import rules_of, selectors_of
from judgeloop.core.errors import InputError
from judgeloop.core.keys import KeyedJudge, digest, output_note
from judgeloop.core.protocols import Check, Estimator, Further, Judge, People, Selector, StoppingRule, System, T
from judgeloop.core.records import DECISION_MARGIN, Draws, Order, Pool, Population, Shown
from judgeloop.core.spend import Spend
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import CommandCalls, Terms
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.opening import look, runs_of
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import RecordedRun
from judgeloop.methods.rows import RuleRow, SelectorRow
from judgeloop.methods.selectors.families import Members, members_of
from judgeloop.report.labels import Texts
from judgeloop.report.lost import lost_first
from judgeloop.report.result import RunResult
from judgeloop.runs.earlier import met_by, noted_questions
from judgeloop.runs.inputs import Inputs, check_families, identities, since_of
from judgeloop.settings.fields import ABSTAIN
from judgeloop.settings.run_settings import ANY_SHARE, ContestSettings, RunSettings
from judgeloop.settings.setting import Role, alternatives, declared

NONE = "none"  # a value that switches a setting off, so it may be given to any selector or rule

C = TypeVar("C", bound=RunSettings)
R = TypeVar("R", bound=RunResult)
F = TypeVar("F")


@dataclass(slots=True)
class Command:
    """What the parts of a command have spent and called: the judge may be asked anew, and a suite lets a pair go on.

    `foresees`: judges and systems are asked later, and stay open.
    """

    spend: Spend = field(default_factory=Spend)
    calls: CommandCalls = field(default_factory=CommandCalls)
    foresees: bool = False


@dataclass(frozen=True, slots=True)
class Parts(Generic[T]):
    """What a session is made of: which items, what their labels mean, whether to go on.

    `check` may give a run up where the rule does not end it, and `further` asks more after the decision.
    `members` are those of each family that are judged, where families of items are drawn; () where items are.
    """

    selector: Selector[Any]
    estimator: Estimator[T]
    rule: StoppingRule[T]
    check: Check[T] | None = None
    further: Further | None = None
    members: Members = ()


@dataclass(frozen=True, slots=True)
class Prepared(Generic[C]):
    """A run of any question that is ready to start.

    - `question`: the id of what is asked, the same for every seed. `asking`: that of the draws and of what is asked
      of them, whatever systems are called. `any_limit`: that of the run whatever its limit of judgments is; empty where
      another limit is another run.
    - `ledger`: open, once the run has begun (`begin.opened`), or that of a suite. `night`: the name of a suite's night;
      `pair`: that of the pair in it.
    """

    config: C
    inputs: Inputs
    parts: Parts[Any]
    run_id: str
    question: str = ""
    asking: str = ""
    any_limit: str = ""
    ledger: Ledger | None = None
    night: str = ""
    pair: str = ""
    command: Command = field(default_factory=Command)

    @property
    def pool(self) -> Pool:
        """The items and the systems' outputs."""
        return self.inputs.pool

    @property
    def systems(self) -> dict[str, System]:
        """The systems that answer live, by name."""
        return {self.pool.systems[place]: system for place, system in self.inputs.systems.items()}

    @property
    def open_ledger(self) -> Ledger:
        """The ledger of a run that has begun."""
        assert self.ledger is not None, "`opened` has opened it"
        return self.ledger

    async def look(self, find: Callable[[LedgerReader], F]) -> F:
        """What `find` reads of the ledger of a run that has begun."""
        return await look(self.open_ledger, find)

    def terms(self, *, offline: bool = False) -> Terms:
        """The terms of the run.

        People are given as many calls as they can have in hand, in random order, without a time limit.
        """
        config, by_hand, people = self.config, self.by_hand, self.people
        return Terms(
            run_id=self.run_id,
            order=Order.RANDOM if by_hand and not config.rates else config.order,
            vote=config.vote,
            seed=config.seed,
            budget_p=config.budget_p,
            concurrency=people.at_once if people else config.concurrency,
            calls_a_minute=config.rpm,
            tokens_a_minute=config.tpm,
            timeout_s=None if by_hand else config.judge_timeout,
            deadline_s=config.deadline,
            controls=self.inputs.controls,
            controls_of=self.inputs.controls_of,
            controls_advise=config.advised,
            offline=offline,
            max_item_bytes=config.max_item_bytes,
            missing_abstains=config.missing == ABSTAIN,
            max_failed=config.most_abstentions(),
            tie_margin=DECISION_MARGIN if config.tie_margin is None else config.tie_margin,
            outputs_since={self.pool.systems[n]: day for n, day in since_of(config).items()},
            shared=config.shared or 0.0 if people else 0.0,
            repeated=config.repeated or 0.0 if people else 0.0,
        )

    def session(self, parts: Parts[T] | None = None) -> Session[T]:
        """The session of the run, from its parts, or from others."""
        made = parts or self.parts
        return Session(
            items=len(made.members) or len(self.pool),
            selector=made.selector,
            estimator=made.estimator,
            rule=made.rule,
            limits=self.limits,
            rng=np.random.default_rng(self.config.seed),
            ahead=self._ahead,
            check=made.check,
            further=made.further,
        )

    @property
    def _ahead(self) -> int | None:
        """How many steps are asked ahead; None for as many as will probably be needed.

        None are where each step depends on the whole batch before it; `auto` leaves out judges that compute in this
        process, which leave no place idle. People always have the next in hand: nobody waits for another's answer.
        """
        depends, most = self.pool.live or self.parts.further is not None, self.config.most_ahead
        if self.people and most is None and not depends:
            return self.people.at_once
        idle = any(judge.order_matters for judge in self.judges)
        return 0 if depends or (most is None and not idle) else most

    def with_texts(self, result: R) -> R:
        """A result with the texts of its items, and which of them a report shows; first those that a gate lost."""
        texts = replace(result.texts or Texts(self.pool), shown=Shown(self.config.report_texts))
        result = replace(result, texts=texts)
        return replace(result, page=result.page.with_facts(*lost_first(result)))

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judge, or the judges of a panel."""
        return self.inputs.judges

    @property
    def limits(self) -> Limits:
        """The minimum and maximum number of judgments, and the limit of abstentions."""
        return self.inputs.limits

    @property
    def places(self) -> Sequence[int]:
        """The positions of the items that may be judged: of families, those of the members that are."""
        return range(len(self.pool)) if not self.parts.members else sorted(chain(*self.parts.members))

    @property
    def judgments_a_draw(self) -> int:
        """The most judgments that a draw takes: more than one where several members of a family are judged."""
        return max(map(len, self.parts.members), default=1)

    @property
    def weights(self) -> dict[int, float]:
        """How many items each member that is judged stands for, if families are drawn."""
        families = zip(self.pool.families, self.parts.members, strict=False)
        return {place: len(family) / len(members) for family, members in families for place in members}

    @property
    def most_judgments(self) -> int:
        """The most judgments that the run may make: of all items, if further ones go to groups."""
        every = len(self.places) * max(1, len(self.pool.systems) - 1)  # of many, each other one with the baseline
        return every if self.parts.further else min(self.config.max_judgments, every)

    @property
    def most_for_groups(self) -> int:
        """How many of these only open groups or criteria are asked about, beyond `max_judgments`."""
        return max(0, self.most_judgments - self.config.max_judgments) if self.parts.further else 0

    @property
    def by_hand(self) -> bool:
        """Whether a person judges."""
        return self.inputs.by_hand

    @property
    def people(self) -> People | None:
        """The people who judge; None if none do."""
        return next((judge for judge in self.judges if isinstance(judge, People)), None)

    @property
    def booked(self) -> bool:
        """Whether the ledger books the run."""
        return all(judge.booked for judge in self.judges)

    @property
    def asked(self) -> tuple[str, ...]:
        """Some of the questions about the baseline, by which other runs know them; () without one.

        Of more than two systems, each may be the baseline of a later comparison.
        """
        if not isinstance(self.config, ContestSettings):
            return ()
        names = self.pool.systems
        places = range(len(names)) if len(names) > 2 else [names.index(self.config.trusted(names))]  # noqa: PLR2004 - a pair
        return tuple(one for place in places for one in self.asked_about(place))

    def asked_about(self, place: int) -> tuple[str, ...]:
        """Some of the questions about the system at a place."""
        judges = [KeyedJudge.of(judge.identity) for judge in self.judges]
        return noted_questions(self.pool.items, self._output_of(place), judges)

    def _output_of(self, place: int) -> Callable[[int], object]:
        """What identifies the outputs of the system at a place, by position."""
        pool = self.pool
        live, texts = self.inputs.systems.get(place), pool.outputs[place]

        def output(at: int) -> object:
            return texts[at] if live is None else output_note(live.identity, live.sent(pool.items[at]), "")

        return output

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each system's outputs, empty for one that answers live."""
        live = self.inputs.systems
        return tuple("" if at in live else digest(texts)[:LENGTH] for at, texts in enumerate(self.pool.outputs))

    @property
    def met(self) -> str:
        """Which outputs meet on which items by which judges; empty for a question that compares none."""
        if not isinstance(self.config, ContestSettings):
            return ""
        outputs = [self._output_of(place) for place in range(len(self.pool.systems))]
        return met_by(self.pool.items, outputs, [KeyedJudge.of(judge.identity) for judge in self.judges])

    @property
    def sampled(self) -> bool:
        """Whether the items are a sample of the population that the decision is about."""
        return self.inputs.sampled


def check_idle_settings(config: RunSettings, question: str, *used: SelectorRow | RuleRow) -> None:
    """Refuse a setting that only other selectors or rules of a question read than those `used`.

    Raises:
        InputError: such a setting is given, and would have no effect; the message says which selectors
            and rules read it.
    """
    rows: list[SelectorRow | RuleRow] = [*selectors_of(question), *rules_of(question)]
    taken = frozenset[str]().union(*(row.takes for row in used))
    for name in sorted(frozenset[str]().union(*(row.takes for row in rows)) - taken):
        value = getattr(config, name)
        if value in (declared(type(config))[name].default, NONE):
            continue
        takers = [_named(row) for row in rows if name in row.takes]
        shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
        raise InputError(
            f"`{name}={shown}` has no effect with {' and '.join(map(_named, used))}; it applies to "
            f"{alternatives(takers)}"
        )


def check_about(config: RunSettings, what: str, *, proves: bool, instead: str) -> None:
    """Refuse a result about items like these where `what` the settings name speaks of these items alone.

    Raises:
        InputError: nothing that is said of other items holds; the message says what to do `instead`.
    """
    if config.about == Population.ITEMS_LIKE_THESE and not proves:
        raise InputError(
            f"`about={config.about}`: {what} speaks of these items alone; use {instead}, or leave `about` out"
        )


def check_flips(config: ContestSettings, inputs: Inputs) -> None:
    """Refuse a share of flips where each pair is shown in one order, so that none is seen.

    Raises:
        InputError: such a share is given.
    """
    one_order = inputs.by_hand or config.order in {Order.RANDOM, Order.FIXED}
    if config.max_flips not in {None, ANY_SHARE} and one_order and any(judge.order_matters for judge in inputs.judges):
        raise InputError(
            f"`max_flips={config.max_flips:g}` needs verdicts in both orders, and each pair is shown in one; "
            "use `order=both` with a judge that is no person"
        )


def families_drawn(config: RunSettings, inputs: Inputs, row: SelectorRow, most: int = 1) -> Members:
    """The members of each family that are judged, at most so many, where families are drawn for items like these.

    () where each item is a draw by itself: there are no families, or the result is about these items alone.

    Raises:
        InputError: as `check_families`.
    """
    families = inputs.pool.families
    if not inputs.sampled or row.draws is not Draws.EVEN or len(families) == len(inputs.pool):
        return ()
    check_families(inputs.pool, config.risk)
    return members_of(families, most, config.seed)


def _named(row: SelectorRow | RuleRow) -> str:
    return f"`{'selector' if isinstance(row, SelectorRow) else 'rule'}={row.name}`"


LENGTH = 16  # hexadecimal digits
ASKED_ANEW = {"seed", "night", "baseline"}  # settings with which a question is asked in another way


class Ids(NamedTuple):
    """What the ledger knows a run by: as `Prepared` has them, each in `LENGTH` hex digits."""

    run: str
    question: str
    asking: str
    any_limit: str


def ids_of(
    question: str, config: RunSettings, inputs: Inputs, *, limit_moves: bool = False, within: str = "", **content: Any
) -> Ids:
    """The ids of a run, made of all that can change its outcome.

    Where the `limit_moves`, a run that has not ended goes on with another limit of judgments, under its id. `within` is
    the name of a night, each of which has runs of its own.

    The question is the same for every seed, every baseline of a search, and whatever the ids of the items are: draws
    are by their places. An asking is another where the draws are: also for items in another order, of other families,
    or with other ids if these draw orders of presentation. A gate of the other system is another, too. `content` holds
    what the run reads beside its inputs, by the name of the setting that names it: the identity of a proxy, or
    confidences.
    """
    pool = inputs.pool
    content |= {"population": inputs.population}
    data = {
        "question": question,
        "judges": [
            [judge.identity.provider, judge.identity.model, dict(judge.identity.parameters)] for judge in inputs.judges
        ],
        "systems": pool.systems,
        "items": [[item.prompt, item.reference] for item in pool.items],
        "outputs": pool.outputs,
        **({"live": identities(inputs.systems, pool.items)} if inputs.systems else {}),
        **({"since": since} if (since := since_of(config)) else {}),
        **({"judge_model": config.judge_model} if config.judge_model else {}),
        "content": {name: plain(value) for name, value in content.items()},
    }
    settings = settings_in_id(config)
    alike = {name: value for name, value in settings.items() if name not in ASKED_ANEW}
    asked = digest([data, alike])
    ids = [item.id for item in pool.items]
    own = [ids, within] if within else [ids]
    made_of = digest([data, settings, *own])
    any_limit = digest([data, settings | {"max_judgments": None}, *own])[:LENGTH] if limit_moves else ""
    drawn = [data["items"], ids if config.order.draws_order else [], data["content"]]
    if settings.get("not_worse") is not None:
        drawn.append(pool.outputs[0])
    asking = digest([question, {name: value for name, value in settings.items() if name != "night"}, drawn])
    lasts = config.night is not None or all(system.lasts for system in inputs.systems.values())
    run = made_of
    if any_limit or not lasts:
        limit = settings.get("max_judgments")
        run = _begun(made_of, any_limit, limit, runs_of(config.ledger), lasts=lasts)
    return Ids(run[:LENGTH], asked[:LENGTH], asking[:LENGTH], any_limit)


def _begun(made_of: str, any_limit: str, limit: int | None, runs: Sequence[RecordedRun], *, lasts: bool) -> str:
    """The id of a run that may have begun with another limit of judgments, or whose systems do not last.

    What has not ended goes on, and what has ended with this `limit` is shown. What has ended with another one stays as
    it is: this limit is then another test. What is behind systems that are known by their names alone may change. So a
    finished run of these is never returned: the same command begins another one. A night has a single run, whose
    outputs are new.
    """
    alike = [one for one in runs if any_limit and one.note.any_limit == any_limit and (lasts or not one.finished)]
    ended = [one.id for one in alike if one.note.limits[-1][1] == limit]
    if found := [*(one.id for one in alike if not one.finished), *ended]:
        return found[-1]
    finished = {run.id for run in runs if run.finished}
    others = (digest([made_of, number]) for number in itertools.count())
    return next(run for run in chain([made_of] * lasts, others) if run[:LENGTH] not in finished)


def settings_in_id(config: Any) -> dict[str, Any]:
    """The settings whose values are part of a run's id."""
    return {
        name: plain(getattr(config, name))
        for name, field in declared(type(config)).items()
        if field.setting.role is Role.RUN
    }


def plain(value: Any) -> Any:
    """A setting's value as a JSON value."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Path | Decimal):
        return str(value)
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return value
