"""A part of a result, and its JSON values: fields, and what is computed from them.

Each record of a result says itself what its JSON holds. The reference page of results and its
schema (`docs/make_results.py`) are made from the annotations and docstrings of these records.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, ClassVar

# A text for people, which may name settings between backticks.
Sentence = Annotated[str, "Sentence"]
Say = Callable[[str], str]  # how the caller says a sentence; the command line says flags


class Part:
    """A part of a result.

    Its JSON has the fields, but for those in `HIDDEN`, and the properties named in `COMPUTED`.
    """

    __slots__ = ()

    HIDDEN: ClassVar[frozenset[str]] = frozenset()
    COMPUTED: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def names(cls) -> Iterator[str]:
        """Yield the names of the JSON values, in their order."""
        for name in (*(field.name for field in fields(cls)), *cls.COMPUTED):  # type: ignore[arg-type]
            if name not in cls.HIDDEN:
                yield name

    def to_json(self, say: Say = str) -> dict[str, Any]:
        """The JSON values, with each sentence as `say` says it."""
        kinds = {field.name: str(field.type) for field in fields(self)}  # type: ignore[arg-type]
        found = {name: plain(getattr(self, name)) for name in self.names()}
        return {
            name: say(value) if value is not None and "Sentence" in kinds.get(name, "") else value
            for name, value in found.items()
        }


def plain(value: Any) -> Any:
    """`value` as JSON has it: dictionaries for records, lists for tuples, text for names."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return str(value) if isinstance(value, enum.Enum) else value
