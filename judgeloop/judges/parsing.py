"""Parses the text of a judge's reply into a verdict or an abstention.

A valid reply is one JSON object with one allowed label, or a bare label. Anything else is an
abstention. The parser never guesses what a malformed reply means, because a guess would let the
judged text smuggle in a verdict.

A run may allow thoughts before the answer, or a Markdown fence around it: open models often reply
`<think>…</think>` and then the answer, or put it between ```json and ```. What is left without
thoughts and fence is read as strictly as a whole reply: text around a fence, two fences or two
answers are abstentions. The judged text may be quoted in the thoughts. So nothing within them is
read, and where they end must not be in doubt: a reply with more than one closing tag is an
abstention, and so is one in which an answer had begun before the closing tag. An opening tag may be
missing, because the chat templates of some models hold it.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from judgeloop.core.records import FIRST, NEITHER, SECOND, TIE, Abstention, Answer, Verdict
from judgeloop.judges.criteria import OVERALL, Criteria

CHOSEN = {1.0: FIRST, 0.0: SECOND, TIE: NEITHER}  # of two answers, by a label's score
# Part of every verdict's key. Raise it when the same text could give another verdict.
PARSER_VERSION = 1
LONGEST_REPLY = 64 * 1024  # characters
SHOWN = 60  # characters of a reply that a message quotes
LONGEST_WHY = 48  # characters of what Python says of a text that is no JSON
LONGEST_REASON = 500  # characters; the rest of a reason is cut off
# Part of the key of a verdict that was read leniently. Raise it when the same text could give
# another verdict.
LENIENT_VERSION = 1
SETTING = "`lenient_replies`"
# DeepSeek, Qwen and most open models; gpt-oss at Amazon Bedrock.
TAGS = "think|reasoning"
_OPENING = re.compile(rf"\s*<(?P<tag>{TAGS})>")
_CLOSING = re.compile(rf"</(?P<tag>{TAGS})>")
FENCE = "```"
LANGUAGE = "json"
_BEGINS_AN_ANSWER = ("{", FENCE)

Read = Callable[[str], Answer]


def parse_verdict(
    text: str, labels: Mapping[str, float], field: str = "winner", beside: Sequence[str] = (), *, whole: bool = True
) -> Answer:
    """The verdict in `text`, or an abstention that says what is wrong.

    `text` is a JSON object with a label in `field`, the fields `beside` it, and optionally text in "reason". `labels`
    maps each allowed label to its score. Without `whole`, `field` is not there, and the verdict is a tie.

    >>> parse_verdict('{"reason": "shorter", "winner": "B"}', {"A": 1.0, "B": 0.0, "tie": 0.5})
    Verdict(score=0.0, reason='shorter', flipped=False, votes=(), both=False)
    """
    if len(text) > LONGEST_REPLY:
        return _unparsable(f"a reply of {len(text)} characters")
    try:
        reply = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", str(error))[:LONGEST_WHY] or type(error).__name__
        return _unparsable(f"not one JSON object ({why}); it begins {text[:SHOWN]!r}; try another form with `verdict`")
    fields = [*beside, *([field] if whole else [])]
    if not isinstance(reply, dict) or not set(reply) <= {"reason", *fields} or not set(beside) <= set(reply):
        return _unparsable(f"not an object of 'reason' and {' and '.join(map(repr, fields))}")
    label = reply.get(field)
    if whole and (not isinstance(label, str) or label not in labels):
        return _unparsable(f"'{field}' is {str(label)[:SHOWN]!r}, none of {', '.join(labels)}")
    reason = reply.get("reason", "")
    if not isinstance(reason, str):
        return _unparsable("'reason' is not text")
    # JSON allows lone surrogates, but UTF-8 cannot encode them.
    storable = reason[:LONGEST_REASON].encode("utf-8", "replace").decode("utf-8")
    return Verdict(labels[str(label)] if whole else TIE, reason=storable)


def parse_criteria(text: str, labels: Mapping[str, float], field: str, criteria: Criteria, *, rates: bool) -> Answer:
    """The verdict in `text`, a label for each of the criteria, and one for all of them if that decides.

    `text` is a JSON object with an object of labels in "criteria", optionally text in "reason", and a label in `field`
    unless the weighted sum decides. With `rates`, labels are levels.
    """
    head = parse_verdict(text, labels, field, ("criteria",), whole=criteria.decide == OVERALL)
    if isinstance(head, Abstention):
        return head
    found, names = json.loads(text)["criteria"], [one.name for one in criteria.each]
    if not isinstance(found, dict) or {*found} != {*names}:
        return _unparsable(f"'criteria' is not an object of {', '.join(names)}")
    for name, label in found.items():
        if not isinstance(label, str) or label not in labels:
            return _unparsable(f"'{name}' is {str(label)[:SHOWN]!r}, none of {', '.join(labels)}")
    options = labels if rates else {CHOSEN[score]: score for score in labels.values()}
    ordered = sorted(options.items(), key=lambda option: option[1])

    def shares(label: str) -> dict[str, float]:
        return {option: float(score == labels[label]) for option, score in ordered}

    overall = shares(json.loads(text)[field]) if criteria.decide == OVERALL else None
    by_name = {name: shares(found[name]) for name in names}
    return criteria.verdict(by_name, overall, labels if rates else {}, head.reason)


def parse_label(text: str, labels: Mapping[str, float]) -> Answer:
    """The verdict in `text`: an allowed label, with nothing around it but white space."""
    label = text.strip()
    if label not in labels:
        return _unparsable(f"{text[:SHOWN]!r} is none of {', '.join(labels)}")
    return Verdict(labels[label])


def in_any_case(labels: Mapping[str, float]) -> dict[str, float]:
    """Labels and scores, with each label in lower and upper case and capitalised, too.

    >>> in_any_case({"A": 1.0, "tie": 0.5})
    {'A': 1.0, 'a': 1.0, 'tie': 0.5, 'TIE': 0.5, 'Tie': 0.5}
    """
    cases = (str, str.lower, str.upper, str.capitalize)
    return {case(label): score for label, score in labels.items() for case in cases}


def _unparsable(what: str) -> Abstention:
    return Abstention(f"unparsable: {what}", again=True)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key appears twice")
    return fields


def _no_constants(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_reply(text: str, read: Read, leniently: Read, *, lenient: bool) -> Answer:
    """The answer that `read` finds in `text`.

    If `lenient`, also the one that `leniently` finds in what is left without thoughts and fence. If
    not, an abstention says where this would have helped. A reply that `read` accepts as it is has
    the same answer either way.
    """
    answer = read(text)
    if isinstance(answer, Verdict):
        return answer
    bared = read_bare(text, leniently)
    if lenient:
        return bared
    if isinstance(bared, Verdict):
        return replace(answer, reason=f"unparsable: {_around(text)}; {SETTING} would read this reply")
    return answer


def _around(text: str) -> str:
    """Why a reply was not read that would be read leniently."""
    if found := _CLOSING.search(text):
        return f"thoughts before {found[0]}"
    return "a Markdown fence around the answer" if FENCE in text else "the label in another case"


def read_bare(text: str, read: Read) -> Answer:
    """The answer in `text` without thoughts and fence, or an abstention."""
    closings = list(_CLOSING.finditer(text))
    if len(closings) > 1:
        return _unparsable(f"{closings[0][0]} appears {len(closings)} times")
    if closings:
        closing = closings[0]
        opening = _OPENING.match(text)
        if opening is not None and opening["tag"] != closing["tag"]:
            return _unparsable(f"<{opening['tag']}> ends with {closing[0]}")
        if opening is None and text.lstrip().startswith(_BEGINS_AN_ANSWER):
            return _unparsable(f"{closing[0]} stands within an answer")
        text = text[closing.end() :]
    elif opening := _OPENING.match(text):
        return _unparsable(f"<{opening['tag']}> does not end")
    return read(_without_fence(text))


def _without_fence(text: str) -> str:
    bare = text.strip()
    if len(bare) < 2 * len(FENCE) or not (bare.startswith(FENCE) and bare.endswith(FENCE)):
        return text
    body = bare[len(FENCE) : -len(FENCE)]
    return body[len(LANGUAGE) :] if body[: len(LANGUAGE)].lower() == LANGUAGE else body
