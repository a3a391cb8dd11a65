"""The settings of a replay of comparisons: the selectors, the rules, the pairs and repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le, Lt, MinLen

from judgeloop.methods.selectors.catalogue import (
    CLUSTERINGS,
    COMBINATIONS,
    REPRESENTATIVES,
    Need,
    names_of,
    selector_row,
)
from judgeloop.methods.stopping.catalogue import rules_of
from judgeloop.questions.compare.config import REPLAYED, Clustering, Combine, Representative
from judgeloop.replay.settings import Caller, Found, ReplaySettings, Vectors
from judgeloop.settings.published import Publication
from judgeloop.settings.setting import Parse, Part, Setting, listed, numbers, some_of
from judgeloop.settings.shared import (
    OUTPUT,
    PROTOCOL,
    SELECTION,
    STOPPING,
    Count,
    MaxJudgments,
    MinJudgments,
    Represent,
)

# A rule that is calibrated on earlier comparisons is left out: a replay has none to give it.
REPLAYED_RULES = tuple(row.name for row in rules_of("compare") if not (row.by_past or row.recorded))


def _not_one(value: object) -> object:
    """Refuse 1 as a number of systems.

    Raises:
        ValueError: the value is 1.
    """
    if str(value) == "1":
        raise ValueError(
            "expected 0 or at least 2; a single system has nothing to be compared with"
        )
    return value


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(ReplaySettings):
    """All settings of a replay of comparisons."""

    QUESTION: ClassVar[str] = "compare"
    PAPER: ClassVar[Publication | None] = REPLAYED
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"pairs", "analyse", "norm_bins"}

    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("compare")),
        MinLen(1),
        Setting(
            f"For compare: {', '.join(names_of('compare'))}. For select and estimate: the selectors of "
            "that command, by default all.",
            SELECTION,
            Part.RUN,
            Found,
            metavar="NAME,...",
        ),
    ] = ("random", "diffuse", "max-norm")
    represent: Annotated[
        Represent,
        Setting(
            "How texts become vectors: lexical, minilm or minilm:FOLDER; for estimates also "
            "hidden:MODEL.",
            SELECTION,
            Part.RUN,
            Vectors,
        ),
    ] = "lexical"
    vectors: Annotated[
        Path | None,
        Setting(
            "File of output vectors: .npz with the arrays models and embeddings.",
            SELECTION,
            Part.CONTENT,
            Caller,
        ),
    ] = None
    combine: Combine = COMBINATIONS[0]
    clustering: Clustering = CLUSTERINGS[0]
    representative: Representative = REPRESENTATIVES[0]
    history_systems: Annotated[
        int,
        Ge(0),
        Parse(_not_one),
        Setting(
            "Number of other systems in the history, for decisive (0 or at least 2) and for the proxy "
            "history.",
            SELECTION,
            Part.RUN,
            Found,
        ),
    ] = 0
    sizes: Annotated[
        tuple[Count, ...],
        Parse(numbers),
        MinLen(1),
        Setting(
            "Numbers of items judged: FIRST:LAST:STEP, or separated by commas.",
            PROTOCOL,
            Part.RUN,
            Found,
            metavar="NUMBERS",
        ),
    ] = tuple(range(5, 201, 5))
    iterative: Annotated[
        bool,
        Setting(
            "Run until a rule is met, not to fixed numbers of items.", PROTOCOL, Part.RUN, Found
        ),
    ] = False
    rules: Annotated[
        tuple[str, ...],
        some_of(REPLAYED_RULES),
        MinLen(1),
        Setting(
            f"Stopping rules of iterative runs: {', '.join(REPLAYED_RULES)}.",
            PROTOCOL,
            Part.RUN,
            Found,
            metavar="NAME,...",
        ),
    ] = REPLAYED_RULES
    risk: Annotated[
        tuple[Annotated[float, Gt(0), Le(1)], ...],
        Parse(listed),
        MinLen(1),
        Setting(
            "Stated risks, separated by commas.", PROTOCOL, Part.RUN, Found, metavar="RISK,..."
        ),
    ] = (0.1, 0.2)
    pairs: Annotated[
        int, Ge(1), Setting("Maximum number of pairs of systems.", PROTOCOL, Part.RUN, Found)
    ] = 300
    seeds: Annotated[int, Ge(1), Setting("Number of repetitions.", PROTOCOL, Part.RUN, Found)] = 10
    subset: Annotated[
        float,
        Gt(0),
        Le(1),
        Setting("Share of the items in a repetition, up to 1.", PROTOCOL, Part.RUN, Found),
    ] = 0.8
    tie_margin: Annotated[
        float,
        Ge(0),
        Setting("Scores that differ by no more than this are a tie.", PROTOCOL, Part.RUN, Found),
    ] = 0.0
    min_judgments: MinJudgments = 5
    max_judgments: MaxJudgments = 200
    give_up: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        Setting(
            "Stop undecided once the probability of a decision within the maximum number of judgments "
            "is below this.",
            STOPPING,
            Part.RUN,
            Found,
        ),
    ] = None
    analyse: Annotated[
        tuple[Annotated[int, Ge(2)], ...],
        Parse(numbers),
        Setting(
            "Draw pictures of DiffUse's picks at this number of items judged, at least 2. With several "
            "numbers: of its picks at the first, and of its clusters at each.",
            OUTPUT,
            Part.REPORT,
            Found,
            metavar="NUMBERS",
        ),
    ] = ()
    norm_bins: Annotated[
        int,
        Ge(2),
        Setting(
            "Number of bins in the picture of success by norm, at least 2; the paper has 50.",
            OUTPUT,
            Part.REPORT,
            Found,
        ),
    ] = 5

    def __post_init__(self) -> None:
        """Sort `sizes` and drop duplicates."""
        object.__setattr__(self, "sizes", tuple(sorted(set(self.sizes))))

    @property
    def looks_at_lengths(self) -> bool:
        """Whether a selector uses the lengths of the outputs."""
        rows = [selector_row("compare", name) for name in self.selectors]
        return self.history_systems > 0 and any(Need.LENGTHS in row.needs for row in rows)
