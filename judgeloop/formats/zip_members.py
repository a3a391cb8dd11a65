"""Reads the members of a zip archive, up to `MOST_BYTES` of them altogether.

Members are stored, deflated, or compressed with Zstandard. Python reads the last kind itself from
version 3.14 on; before, the extra `zstd` does.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, Any

from judgeloop.core.errors import InputError
from judgeloop.formats import tables
from judgeloop.formats.source import Source

ZSTANDARD = 93  # the method's number in the zip format
WORKBOOK = "xl/workbook.xml"
LOCAL_HEADER = struct.Struct("<26xHH")  # ends in the lengths of the name and of the extra field


class Members:
    """The members of an archive, by name, in the order of the archive."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        """Keep the archive open for reading."""
        self._source, self._archive = source, archive
        self._left = tables.MOST_BYTES

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
            raise tables.too_large(self._source.path)
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
        raise source.wrong(
            "this is an Excel workbook; expected text: save its sheet as `CSV UTF-8` and give that "
            "file"
        )
    return members


def _zstandard(source: Source) -> Any:
    try:
        import zstandard
    except ImportError:
        raise InputError(
            f"{source.path}: its members are compressed with Zstandard, which needs an extra: pip "
            "install 'judgeloop[zstd]'. Or write the log anew: inspect log convert --to json"
        ) from None
    return zstandard
