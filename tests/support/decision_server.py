"""The wire of decision models on a `ChatServer`: OpenAI's Decisions and System One, by what a request holds.

The default judges honestly by a rule that tests can know: the answer that mentions more of the word "good" is better.
Probabilities have two decimals, as those of real servers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from support.chat_server import ChatServer, Response

Shares = Mapping[str, float]
Decide = Callable[[dict[str, Any], str, list[str]], Shares | None]  # of the material, a question and its options
OUTPUT_A_QUESTION = 24


def material(request: dict[str, Any]) -> dict[str, Any]:
    """The texts that are judged, as the server gets them."""
    found: dict[str, Any] = json.loads(request.get("input") or request["state"])
    return found


def asked(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The questions of a request, by name."""
    questions = request["questions"]
    return questions if isinstance(questions, dict) else {one["name"]: one for one in questions}


def options(question: dict[str, Any]) -> list[str]:
    """The options of a choice by name, the numbers of levels, or yes and no."""
    if "choices" in question:
        return [one["value"] for one in question["choices"]]
    if "levels" in question:
        return [one["label"] for one in question["levels"]]
    if question["type"] in {"predicate", "noul"}:
        return ["yes", "no"]
    criteria = question["criteria"]
    return [*criteria] if isinstance(criteria, dict) else [str(place) for place in range(len(criteria))]


def honest(shown: dict[str, Any], question: str, names: list[str]) -> Shares:
    """What mentions more of "good" is probably better; an answer that does not mention it is probably no good."""
    if "answer" in shown:
        best = (
            names[0 if names == ["yes", "no"] else -1] if "good" in shown["answer"] else names[names == ["yes", "no"]]
        )
    else:
        first, second = (shown[name].count("good") for name in ("first_answer", "second_answer"))
        best = "neither" if first == second else ("first" if first > second else "second")
    rest = round(0.1 / (len(names) - 1), 2)
    return {name: round(1 - rest * (len(names) - 1), 2) if name == best else rest for name in names}


def input_tokens(request: dict[str, Any]) -> int:
    """What a server counts that reads the text once: about four bytes a token, and its own words."""
    return len(json.dumps(request)) // 4 + 100


def decided(request: dict[str, Any], decide: Decide = honest, *, model: str = "", **usage: Any) -> Response:
    """A reply in the form of the request; a question without an answer is refused."""
    questions, shown = asked(request), material(request)
    answers = {name: decide(shown, name, options(one)) for name, one in questions.items()}
    counted = {"input_tokens": input_tokens(request), "output_tokens": OUTPUT_A_QUESTION * len(questions)} | usage
    body: dict[str, Any] = {"usage": counted}
    if "input" in request:
        body |= {"model": model or request["model"], "answers": [_openai(questions[n], answers[n]) for n in questions]}
    else:
        told = {n: _system_one(questions[n], shares) for n, shares in answers.items() if shares is not None}
        body |= {"model": model or "jev-1.14.0", "answers": told}
    return Response(body=json.dumps(body).encode())


def _openai(question: dict[str, Any], shares: Shares | None) -> dict[str, Any]:
    named = {"name": question["name"]}
    if shares is None:
        return {"type": "refusal", **named}
    if question["type"] == "predicate":
        return {"type": "predicate", **named, "probability": shares["yes"]}
    if question["type"] == "score":
        told = [{"value": n, "label": name, "probability": share} for n, (name, share) in enumerate(shares.items())]
        return {"type": "score", **named, "score": 1.0, "probabilities": told, "confidence": 0.8}
    told = [{"value": name, "probability": share} for name, share in shares.items()]
    return {"type": "choice", **named, "choice": "first", "probabilities": told, "confidence": 0.8}


def _system_one(question: dict[str, Any], shares: Shares) -> dict[str, Any]:
    if question["type"] == "noul":
        return {"type": "noul", "noul": shares["yes"]}
    return {"type": question["type"], "confidence": 0.8, "probabilities": dict(shares)}


def decision_server(decide: Decide = honest) -> ChatServer:
    """A server that decides so."""
    return ChatServer(lambda request, number: decided(request, decide))


def billed_tokens(server: ChatServer) -> int:
    """The input tokens of all requests that it answered."""
    return sum(map(input_tokens, server.requests))
