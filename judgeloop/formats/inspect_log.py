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
from collections.abc import Iterable, Iterator
from typing import IO, Any

from judgeloop.core.ends import ended
from judgeloop.core.errors import InputError, install
from judgeloop.formats import tables
from judgeloop.formats.messages import said
from judgeloop.formats.source import OpenedFile, within
from judgeloop.formats.tables import Fields, Row

ZSTANDARD = 93  # the method's number in the zip format
WORKBOOK = "xl/workbook.xml"
LOCAL_HEADER = struct.Struct("<26xHH")  # ends in the lengths of the name and of the extra field
HEADER, SAMPLES = "header.json", "samples/"
ATTACHMENT = "attachment://"
# How Inspect counts the letters of its scorers, in its `value_to_float`.
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def is_log(file: OpenedFile) -> bool:
    """Whether this is a log of Inspect; no other archive is read."""
    if file.is_zip:
        return True
    document = file.document
    return within(document, "eval", "task") is not None and "status" in (document or {})


def samples(file: OpenedFile) -> Iterator[Row]:
    """Yield a row for each sample."""
    if file.is_zip:
        members = members_of(file)
        if HEADER not in members:
            what = "this log is not finished" if "_journal/start.json" in members else "this is no log"
            raise file.wrong(f"{what}: the archive has no {HEADER}")
        header = _parsed(file, members, HEADER)
        names = [name for name in members if name.startswith(SAMPLES) and name.endswith(".json")]
        found: Iterable[Any] = (_parsed(file, members, name) for name in names)
    else:
        header = file.document
        found = within(header, "samples") or ()
    empty = True
    for number, sample in enumerate(found, start=1):
        empty = False
        yield _row(file, number, sample, within(header, "eval", "model"))
    if empty:
        raise file.wrong(
            f"this log has no samples (its status is {within(header, 'status')!r}); run the task with log_samples"
        )


def _parsed(file: OpenedFile, members: Members, name: str) -> Any:
    try:
        return json.loads(members.read(name))
    except ValueError as error:
        raise file.wrong(f"its member {name} is no JSON: {error}") from None


def _row(file: OpenedFile, number: int, sample: Any, model: Any) -> Row:
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
        # With `score_on_error`, Inspect scores such a sample, and counts it.
        return Row(number, fields, failed=str(reason), epoch=epoch, scores=scores or None)
    choice = file.only(output["choices"], "choices", number)
    try:
        answer = said(_restored(within(choice, "message"), attachments))
    except ValueError as error:
        raise file.wrong(f"the output is no text: {error}", number) from None
    how = ended(within(choice, "stop_reason"))
    return Row(number, fields | {"output": answer}, epoch=epoch, scores=scores, ended=how)


def _scores(scores: Any) -> dict[str, object]:
    """The value of each scorer, or each of its values; letters become numbers."""
    found: dict[str, object] = {}
    for name, score in (scores or {}).items():
        value = within(score, "value")
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, one in parts:
            number = LETTERS.get(one, one) if isinstance(one, str) else one
            found[f"{name}/{part}" if part else name] = number
    return found


def _restored(value: Any, attachments: Fields) -> Any:
    """A value with the texts that it refers to."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if isinstance(value, list):
        return [_restored(part, attachments) for part in value]
    if isinstance(value, dict):
        return {name: _restored(part, attachments) for name, part in value.items()}
    return value


class Members:
    """The members of an archive, by name, in the order of the archive."""

    def __init__(self, file: OpenedFile, archive: zipfile.ZipFile) -> None:
        """Keep the archive open for reading."""
        self._file, self._archive = file, archive
        self._most = self._left = tables.most_unpacked(len(file.data))

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._archive.namelist())

    def __contains__(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._archive.NameToInfo

    def read(self, name: str) -> bytes:
        """The content of a member.

        Raises:
            DataError: it is damaged, or what was read of the archive is too much.
            InputError: it needs the extra `zstd`.
        """
        info = self._archive.NameToInfo[name]
        try:
            with self._opened(info) as member:
                content = member.read(self._left + 1)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise self._file.wrong(f"its member {name} cannot be read: {error}") from None
        self._left -= len(content)
        if self._left < 0:
            raise tables.too_large(self._file.path, self._most)
        return content

    def _opened(self, info: zipfile.ZipInfo) -> IO[bytes]:
        try:
            return self._archive.open(info)
        except NotImplementedError:
            if info.compress_type != ZSTANDARD:
                raise
        try:
            import zstandard
        except ImportError:
            raise InputError(
                f"{self._file.path}: its members are compressed with Zstandard, which needs {install('zstd')}. "
                "Or write the log anew: inspect log convert --to json"
            ) from None
        data, begin = self._file.data, info.header_offset
        name, extra = LOCAL_HEADER.unpack_from(data, begin)
        start = begin + LOCAL_HEADER.size + name + extra
        compressed = io.BytesIO(data[start : start + info.compress_size])
        opened: IO[bytes] = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True)
        return opened


def members_of(file: OpenedFile) -> Members:
    """Open an archive.

    Raises:
        DataError: it is damaged, or a workbook of Excel.
    """
    try:
        members = Members(file, zipfile.ZipFile(io.BytesIO(file.data)))
    except zipfile.BadZipFile as error:
        raise file.wrong(f"this zip archive cannot be read: {error}") from None
    if WORKBOOK in members:
        raise file.wrong("this is an Excel workbook; expected text: save its sheet as `CSV UTF-8` and give that file")
    return members
