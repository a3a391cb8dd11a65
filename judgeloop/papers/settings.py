"""The settings that only the papers' methods read: a mixin a paper, for the settings of the questions that offer it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, MinLen

from judgeloop.core.errors import DataError, InputError, NoFileError
from judgeloop.core.records import Item
from judgeloop.formats.tables import Source
from judgeloop.settings import fields
from judgeloop.settings.setting import Form, Parse, Role, Setting, anybody, like, one_of
from judgeloop.settings.values import listed, unless_auto

Represent = Annotated[str, like(r"lexical|minilm|minilm:.+", "lexical, minilm or minilm:FOLDER")]
RepresentOne = Annotated[
    str, like(r"lexical|minilm|minilm:.+|hidden:.+", "lexical, minilm, minilm:FOLDER or hidden:MODEL")
]

LEXICAL = "lexical"
# Variants of DiffUse that replays measure (`diffuse/tree.py`), the paper's own first.
COMBINATIONS = ("difference", "concatenation", "addition")
CLUSTERINGS = ("ward", "cosine", "kmeans", "quarter-ward")
REPRESENTATIVES = ("cosine", "euclidean", "largest-norm", "random")


VectorsFile = Annotated[
    Path | None, Setting("File of vectors (.npz), which are then not computed.", fields.SELECTION, Role.CONTENT)
]


@dataclass(frozen=True, kw_only=True)
class VectorSettings:
    """Where the vectors of texts come from."""

    represent: Represent = Setting(
        "How texts become vectors: lexical, minilm or minilm:FOLDER.", fields.SELECTION, Role.RUN
    ).field(LEXICAL)
    vectors: VectorsFile = None

    @property
    def vectors_digest(self) -> dict[str, str]:
        """What a run's id has of the file: its content; empty without a file.

        Raises:
            InputError: there is no such file, or it cannot be read.
        """
        if self.vectors is None:
            return {}
        try:
            return {"vectors": hashlib.sha256(self.vectors.read_bytes()).hexdigest()}
        except FileNotFoundError:
            raise NoFileError(self.vectors) from None
        except OSError as error:
            raise DataError(self.vectors, f"cannot be read: {error.strerror}") from None

    @property
    def represented(self) -> str:
        """What a result says of the vectors: the name of their file, or how they were computed."""
        return self.represent if self.vectors is None else self.vectors.name

    def check_vectors(self) -> None:
        """Refuse two sources of vectors.

        Raises:
            InputError: both are given.
        """
        if self.vectors is not None and self.represent != LEXICAL:
            raise InputError(f"`represent={self.represent}`: not used, because `vectors` are given")


@dataclass(frozen=True, kw_only=True)
class DiffUseSettings(VectorSettings):
    """Settings of DiffUse (Ashury-Tahan et al. 2024)."""


Epsilons = tuple[float, float]
EPSILONS: Form = {"type": "string", "minLength": 1, "description": '"auto", or text such as "0.1,0.2"'}


def epsilons(value: object) -> object:
    """Parse `auto` as None, and `0.1,0.2` as two positive numbers with a sum below 1.

    Raises:
        ValueError: the value is neither.
    """
    if unless_auto(value) is None:
        return None
    expected = "expected auto, or E1,E2: how often the best system loses and ties"
    try:
        first, second = (float(part) for part in listed(value))  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if not (first > 0 and second > 0 and first + second < 1):
        raise ValueError(f"{expected}, both above 0 and with a sum under 1")
    return first, second


WeakJudges = Annotated[
    int, Ge(1), fields.run_setting("Number of weak judges (word-sequence models).", fields.SELECTION)
]
Epsilon = Annotated[
    Epsilons | None,
    Parse(epsilons, EPSILONS),
    fields.run_setting(
        "For llm-selector: probabilities that the best system loses to and ties with the baseline, or auto.",
        fields.SELECTION,
        metavar="E1,E2",
    ),
]


@dataclass(frozen=True, kw_only=True)
class LLMSelectorSettings:
    """Settings of LLM Selector (Durmazkeser et al. 2025)."""

    weak_judges: WeakJudges = 10
    epsilon: Epsilon = None


AUTO = "auto"
HIDDEN = "hidden:"  # begins the name of a model whose hidden states are the vectors
MIDDLE = "middle"
Layer = Annotated[str, like(r"middle|last|auto|\d+", "middle, last, auto or a number")]
# Their papers prescribe the last hidden layer (Li et al. 2019, Chen et al. 2020).
ON_THE_LAST_LAYER = ("cross-entropy", "mmd-critic")
CLUSTERS: Form = {
    "anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}],
    "description": 'a whole number from 1, or "auto"',
}
ALLOCATIONS = ("mc-ucb", "proportional")
CONFIDENCE_FIELD = "logprobs"
CONFIDENCES = ("geometric-mean", "first-token")
Confidence = Annotated[
    str,
    MinLen(1),
    Setting("Field of the outputs that holds the system's confidence.", fields.SELECTION, Role.CONTENT, anybody),
]
ConfidenceBy = Annotated[
    str,
    one_of(CONFIDENCES),
    fields.run_setting(
        "How log-probabilities of tokens become a confidence: geometric-mean or first-token.", fields.SELECTION
    ),
]


@dataclass(frozen=True, kw_only=True)
class AcTracerSettings(VectorSettings):
    """Settings of AcTracer (Huang et al. 2024) and of its rivals."""

    represent: RepresentOne = Setting(
        "How items become vectors: lexical, minilm, minilm:FOLDER, or hidden:MODEL (hidden states "
        "of a causal language model).",
        fields.SELECTION,
        Role.RUN,
    ).field(LEXICAL)
    layer: Layer | None = fields.run_setting(
        "Layer of the hidden states: middle, last, a number, or auto (AcTracer's search). Default: middle; last for "
        "cross-entropy and mmd-critic, as in their papers.",
        fields.SELECTION,
    ).field(None)
    clusters: Annotated[int | None, Parse(unless_auto, CLUSTERS), Ge(1)] = fields.run_setting(
        "Number of strata, at least 1, or auto.", fields.SELECTION
    ).field(None)
    allocation: Annotated[str, one_of(ALLOCATIONS)] = fields.run_setting(
        "How judgments are divided among strata: mc-ucb or proportional.", fields.SELECTION, file_only=True
    ).field(ALLOCATIONS[0])
    confidence: Confidence = CONFIDENCE_FIELD
    confidence_by: ConfidenceBy = CONFIDENCES[0]

    @property
    def hidden(self) -> bool:
        """Whether the vectors are hidden states of a model, computed or recorded."""
        from judgeloop.papers.recorded import holds_layers

        return self.represent.startswith(HIDDEN) or holds_layers(self.vectors)

    def confidences(self, outputs: Source, items: Sequence[Item]) -> Any:
        """The system's confidence in each of its outputs, shape (items,).

        Raises:
            InputError: the file has none for an item, or something else in its place.
        """
        from judgeloop.papers.actracer.inputs import read_confidence

        return read_confidence(outputs, items, self.confidence, self.confidence_by)


def default_layer(selector: str) -> str:
    """The last layer if the selector's paper prescribes it, else the middle."""
    return "last" if selector in ON_THE_LAST_LAYER else MIDDLE
