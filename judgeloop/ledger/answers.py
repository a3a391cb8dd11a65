"""Verdicts and outputs as a ledger's rows have them, with the checksums of these and of kept results."""

import json
import zlib

from judgeloop.core.ends import ended
from judgeloop.core.errors import DamagedLedgerError
from judgeloop.core.records import Output, Verdict
from judgeloop.ledger.writer import Found


def checksum(*values: object) -> int:
    """What shows that an answer or a result is as it was written: disks rot, and it is used for months."""
    return zlib.crc32(json.dumps(values).encode())


def changed(what: str, key: str) -> DamagedLedgerError:
    """The error for what is not as it was written."""
    return DamagedLedgerError(
        f"the {what} {key} was changed after it was written, and is not used; restore the ledger from a copy, or name "
        "another (`ledger`): `judgeloop ledger verify` lists all of them"
    )


def verdicts_of(found: Found) -> dict[str, Verdict]:
    """The verdicts that were found, by key.

    Raises:
        DamagedLedgerError: one is not as it was written.
    """
    verdicts = {}
    for key, score, reason, probabilities, crc, model, at in found.rows:
        if crc != checksum(key, score, reason, probabilities):
            raise changed("verdict", key)
        told = None if probabilities is None else json.loads(probabilities)
        verdicts[key] = Verdict(score, reason, probabilities=told, model=model or "", at=at or "")
    return verdicts


def outputs_of(found: Found) -> dict[str, Output]:
    """The outputs that were found, by key; the last of each.

    Raises:
        DamagedLedgerError: one is not as it was written.
    """
    outputs = {}
    for key, text, failed, how, cost_p, tokens, seconds, model, created_at, crc in found.rows:
        if crc != checksum(key, text, failed, how):
            raise changed("output", key)
        outputs[key] = Output(text, failed, ended(how), cost_p, tokens, seconds, model, created_at)
    return outputs
