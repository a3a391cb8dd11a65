"""Removes a secret from text: as it is, base64, URL-encoded or escaped as in JSON.

Pure. A text is redacted whole, before anything is cut to length: a cut through a secret would leave
a part of it that no longer matches. `wire.py` says which texts come from a server.
"""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from typing import Any

MASK = "[key]"
# Shorter keys, such as the placeholder "none", are not masked: they may be ordinary words.
SHORTEST_KEY = 8
BYTES_A_GROUP = 3  # base64 encodes three bytes as four characters
# The two characters of base64 that its URL-safe alphabet replaces.
EITHER_ALPHABET = {"+": "-", "/": "_"}
ESCAPED_IN_JSON = {"/", '"', "\\"}
SOME_BACKSLASHES = r"\\{1,8}"  # JSON within JSON doubles them each time


def redact(text: str, secret: str) -> str:
    """Return `text` with every form of `secret` replaced by `MASK`.

    The forms are the secret itself, its URL encoding (each character encoded or not, once or
    twice), its escapes in JSON, and its base64 in both alphabets, alone or within a longer text
    such as `Bearer SECRET`.

    >>> redact("key=abc%2B12345%3D", "abc+12345=")
    'key=[key]'
    """
    return text if len(secret) < SHORTEST_KEY else _pattern(secret).sub(MASK, text)


def redacted(value: Any, secret: str) -> Any:
    """Return a JSON value with `secret` removed from every text in it, also from names of fields.

    >>> redacted({"abcd1234": ["x abcd1234", 5]}, "abcd1234")
    {'[key]': ['x [key]', 5]}
    """
    if len(secret) < SHORTEST_KEY:
        return value
    if isinstance(value, str):
        return redact(value, secret)
    if isinstance(value, list):
        return [redacted(part, secret) for part in value]
    if isinstance(value, dict):
        return {redact(name, secret): redacted(part, secret) for name, part in value.items()}
    return value


@lru_cache(maxsize=64)
def _pattern(secret: str) -> re.Pattern[str]:
    plain = "".join(_either(character, {character}) for character in secret)
    encoded = [
        "".join(_either(one, {one, EITHER_ALPHABET.get(one, one)}) for one in form)
        for form in _base64_forms(_bytes(secret))
    ]
    return re.compile("|".join([plain, *encoded]))


def _base64_forms(secret: bytes) -> list[str]:
    """Return the characters of base64 that depend on `secret` alone, for each offset in a text.

    The first and the last character of a form also depend on the bytes around the secret, and are
    left out.
    """
    forms = []
    for offset in range(BYTES_A_GROUP):
        text = base64.b64encode(b"\0" * offset + secret).decode().rstrip("=")
        # Characters that hold bits of the offset's bytes, and a last one with bits of what follows.
        first = -(-offset * 8 // 6)
        last = (offset + len(secret)) * 8 // 6
        forms.append(text[first:last])
    return forms


def _either(character: str, written: set[str]) -> str:
    """Return a pattern of one character: as one of `written`, URL-encoded or escaped in JSON."""
    ways = [re.escape(one) for one in sorted(written)]
    url = "".join(rf"%(?:25)?(?i:{byte:02x})" for byte in _bytes(character))
    escaped = "".join(rf"{SOME_BACKSLASHES}u(?i:{unit:04x})" for unit in _utf16(character))
    behind = [SOME_BACKSLASHES + re.escape(character)] if character in ESCAPED_IN_JSON else []
    return f"(?:{'|'.join([*ways, url, escaped, *behind])})"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _utf16(character: str) -> list[int]:
    raw = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]
