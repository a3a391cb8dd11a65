"""The settings that all replays share: which recorded verdicts, and where the tables go."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from judgeloop.run.identity import plain
from judgeloop.run.setting import Parse, Part, Setting, Source, listed
from judgeloop.run.settings import DATA, DEFAULT_HOME, OUTPUT, Seed
from judgeloop.run.validation import Configuration

Caller = Source.CALLER


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Configuration):
    """What every replay depends on."""

    outputs: Annotated[
        Path,
        Setting("Output files, one a system.", DATA, Part.CONTENT, Caller, argument="OUTPUTS_DIR"),
    ]
    items: Annotated[Path, Setting("Prompts, joined by id or prompt.", DATA, Part.CONTENT, Caller)]
    verdicts: Annotated[
        Path, Setting("Recorded scores: item_id, model, score.", DATA, Part.CONTENT, Caller)
    ]
    leave_out: Annotated[
        tuple[str, ...],
        Parse(listed),
        Setting(
            "Systems to leave out, with commas between.", DATA, Part.RUN, Caller, metavar="NAME,..."
        ),
    ] = ()
    output: Annotated[
        Path,
        Setting(
            "Folder for tables, pictures and the journal.", OUTPUT, Part.PLACE, Caller, short="-o"
        ),
    ]
    jobs: Annotated[
        int, Setting("Number of processes; -1 for one a core.", OUTPUT, Part.PACE, Caller)
    ] = -1
    resume: Annotated[
        bool, Setting("Go on with what is not finished.", OUTPUT, Part.PLACE, Caller)
    ] = False
    cache_dir: Annotated[Path, Setting("", OUTPUT, Part.PLACE, Caller, flag=False)] = (
        DEFAULT_HOME / "cache"
    )
    seed: Seed = 0

    # What may differ where a replay is resumed: it changes where and how fast it runs, or adds to it.
    LOOSE: ClassVar[frozenset[str]] = frozenset({"output", "jobs", "resume", "cache_dir"})

    def decisive(self) -> dict[str, Any]:
        """What the rows depend on: it has to be the same for a replay to be resumed."""
        return {
            name: plain(value) for name, value in asdict(self).items() if name not in self.LOOSE
        }
