"""Reads a folder of files, each of which is one output: its name without the ending is the item's id."""

from collections.abc import Iterator
from pathlib import Path

from judgeloop.core.errors import DataError
from judgeloop.formats.row import Row
from judgeloop.formats.tables import MOST_BYTES, read_text

UNIT = "file"
# Files of many outputs, each of which is a system by itself.
TABLES = {".jsonl", ".csv", ".tsv", ".parquet", ".eval", ".gz"}


def read(folder: Path) -> Iterator[Row]:
    """Yield a row for each file, in the order of the names; hidden files are left out.

    Raises:
        DataError: there is none, or one is a folder, a link, a table, or no UTF-8.
    """
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    if not files:
        raise DataError(folder, "this folder is empty; expected a file for each output")
    size = 0
    for number, path in enumerate(files, start=1):
        if path.suffix in TABLES or (len(files) == 1 and path.is_file()):
            raise DataError(folder, f"this folder holds {path.name}; give the file itself: {path}")
        if path.is_symlink() or not path.is_file():
            raise DataError(path, "expected a file with one output, found a link or a folder")
        text = read_text(path)
        if (size := size + len(text)) > MOST_BYTES:
            raise DataError(folder, f"these files have more than {MOST_BYTES >> 20:,} MiB")
        yield Row(number, {"id": path.stem, "output": text.removesuffix("\n")})
