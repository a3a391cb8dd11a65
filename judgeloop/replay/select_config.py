"""The settings of a replay of searches for the best: the baseline, selectors and realisations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Lt, MinLen

from judgeloop.methods.selectors.catalogue import names_of
from judgeloop.questions.select.config import EPSILONS, REPLAYED, Epsilons, epsilons
from judgeloop.replay.settings import Found, ReplaySettings
from judgeloop.settings.published import Publication
from judgeloop.settings.setting import Parse, Part, Setting, numbers, some_of
from judgeloop.settings.shared import MANY, PROTOCOL, SELECTION, Count


@dataclass(frozen=True, kw_only=True)
class ReplaySelectConfig(ReplaySettings):
    """All settings of a replay of searches for the best of many systems."""

    QUESTION: ClassVar[str] = "select"
    PAPER: ClassVar[Publication | None] = REPLAYED
    LOOSE: ClassVar[frozenset[str]] = ReplaySettings.LOOSE | {"seeds"}

    baseline: Annotated[
        str,
        Setting("System that all others are compared with.", MANY, Part.RUN, Found, metavar="NAME"),
    ]
    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("select")),
        MinLen(1),
        Setting(
            f"Selectors: {', '.join(names_of('select'))}.",
            SELECTION,
            Part.RUN,
            Found,
            metavar="NAME,...",
        ),
    ] = names_of("select")
    pool: Annotated[
        int,
        Ge(1),
        Setting("Number of items in the random pool of a realisation.", MANY, Part.RUN, Found),
    ] = 400
    calls: Annotated[
        tuple[Count, ...],
        Parse(numbers),
        Setting(
            "Numbers of judgments for halving: FIRST:LAST:STEP, or separated by commas.",
            MANY,
            Part.RUN,
            Found,
            metavar="NUMBERS",
        ),
    ] = ()
    weak_judges: Annotated[
        int,
        Ge(1),
        Setting("Number of weak judges (word-sequence models).", MANY, Part.RUN, Found),
    ] = 10
    epsilon: Annotated[
        Epsilons | None,
        Parse(epsilons, EPSILONS),
        Setting(
            "For llm-selector: probabilities that the best system loses to and ties with the baseline, or auto.",
            MANY,
            Part.RUN,
            Found,
            metavar="E1,E2",
        ),
    ] = None
    risk: Annotated[
        float,
        Gt(0),
        Lt(1),
        Setting("Stated risk at which a race stops.", PROTOCOL, Part.RUN, Found),
    ] = 0.1
    seeds: Annotated[int, Ge(1), Setting("Number of realisations.", PROTOCOL, Part.RUN, Found)] = (
        100
    )
    tie_margin: Annotated[
        float,
        Ge(0),
        Setting("Scores that differ by no more than this are a tie.", PROTOCOL, Part.RUN, Found),
    ] = 0.0
