"""The settings of replays, a class for each question; a field of several is one flag.

`ReplaySettings` has what all replays share: the recorded data, the output folder and the seed.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, MinLen

from judgeloop import catalogue
from judgeloop.core.records import MODELS_ABSTAIN
from judgeloop.formats.own_files import HOME
from judgeloop.papers.settings import (
    CLUSTERINGS,
    COMBINATIONS,
    CONFIDENCE_FIELD,
    CONFIDENCES,
    REPRESENTATIVES,
    Confidence,
    ConfidenceBy,
    Epsilon,
    Layer,
    Represent,
    RepresentOne,
    VectorsFile,
    WeakJudges,
)
from judgeloop.questions.estimate.settings import BY_CONFIDENCE
from judgeloop.questions.select.settings import MinGap
from judgeloop.replay.cluster import scheduler
from judgeloop.runs.prepared import plain
from judgeloop.settings.checking import Configuration
from judgeloop.settings.fields import (
    DATA,
    MANY,
    ONE,
    OUTPUT,
    PROTOCOL,
    SELECTION,
    STOPPING,
    CacheDir,
    Count,
    MaxJudgments,
    MinJudgments,
    Seed,
    Share,
    run_setting,
)
from judgeloop.settings.setting import Parse, Role, Setting, anybody, one_of, some_of
from judgeloop.settings.values import listed, numbers


def _file(help_: str, panel: str = DATA, **more: Any) -> Setting:
    """The setting of a file or folder to read, which the caller alone names."""
    return Setting(help_, panel, Role.CONTENT, **more)


def _among(help_: str, names: Sequence[str], panel: str = SELECTION, **more: Any) -> Setting:
    """The setting of one or some of `names`, which end its help."""
    return run_setting(f"{help_}: {', '.join(names)}.", panel, **more)


# Settings of several questions.
TieMargin = Annotated[float, Ge(0), run_setting("Scores that differ by no more than this are a tie.", PROTOCOL)]

REPLAYED_RULES = tuple(row.name for row in catalogue.rules_of("compare") if not row.recorded)


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Configuration):
    """Settings of every replay."""

    outputs: Annotated[Path, _file("Folder of output files, one per system.", argument="OUTPUTS_DIR")]
    items: Annotated[Path, _file("File of prompts, joined by id or prompt.")]
    verdicts: Annotated[Path, _file("File of recorded scores: item_id, model, score.")]
    leave_out: Annotated[
        tuple[str, ...],
        Parse(listed),
        run_setting("Systems to leave out, separated by commas.", DATA, metavar="NAME,..."),
    ] = ()
    output: Annotated[Path, Setting("Folder for the tables and the journal.", OUTPUT, Role.PLACE, short="-o")]
    jobs: Annotated[int, Setting("Number of processes; -1 for one per core.", OUTPUT, Role.PACE, anybody)] = -1
    engine: Annotated[
        str | None,
        Parse(scheduler),
        Setting(
            "Dask cluster on whose workers to run, in place of `jobs` processes here.",
            OUTPUT,
            Role.PACE,
            metavar="dask://HOST:PORT",
        ),
    ] = None
    resume: Annotated[bool, Setting("Continue an interrupted replay in the output folder.", OUTPUT, Role.PLACE)] = False
    cache_dir: CacheDir = HOME / "cache"
    seed: Seed = 0

    FEWEST: ClassVar[int] = 2  # systems
    # Settings that may differ when a replay is resumed: they do not change finished rows.
    LOOSE: ClassVar[frozenset[str]] = frozenset({"output", "jobs", "engine", "resume", "cache_dir"})

    def settings_of_rows(self) -> dict[str, Any]:
        """The settings that the rows depend on; a resumed replay needs the same values."""
        return {name: plain(value) for name, value in asdict(self).items() if name not in self.LOOSE}


@dataclass(frozen=True, kw_only=True)
class ReplayCompareSettings(ReplaySettings):
    """All settings of a replay of comparisons."""

    QUESTION: ClassVar[str] = "compare"
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"pairs"}

    selectors: Annotated[
        tuple[str, ...],
        some_of(catalogue.selector_names("compare")),
        MinLen(1),
        run_setting(
            f"For compare: {', '.join(catalogue.selector_names('compare'))}. For select and estimate: the selectors of "
            "that command, by default all.",
            SELECTION,
            metavar="NAME,...",
        ),
    ] = ("random", "diffuse", "max-norm")
    represent: Annotated[
        Represent,
        Setting(
            "How texts become vectors: lexical, minilm or minilm:FOLDER; for estimates also hidden:MODEL.",
            SELECTION,
            Role.RUN,
        ),
    ] = "lexical"
    vectors: VectorsFile = None
    combine: Annotated[
        str, one_of(COMBINATIONS), _among("Vectors to cluster, made from the two outputs", COMBINATIONS)
    ] = COMBINATIONS[0]
    clustering: Annotated[str, one_of(CLUSTERINGS), _among("Clustering method", CLUSTERINGS)] = CLUSTERINGS[0]
    representative: Annotated[
        str, one_of(REPRESENTATIVES), _among("How the judged item of a cluster is chosen", REPRESENTATIVES)
    ] = REPRESENTATIVES[0]
    sizes: Annotated[
        tuple[Count, ...],
        Parse(numbers),
        MinLen(1),
        run_setting("Numbers of items judged: FIRST:LAST:STEP, or separated by commas.", PROTOCOL, metavar="NUMBERS"),
    ] = tuple(range(5, 201, 5))
    iterative: Annotated[bool, run_setting("Run until a rule is met, not to fixed numbers of items.", PROTOCOL)] = False
    rules: Annotated[
        tuple[str, ...],
        some_of(REPLAYED_RULES),
        MinLen(1),
        _among("Stopping rules of iterative runs", REPLAYED_RULES, PROTOCOL, metavar="NAME,..."),
    ] = REPLAYED_RULES
    risk: Annotated[
        tuple[Annotated[float, Gt(0), Le(1)], ...],
        Parse(listed),
        MinLen(1),
        run_setting("Stated risks, separated by commas.", PROTOCOL, metavar="RISK,..."),
    ] = (0.1, 0.2)
    pairs: Annotated[int, Ge(1), run_setting("Maximum number of pairs of systems.", PROTOCOL)] = 300
    seeds: Annotated[int, Ge(1), run_setting("Number of repetitions.", PROTOCOL)] = 10
    subset: Annotated[float, Gt(0), Le(1), run_setting("Share of the items in a repetition, up to 1.", PROTOCOL)] = 0.8
    tie_margin: TieMargin = 0.0
    min_judgments: MinJudgments = 5
    max_judgments: MaxJudgments = 200
    give_up: Annotated[
        Share | None,
        run_setting(
            "Stop undecided once the probability of a decision within the maximum number of judgments is below this.",
            STOPPING,
        ),
    ] = None

    def __post_init__(self) -> None:
        """Sort `sizes` and drop duplicates."""
        object.__setattr__(self, "sizes", tuple(sorted(set(self.sizes))))


@dataclass(frozen=True, kw_only=True)
class ReplaySelectSettings(ReplaySettings):
    """All settings of a replay of searches for the best of many systems."""

    QUESTION: ClassVar[str] = "select"
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"seeds"}

    baseline: Annotated[str, run_setting("System that all others are compared with.", MANY, metavar="NAME")]
    selectors: Annotated[
        tuple[str, ...],
        some_of(catalogue.selector_names("select")),
        MinLen(1),
        _among("Selectors", catalogue.selector_names("select"), metavar="NAME,..."),
    ] = catalogue.selector_names("select")
    pool: Annotated[int, Ge(1), run_setting("Number of items in the random pool of a realisation.", MANY)] = 400
    weak_judges: WeakJudges = 10
    epsilon: Epsilon = None
    risk: Annotated[Share, run_setting("Stated risk at which a race stops.", PROTOCOL)] = 0.1
    min_gap: MinGap = None
    max_abstentions: Annotated[
        float,
        Ge(0),
        Le(1),
        run_setting(
            "Share of calls without a verdict (0 to 1) above which a run ends, as a live search does.", PROTOCOL
        ),
    ] = MODELS_ABSTAIN
    seeds: Annotated[int, Ge(1), run_setting("Number of realisations.", PROTOCOL)] = 100
    tie_margin: TieMargin = 0.0


@dataclass(frozen=True, kw_only=True)
class ReplayEstimateSettings(ReplaySettings):
    """All settings of a replay of estimates of single systems.

    Empty `selectors` mean all selectors whose data are in the files. `proxy` is used by the
    selectors that draw.
    """

    QUESTION: ClassVar[str] = "estimate"
    FEWEST: ClassVar[int] = 1

    selectors: Annotated[
        tuple[str, ...],
        some_of(catalogue.selector_names("estimate", ablations=True)),
        _among("Selectors", catalogue.selector_names("estimate", ablations=True), metavar="NAME,..."),
    ] = ()
    represent: Annotated[
        RepresentOne,
        Setting(
            "How items become vectors: lexical, minilm, minilm:FOLDER or hidden:MODEL (diffuse, which "
            "clusters outputs, then uses lexical).",
            SELECTION,
            Role.RUN,
        ),
    ] = "lexical"
    vectors: VectorsFile = None
    shares: Annotated[
        tuple[Annotated[int, Ge(1), Le(100)], ...],
        Parse(numbers),
        MinLen(1),
        run_setting(
            "Shares of the items judged, in per cent: FIRST:LAST:STEP, or separated by commas.", ONE, metavar="NUMBERS"
        ),
    ] = tuple(range(5, 51))
    layer: Annotated[
        Layer | None,
        run_setting(
            "Layer of the hidden states: middle, last, a number, or auto (AcTracer's search). Default: middle. "
            "cross-entropy and mmd-critic always use the last.",
            ONE,
        ),
    ] = None
    confidence: Confidence = CONFIDENCE_FIELD
    confidence_by: ConfidenceBy = CONFIDENCES[0]
    proxy: Annotated[
        str | None,
        one_of((BY_CONFIDENCE,)),
        run_setting("Guess at every item's score, for the selectors that draw: confidence.", ONE),
    ] = None
    risk: Annotated[Share, run_setting("Stated risk of the intervals.", PROTOCOL)] = 0.1
    seeds: Annotated[int, Ge(1), run_setting("Number of repetitions.", PROTOCOL)] = 10

    def __post_init__(self) -> None:
        """Sort `shares` and drop duplicates."""
        object.__setattr__(self, "shares", tuple(sorted(set(self.shares))))


CONFIGS: dict[str, type[ReplaySettings]] = {
    config.QUESTION: config for config in (ReplayCompareSettings, ReplaySelectSettings, ReplayEstimateSettings)
}
