"""The seals of a ledger's rows, by which a change that judgeloop did not make shows.

A seal is a CRC-32 of the table's name and all values of the row, its number included, as bytes. In a ledger
with a key, an HMAC-SHA256 of the same and the ledger's id follows, of which the first 16 bytes are
kept. Only who has the key can make it, so that nobody else can change a row or move one here. A
seal does not show that a row is missing, nor that a row was replaced by an earlier state of itself.
Reads and writes no rows (`rows.py`).
"""

import hmac
import marshal
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeloop.core.errors import InputError

KEY_VARIABLE = "JUDGELOOP_LEDGER_KEY"
SHORTEST_KEY = 16  # characters
CRC_BYTES, MAC_BYTES = 4, 16
# Of marshal: the same bytes in every version of Python, and others for 1 than for "1", 1.0 or None.
# It takes a fourth of the time of ascii(), which a history of a million notices.
FORMAT = 2


@dataclass(frozen=True, slots=True)
class Sealer:
    """Makes and checks the seals of a ledger's rows; `key` is None in a ledger without a key."""

    ledger: str
    key: bytes | None = None

    def seal(self, table: str, row: Sequence[object]) -> bytes:
        """Return the seal of `row`, whose values are in the order of the table's columns."""
        return self.seals(table, [tuple(row)])[0]

    def seals(self, table: str, rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
        """Return the seal of each of `rows`."""
        messages = [marshal.dumps(row, FORMAT) for row in rows]
        begin = zlib.crc32(table.encode())
        sums = [zlib.crc32(message, begin).to_bytes(CRC_BYTES, "big") for message in messages]
        if self.key is None:
            return sums
        own = f"{self.ledger} {table} ".encode()
        macs = (hmac.digest(self.key, own + message, "sha256") for message in messages)
        return [total + mac[:MAC_BYTES] for total, mac in zip(sums, macs, strict=True)]

    def problem(self, table: str, row: Sequence[object], seal: object) -> str | None:
        """Return in words what is wrong with a row; None if it has its seal."""
        if not isinstance(seal, bytes):
            return "was changed after it was written (it has no checksum)"
        right = self.seal(table, row)
        if seal[:CRC_BYTES] != right[:CRC_BYTES]:
            return "was changed after it was written (its checksum does not match)"
        if self.key is None:
            return None
        if len(seal) == CRC_BYTES:
            return f"is not signed with {KEY_VARIABLE}"
        if not hmac.compare_digest(seal, right):
            return f"was not written with this {KEY_VARIABLE}"
        return None


def key_of(environment: Mapping[str, str]) -> bytes | None:
    """Return the key that seals rows; None without one.

    Raises:
        InputError: the key is short enough to be guessed.
    """
    given = environment.get(KEY_VARIABLE, "")
    if given and len(given) < SHORTEST_KEY:
        raise InputError(
            f"{KEY_VARIABLE}: expected at least {SHORTEST_KEY} characters, found {len(given)}; "
            "make one with `openssl rand -hex 32`"
        )
    return given.encode() or None
