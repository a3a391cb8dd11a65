"""Turns the verdicts of other tools into rows of a verdict table.

- AlpacaEval's `annotations.json`: a preference from 1 (the first output) to 2 (the second) on an instruction.
- MT-Bench's judgments (FastChat): of pairs, with a game in each order, or of single answers, from 1 to 10. The
  turns of a question are averaged, as the judge of judgeloop sees them together.

Nothing is checked here that `verdicts.py` checks.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from judgeloop.formats.join import id_of
from judgeloop.formats.row import Row

ANNOTATION = {"instruction", "generator_1", "generator_2", "preference"}
JUDGMENT = {"question_id", "turn", "judge"}
WINS = {"model_1": 1.0, "tie": 0.5, "model_2": 0.0}  # an error is no verdict
LOWEST, HIGHEST = 1, 10  # of MT-Bench's scores
Fields = dict[str, Any]


def verdict_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a verdict table, made of those of a file; other rows are kept."""
    every = list(rows)
    names = set(every[0].fields) if every else set()
    if names >= ANNOTATION:
        return (Row(row.line, _annotation(row.fields)) for row in every)
    return _judgments(every) if names >= JUDGMENT else iter(every)


def _annotation(fields: Fields) -> Fields:
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
    """Yield a row for each question and its systems, whose score is the mean of the turns."""
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
    """Return the score of a turn in [0, 1]; None if the judge gave none."""
    if "g1_winner" in fields:
        first, second = (WINS.get(str(fields.get(name))) for name in ("g1_winner", "g2_winner"))
        if first is None or second is None:
            return None
        return first if first == second else WINS["tie"]
    score = fields.get("score")
    known = isinstance(score, int | float) and LOWEST <= score <= HIGHEST
    return (score - LOWEST) / (HIGHEST - LOWEST) if known else None  # type: ignore[operator]
