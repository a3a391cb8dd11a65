"""Reads logs of Inspect (UK AI Security Institute): `.json`, and `.eval`, which is a zip archive.

Each sample gives a row: the input, the target, the output, and a score for each scorer. Long texts
that a log keeps apart as attachments are put back. Members of an archive are stored, deflated, or
compressed with Zstandard, which takes the extra `zstd`; at most `tables.most_unpacked` are read.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from judgeloop.core.errors import InputError, install
from judgeloop.formats import tables
from judgeloop.formats.catalogue import Fields, only, within
from judgeloop.formats.conversation import said
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source

ZSTANDARD = 93  # the method's number in the zip format
WORKBOOK = "xl/workbook.xml"
LOCAL_HEADER = struct.Struct("<26xHH")  # ends in the lengths of the name and of the extra field
HEADER, SAMPLES = "header.json", "samples/"
ATTACHMENT = "attachment://"
# How Inspect counts the letters of its scorers, in its `value_to_float`.
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def recognises(source: Source) -> bool:
    """Return whether this is a log of Inspect; no other archive is read."""
    if source.is_zip:
        return True
    document = source.document
    return within(document, "eval", "task") is not None and "status" in (document or {})


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each sample."""
    members = members_of(source) if source.is_zip else None
    header = _header(source, members)
    empty = True
    for number, sample in enumerate(_samples(source, members), start=1):
        empty = False
        yield _row(source, number, sample, within(header, "eval", "model"))
    if empty:
        raise source.wrong(
            f"this log has no samples (its status is {within(header, 'status')!r}); run the task with log_samples"
        )


def _header(source: Source, members: Members | None) -> Any:
    if members is None:
        return source.document
    if HEADER not in members:
        what = "this log is not finished" if "_journal/start.json" in members else "this is no log"
        raise source.wrong(f"{what}: the archive has no {HEADER}")
    return _parsed(source, members, HEADER)


def _samples(source: Source, members: Members | None) -> Iterator[Any]:
    if members is None:
        yield from within(source.document, "samples") or ()
        return
    for name in members:
        if name.startswith(SAMPLES) and name.endswith(".json"):
            yield _parsed(source, members, name)


def _parsed(source: Source, members: Members, name: str) -> Any:
    try:
        return json.loads(members.read(name))
    except ValueError as error:
        raise source.wrong(f"its member {name} is no JSON: {error}") from None


def _row(source: Source, number: int, sample: Any, model: Any) -> Row:
    attachments = within(sample, "attachments") or {}
    output, target = within(sample, "output"), within(sample, "target")
    fields: Fields = {
        "id": within(sample, "id"),
        "prompt": _restored(within(sample, "input"), attachments),
        "reference": "\n".join(map(str, target)) if isinstance(target, list) else target,
        "model": model,
    }
    epoch, scores = within(sample, "epoch") or 1, _scores(within(sample, "scores"))
    if within(sample, "error") or not within(output, "choices"):
        reason = within(sample, "error", "message") or "the sample has no output"
        return Row(number, fields, failed=str(reason), epoch=epoch)
    choice = only(source, output["choices"], "choices", number)
    try:
        answer = said(_restored(within(choice, "message"), attachments))
    except ValueError as error:
        raise source.wrong(f"the output is no text: {error}", number) from None
    return Row(number, fields | {"output": answer}, epoch=epoch, scores=scores)


def _scores(scores: Any) -> dict[str, object]:
    """Return the value of each scorer, or each of its values; letters become numbers."""
    found: dict[str, object] = {}
    for name, score in (scores or {}).items():
        value = within(score, "value")
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, one in parts:
            number = LETTERS.get(one, one) if isinstance(one, str) else one
            found[f"{name}/{part}" if part else name] = number
    return found


def _restored(value: Any, attachments: Fields) -> Any:
    """Return a value with the texts that it refers to."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if isinstance(value, list):
        return [_restored(part, attachments) for part in value]
    if isinstance(value, dict):
        return {name: _restored(part, attachments) for name, part in value.items()}
    return value


class Members:
    """The members of an archive, by name, in the order of the archive."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        """Keep the archive open for reading."""
        self._source, self._archive = source, archive
        self._most = self._left = tables.most_unpacked(len(source.data))

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._archive.namelist())

    def __contains__(self, name: str) -> bool:
        """Return whether there is such a member."""
        return name in self._archive.NameToInfo

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Raises:
            DataError: it is damaged, or what was read of the archive is too much.
            InputError: it needs the extra `zstd`.
        """
        info = self._archive.NameToInfo[name]
        try:
            with self._opened(info) as member:
                content = member.read(self._left + 1)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise self._source.wrong(f"its member {name} cannot be read: {error}") from None
        self._left -= len(content)
        if self._left < 0:
            raise tables.too_large(self._source.path, self._most)
        return content

    def _opened(self, info: zipfile.ZipInfo) -> IO[bytes]:
        try:
            return self._archive.open(info)
        except NotImplementedError:
            if info.compress_type != ZSTANDARD:
                raise
        reader: IO[bytes] = (
            _zstandard(self._source)
            .ZstdDecompressor()
            .stream_reader(io.BytesIO(self._compressed(info)), read_across_frames=True)
        )
        return reader

    def _compressed(self, info: zipfile.ZipInfo) -> bytes:
        """Return the compressed bytes of a member."""
        data, begin = self._source.data, info.header_offset
        name, extra = LOCAL_HEADER.unpack_from(data, begin)
        start = begin + LOCAL_HEADER.size + name + extra
        return data[start : start + info.compress_size]


def members_of(source: Source) -> Members:
    """Open an archive.

    Raises:
        DataError: it is damaged, or a workbook of Excel.
    """
    try:
        members = Members(source, zipfile.ZipFile(io.BytesIO(source.data)))
    except zipfile.BadZipFile as error:
        raise source.wrong(f"this zip archive cannot be read: {error}") from None
    if WORKBOOK in members:
        raise source.wrong("this is an Excel workbook; expected text: save its sheet as `CSV UTF-8` and give that file")
    return members


def _zstandard(source: Source) -> Any:
    try:
        import zstandard
    except ImportError:
        raise InputError(
            f"{source.path}: its members are compressed with Zstandard, which needs {install('zstd')}. "
            "Or write the log anew: inspect log convert --to json"
        ) from None
    return zstandard
