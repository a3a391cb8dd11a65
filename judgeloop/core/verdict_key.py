"""The key of a verdict: a hash of everything that can change it, and of nothing else.

What a key is made of is kept beside the verdict, so that a verdict can be explained and used as
evidence later; it is written and read here alone. For a blind judge the system's name is left out,
so that renaming a system costs nothing; the run, the seed, the budget, the date and a prompt's
random marker are left out for every judge. Nothing is stored here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from judgeloop.core.records import Call, Item, JudgeIdentity

KEY_VERSION = 1

# Their names where they are kept. A name that is changed changes every key: nothing remembered would be found again.
VERSION, PROVIDER, MODEL, PARAMETER = "key version", "provider", "model", "judge's "
PROMPT, REFERENCE, RATED = "prompt text", "reference", "output rated"
FIRST, SECOND = "output shown first", "output shown second"
ITEM, SYSTEMS = "item", "systems"
REPLICATE = "replicate"  # there was room for repeated samples of one question; none was ever taken

# An item as keys have it: its id, and the digests of its prompt and its reference.
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class KeyedJudge:
    """A judge as keys have it."""

    provider: str
    model: str
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, identity: JudgeIdentity) -> Self:
        """The same of a judge that is asked now."""
        parameters = sorted(identity.parameters.items())
        return cls(identity.provider, identity.model, tuple(parameters))


@dataclass(frozen=True, slots=True)
class KeyIngredients:
    """All that a verdict's key is made of, texts by their digests.

    `outputs` are in the order shown: one for a rating, two for a comparison. `names` are the item's
    id and the systems' names as JSON, for a judge that looks them up; None for a blind one.
    """

    judge: KeyedJudge
    prompt: str
    reference: str
    outputs: tuple[str, ...]
    names: tuple[str, str] | None = None
    version: str = str(KEY_VERSION)

    @classmethod
    def of(cls, identity: JudgeIdentity, call: Call, *, blind: bool) -> Self:
        """The ingredients for one call to one judge."""
        return cls(
            KeyedJudge.of(identity),
            digest(call.item.prompt),
            digest(call.item.reference),
            tuple(digest(output) for output in call.outputs),
            None if blind else (call.item.id, json.dumps(call.systems)),
        )

    @classmethod
    def from_note(cls, note: Mapping[str, str]) -> Self | None:
        """What `to_note` wrote; None for what is something else."""
        outputs = tuple(note[name] for name in (RATED, FIRST, SECOND) if name in note)
        if not outputs or PROVIDER not in note:
            return None
        parameters = sorted(
            (name.removeprefix(PARAMETER), value)
            for name, value in note.items()
            if name.startswith(PARAMETER)
        )
        names = (note[ITEM], note[SYSTEMS]) if ITEM in note and SYSTEMS in note else None
        judge = KeyedJudge(note[PROVIDER], note.get(MODEL, ""), tuple(parameters))
        return cls(
            judge,
            note.get(PROMPT, ""),
            note.get(REFERENCE, ""),
            outputs,
            names,
            note.get(VERSION, ""),
        )

    def to_note(self) -> dict[str, str]:
        """The ingredients by name, to be kept beside the verdict and shown to people."""
        # Named apart, so that a rating never answers a comparison of two outputs that read the same.
        shown = (RATED,) if len(self.outputs) == 1 else (FIRST, SECOND)
        note = {
            VERSION: self.version,
            PROVIDER: self.judge.provider,
            MODEL: self.judge.model,
            **{f"{PARAMETER}{name}": value for name, value in self.judge.parameters},
            PROMPT: self.prompt,
            REFERENCE: self.reference,
            **dict(zip(shown, self.outputs, strict=True)),
            REPLICATE: "0",
        }
        if self.names is not None:
            note |= {ITEM: self.names[0], SYSTEMS: self.names[1]}
        return note

    @property
    def key(self) -> str:
        """The key, 64 hexadecimal digits."""
        return digest(self.to_note())

    @property
    def compares(self) -> bool:
        """Whether it is about two outputs; else it rates one."""
        return len(self.outputs) > 1

    def place(self, item_id: str) -> Place:
        """Which item it is about."""
        return item_id, self.prompt, self.reference

    def differences(self, now: KeyIngredients) -> dict[str, tuple[str, str]]:
        """In what this differs from the ingredients of a question asked `now`: this one's value, and that one's."""
        theirs, ours = self.to_note(), now.to_note()
        found = {
            name: (theirs.get(name, "absent"), ours.get(name, "absent"))
            for name in sorted(theirs.keys() | ours.keys())
            if theirs.get(name) != ours.get(name)
        }
        if self.compares and now.outputs == self.outputs[::-1] != self.outputs:
            del found[FIRST], found[SECOND]
            found["order of presentation"] = ("the other way round", "this way")
        return found


def verdict_key(identity: JudgeIdentity, call: Call, *, blind: bool) -> str:
    """The key under which the verdict on `call` is remembered, 64 hexadecimal digits."""
    return KeyIngredients.of(identity, call, blind=blind).key


def place_of(item: Item) -> Place:
    """An item as keys have it."""
    return item.id, digest(item.prompt), digest(item.reference)


def digest(value: object) -> str:
    """SHA-256 of `value` as canonical JSON: sorted keys, no spaces, ASCII (so lone surrogates are safe)."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()
