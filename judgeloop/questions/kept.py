"""A result as a ledger keeps it, to be shown wherever the ledger is: written, and read again.

Pydantic writes a result's values and checks them when they are read. Prompts, references and outputs of the
judged items stand in the document by their digests.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic_core import to_json

from judgeloop.core.errors import DamagedLedgerError
from judgeloop.core.keys import digest
from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Item, Pool, Shown
from judgeloop.core.work import lasting
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.ledger.records import KeptResult
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.report.labels import Texts
from judgeloop.report.result import RunResult
from judgeloop.runs.prepared import Prepared


def keep(run: Prepared[Any], result: RunResult) -> None:
    """Keep the result of a run in its ledger, which is open.

    Raises:
        LedgerError: the ledger cannot be written.
    """
    with lasting("keeping the result"):
        run.open_ledger.keep(run.run_id, kept_of(result))


def stored(ledger: Address, run: str) -> KeptResult:
    """What is kept of a run, of which the ledger has a result.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    with open_reader(ledger) as reader:
        kept = reader.result(run)
    assert kept is not None, "the caller has seen its decision"
    return kept


def kept_of(result: RunResult) -> KeptResult:
    """What a ledger keeps of a result."""
    texts: dict[str, str] = {}

    def named(text: str) -> str:
        texts[name := digest(text)] = text
        return name

    if result.texts is not None:
        judged = {label.item_id for label in result.labels}
        pool = _with_texts(result.texts.pool.only(judged), named)
        result = replace(result, texts=replace(result.texts, pool=pool))
    document = to_json({"job": result.job, "result": result}, inf_nan_mode="constants").decode()
    decided, tied = result.decided_and_tied
    return KeptResult(
        result.page.head,
        f"{result.to_text()}\n",
        document,
        texts,
        exit_code=result.exit_code,
        decided=decided,
        tied=tied,
        judge_changed=result.stop_reason is StopKind.JUDGE_CHANGED,
    )


def result_of(kept: KeptResult, *, texts: bool = True, shown: str | None = None) -> RunResult:
    """A result that was kept, with or without the texts that were judged.

    `shown` says of which items a report shows them, by default those of the run's own settings.

    Raises:
        DamagedLedgerError: it is not as this version of judgeloop writes one, or lacks a text.
    """
    try:
        found = json.loads(kept.document)
        if not texts:
            found["result"]["texts"] = None
        kind: Any = next(one for one in QUESTIONS if one.name == found["job"]).load().result
        result: RunResult = _form_of(kind).validate_python(found["result"])
        if result.texts is None:
            return result
        pool = _with_texts(result.texts.pool, kept.texts.__getitem__)
    except (ValueError, KeyError, StopIteration) as error:
        raise DamagedLedgerError(f"a result in the ledger cannot be read: {error}") from None
    return replace(result, texts=Texts(pool, Shown(shown or result.texts.shown)))


@cache
def _form_of(kind: Any) -> Any:
    """What reads such a result: to make it takes longer than to read one."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _with_texts(pool: Pool, other: Callable[[str], str]) -> Pool:
    """A pool with another text in the place of each prompt, reference and output."""
    items = (
        Item(
            item.id,
            other(item.prompt),
            None if item.reference is None else other(item.reference),
            item.group,
            place=item.place,
        )
        for item in pool.items
    )
    return replace(pool, items=tuple(items), outputs=tuple(tuple(map(other, texts)) for texts in pool.outputs))
