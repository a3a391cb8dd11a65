"""Reads Parquet files, with pyarrow or fastparquet from the extra `parquet`."""

import io
from collections.abc import Iterator
from typing import Any

from judgeloop.core.errors import InputError, install
from judgeloop.formats import tables
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is a Parquet file."""
    return source.is_parquet


def read(source: Source) -> Iterator[Row]:
    """Yield the rows.

    Raises:
        DataError: the file is damaged, or too large when decompressed.
        InputError: neither library is installed.
    """
    number = 0
    for batch in _batches(source):
        for fields in batch:
            number += 1
            yield Row(number, fields)
    if not number:
        raise source.wrong("the file holds no rows")


def _batches(source: Source) -> Iterator[list[dict[str, Any]]]:
    try:
        import pyarrow.parquet
    except ImportError:
        yield _by_fastparquet(source)
        return
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(source.data))
        meta = file.metadata
        _check_size(source, (meta.row_group(n).total_byte_size for n in range(meta.num_row_groups)))
        for batch in file.iter_batches():
            yield batch.to_pylist()
    except (OSError, ValueError, ArithmeticError, NotImplementedError) as error:
        # Pyarrow's own errors are of these kinds. A date may be one that Python has no value for.
        raise source.wrong(f"this Parquet file cannot be read: {error}") from None


def _by_fastparquet(source: Source) -> list[dict[str, Any]]:
    try:
        from fastparquet import ParquetFile
    except ImportError:
        raise InputError(f"{source.path}: a Parquet file needs {install('parquet')}") from None
    file = ParquetFile(io.BytesIO(source.data))
    _check_size(source, (group.total_byte_size for group in file.row_groups))
    frame = file.to_pandas().astype(object)
    rows: list[dict[str, Any]] = frame.where(frame.notna(), None).to_dict("records")
    return rows


def _check_size(source: Source, sizes: Iterator[int]) -> None:
    most = tables.most_unpacked(len(source.data))
    if sum(sizes) > most:
        raise tables.too_large(source.path, most)
