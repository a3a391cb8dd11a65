"""Some items are read again by people after the decision, which they do not enter.

A second person reads a share of the items, so that people's own agreement is known; and people read a share of their
own again, so that it is known how often one says the same twice. Both see the outputs the other way round. Which
items these are follows from the seed and the items. Who answered first is in the ledger.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from judgeloop.core.keys import digest
from judgeloop.core.outcomes import Ending, ReadAgain
from judgeloop.core.records import IDENTICAL, Label, Pool, SecondReading, Verdict
from judgeloop.engine.asks import plan_for
from judgeloop.engine.batch import Oracle, answers
from judgeloop.engine.state import Terms
from judgeloop.ledger.reader import LedgerReader

RECENT = 10  # of the last answers none is read again by the same person, who may remember it


def to_read_again(pool: Pool, ending: Ending[Any], terms: Terms) -> list[tuple[Label, bool]]:
    """The labels that are to be read a second time, and whether by the same person."""
    judged = [
        label
        for label in ending.labels
        if label.choice.key in ending.deciding
        and isinstance(label.answer, Verdict)
        and label.answer.reason != IDENTICAL
    ]
    wanted = [(label, False) for label in drawn(judged, terms.shared, pool, terms.seed)]
    return wanted + [(label, True) for label in drawn(judged[:-RECENT], terms.repeated, pool, terms.seed)]


async def read_again(oracle: Oracle, pool: Pool, wanted: Sequence[tuple[Label, bool]]) -> tuple[ReadAgain, ...]:
    """Ask people about some items a second time, as far as the budget goes; offline, what is known of it."""
    if not wanted:
        return ()
    firsts = [pool.query(label.choice.position, label.choice.systems) for label, _ in wanted]
    keys = [key for query in firsts for key in plan_for(query, oracle.judges, oracle.state.terms).keys]
    by = await oracle.ledger.read(lambda db: LedgerReader(db).people(keys))
    queries = [
        replace(query, reading=SecondReading(by.get(key, ""), same))
        for query, key, (_, same) in zip(firsts, keys, wanted, strict=True)
    ]
    told = await answers(oracle, queries, counted=False)
    return tuple(
        ReadAgain(label.choice, label.answer, answer, same=same)
        for (label, same), answer in zip(wanted, told, strict=False)
        if isinstance(label.answer, Verdict) and isinstance(answer, Verdict)
    )


def drawn(labels: Sequence[Label], share: float, pool: Pool, seed: int) -> list[Label]:
    """A share of the labels, in an order that follows from the seed and their items."""

    def place(label: Label) -> str:
        return digest([seed, pool.items[label.choice.position].id, label.choice.systems])

    return sorted(labels, key=place)[: math.ceil(share * len(labels))]
