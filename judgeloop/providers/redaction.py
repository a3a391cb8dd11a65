"""Removes an API key from a text of a server. Pure.

The whole key is masked: as it is, in hexadecimal, URL-encoded and in base64, alone or within a
longer text. Of a key that looks random, so is every run of eight characters, because a server may
quote it cut or wrapped. Case, blanks, zero-width characters and backslashes make no difference. A text is
redacted whole, before it is cut to length: a cut through a key leaves a part that matches no more.
"""

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import quote

MASK = "[masked key]"
SHORTEST_KEY = 8  # shorter keys, such as the placeholder "none", may be ordinary words
RUN = 8  # characters of a key that looks random
PART = 6  # characters of a part of a key that is looked for first
SHORTEST_RANDOM = 20
TAIL, LONG = 4, 16  # characters of a key's end, and of a word that may be its hash
_CUT, _MASKED = ("**", "..", "…"), MASK.replace(" ", "_")  # how a part of a key is quoted
# All characters of the first plane that are in no word, but for surrogates and private ones: each import looks at them.
_NOT_IN_WORDS = re.findall(r"\W", "".join(map(chr, (*range(0xD800), *range(0xF900, 0x10000)))))
_ASIDE = {
    ord(one): None for one in _NOT_IN_WORDS if one.isspace() or one == "\\" or unicodedata.category(one) in {"Cc", "Cf"}
}
_BARE = _ASIDE | {at: at + 32 for at in range(ord("A"), ord("Z") + 1)}


def redact(text: str, secret: str) -> str:
    """`text` with every form of `secret` replaced by `MASK`.

    >>> redact("key=ABC%2B 12345%3D", "abc+12345=")
    'key=[masked key]'
    """
    if len(text) < SHORTEST_KEY:  # as most names of fields
        return text
    bare = text.translate(_BARE)
    found = sorted(
        (at, at + length)
        for length, forms in _forms(secret).items()
        for at in range(len(bare) - length + 1)
        if bare[at : at + length] in forms
    )
    if not found:
        return text
    places = [at for at, character in enumerate(text) if ord(character) not in _ASIDE]
    kept, end = [], 0
    for first, last in found:
        if places[first] >= end:
            # A backslash before the key would escape the mask.
            kept += [text[end : places[first]].rstrip("\\"), MASK]
        end = max(end, places[last - 1] + 1)
    return "".join([*kept, text[end:]])


def redact_parts(text: str, secret: str) -> str:
    """A redacted text without words that a server may quote a part of a key by, or its hash.

    They have an ellipsis or asterisks, are long with digits, or hold the key's last characters.

    >>> redact_parts("Wrong key sk-12***ab9z: see https://a.org/keys.", "sk-12345678ab9z")
    'Wrong key [masked key] see https://a.org/keys.'
    """
    tail = secret[-TAIL:] if len(secret) >= SHORTEST_KEY else MASK

    def quotes(word: str) -> bool:
        long = any(len(run) >= LONG and not run.isalpha() for run in re.split(r"\W", word))
        return long or any(sign in word for sign in (*_CUT, tail, _MASKED))

    words = text.replace(MASK, _MASKED).split(" ")
    return " ".join(MASK if quotes(word) else word for word in words)


def redact_own(text: str, secrets: Iterable[str]) -> str:
    r"""A text of judgeloop's own without `secrets`, as they are or escaped, whole or cut.

    A text may be long, so only keys of which it has a part are looked for. A word is no secret: it may name a field.

    >>> redact_own('{"tokenizer": "sk\\_1234567"}', ["tokenizer", "sk_1234567"])
    '{"tokenizer": "[masked key]"}'
    """
    bare = text.translate(_BARE)
    for secret in secrets:
        if secret.isalpha() and len(secret) < SHORTEST_RANDOM:
            continue
        for form in {secret, escape(secret)}:
            plain = form.translate(_BARE)
            parts = (plain[at : at + PART] for at in range(0, len(plain) - PART + 1, PART))
            if any(part in bare for part in parts):
                text = redact(text, form)
    return text


def redacted(value: Any, secret: str) -> Any:
    """A JSON value with `secret` removed from every text in it, also from names of fields.

    >>> redacted({"abcd1234": ["x abcd1234", 5]}, "abcd1234")
    {'[masked key]': ['x [masked key]', 5]}
    """
    if isinstance(value, str):
        return redact(value, secret)
    if isinstance(value, list):
        return [redacted(part, secret) for part in value]
    if isinstance(value, dict):
        return {redact(name, secret): redacted(part, secret) for name, part in value.items()}
    return value


@lru_cache(maxsize=64)
def _forms(secret: str) -> dict[int, set[str]]:
    """What to mask, in lower case, by its length; nothing for a short key."""
    if len(secret) < SHORTEST_KEY:
        return {}
    mixed = secret.lower() != secret != secret.upper()
    random = len(secret) >= SHORTEST_RANDOM and (mixed or any(map(str.isdigit, secret)))
    forms: dict[int, set[str]] = {}
    for written in _encoded(secret):
        form = written.translate(_BARE)
        if len(form) < SHORTEST_KEY:
            continue
        length = RUN if random else len(form)
        runs = {form[at : at + length].lower() for at in range(len(form) - length + 1)}
        forms.setdefault(length, set()).update(runs)
    return forms


def _encoded(secret: str) -> Iterator[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    yield from (secret, quote(raw, safe=""), raw.hex())
    for offset in range(3):  # base64 writes three bytes as four characters
        text = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        # The first and the last character also depend on the bytes around the key.
        core = text[-(-offset * 8 // 6) : (offset + len(raw)) * 8 // 6]
        yield from (core, core.replace("+", "-").replace("/", "_"))
