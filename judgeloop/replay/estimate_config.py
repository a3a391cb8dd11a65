"""The settings of a replay of estimates: the selectors, the shares and the repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le, Lt, MinLen

from judgeloop.methods.selectors.catalogue import names_of
from judgeloop.questions.estimate.config import (
    BY_CONFIDENCE,
    BY_HISTORY,
    CONFIDENCE_FIELD,
    CONFIDENCES,
    REPLAYED,
)
from judgeloop.replay.settings import Caller, Found, ReplaySettings, Vectors
from judgeloop.settings.published import Publication
from judgeloop.settings.setting import Parse, Part, Setting, numbers, one_of, some_of
from judgeloop.settings.shared import ONE, PROTOCOL, SELECTION, Layer, RepresentOne


@dataclass(frozen=True, kw_only=True)
class ReplayEstimateConfig(ReplaySettings):
    """All settings of a replay of estimates of single systems.

    Empty `selectors` mean all selectors whose data are in the files. `proxy` is used by the
    selectors that draw. With the proxy history, it is the forecast from the scores of
    `history_systems` other systems.
    """

    QUESTION: ClassVar[str] = "estimate"
    PAPER: ClassVar[Publication | None] = REPLAYED

    selectors: Annotated[
        tuple[str, ...],
        some_of(names_of("estimate", ablations=True)),
        Setting(
            f"Selectors: {', '.join(names_of('estimate', ablations=True))}.",
            SELECTION,
            Part.RUN,
            Found,
            metavar="NAME,...",
        ),
    ] = ()
    represent: Annotated[
        RepresentOne,
        Setting(
            "How items become vectors: lexical, minilm, minilm:FOLDER or hidden:MODEL (diffuse, which "
            "clusters outputs, then uses lexical).",
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
    history_systems: Annotated[
        int,
        Ge(0),
        Setting("Number of other systems in the history.", SELECTION, Part.RUN, Found),
    ] = 0
    shares: Annotated[
        tuple[Annotated[int, Ge(1), Le(100)], ...],
        Parse(numbers),
        MinLen(1),
        Setting(
            "Shares of the items judged, in per cent: FIRST:LAST:STEP, or separated by commas.",
            ONE,
            Part.RUN,
            Found,
            metavar="NUMBERS",
        ),
    ] = tuple(range(5, 51))
    layer: Annotated[
        Layer | None,
        Setting(
            "Layer of the hidden states: middle, last, auto or a number. Default: middle. "
            "cross-entropy and mmd-critic always use the last.",
            ONE,
            Part.RUN,
            Found,
        ),
    ] = None
    confidence: Annotated[
        str,
        MinLen(1),
        Setting(
            "Field of the outputs that holds the system's confidence.", ONE, Part.CONTENT, Caller
        ),
    ] = CONFIDENCE_FIELD
    confidence_by: Annotated[
        str,
        one_of(CONFIDENCES),
        Setting(
            "How log-probabilities of tokens become a confidence: geometric-mean or first-token.",
            ONE,
            Part.RUN,
            Found,
        ),
    ] = CONFIDENCES[0]
    proxy: Annotated[
        str | None,
        one_of((BY_CONFIDENCE, BY_HISTORY)),
        Setting(
            "Guess at every item's score, for the selectors that draw: confidence or history.",
            ONE,
            Part.RUN,
            Found,
        ),
    ] = None
    risk: Annotated[
        float, Gt(0), Lt(1), Setting("Stated risk of the intervals.", PROTOCOL, Part.RUN, Found)
    ] = 0.1
    seeds: Annotated[int, Ge(1), Setting("Number of repetitions.", PROTOCOL, Part.RUN, Found)] = 10

    def __post_init__(self) -> None:
        """Sort `shares` and drop duplicates."""
        object.__setattr__(self, "shares", tuple(sorted(set(self.shares))))
