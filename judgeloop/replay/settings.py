"""The settings that all replays share: the recorded data, the output folder and the seed.

The settings of each question are in `compare_config.py`, `select_config.py`, `estimate_config.py`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from judgeloop.run.identity import plain
from judgeloop.settings.setting import Parse, Part, Setting, Source, listed
from judgeloop.settings.shared import DATA, DEFAULT_HOME, OUTPUT, AsPublished, Seed
from judgeloop.settings.validation import Configuration

Caller, Found, Vectors = Source.CALLER, Source.FOUND, Source.VECTORS


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Configuration):
    """Settings of every replay."""

    outputs: Annotated[
        Path,
        Setting(
            "Folder of output files, one per system.",
            DATA,
            Part.CONTENT,
            Caller,
            argument="OUTPUTS_DIR",
        ),
    ]
    items: Annotated[
        Path, Setting("File of prompts, joined by id or prompt.", DATA, Part.CONTENT, Caller)
    ]
    verdicts: Annotated[
        Path, Setting("File of recorded scores: item_id, model, score.", DATA, Part.CONTENT, Caller)
    ]
    leave_out: Annotated[
        tuple[str, ...],
        Parse(listed),
        Setting(
            "Systems to leave out, separated by commas.", DATA, Part.RUN, Found, metavar="NAME,..."
        ),
    ] = ()
    output: Annotated[
        Path,
        Setting(
            "Folder for the tables, the pictures and the journal.",
            OUTPUT,
            Part.PLACE,
            Caller,
            short="-o",
        ),
    ]
    jobs: Annotated[
        int, Setting("Number of processes; -1 for one per core.", OUTPUT, Part.PACE, Found)
    ] = -1
    resume: Annotated[
        bool,
        Setting("Continue an interrupted replay in the output folder.", OUTPUT, Part.PLACE, Caller),
    ] = False
    cache_dir: Annotated[
        Path,
        Setting("Folder for vectors and other caches.", OUTPUT, Part.PLACE, Caller, file_only=True),
    ] = DEFAULT_HOME / "cache"
    as_published: AsPublished = False
    seed: Seed = 0

    # Settings that may differ when a replay is resumed: they do not change finished rows.
    LOOSE: ClassVar[frozenset[str]] = frozenset(
        {"output", "jobs", "resume", "cache_dir", "as_published"}
    )

    def decisive(self) -> dict[str, Any]:
        """Return the settings that the rows depend on; a resumed replay needs the same values."""
        return {
            name: plain(value) for name, value in asdict(self).items() if name not in self.LOOSE
        }
