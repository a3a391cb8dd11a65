"""What a report says of a run beside figures: who is asked and how, what the data is like, what was tested before."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from judgeloop.core.outcomes import Ending
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import UNLIMITED, Order, Pool, Population, Verdict
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import RecordedRun, RunNote
from judgeloop.methods.stats.neighbours import neighbours_risk
from judgeloop.providers.pricing import Metered, old_prices, price_sentence, today
from judgeloop.report.records import AskedBefore, DataNotes, Setup
from judgeloop.runs.earlier import ANSWERED, askings, place_of
from judgeloop.runs.inputs import required_winner
from judgeloop.runs.prepared import Prepared
from judgeloop.settings.run_settings import ContestSettings

# An output counts as repeated from this many items and this share of the items on.
FEWEST_REPEATS, REPEATED_SHARE = 3, 0.2

_version = cache(version)  # a file is read for it


def setup_of(prepared: Prepared[Any], rule: StoppingRule[Any], selector: str, *, represent: str | None = None) -> Setup:
    """What is known of a run before its first judgment."""
    config, judges, terms = prepared.config, prepared.judges, prepared.terms()
    prompt, systems = prepared.inputs.prompt, tuple(prepared.inputs.systems.values())
    swayed = [judge for judge in judges if judge.order_matters]
    tiers = [(judge, judge.tier_note) for judge in judges if isinstance(judge, Metered)]
    limit = prepared.limits.max_judgments
    order = Order.BOTH if prepared.by_hand and len(judges) > 1 else terms.order  # one for each of two people
    twice = len(swayed) if terms.order is Order.BOTH else 0
    return Setup(
        systems=prepared.pool.systems,
        judges=tuple(judge.identity.name for judge in judges),
        judge_parameters=tuple(dict(judge.identity.parameters) for judge in judges),
        vote=config.vote.value if len(judges) > 1 else None,
        rule=rule.name,
        risk_threshold=rule.threshold,
        guarantee=rule.guarantee,
        selector=selector,
        represent=represent,
        prompt=prompt.id if prompt else "",
        rubric=prepared.inputs.rubric,
        order=order.value if swayed and not config.rates else None,
        seed=config.seed,
        calls_per_item=len(judges) + twice,
        max_judgments=limit if prepared.booked and limit < UNLIMITED else None,
        limits=prepared.limits.held,
        required_winner=required_winner(config, prepared.pool.systems),
        controlled=config.must_pass or (bool(prepared.inputs.controls) and not config.advised),
        controls_from=prepared.inputs.controls_from,
        advised=config.advised and bool(prepared.inputs.controls),
        max_abstentions=prepared.limits.max_abstentions,
        fail_on_warning=config.fail_on_warning,
        old_prices=old_prices((*judges, *systems), today()),
        prices=price_sentence(judges, systems),
        tier="; ".join(f"{judge.identity.name} at {text}" for judge, text in tiers if text),
        asked_anew="; ".join(
            f"{judge.identity.name} was asked anew, because {why}: give `version` to have its verdicts remembered"
            for judge in config.every_judge
            if not isinstance(judge, str) and (why := getattr(judge, "unknown", None))
        ),
        about=Population.ITEMS_LIKE_THESE if prepared.sampled else Population.THESE_ITEMS,
        run=terms.run_id,
        night=prepared.night,
        most_usd=None if (most := prepared.inputs.most_usd) is None else float(most),
        version=_version("judgeloop"),
    )


def neighbours_alike(prepared: Prepared[Any], ending: Ending[Any]) -> float | None:
    """The p-value of a test of whether verdicts on neighbours in the files agree more than others.

    None where the result is about these items alone, and for few verdicts.
    """
    first = {members[0] for members in prepared.parts.members}  # those of one family may agree
    deciding = [
        label
        for label in ending.labels
        if label.choice.key in ending.deciding and (not first or label.choice.position in first)
    ]
    judged = [
        (label.choice.position, label.answer.score if prepared.config.rates else label.answer.preference)
        for label in deciding
        if isinstance(label.answer, Verdict)
    ]
    if not prepared.sampled or not judged:
        return None
    lines, values = zip(*judged, strict=True)
    rng = np.random.default_rng(prepared.config.seed)
    return neighbours_risk(np.array(lines), np.array(values, dtype=np.float64), rng)


def data_notes(prepared: Prepared[Any], answered: Pool | None = None, neighbours: float | None = None) -> DataNotes:
    """What is to be known of a run's data; `answered` holds the outputs of systems that answer live.

    `neighbours` is as in the notes.
    """
    pool, config, joined = prepared.pool, prepared.config, prepared.inputs.joined
    families = len(prepared.parts.members) or None
    repeated = {name: pool.most_repeated(number) for number, name in enumerate(pool.systems)}
    many = max(FEWEST_REPEATS, REPEATED_SHARE * len(pool))
    whole = answered or pool
    empty = {name: whole.count_empty(number) for number, name in enumerate(pool.systems)}
    ends = {name: whole.count_ends(number) for number, name in enumerate(pool.systems)}
    thoughts = {name: pool.count_thoughts(n) for n, name in enumerate(pool.systems) if n not in pool.live}
    baseline = config.trusted(pool.systems) if isinstance(config, ContestSettings) else ""
    return DataNotes(
        items=len(pool),
        neighbours=neighbours,
        families=families,
        drawn=families and len(prepared.places),
        by_prompt=bool(families) and not any(item.family for item in pool.items),
        left_out=joined.left_out,
        beyond=joined.beyond,
        guessed=prepared.inputs.guessed,
        repeated={name: count for name, count in repeated.items() if count >= many},
        empty={name: count for name, count in empty.items() if count},
        # The baseline's outputs say what is usual.
        usual_empty=empty.get(baseline, 0),
        ended={name: found for name, found in ends.items() if found},
        thoughts={name: some for name, (some, _) in thoughts.items() if some},
        unanswered={name: without for name, (some, without) in thoughts.items() if some},
        usual_ends=sum(ends.get(baseline, {}).values()),
    )


def met_before(prepared: Prepared[Any], runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    """The runs in which the outputs of a run met before by its judges; none where all scores are recorded."""
    note = RunNote(met=prepared.met, asking=prepared.asking)
    return askings(runs, prepared.run_id, note) if prepared.booked else []


def named_before(reader: LedgerReader, prepared: Prepared[Any], runs: Iterable[RecordedRun]) -> dict[str, str]:
    """What the latest run with an answer in which the outputs of a run met named of them, by its id; {} for nothing."""
    met = [one for one in met_before(prepared, runs) if one.note.exit_code in ANSWERED and one.id != prepared.run_id]
    for last in met[-1:]:
        kept = reader.result(last.id)
        named: str | None = json.loads(kept.document)["result"]["winner"] if kept else None
        place = None if named is None else place_of(named, last.note, prepared.pool.systems, prepared.digests)
        if place is not None:
            return {last.id: prepared.pool.systems[place]}
    return {}


def asked_before(met: Sequence[RecordedRun], by_others: int = 0) -> AskedBefore:
    """How often outputs met before, and at which risks; `by_others` is as there."""
    answered = sum(one.note.exit_code in ANSWERED for one in met)
    return AskedBefore(tuple(one.note.risk for one in met), answered, by_others=by_others)
