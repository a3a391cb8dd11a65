"""What docs/reference/file-formats.md says of the limits; its tables are made by docs/make.py."""

from __future__ import annotations

from pathlib import Path

from judgeloop.formats.tables import MOST_BYTES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "file-formats.md"


def test_the_limit_of_decompressed_size_is_the_pages():
    assert f"at most {MOST_BYTES >> 20:,} MiB" in PAGE.read_text(encoding="utf-8")
