"""Summarise each report of a collection by picking two of its own sentences.

- `lead` picks the first two sentences, `ending` the last two, `bookends` the first and the last.
- `central` picks the two sentences with the most in common with the rest of the report: those with
  the highest mean cosine of TF-IDF vectors to the other sentences.
- `longest` picks the two sentences with the most words, `figures` those with the most numbers.

`central`, `longest` and `figures` keep the two sentences in their original order.

This script does not write new sentences, does not read the references and does not score anything.
"""

import argparse
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SENTENCES_PICKED = 2

Sentences = Sequence[str]
Vector = Mapping[str, float]


def report_of(prompt: str) -> str:
    """Return the report in a prompt, which follows the first blank line."""
    return prompt.split("\n\n", maxsplit=1)[1]


def split_sentences(text: str) -> Sentences:
    """Split a text after each full stop, question mark or exclamation mark."""
    return re.split(r"(?<=[.!?])\s+", text.strip())


def words_of(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def inverse_document_frequencies(reports: Sequence[Sentences]) -> Vector:
    """Weigh each word by how few of the reports contain it."""
    reports_with = Counter(word for report in reports for word in set(words_of(" ".join(report))))
    return {word: math.log(len(reports) / count) for word, count in reports_with.items()}


def unit_vector(sentence: str, idf: Vector) -> Vector:
    """Return the TF-IDF vector of a sentence, scaled to length one."""
    weights = {word: count * idf[word] for word, count in Counter(words_of(sentence)).items()}
    length = math.hypot(*weights.values())
    return {word: weight / length for word, weight in weights.items()} if length else {}


def dot(left: Vector, right: Vector) -> float:
    """Return the dot product of two sparse vectors."""
    return math.fsum(weight * right.get(word, 0.0) for word, weight in left.items())


def centralities(sentences: Sentences, idf: Vector) -> list[float]:
    """Return the mean cosine of each sentence to the other sentences of its report."""
    vectors = [unit_vector(sentence, idf) for sentence in sentences]
    others = max(len(vectors) - 1, 1)
    return [math.fsum(dot(vector, other) for other in vectors if other is not vector) / others for vector in vectors]


def lead(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by its first sentences."""
    return [" ".join(report[:SENTENCES_PICKED]) for report in reports]


def central(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by its most central sentences, in their original order."""
    idf = inverse_document_frequencies(reports)
    return [pick_most_central(report, idf) for report in reports]


def pick_most_central(sentences: Sentences, idf: Vector) -> str:
    """Join the most central sentences of one report."""
    return pick_highest(sentences, centralities(sentences, idf))


def pick_highest(sentences: Sentences, scores: Sequence[float]) -> str:
    """Join the sentences with the highest scores; among equal scores the earlier come first."""
    ranked = sorted(range(len(sentences)), key=lambda place: -scores[place])
    return " ".join(sentences[place] for place in sorted(ranked[:SENTENCES_PICKED]))


def ending(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by its last sentences."""
    return [" ".join(report[-SENTENCES_PICKED:]) for report in reports]


def bookends(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by its first and its last sentence."""
    return [f"{report[0]} {report[-1]}" for report in reports]


def longest(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by the sentences with the most words."""
    return [pick_highest(report, [len(words_of(text)) for text in report]) for report in reports]


def figures(reports: Sequence[Sentences]) -> list[str]:
    """Summarise each report by the sentences with the most numbers."""
    return [pick_highest(report, [len(re.findall(r"\d+", text)) for text in report]) for report in reports]


SUMMARISERS: Mapping[str, tuple[str, Callable[[Sequence[Sentences]], list[str]]]] = {
    "lead": ("lead-2", lead),
    "central": ("centrality", central),
    "ending": ("ending-2", ending),
    "bookends": ("bookends", bookends),
    "longest": ("longest-2", longest),
    "figures": ("figures-2", figures),
}


def summary_lines(items: Sequence[Mapping[str, str]], method: str) -> list[str]:
    """Return a line of JSON with the summary of each item."""
    model, summarise = SUMMARISERS[method]
    summaries = summarise([split_sentences(report_of(item["prompt"])) for item in items])
    rows = [
        {"id": item["id"], "model": model, "output": summary} for item, summary in zip(items, summaries, strict=True)
    ]
    return [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]


def main() -> None:
    """Read the collection named on the command line and write its summaries to standard output."""
    parser = argparse.ArgumentParser(description="Summarise incident reports by extraction.")
    parser.add_argument("method", choices=SUMMARISERS)
    parser.add_argument("items", type=Path)
    arguments = parser.parse_args()
    with arguments.items.open(encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    sys.stdout.writelines(summary_lines(items, arguments.method))


if __name__ == "__main__":
    main()
