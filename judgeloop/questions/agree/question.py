"""Whether a judge may be trusted: it is asked about the items that people labelled, or people are asked after it.

`question.py` of `questions/` runs it. Labels in files cost nothing, and the judge is asked about their items. A person
who is asked comes second: the judge has then judged all items that may be drawn, and each label may end the run.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, cast

import numpy as np

from judgeloop.catalogue import selector_row
from judgeloop.core.errors import InputError, some
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.outcomes import Finished, StopKind, StopReason
from judgeloop.core.protocols import Judge, SoFar
from judgeloop.core.records import (
    ONE_SYSTEM,
    TIE,
    TWO_SYSTEMS,
    UNLIMITED,
    Abstention,
    Call,
    Item,
    Pool,
    Population,
    Verdict,
    as_score,
)
from judgeloop.engine.asks import ANEW, BY_ANOTHER
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, Terms, unobserved
from judgeloop.formats.labels import Labels, people_of, read_labels
from judgeloop.judges.base import PageOptions
from judgeloop.judges.catalogue import parse_spec
from judgeloop.judges.human import HumanJudge
from judgeloop.judges.page import PageJudge
from judgeloop.judges.wage import Wage
from judgeloop.ledger.opening import open_reader
from judgeloop.methods.estimators.agreement import Paired, Pairing, merged
from judgeloop.methods.selectors.families import by_family, members_of
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.hedged import VERSION
from judgeloop.methods.stopping.agreement import Agreeing, Asked
from judgeloop.questions.agree import page
from judgeloop.questions.agree.result import Agreed, AgreeOptions, agreed_of
from judgeloop.questions.agree.settings import AGAIN, OF_LEDGER, QUESTION, USUAL_ZONE, AgreeSettings
from judgeloop.questions.question import Question, Ran
from judgeloop.report.page import Page
from judgeloop.report.records import HUMAN
from judgeloop.runs.begin import conducted, opened
from judgeloop.runs.description import data_notes, setup_of
from judgeloop.runs.forecast import Forecast, Left, Range, forecast
from judgeloop.runs.inputs import Inputs, answered, read_inputs
from judgeloop.runs.judging import checked_judge, judge_options
from judgeloop.runs.people import page_options
from judgeloop.runs.peoples_time import read_twice
from judgeloop.runs.prepared import Command, Parts, Prepared, families_drawn
from judgeloop.runs.telling import standing_of, told
from judgeloop.settings import values

# Ends of the judge's run after which it was asked about every item that may be drawn.
WHOLE = {StopKind.ALL_JUDGED, StopKind.POOL_EXHAUSTED, StopKind.JUDGMENT_LIMIT}
MOST_SYSTEMS = 2
NO_VERDICT = Abstention("the judge gave no verdict")


@dataclass(frozen=True, slots=True)
class AgreeInputs(Inputs):
    """The inputs, with what people said, who is asked, how many items have no label, and whom a list of runs names."""

    people: tuple[Labels, ...] = ()
    truth: Judge | None = None
    unlabelled: int = 0
    tested: tuple[Judge, ...] = ()

    @property
    def named(self) -> tuple[Judge, ...]:
        """The judge that is tested, also while people are asked."""
        return self.tested or self.judges

    @property
    def by_hand(self) -> bool:
        """Whether a person is asked."""
        return any(judge.by_hand for judge in self.judges) or (self.truth is not None and self.truth.by_hand)


class AgreeQuestion(Question[AgreeSettings, Paired, Agreed]):
    """May this judge be trusted?"""

    name, result = QUESTION, Agreed

    def check(self, config: AgreeSettings) -> None:
        """Refuse what cannot be answered: systems that are too many or answer live, and gates without their labels."""
        if len(config.outputs) > MOST_SYSTEMS:
            raise InputError(
                f"expected outputs of two systems, or of one that is rated; found {len(config.outputs)} files"
            )
        if len(config.judge) > 1:
            raise InputError(f"`judge`: expected one judge to test, found {len(config.judge)}")
        if live := [one for one in config.outputs if isinstance(one, str)]:
            raise InputError(
                f"{live[0]} answers live, and labels are of outputs that are there; write them first: judgeloop generate"
            )
        asked = [one for one in config.truth if isinstance(one, str) and one != OF_LEDGER]
        if len(asked) > 1 or config.people_per_item > 1:
            two = " and `people_per_item=2`; `shared` asks a second person" if config.people_per_item > 1 else ""
            raise InputError(f"`truth`: expected one who is asked, found {some(asked)}{two}")
        if config.require_agreement is not None and config.require_agreement + config.zone >= 1:
            usual, smaller = "the usual " * (config.zone == USUAL_ZONE), (1 - config.require_agreement) / 2
            raise InputError(
                f"`require_agreement={config.require_agreement:g}` and {usual}`zone={config.zone:g}`: expected a sum below "
                f"1; give a smaller `zone`, such as {smaller:.2g}, or require less"
            )
        if config.require_kappa is not None and config.about == Population.THESE_ITEMS and not config.judge_all:
            raise InputError(
                "`require_kappa` is about items like these; leave `about` out, give `judge_all`, or gate "
                "`require_agreement`"
            )
        if config.scale is not None and not config.rates:
            raise InputError("`scale` is that of ratings of one system; labels of two are votes in words")
        if (config.again and config.judge_all) or (asked and (config.again or config.judge_all)):
            raise InputError(
                "`again` and `judge_all`: expected one of the two, and labels that are there, as a file or `truth=ledger`; a "
                "person is asked once, and the judge has then judged all items"
            )
        if config.half_width is not None and not asked:
            raise InputError(
                "`half_width`: labels in files are looked at once; it says how long `truth=human` is asked"
            )

    def inputs(self, config: AgreeSettings, environment: Mapping[str, str], *, offline: bool) -> Inputs:
        """What is read, with the labels; without anybody to ask, only the items that have one."""
        judging = _of_judge(config)
        tables = [one for one in config.truth if not isinstance(one, str)]
        alone = len(tables) == len(config.truth) and not config.judge_all
        people: list[Labels] = []
        whole: list[Item] = []

        def labelled(pool: Pool) -> Pool:
            """The items that are judged: where all labels are in tables, the judge need know no others."""
            people.extend(people_of(label for one in tables for label in read_labels(one, pool, config.scale_ends)))
            whole.extend(pool.items)
            return pool.only({pool.items[at].id for at in _labelled(people)}) if alone else pool

        found = read_inputs(judging, environment, offline=offline, narrowed=labelled)
        pool, truth = found.pool, None
        kept, without = {item.id for item in pool.items}, len(whole) - len(_labelled(people))
        left = [at for at, item in enumerate(whole) if item.id in kept]
        people = [replace(one, scores=tuple(one.scores[at] for at in left)) for one in people]
        if OF_LEDGER in config.truth:
            people += _of_ledger(config, pool, environment)
        if config.asked is not None:
            asking = replace(config, judge=(config.asked,))
            options = judge_options(asking, environment, rating=config.rates, offline=offline)
            shown = page_options(asking, pool.systems, partial(answered, pool))
            options = replace(options, page=shown, human_price=config.human_price)
            truth = checked_judge(config.asked, options, config, pool)
        places = sorted(_labelled(people))
        unlabelled = 0 if truth else without if alone else len(pool) - len(places)
        if len(places) < len(pool) and not truth and not config.judge_all:
            people = [replace(one, scores=tuple(one.scores[at] for at in places)) for one in people]
            pool = pool.only({pool.items[at].id for at in places})
        if config.not_worse_than_a_person is not None:
            _check_two(people, truth)
        every = {name: getattr(found, name) for name in Inputs.__dataclass_fields__}
        every |= {"joined": replace(found.joined, pool=pool)}
        return AgreeInputs(**every, people=tuple(people), truth=truth, unlabelled=unlabelled)

    def identity(self, config: AgreeSettings, inputs: Inputs) -> dict[str, Any]:
        """What people said, and who is asked; the stakes of the bets; if the judge is asked anew, the day."""
        given = cast("AgreeInputs", inputs)
        asked = given.truth and [given.truth.identity.name, dict(given.truth.identity.parameters)]
        said = [[one.person, [None if math.isnan(x) else x for x in one.scores]] for one in given.people]
        return {"truth": [asked, said], "stakes": VERSION, **({"again": _mark()} if config.again else {})}

    def parts(self, config: AgreeSettings, inputs: Inputs) -> Parts[Paired]:
        """Random draws of all items, verdicts side by side, and the rule."""
        given = cast("AgreeInputs", inputs)
        members = families_drawn(config, inputs, selector_row("compare", "random"))
        labelled = _labelled(given.people)
        if members and config.judge_all:  # of a family one with a label, if there is one
            known = [[at for at in one if at in labelled] or one for one in inputs.pool.families]
            members = members_of(known, 1, config.seed)
        items = len(members) or len(inputs.pool)
        queries = (ONE_SYSTEM,) if config.rates else (TWO_SYSTEMS,)
        gates = []
        if (least := config.require_agreement) is not None:
            gates.append(Asked("agreement", least, least + config.zone))
        if (least := config.require_kappa) is not None:
            gates.append(Asked("kappa", least, least))
        if (least := config.not_worse_than_a_person) is not None:
            gates.append(Asked("person", -least, 0.0))
        rule = Agreeing(
            threshold=config.risk,
            items=UNLIMITED if inputs.sampled else items,
            limit=min(config.max_judgments, len(labelled) if config.judge_all else items),
            gates=tuple(gates),
            half_width=config.half_width,
            once=given.truth is None,
        )
        people = np.array([one.scores for one in given.people]).reshape(len(given.people), len(inputs.pool))
        estimator = Pairing(people, config.step, inputs.sampled)
        return Parts(by_family(Random(queries), members), estimator, rule, members=members)

    async def ask(
        self,
        run: Prepared[AgreeSettings],
        terms: Terms,
        interruption: Interruption | None = None,
        observe: Observe[Paired] = unobserved,
    ) -> tuple[Parts[Paired], Finished[Paired]]:
        """Ask the judge about all items that may be drawn, then, if somebody is asked, them until it is enough."""
        given = cast("AgreeInputs", run.inputs)
        estimator = cast("Pairing", run.parts.estimator)
        if given.truth is None:
            parts, finished = await super().ask(run, terms, interruption, observe)
            finished = _with_people(finished, estimator, {})
            if run.config.judge_all:
                return _of_labelled(parts, finished, given)
            if not run.config.again or terms.offline or finished.ending.stop.kind not in WHOLE:
                return parts, finished
            some = replace(run, inputs=replace(given, limits=replace(run.limits, min_judgments=1, max_judgments=AGAIN)))
            anew: Finished[Paired] = await conducted(
                some.session(),
                run,
                replace(terms, anew=_mark(), controls=(), controls_of=None),
                judges=run.judges,
                interruption=interruption,
            )
            said = {label.choice.position: estimator.score(label) for label in anew.ending.labels}
            parts = replace(parts, estimator=replace(estimator, again=said))
            return parts, replace(finished, spend=anew.spend, decided_at=anew.decided_at)
        alone = replace(run, inputs=replace(given, truth=None))
        every = replace(run.parts, rule=replace(cast("Agreeing", run.parts.rule), once=True))
        first = await conducted(
            run.session(every), alone, alone.terms(offline=terms.offline), interruption=interruption
        )
        stop = first.ending.stop
        if stop.kind not in WHOLE:
            session: Session[Paired] = run.session()
            session.ask()
            session.tell([], halt=StopReason(stop.kind, f"the judge has not judged every item: {stop.sentence}"))
            return run.parts, replace(first, ending=session.ending())
        verdicts = {
            label.choice.position: label.answer for label in first.ending.labels if isinstance(label.answer, Verdict)
        }
        judged = np.full(len(run.pool), math.nan)
        for at, verdict in verdicts.items():
            judged[at] = verdict.score if run.config.rates else as_score(verdict.preference)
        parts = replace(run.parts, estimator=replace(estimator, judged=judged))
        person = _of_truth(run)
        second = await conducted(
            person.session(parts),
            person,
            person.terms(offline=terms.offline),
            judges=person.judges,
            interruption=interruption,
            observe=unobserved if terms.offline else await self._told(run, person),
        )
        both = _with_people(second, cast("Pairing", parts.estimator), verdicts)
        found = {
            name: getattr(second, name)
            for name in ("spend", "decided_at", "read_again", "to_read_again", "people", "checked")
        }
        return parts, replace(first, ending=both.ending, **found)

    def of_people(self, run: Prepared[AgreeSettings]) -> Prepared[AgreeSettings]:
        """The run as it asks whoever is believed, if somebody is asked."""
        return run if cast("AgreeInputs", run.inputs).truth is None else _of_truth(run)

    async def _told(self, run: Prepared[AgreeSettings], person: Prepared[AgreeSettings]) -> Observe[Paired]:
        """An observer that tells whoever is believed how far the run is."""
        twice, rule = read_twice(person.most_judgments, person.config), cast("Agreeing", person.parts.rule)
        found = await self.forecast(replace(run, command=Command(foresees=True)))
        first = standing_of(found, SoFar(0, person.most_judgments + twice, again=twice))
        if rule.gates or rule.half_width:  # nobody knows what it usually takes
            first = replace(first, usual=None)
        return told(person, unobserved, partial(self.more, person), first, found)

    async def forecast(self, run: Prepared[AgreeSettings]) -> Forecast:
        """As for all questions, with whoever is believed behind the judge, and what it costs to ask the judge anew."""
        if cast("AgreeInputs", run.inputs).truth is not None and run.booked:
            with opened(run, offline=True) as begun:
                its = begun.terms(offline=True)
                ran = await self._ran(begun, its)
                result, person = await self._concluded(ran), _of_truth(begun)
                finished = replace(ran.finished, counting=())  # those of the judge, as the controls are
                terms, left = replace(person.terms(offline=True), controls=its.controls), self.left(ran)
                return await forecast(person, terms, replace(left, tested=left.first), result, finished)
        if not run.config.again:
            return await super().forecast(run)
        with opened(run, offline=True) as begun:
            terms = begun.terms(offline=True)
            ran = await self._ran(begun, terms)
            left, result = self.left(ran), await self._concluded(ran)
            systems = ONE_SYSTEM if run.config.rates else TWO_SYSTEMS
            queries = [run.pool.query(at, systems) for at in list(run.places)[:AGAIN]]
            more = Range(*(number + len(queries) for number in left.judgments))
            left = replace(left, judgments=more, queries=[*left.queries, *queries])
            return await forecast(begun, replace(terms, anew=_mark()), left, result, ran.finished)

    def left(self, ran: Ran[AgreeSettings, Paired]) -> Left:
        """The items about which the judge is not asked yet."""
        run = ran.run
        ending = ran.finished.ending
        done = {label.choice.position for label in (*ending.labels, *ending.further)}
        systems = ONE_SYSTEM if run.config.rates else TWO_SYSTEMS
        places: Iterable[int] = run.places
        asks = cast("AgreeInputs", run.inputs).truth is not None
        if asks:  # both are asked about what is drawn alone
            places = [choice.position for choice in islice(run.session().ahead(), run.most_judgments)]
        queries = [run.pool.query(at, systems) for at in places if at not in done]
        over = ending.stop.kind is not StopKind.DRY_RUN
        more = 0 if over else max(0, min(run.most_judgments, len(run.places)) - len(done))
        rule, tally = cast("Agreeing", ran.parts.rule), ending.estimate.tally
        low = next((number for number in range(1, more) if rule.can_be_met(tally, number)), more)
        assumed = "that all allowed judgments are made, though fewer may be enough" if low < more else None
        return Left(Range(low, more, more), assumed, queries, len(done), first=run.judges if asks else ())

    def result_of(self, ran: Ran[AgreeSettings, Paired]) -> Agreed:
        """The figures of the run."""
        run, parts, config = ran.run, ran.parts, ran.run.config
        given, rule = cast("AgreeInputs", run.inputs), cast("Agreeing", parts.rule)
        people = [one.person for one in given.people] + ([given.truth.identity.name] if given.truth else [])
        judged = cast("Pairing", parts.estimator).judged
        setup = setup_of(replace(run, inputs=replace(given, truth=None)), rule, "random")
        if given.truth is not None and judged is not None:
            setup = replace(setup, max_abstentions=_of_truth(run).limits.max_abstentions)
        return agreed_of(
            ran.finished,
            setup,
            AgreeOptions(
                people=tuple(people),
                half_width=config.half_width,
                zone=config.zone if config.require_agreement is not None else None,
                step=config.step,
                chosen=given.truth is None,
                read=tuple(dict.fromkeys(one.read for one in given.people)),
                left_out=tuple(dict.fromkeys(chain.from_iterable(one.left_out for one in given.people))),
                unlabelled=given.unlabelled,
                judge_all=config.judge_all,
            ),
            data_notes(run, ran.finished.pool),
            rule=rule,
            pool=run.pool,
            judged=judged,
            again=cast("Pairing", parts.estimator).again,
        )

    def page(self, result: Agreed) -> Page:
        """A result in sentences and tables."""
        return page.page(result)

    def so_far(self, tally: Paired, systems: tuple[str, ...], longest: int) -> str:
        """How often the two agree so far."""
        del systems, longest
        return f"equal on {int(np.nansum(tally.equal)):,} of {tally.judged:,}" if tally.judged else ""


def _of_judge(config: AgreeSettings) -> AgreeSettings:
    """The settings of the judge alone: what is said of people is said of those who are believed."""
    if config.asked == HUMAN:
        config = replace(
            config, page=False, people=(), page_url=None, human_price=None, shared=None, repeated=None, checks=False
        )
    reads = any("rubric" in parse_spec(spec)[0].reads for spec in config.specs)
    return config if reads or not {HUMAN, OF_LEDGER} & {*map(str, config.truth)} else replace(config, rubric=None)


def _labelled(people: Iterable[Labels]) -> frozenset[int]:
    """The positions of the items that somebody labelled."""
    return frozenset[int]().union(*(one.places for one in people))


def _of_truth(run: Prepared[AgreeSettings]) -> Prepared[AgreeSettings]:
    """The run as it asks whoever is believed: people may skip more items than a model."""
    given = cast("AgreeInputs", run.inputs)
    assert given.truth is not None
    asked = replace(given, judges=(given.truth,), controls=(), controls_of=None)
    limits = replace(given.limits, max_abstentions=run.config.most_abstentions(by_hand=given.truth.by_hand))
    return replace(run, inputs=replace(asked, tested=given.judges, limits=limits))


def _mark() -> str:
    """What the keys of verdicts have that are asked anew: the day, so that the same command pays once a day."""
    return values.today().isoformat()


def _of_ledger(config: AgreeSettings, pool: Pool, environment: Mapping[str, str]) -> list[Labels]:
    """What people said of these outputs in earlier runs, by the rubric of this one; then what a second person said.

    Raises:
        InputError: there is no ledger, or it has no such verdict.
    """
    options = judge_options(replace(config, judge=(HUMAN,)), environment, rating=config.rates, offline=True)
    rubric, wage = options.template.rubric, Wage(None)
    asked = [  # the page's identity needs none of what its server needs
        HumanJudge(rubric=rubric, wage=wage).identity,
        PageJudge(rubric=rubric, wage=wage, options=PageOptions()).identity,
    ]
    systems = ONE_SYSTEM if config.rates else TWO_SYSTEMS
    orders = {systems, systems[::-1]}
    another = [replace(who, parameters={**who.parameters, ANEW: BY_ANOTHER}) for who in asked]
    keys = {
        KeyIngredients.of(who, Call(query.item, query.systems, query.outputs), blind=True).key: (place, at, order)
        for place, people in enumerate((asked, another))
        for who in people
        for at in range(len(pool))
        for order in orders
        for query in [pool.query(at, order)]
    }
    with open_reader(config.ledger) as reader:
        known = reader.verdicts(list(keys))
    said = np.full((2, len(pool)), math.nan)
    for key, verdict in known.items():
        place, at, order = keys[key]
        score, before = verdict.score if order == systems else 1.0 - verdict.score, said[place, at]
        said[place, at] = score if config.rates or math.isnan(before) or before == score else TIE
    if np.isnan(said).all():
        raise InputError(
            f"`truth={OF_LEDGER}`: {config.ledger} has no verdict of a person on these outputs, by this rubric"
        )
    read = f"{config.ledger}: what people said at the terminal or on a page"
    names = (OF_LEDGER, f"{OF_LEDGER}, a second person")
    return [
        Labels(name, tuple(row.tolist()), read)
        for name, row in zip(names, said, strict=True)
        if not np.isnan(row).all()
    ]


def _check_two(people: Sequence[Labels], truth: Judge | None) -> None:
    """Refuse a comparison with people where no item was labelled by two."""
    counted = [one for labels in people for one in labels.places]
    if truth is None and len(set(counted)) == len(counted):
        raise InputError(
            "`not_worse_than_a_person`: expected items that two people labelled, found none; give a table of each, "
            "`truth=anna.csv` and `truth=ben.csv`, or one with a column for each"
        )


def _of_labelled(
    parts: Parts[Paired], finished: Finished[Paired], given: AgreeInputs
) -> tuple[Parts[Paired], Finished[Paired]]:
    """A run in which the judge judged all items as one about those with a label, beside which the others stand."""
    ending, estimator = finished.ending, cast("Pairing", parts.estimator)
    rule = cast("Agreeing", parts.rule)
    labelled = _labelled(given.people)
    own = tuple(label for label in ending.labels if label.choice.position in labelled)
    further = tuple(label for label in ending.labels if label.choice.position not in labelled)
    judged = np.full(len(given.pool), math.nan)
    for label in ending.labels:
        judged[label.choice.position] = estimator.score(label)
    every = ending.labels if math.isfinite(rule.population) else further
    scores = np.array([judged[label.choice.position] for label in every])
    others = scores[~np.isnan(scores)]
    tally = Pairing(estimator.people, estimator.step, estimator.sampled).tally(own, ending.estimate.tally.items)
    if further and ending.stop.kind is StopKind.POOL_EXHAUSTED:
        said = "the judge was asked about every item, with a label or without"
        ending = replace(ending, stop=StopReason(StopKind.POOL_EXHAUSTED, said))
    ending = replace(
        ending,
        estimate=replace(ending.estimate, tally=tally),
        labels=own,
        further=further,
        deciding=frozenset(label.choice.key for label in own),
    )
    whole = math.isinf(rule.population) or len(others) == rule.population
    rule = replace(rule, others=others if whole else None)
    return (replace(parts, rule=rule, estimator=replace(estimator, judged=judged)), replace(finished, ending=ending))


def _with_people(finished: Finished[Paired], estimator: Pairing, verdicts: Mapping[int, Verdict]) -> Finished[Paired]:
    """A run whose labels are the judge's, with people's behind them; `verdicts` has them, if a person was asked."""
    labels = []
    for label in finished.ending.labels:
        at = label.choice.position
        said, own = estimator.people[:, at].tolist(), label.answer
        if estimator.judged is not None:
            said.append(own.score if isinstance(own, Verdict) else math.nan)
            own = verdicts.get(at, NO_VERDICT)
        labels.append(merged(label, own, said) if isinstance(own, Verdict) else replace(label, answer=own))
    return replace(finished, ending=replace(finished.ending, labels=tuple(labels)))
