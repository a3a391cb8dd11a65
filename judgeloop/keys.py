"""The key of a verdict: a hash of everything that can change it, and of nothing else.

The system's name is left out for a blind judge, so that renaming a system costs nothing; the run, the seed, the
budget and the date are left out for every judge. Storing verdicts is the ledger's business.
"""

from __future__ import annotations

import hashlib
import json

from judgeloop.records import Call, JudgeIdentity

KEY_VERSION = 1


def verdict_key(identity: JudgeIdentity, call: Call, *, blind: bool) -> str:
    """The key under which the verdict on `call` is remembered, 64 hexadecimal digits."""
    return digest(
        {
            "version": KEY_VERSION,
            "provider": identity.provider,
            "model": identity.model,
            "parameters": dict(identity.parameters),
            "item": None if blind else call.item.id,
            "systems": None if blind else call.systems,
            "prompt": call.item.prompt,
            "reference": call.item.reference,
            "outputs": call.outputs,
            "replicate": call.replicate,
        }
    )


def digest(value: object) -> str:
    """SHA-256 of `value` as canonical JSON: sorted keys, no spaces, ASCII (so lone surrogates are safe)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
