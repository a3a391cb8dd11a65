"""The key of a verdict: a hash of everything that can change the verdict, and of nothing else.

The ingredients of a key are recorded beside the attempt, so that a verdict can be explained and
used as evidence later. Only this module converts ingredients to that note and back. For a blind
judge the key leaves out the systems' names, so renaming a system costs nothing. For every judge it
leaves out the run, the seed, the budget, the date and a prompt's random marker.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

from judgeloop.core.records import Call, JudgeIdentity

KEY_VERSION = 1

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

# The names of the ingredients in the note. They are hashed too: changing a name changes every key,
# and no recorded verdict would be found again.
VERSION, PROVIDER, MODEL, PARAMETER = "key version", "provider", "model", "judge's "
SOURCE = "source"  # a parameter of a judge or system that is known by its code: a digest of it
PROMPT, REFERENCE, RATED = "prompt text", "reference", "output rated"
FIRST, SECOND = "output shown first", "output shown second"
ITEM, SYSTEMS = "item", "systems"
AGAIN_OF = "asked again of"
ABSENT = "absent"  # what one of two keys has not

# What identifies an item in keys: its id, and the digests of its prompt and its reference.
Place = tuple[str, str, str]


class KeyedJudge(NamedTuple):
    """The parts of a judge's identity that enter a key; parameters are sorted by name."""

    provider: str
    model: str
    parameters: tuple[tuple[str, str], ...]

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, identity: JudgeIdentity) -> Self:
        """Make it from a judge's identity."""
        parameters = sorted(identity.parameters.items())
        return cls(identity.provider, identity.model, tuple(parameters))

    @classmethod
    def from_note(cls, note: Mapping[str, str]) -> Self:
        """Read it from a note that `KeyIngredients.to_note` wrote."""
        parameters = sorted(
            (name.removeprefix(PARAMETER), value) for name, value in note.items() if name.startswith(PARAMETER)
        )
        return cls(note[PROVIDER], note.get(MODEL, ""), tuple(parameters))


@dataclass(frozen=True, slots=True)
class KeyIngredients:
    """Everything that a verdict's key is computed from; texts are given by their digests.

    `outputs` are in the order shown: one for a rating, two for a comparison. `names` holds the
    item's id and the systems' names as JSON, for a judge that looks systems up by name; None for a
    blind judge. `again_of` is the answering model that was asked again, as the key without it has a verdict of another;
    empty for the first.
    """

    judge: KeyedJudge
    prompt: str
    reference: str
    outputs: tuple[str, ...]
    names: tuple[str, str] | None = None
    version: str = str(KEY_VERSION)
    again_of: str = ""

    @classmethod
    def of(cls, identity: JudgeIdentity, call: Call, *, blind: bool) -> Self:
        """Make the ingredients of `call` to the judge with `identity`."""
        return cls(
            KeyedJudge.of(identity),
            _of_text(call.item.prompt),
            _of_text(call.item.reference),
            tuple(map(_of_text, call.outputs)),
            None if blind else (call.item.id, json.dumps(call.systems)),
        )

    @classmethod
    def from_note(cls, note: Mapping[str, str]) -> Self | None:
        """Read a note that `to_note` wrote; None if `note` is something else."""
        outputs = tuple(note[name] for name in (RATED, FIRST, SECOND) if name in note)
        if not outputs or PROVIDER not in note:
            return None
        names = (note[ITEM], note[SYSTEMS]) if ITEM in note and SYSTEMS in note else None
        return cls(
            KeyedJudge.from_note(note),
            note.get(PROMPT, ""),
            note.get(REFERENCE, ""),
            outputs,
            names,
            note.get(VERSION, ""),
            note.get(AGAIN_OF, ""),
        )

    def to_note(self) -> dict[str, str]:
        """The ingredients by name, to record beside the attempt and to show to the user."""
        # Different names, so that a rating never has the key of a comparison.
        shown = (RATED,) if len(self.outputs) == 1 else (FIRST, SECOND)
        # In the order in which they are hashed: it takes half the time if nothing is left to sort.
        return {
            **({AGAIN_OF: self.again_of} if self.again_of else {}),
            **({ITEM: self.names[0]} if self.names else {}),
            **{f"{PARAMETER}{name}": value for name, value in self.judge.parameters},
            VERSION: self.version,
            MODEL: self.judge.model,
            **dict(zip(shown, self.outputs, strict=True)),
            PROMPT: self.prompt,
            PROVIDER: self.judge.provider,
            REFERENCE: self.reference,
            **({SYSTEMS: self.names[1]} if self.names else {}),
        }

    @property
    def key(self) -> str:
        """The verdict's key, 64 hexadecimal digits."""
        return _key_of(self)

    @property
    def compares(self) -> bool:
        """True for a comparison of two outputs, False for a rating of one output."""
        return len(self.outputs) > 1

    def place(self, item_id: str) -> Place:
        """What identifies the item with the id `item_id`."""
        return item_id, self.prompt, self.reference

    def differences(self, now: KeyIngredients) -> dict[str, tuple[str, str]]:
        """The ingredients that differ between this call and a call `now`, by name.

        Each value is a pair: the value of this call, and the value of `now`. Two calls that differ
        in the order of presentation get the name "order of presentation" in place of both outputs.
        """
        theirs, ours = self.to_note(), now.to_note()
        found = {
            name: (theirs.get(name, ABSENT), ours.get(name, ABSENT))
            for name in sorted(theirs.keys() | ours.keys())
            if theirs.get(name) != ours.get(name)
        }
        if self.compares and now.outputs == self.outputs[::-1] != self.outputs:
            del found[FIRST], found[SECOND]
            found["order of presentation"] = ("the other way round", "this way")
        return found


def output_note(identity: JudgeIdentity, sent: object, run: str) -> dict[str, str]:
    """What the key of an output is made of, to hash and to record beside its attempt.

    `sent` is what the system was told of the item. `run` is the run that alone may use the output;
    empty if all may.
    """
    return {
        VERSION: str(KEY_VERSION),
        "answers": "a system",  # so that no output has the key of a verdict
        PROVIDER: identity.provider,
        MODEL: identity.model,
        **{f"system's {name}": value for name, value in sorted(identity.parameters.items())},
        "sent": digest(sent),
        "sample": "0",
        "run": run,
    }


def digest(value: object) -> str:
    """The SHA-256 of `value` as canonical JSON, as 64 hexadecimal digits."""
    return hashlib.sha256(as_text(value).encode("ascii")).hexdigest()


# Both orders of a comparison have the same texts, and so have controls and the pairs of a night.
_of_text = lru_cache(maxsize=1024)(digest)


@lru_cache(maxsize=1024)  # controls are planned several times, by each pair of a night
def _key_of(ingredients: KeyIngredients) -> str:
    return digest(ingredients.to_note())


def as_text(value: object) -> str:
    """`value` as canonical JSON.

    Canonical means sorted keys, no spaces, and ASCII (so that lone surrogates are escaped).
    """
    return _CANONICAL.encode(value)
