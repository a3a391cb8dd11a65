"""The key of a verdict: a hash of everything that can change it, and of nothing else.

The system's name is left out for a blind judge, so that renaming a system costs nothing; the run, the seed, the budget, the
date and a prompt's random marker are left out for every judge. Storing verdicts is the ledger's business.
"""

from __future__ import annotations

import hashlib
import json

from judgeloop.core.records import Call, JudgeIdentity

KEY_VERSION = 1


def ingredients(identity: JudgeIdentity, call: Call, *, blind: bool) -> dict[str, str]:
    """All that a verdict's key is made of, by name; texts by their hash, so that it can be kept and compared."""
    parts = {
        "key version": str(KEY_VERSION),
        "provider": identity.provider,
        "model": identity.model,
        **{f"judge's {name}": value for name, value in identity.parameters.items()},
        "prompt text": digest(call.item.prompt),
        "reference": digest(call.item.reference),
        **_outputs(call),
        "replicate": str(call.replicate),
    }
    if not blind:
        parts |= {"item": call.item.id, "systems": json.dumps(call.systems)}
    return parts


def _outputs(call: Call) -> dict[str, str]:
    """Named apart, so that a rating never answers a comparison of two outputs that read the same."""
    if len(call.outputs) == 1:
        return {"output rated": digest(call.outputs[0])}
    first, second = call.outputs
    return {"output shown first": digest(first), "output shown second": digest(second)}


def verdict_key(identity: JudgeIdentity, call: Call, *, blind: bool) -> str:
    """The key under which the verdict on `call` is remembered, 64 hexadecimal digits."""
    return digest(ingredients(identity, call, blind=blind))


def digest(value: object) -> str:
    """SHA-256 of `value` as canonical JSON: sorted keys, no spaces, ASCII (so lone surrogates are safe)."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()
