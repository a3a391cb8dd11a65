"""The settings of `replay`: which recorded verdicts, which selectors and rules, how often.

There is one configuration for each question that is replayed. A field of several of them is
declared alike, and is one flag.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Le, Lt, MinLen

from judgeloop.estimate.config import BY_CONFIDENCE, BY_HISTORY, CONFIDENCE_FIELD, CONFIDENCES
from judgeloop.run.identity import plain
from judgeloop.run.setting import (
    Parse,
    Part,
    Setting,
    Source,
    listed,
    numbers,
    one_of,
    some_of,
)
from judgeloop.run.settings import (
    DATA,
    DEFAULT_HOME,
    MANY,
    ONE,
    OUTPUT,
    PROTOCOL,
    SELECTION,
    STOPPING,
    Count,
    Layer,
    Represent,
    RepresentOne,
)
from judgeloop.run.validation import Configuration
from judgeloop.select.config import Epsilons, epsilons
from judgeloop.selectors.catalogue import names_of
from judgeloop.stats.names import CLUSTERINGS, COMBINATIONS, REPRESENTATIVES
from judgeloop.stopping.catalogue import rules_of

Caller = Source.CALLER
# A rule that past comparisons calibrate needs a past of its own, which a replay does not give it.
REPLAYED_RULES = tuple(row.name for row in rules_of("compare") if not row.by_past)


def _not_one(value: object) -> object:
    """A number of systems that can have been compared."""
    if str(value) == "1":
        raise ValueError("expected 0 or at least 2; one system was compared with nobody")
    return value


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
    seed: Annotated[
        int, Ge(0), Setting("Seed of all random numbers.", SELECTION, Part.RUN, Caller)
    ] = 0

    # What may differ where a replay is resumed: it changes where and how fast it runs, or adds to it.
    LOOSE: ClassVar[frozenset[str]] = frozenset({"output", "jobs", "resume", "cache_dir"})

    def decisive(self) -> dict[str, Any]:
        """What the rows depend on: it has to be the same for a replay to be resumed."""
        return {
            name: plain(value) for name, value in asdict(self).items() if name not in self.LOOSE
        }


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(ReplaySettings):
    """Everything that a replay of comparisons depends on."""

    QUESTION: ClassVar[str] = "compare"
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"pairs", "analyse"}

    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("compare")),
        MinLen(1),
        Setting(
            f"{', '.join(names_of('compare'))}; for another question those of its command, by default "
            "all.",
            SELECTION,
            Part.RUN,
            Caller,
            metavar="NAME,...",
        ),
    ] = ("random", "diffuse", "max-norm")
    represent: Annotated[
        Represent,
        Setting(
            "lexical, minilm, minilm:FOLDER; for estimates also hidden:MODEL.",
            SELECTION,
            Part.RUN,
            Caller,
        ),
    ] = "lexical"
    vectors: Annotated[
        Path | None,
        Setting(
            "Outputs' vectors: an .npz with models and embeddings.", SELECTION, Part.CONTENT, Caller
        ),
    ] = None
    combine: Annotated[
        str,
        one_of(COMBINATIONS),
        Setting(
            f"Vectors to cluster: the outputs' {', '.join(COMBINATIONS)}.",
            SELECTION,
            Part.RUN,
            Caller,
        ),
    ] = COMBINATIONS[0]
    clustering: Annotated[
        str,
        one_of(CLUSTERINGS),
        Setting(f"{', '.join(CLUSTERINGS)}.", SELECTION, Part.RUN, Caller),
    ] = CLUSTERINGS[0]
    representative: Annotated[
        str,
        one_of(REPRESENTATIVES),
        Setting(
            f"Item of a cluster that is judged: {', '.join(REPRESENTATIVES)}.",
            SELECTION,
            Part.RUN,
            Caller,
        ),
    ] = REPRESENTATIVES[0]
    history_systems: Annotated[
        int,
        Ge(0),
        Parse(_not_one),
        Setting(
            "Number of other systems judged before, for decisive and for the proxy history.",
            SELECTION,
            Part.RUN,
            Caller,
        ),
    ] = 0
    history_power: Annotated[
        float | None,
        Ge(0),
        Lt(float("inf")),
        Setting(
            "Exponent of decisive's weights. Default: by the number of systems judged before.",
            SELECTION,
            Part.RUN,
            Caller,
        ),
    ] = None
    budgets: Annotated[
        tuple[Count, ...],
        Parse(numbers),
        MinLen(1),
        Setting(
            "Numbers of judgments: FIRST:LAST:STEP, or with commas between.",
            PROTOCOL,
            Part.RUN,
            Caller,
            metavar="NUMBERS",
        ),
    ] = tuple(range(5, 201, 5))
    iterative: Annotated[
        bool,
        Setting("Run until a rule is met, not to fixed numbers.", PROTOCOL, Part.RUN, Caller),
    ] = False
    rules: Annotated[
        tuple[str, ...],
        some_of(REPLAYED_RULES),
        MinLen(1),
        Setting(f"{', '.join(REPLAYED_RULES)}.", PROTOCOL, Part.RUN, Caller, metavar="NAME,..."),
    ] = REPLAYED_RULES
    risk: Annotated[
        tuple[Annotated[float, Gt(0), Le(1)], ...],
        Parse(listed),
        MinLen(1),
        Setting(
            "Stated risks, with commas between.", PROTOCOL, Part.RUN, Caller, metavar="RISK,..."
        ),
    ] = (0.1, 0.2)
    pairs: Annotated[
        int, Ge(1), Setting("Maximum number of pairs of systems.", PROTOCOL, Part.RUN, Caller)
    ] = 300
    seeds: Annotated[int, Ge(1), Setting("Number of repetitions.", PROTOCOL, Part.RUN, Caller)] = 10
    subset: Annotated[
        float,
        Gt(0),
        Le(1),
        Setting("Share of the items in a repetition.", PROTOCOL, Part.RUN, Caller),
    ] = 0.8
    tie_margin: Annotated[
        float,
        Ge(0),
        Setting("Scores that differ by no more than this are a tie.", PROTOCOL, Part.RUN, Caller),
    ] = 0.0
    min_judgments: Annotated[
        int, Ge(1), Setting("Minimum number of judgments.", STOPPING, Part.RUN, Caller)
    ] = 5
    max_judgments: Annotated[
        int, Ge(1), Setting("Maximum number of judgments.", STOPPING, Part.RUN, Caller)
    ] = 200
    give_up: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        Setting(
            "End undecided once a decision within the maximum is less likely than this.",
            STOPPING,
            Part.RUN,
            Caller,
        ),
    ] = None
    analyse: Annotated[
        int | None,
        Ge(2),
        Setting(
            "Draw what DiffUse picks at this number of judgments.", OUTPUT, Part.REPORT, Caller
        ),
    ] = None

    def __post_init__(self) -> None:
        """Put the budgets in order."""
        object.__setattr__(self, "budgets", tuple(sorted(set(self.budgets))))

    @property
    def looks_at_lengths(self) -> bool:
        """Whether a selector looks at how long the outputs are."""
        return "decisive" in self.selectors and self.history_systems > 0


@dataclass(frozen=True, kw_only=True)
class ReplaySelectConfig(ReplaySettings):
    """Everything that a replay of searches for the best of many depends on."""

    QUESTION: ClassVar[str] = "select"
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"seeds"}

    baseline: Annotated[
        str,
        Setting(
            "The system that all others are compared with.", MANY, Part.RUN, Caller, metavar="NAME"
        ),
    ]
    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("select")),
        MinLen(1),
        Setting(
            f"{', '.join(names_of('select'))}.", SELECTION, Part.RUN, Caller, metavar="NAME,..."
        ),
    ] = names_of("select")
    pool: Annotated[
        int, Ge(1), Setting("Number of items in a realisation.", MANY, Part.RUN, Caller)
    ] = 400
    calls: Annotated[
        tuple[Count, ...],
        Parse(numbers),
        Setting(
            "Numbers of judgments for halving, with commas between.",
            MANY,
            Part.RUN,
            Caller,
            metavar="NUMBERS",
        ),
    ] = ()
    weak_judges: Annotated[
        int,
        Ge(1),
        Setting("Number of word-sequence models that guess for the judge.", MANY, Part.RUN, Caller),
    ] = 10
    epsilon: Annotated[
        Epsilons | None,
        Parse(epsilons),
        Setting(
            "For llm-selector: how often the best system loses and ties.",
            MANY,
            Part.RUN,
            Caller,
            metavar="E1,E2",
        ),
    ] = None
    risk: Annotated[
        float, Gt(0), Lt(1), Setting("Stated risk of a race.", PROTOCOL, Part.RUN, Caller)
    ] = 0.1
    seeds: Annotated[int, Ge(1), Setting("Number of realisations.", PROTOCOL, Part.RUN, Caller)] = (
        100
    )
    tie_margin: Annotated[
        float,
        Ge(0),
        Setting("Scores that differ by no more than this are a tie.", PROTOCOL, Part.RUN, Caller),
    ] = 0.0


@dataclass(frozen=True, kw_only=True)
class ReplayEstimateConfig(ReplaySettings):
    """Everything that a replay of estimates of single systems depends on.

    Empty `selectors` are all that the files have something for. `proxy` helps those that draw; with
    history, it is what `history_systems` others' scores let expect of each system.
    """

    QUESTION: ClassVar[str] = "estimate"

    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("estimate", ablations=True)),
        Setting(
            f"{', '.join(names_of('estimate', ablations=True))}.",
            SELECTION,
            Part.RUN,
            Caller,
            metavar="NAME,...",
        ),
    ] = ()
    represent: Annotated[
        RepresentOne,
        Setting("lexical, minilm, minilm:FOLDER or hidden:MODEL.", SELECTION, Part.RUN, Caller),
    ] = "lexical"
    vectors: Annotated[
        Path | None,
        Setting(
            "Outputs' vectors: an .npz with models and embeddings.", SELECTION, Part.CONTENT, Caller
        ),
    ] = None
    history_systems: Annotated[
        int,
        Ge(0),
        Setting("Number of other systems judged before.", SELECTION, Part.RUN, Caller),
    ] = 0
    shares: Annotated[
        tuple[Annotated[int, Ge(1), Le(100)], ...],
        Parse(numbers),
        MinLen(1),
        Setting(
            "Per cent of the items: FIRST:LAST:STEP, or numbers.",
            ONE,
            Part.RUN,
            Caller,
            metavar="NUMBERS",
        ),
    ] = tuple(range(5, 51))
    layer: Annotated[
        Layer | None,
        Setting(
            "Layer of the hidden states: middle, last, auto or a number. Default: middle; last for "
            "cross-entropy and mmd-critic always.",
            ONE,
            Part.RUN,
            Caller,
        ),
    ] = None
    confidence: Annotated[
        str,
        MinLen(1),
        Setting("Field of the outputs with the system's confidence.", ONE, Part.CONTENT, Caller),
    ] = CONFIDENCE_FIELD
    confidence_by: Annotated[
        str,
        one_of(CONFIDENCES),
        Setting(
            "Confidence from log-probabilities of tokens: geometric-mean or first-token.",
            ONE,
            Part.RUN,
            Caller,
        ),
    ] = CONFIDENCES[0]
    proxy: Annotated[
        str | None,
        one_of((BY_CONFIDENCE, BY_HISTORY)),
        Setting("confidence or history: it helps the selectors that draw.", ONE, Part.RUN, Caller),
    ] = None
    risk: Annotated[
        float, Gt(0), Lt(1), Setting("Stated risk of the intervals.", PROTOCOL, Part.RUN, Caller)
    ] = 0.1
    seeds: Annotated[int, Ge(1), Setting("Number of repetitions.", PROTOCOL, Part.RUN, Caller)] = 10

    def __post_init__(self) -> None:
        """Put the shares in order."""
        object.__setattr__(self, "shares", tuple(sorted(set(self.shares))))


CONFIGS = {
    config.QUESTION: config for config in (ReplayConfig, ReplaySelectConfig, ReplayEstimateConfig)
}
