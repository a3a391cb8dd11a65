"""Seals of rows: checksums that show a changed row.

A seal is a CRC-32 of the table's name and all values of the row, its number included. In a ledger
with a key, an HMAC-SHA256 of the same and the ledger's id follows, of which the first 16 bytes are
kept. Only who has the key can make it, so that nobody else can change a row or move one here. A
seal does not show that a row is missing, nor that a row was replaced by an earlier state of itself.
"""

from __future__ import annotations

import hmac
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

KEY_VARIABLE = "JUDGELOOP_LEDGER_KEY"
SHORTEST_KEY = 16  # characters
CRC_BYTES, MAC_BYTES = 4, 16


@dataclass(frozen=True, slots=True)
class Sealer:
    """Makes and checks the seals of a ledger's rows; `key` is None in a ledger without a key."""

    ledger: str
    key: bytes | None = None

    def seal(self, table: str, row: Sequence[object]) -> bytes:
        """Return the seal of `row`, whose values are in the order of the table's columns."""
        # ascii() is the same in every version of Python, and tells 1 from "1" and from None.
        message = ascii((table, *row)).encode("ascii")
        seal = zlib.crc32(message).to_bytes(CRC_BYTES, "big")
        if self.key is None:
            return seal
        return seal + hmac.digest(self.key, self.ledger.encode() + message, "sha256")[:MAC_BYTES]

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
