"""What earlier runs of `agree` found of a judge: how well it agrees with people on some of the items of a run.

Reads the results that the ledger keeps of runs by the same judge, asked in the same way, about the same two systems.
What was measured is said of the models that answered then, and of no other behind the same name. Returns a sentence, or
nothing.
"""

import json
from collections.abc import Sequence
from typing import Any

from judgeloop.core.outcomes import AnsweredBy
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import RecordedRun
from judgeloop.report.words import count, per_cent
from judgeloop.runs.prepared import Prepared

AGREE = "agree"  # the question whose results say it
LOOKED_AT = 20  # earlier runs by this judge, the latest first


def measured_by(
    reader: LedgerReader, run: Prepared[Any], runs: Sequence[RecordedRun], answering: Sequence[Sequence[AnsweredBy]]
) -> str:
    """What the latest such result says, of a run whose verdicts are by these models of each judge; empty for none."""
    models = [{one.model for one in of} for of in answering]
    names, parameters = zip(*[(one.identity.name, dict(one.identity.parameters)) for one in run.judges], strict=True)
    ids = {item.id: (item.prompt, *texts) for item, *texts in zip(run.pool.items, *run.pool.outputs, strict=True)}
    # A contest notes what meets, and `agree` nothing: results of contests, which may be large, are not read.
    others = [one for one in runs if one.note.judges == names and not one.note.met]
    like = [one for one in others if {*one.note.systems} == {*run.pool.systems}]
    for one in sorted(like, key=lambda other: other.began_at, reverse=True)[:LOOKED_AT]:
        kept = reader.result(one.id)
        found = json.loads(kept.document) if kept else {}
        if found.get("job") != AGREE or found["result"]["setup"]["judge_parameters"] != list(parameters):
            continue
        then = [{one["model"] for one in of} for of in found["result"]["counts"]["answered_by"]]
        if then != models:
            continue
        result, order = found["result"], [found["result"]["setup"]["systems"].index(name) for name in run.pool.systems]
        pool, labelled = result["texts"]["pool"], {one["item_id"] for one in result["labels"] if one["in_decision"]}
        texts = [[kept.texts[name] for name in one_of] for one_of in pool["outputs"]] if kept else []
        same = sum(
            item["id"] in labelled and ids.get(item["id"], ())[1:] == tuple(texts[place][at] for place in order)
            for at, item in enumerate(pool["items"])
        )
        if same and result["equal"] is not None:
            return _said(result, same, one.id)
    return ""


def _said(result: dict[str, Any], same: int, run: str) -> str:
    low, high = result["equal_interval"]
    interval = "" if low == high else f" ({100 * low:.0f} to {per_cent(high)})"
    off, (least, most) = 100 * result["off"], (100 * end for end in result["off_interval"])
    first = result["setup"]["systems"][0]
    return (
        f"it said what people say on {per_cent(result['equal'])} of {count(same, 'labelled item')} of these{interval}; "
        f"its gap for {first} is off by {off:+.0f} points ({least:+.0f} to {most:+.0f}), by `judgeloop agree` in run {run}"
    )
