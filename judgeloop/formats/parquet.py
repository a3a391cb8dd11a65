"""Reads Parquet files, with pyarrow or fastparquet from the extra `parquet`."""

import io
from collections.abc import Iterator
from typing import Any

from judgeloop.core.errors import InputError, install
from judgeloop.formats import tables
from judgeloop.formats.source import OpenedFile
from judgeloop.formats.tables import Row


def rows(file: OpenedFile) -> Iterator[Row]:
    """Yield the rows.

    Raises:
        DataError: the file is damaged, or too large when decompressed.
        InputError: neither library is installed.
    """
    number = 0
    for batch in _batches(file):
        for fields in batch:
            number += 1
            yield Row(number, fields)
    if not number:
        raise file.wrong("the file holds no rows")


def _batches(file: OpenedFile) -> Iterator[list[dict[str, Any]]]:
    try:
        import pyarrow.parquet
    except ImportError:
        yield _by_fastparquet(file)
        return
    try:
        opened = pyarrow.parquet.ParquetFile(io.BytesIO(file.data))
        meta = opened.metadata
        _check_size(file, (meta.row_group(n).total_byte_size for n in range(meta.num_row_groups)))
        for batch in opened.iter_batches():
            yield batch.to_pylist()
    except (OSError, ValueError, ArithmeticError, NotImplementedError) as error:
        # Pyarrow's own errors are of these kinds. A date may be one that Python has no value for.
        raise file.wrong(f"this Parquet file cannot be read: {error}") from None


def _by_fastparquet(file: OpenedFile) -> list[dict[str, Any]]:
    try:
        from fastparquet import ParquetFile
    except ImportError:
        raise InputError(f"{file.path}: a Parquet file needs {install('parquet')}") from None
    opened = ParquetFile(io.BytesIO(file.data))
    _check_size(file, (group.total_byte_size for group in opened.row_groups))
    frame = opened.to_pandas().astype(object)
    found: list[dict[str, Any]] = frame.where(frame.notna(), None).to_dict("records")
    return found


def _check_size(file: OpenedFile, sizes: Iterator[int]) -> None:
    most = tables.most_unpacked(len(file.data))
    if sum(sizes) > most:
        raise tables.too_large(file.path, most)
