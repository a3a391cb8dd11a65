"""Tables of stakes in the cache folder: reading them takes a tenth of the time that making them takes.

The folder is safe to delete. A file that is damaged is made again. One that a stranger wrote changes how soon a run
ends, and no risk: a test of bets is valid whatever the stakes are (`methods/stats/hedged.py`).
"""

import gzip
import io
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np

from judgeloop.core.errors import JudgeloopError
from judgeloop.formats.own_files import write_whole
from judgeloop.methods.stats import hedged
from judgeloop.methods.stats.hedged import Stakes

MOST_BYTES = 32_000_000  # of all files: beyond, the one that was read the longest ago goes
ENDING = ".npy.gz"


def keep_tables_in(folder: Path) -> None:
    """Let all tables of this process be looked for in a folder, and kept there if that lies in one that is there.

    So a demo or a dry run leaves nothing where nothing of judgeloop was.
    """
    hedged.keep = partial(_kept, folder / "stakes")


def _kept(folder: Path, name: str, make: Callable[[], Stakes]) -> Stakes:
    path = folder / f"{name}{ENDING}"
    with suppress(OSError, EOFError, ValueError, zlib.error):
        content = io.BytesIO(gzip.decompress(path.read_bytes()))  # compares its check sum
        found = Stakes(*(np.load(content, allow_pickle=False) for _ in fields(Stakes)))
        with suppress(OSError):  # a folder that can only be read serves as well
            path.touch()
        return found
    made = make()
    if not folder.parent.parent.is_dir():
        return made
    with suppress(OSError, JudgeloopError):  # no place, or none that can be written: the next process makes them again
        content = io.BytesIO()
        for one in fields(Stakes):
            np.save(content, getattr(made, one.name), allow_pickle=False)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, gzip.compress(content.getvalue(), compresslevel=1))
        left, files = MOST_BYTES, [(one.stat(), one) for one in folder.iterdir()]
        for stat, file in sorted(files, key=lambda one: one[0].st_mtime, reverse=True):
            left -= stat.st_size
            if left < 0:
                file.unlink(missing_ok=True)
    return made
