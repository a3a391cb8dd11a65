"""Recorded verdicts in memory, from items and systems to scores; reads them from tables.

The columns are `item_id, model, score` or `item_id, model_a, model_b, score`, with an optional
`cost_usd`; capital letters, spaces and hyphens do not matter, as in files of outputs. An empty score is an abstention.
The score of a pair may be a vote in words, also in a column `winner`, as in tables of FastChat and Chatbot Arena; votes
of people in other tables are read by `labels.py`, in the same words.
Three logs of other tools are read as such tables: AlpacaEval's `annotations.json`, MT-Bench's judgments (FastChat), of
pairs or of single answers, and Arena-Hard's judgments. The replay judge (`judges/recorded.py`) interprets the scores.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from judgeloop.core.errors import DataError
from judgeloop.core.money import to_pico
from judgeloop.core.records import TIE
from judgeloop.formats.columns import GUESSES, ID, KNOWN, MODEL, normal
from judgeloop.formats.harnesses import ANNOTATION, BATTLES, JUDGMENT
from judgeloop.formats.join import id_of
from judgeloop.formats.source import within
from judgeloop.formats.tables import Fields, Row, parse_row, read_bytes, read_rows, says_nothing

PAIR_KEY_LENGTH = 3  # item, first system, second system
# How MT-Bench names who won: an error is no verdict.
WINS = {"model_1": 1.0, "tie": 0.5, "model_2": 0.0}
LOWEST, HIGHEST = 1, 10  # of MT-Bench's scores
# What Arena-Hard's judges say of the answers A and B, as the score of A, and how often it counts.
GAMES = {
    "A>>B": (1.0, 3), "A>B": (1.0, 1), "A=B": (0.5, 1), "B=A": (0.5, 1), "B>A": (0.0, 1), "A<B": (0.0, 1), "B>>A": (0.0, 3),
    "A<<B": (0.0, 3), "B<<A": (1.0, 3), "B<A": (1.0, 1),
}  # fmt: skip
# Our own names of columns, each with what others call it.
COLUMNS = {
    "item_id": ("item_id", *KNOWN[ID], *GUESSES[ID], "item"),
    "model": (*KNOWN[MODEL], *GUESSES[MODEL], "system"),
    "model_a": ("model_a", "model_1", "system_a"),
    "model_b": ("model_b", "model_2", "system_b"),
    "score": ("score", "winner", "vote", "verdict", "label", "preference"),
    "cost_usd": ("cost_usd",),
}
WON = {"winner", "vote", "verdict", "label", "preference"}
# Votes in words, as the score of the first of two.
VOTES = {
    **dict.fromkeys(("model_a", "a", "model_1", "system_a", "left"), 1.0),
    **dict.fromkeys(("tie", "ties", "draw", "equal", "both", "neither", "bothbad", "both_bad", "tie_(bothbad)"), 0.5),
    **dict.fromkeys(("tie_(both_bad)", "tie_(bothgood)", "both_good", "bothgood"), 0.5),
    **dict.fromkeys(("model_b", "b", "model_2", "system_b", "right"), 0.0),
    **dict.fromkeys(("first", "1st"), 1.0),
    **dict.fromkeys(("second", "2nd"), 0.0),
    **dict.fromkeys(("same", "even", "no_difference", "no_preference", "undecided", "about_the_same"), 0.5),
}
ORDINALS = {"1": 1.0, "2": 0.0, "0": 0.5}  # where it is clear that numbers name the first and the second
ONE_HOT = {"winner_model_a": 1.0, "winner_tie": 0.5, "winner_model_b": 0.0}  # of a table of Chatbot Arena
_NOUN = re.compile(r"^(output|response|answer|option|system|model|assistant|version|text)_|_(is_)?(better|wins|won)$")
WHOLE = re.compile(r"[+-]?\d+\.0+")  # a whole number, as spreadsheets write it
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class RecordedScore:
    """A recorded score, None for an abstention, and its cost in picodollars."""

    score: float | None
    cost_p: int = 0


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """Scores by (item, system), or by (item, first, second) if `paired`.

    A score of a pair is in [0, 1]: 1 means that the first system is better. `read` says which columns were found, where
    that is not plain.
    """

    name: str
    digest: str
    paired: bool
    rows: Mapping[tuple[str, ...], RecordedScore]
    read: str = ""

    @property
    def systems(self) -> frozenset[str]:
        """The names of all systems in the table."""
        return frozenset(system for row in self.rows for system in row[1:])

    @property
    def items(self) -> list[str]:
        """The ids of all items in the table, in alphabetical order."""
        return sorted({row[0] for row in self.rows})

    def scores(self, systems: Sequence[str], items: Sequence[str]) -> NDArray[np.float64]:
        """The scores of `systems` on `items`, shape (systems, items); NaN where missing.

        Raises:
            ValueError: the table holds scores of pairs, not of single systems.
        """
        if self.paired:
            raise ValueError("a table of pairs has no scores of single systems")
        rows, columns = ({name: place for place, name in enumerate(names)} for names in (systems, items))
        found = np.full((len(systems), len(items)), np.nan)
        for (item, system), recorded in self.rows.items():
            if system in rows and item in columns and recorded.score is not None:
                found[rows[system], columns[item]] = recorded.score
        return found


def _finite_or_absent(value: object) -> float | None:
    if says_nothing(value):
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise ValueError("expected a number, of two systems also a vote (a, b or tie), or an empty cell")
    try:
        number = float(value)  # type: ignore[arg-type]  # checked above
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("expected a finite number")
    return number


Name = Annotated[str | None, BeforeValidator(lambda value: None if value == "" else value)]
Amount = Annotated[int, BeforeValidator(lambda value: 0 if value is None or value == "" else to_pico(str(value)))]


def _id_of_item(value: object) -> object:
    if says_nothing(value):
        raise ValueError("expected the id of an item")
    return value


class VerdictRow(BaseModel):
    """A row of a verdict table."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    item_id: Annotated[str, BeforeValidator(_id_of_item)]
    model: Name = None
    model_a: Name = None
    model_b: Name = None
    score: Annotated[float | None, BeforeValidator(_finite_or_absent)]
    cost_usd: Amount = 0

    @model_validator(mode="after")
    def _names_one_or_two(self) -> VerdictRow:
        named = tuple(name is not None for name in (self.model, self.model_a, self.model_b))
        if named not in {(True, False, False), (False, True, True)}:
            raise ValueError("expected either the field 'model', or both 'model_a' and 'model_b'")
        if self.model is None and self.model_a == self.model_b:
            raise ValueError(f"'model_a' and 'model_b' are both {self.model_a!r}")
        if self.model is None and self.score is not None and not 0 <= self.score <= 1:
            raise ValueError(f"the score of a pair is in [0, 1], 1 where model_a is better; found {self.score}")
        return self

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems that the row is about: one if rated, two if compared."""
        return tuple(name for name in (self.model, self.model_a, self.model_b) if name is not None)


def read_verdicts(path: Path) -> VerdictTable:
    """Read a verdict table.

    Raises:
        DataError: as `verdicts_in`.
    """
    return verdicts_in(path, read_rows(path))


def verdicts_in(path: Path, given: Iterable[Row]) -> VerdictTable:
    """The verdict table that the rows of a file are.

    Raises:
        DataError: a row is wrong, appears twice, or has another form than the first row.
    """
    rows: dict[tuple[str, ...], RecordedScore] = {}
    form = 0
    for source in verdict_rows(given):
        row = parse_row(path, source, VerdictRow)
        key = (row.item_id, *row.systems)
        votes = [
            vote_of(plain_text(value), row.systems) for name, value in source.fields.items() if normal(name) in WON
        ]
        score = TIE if row.score is None else row.score
        if any((vote - TIE) * (score - TIE) < 0 for vote in votes if vote is not None):
            raise DataError(
                path, f"the score {score:g} and another column of votes differ: leave one out", line=source.line
            )
        form = form or len(key)
        if len(key) != form:
            raise DataError(path, "rows about one system and about two are mixed", line=source.line)
        if key in rows or (key[0], *key[:0:-1]) in rows:
            raise DataError(path, f"a second verdict on {', '.join(key)}", line=source.line)
        rows[key] = RecordedScore(row.score, row.cost_usd)
    return VerdictTable(
        name=path.name, digest=hashlib.sha256(read_bytes(path)).hexdigest(), paired=form == PAIR_KEY_LENGTH, rows=rows
    )


def verdict_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a verdict table, made of those of a file; other rows are kept."""
    every = list(rows)
    names = set(every[0].fields) if every else set()
    if names >= ANNOTATION:
        return (Row(row.line, _annotation(row.fields)) for row in every)
    if names >= BATTLES:
        return (Row(row.line, _battle(row.fields)) for row in every)
    # Tables of Chatbot Arena have these columns, too, with the winner of each row.
    if names >= JUDGMENT and "winner" not in names:
        return _judgments(every)
    return (Row(row.line, row.fields | _as_own(row.fields)) for row in every)


def _as_own(fields: Fields) -> Fields:
    """The fields of a table under our own names, with the vote in words as a score."""
    given = {normal(name): value for name, value in reversed(fields.items())}
    found = {
        own: given[name] for own, names in COLUMNS.items() if (name := next(filter(given.__contains__, names), ""))
    }
    if {"model_a", "model_b"} <= set(found):
        if ONE_HOT.keys() <= given.keys():
            found["score"] = next((score for name, score in ONE_HOT.items() if str(given[name]) in {"1", "1.0"}), None)
        vote = found.get("score")
        if isinstance(vote, str):
            first, second = str(found["model_a"]), str(found["model_b"])
            said = {second: 0.0, first: 1.0}.get(vote, vote_of(plain_text(vote), (first, second)))
            found["score"] = vote if said is None else said
    return found


def plain_text(value: object) -> str:
    """A cell as votes are compared: folded, and whole numbers without decimals."""
    text = normal(str(value)).strip("._!")
    return text.partition(".")[0] if WHOLE.fullmatch(text) else text


def vote_of(text: str, systems: Sequence[str], *, ordinal: bool = False) -> float | None:
    """The score of the first system by a vote in words, or by a system's name, as `plain_text`; None if it is no vote.

    Nor is one a vote that is the name of a system and a word for the other's place.

    >>> [vote_of(text, ["old", "new"]) for text in ("answer_a", "new", "same", "2", "good")]
    [1.0, 0.0, 0.5, None, None]
    >>> vote_of("a", ["a", "b"]), vote_of("a", ["b", "a"])
    (1.0, None)
    """
    named = {normal(system): 1.0 - place for place, system in enumerate(systems)}
    if text in named:
        return named[text] if (ORDINALS | VOTES).get(text, named[text]) == named[text] else None
    bare = _NOUN.sub("", _NOUN.sub("", text))
    for one in (text, bare):
        if one in named or one in VOTES:
            return named.get(one, VOTES.get(one))
    return ORDINALS.get(bare) if ordinal or bare != text else None


def _battle(fields: Fields) -> Fields:
    """The verdict of Arena-Hard's judge: in the first game the baseline is A, in the second the model."""
    games = fields.get("games")
    said = [str(within(game, "score")) for game in games] if isinstance(games, list) else []
    known = [GAMES[one] for one in said if one in GAMES]
    score = None
    if len(known) == len(said) == len(("baseline first", "model first")):
        (first, often), (second, times) = known
        score = ((1 - first) * often + second * times) / (often + times)
    names = {"item_id": fields.get("uid"), "model_a": fields.get("model"), "model_b": fields.get("baseline")}
    return {**names, "score": score}


def _annotation(fields: Fields) -> Fields:
    """The verdict of an annotation, whose preference is 1 for the first output and 2 for the second."""
    score = fields.get("preference")
    if isinstance(score, int | float):
        # Earlier versions write a tie as 0.
        score = None if math.isnan(score) else 2 - score if score else WINS["tie"]
    return {
        "item_id": id_of(str(fields.get("instruction"))),
        "model_a": fields.get("generator_1"),
        "model_b": fields.get("generator_2"),
        "score": score,
        "cost_usd": fields.get("price_per_example"),
    }


def _judgments(rows: list[Row]) -> Iterator[Row]:
    """Yield a row for each question and its systems, whose score is the mean of the turns.

    Each turn of a pair has a game in each order. The judge of judgeloop sees the turns together.
    """
    turns: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        names = [row.fields.get(name) for name in ("question_id", "model", "model_1", "model_2")]
        turns.setdefault(tuple(names), []).append(row)
    for (question, *systems), same in turns.items():
        scores = [_score(row.fields) for row in same]
        known = [score for score in scores if score is not None]
        fields = dict(zip(("model", "model_a", "model_b"), systems, strict=True))
        mean = sum(known) / len(scores) if len(known) == len(scores) else None
        yield Row(same[0].line, {"item_id": question, **fields, "score": mean})


def _score(fields: Fields) -> float | None:
    """The score of a turn in [0, 1]; None if the judge gave none."""
    if "g1_winner" in fields:
        first, second = (WINS.get(str(fields.get(name))) for name in ("g1_winner", "g2_winner"))
        if first is None or second is None:
            return None
        return first if first == second else WINS["tie"]
    score = fields.get("score")
    known = isinstance(score, int | float) and LOWEST <= score <= HIGHEST
    return (score - LOWEST) / (HIGHEST - LOWEST) if known else None  # type: ignore[operator]
