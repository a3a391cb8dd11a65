"""Reads `scenario_state.json` of Stanford's HELM.

It has an entry for each request: an instance, a request and its result. The item's text is that of
the instance, with the choices if it has any, as the requests of different models differ. Its scores
are in other files and are not read.
"""

from collections.abc import Iterator
from typing import Any

from judgeloop.formats.catalogue import Fields, only, within
from judgeloop.formats.row import Row
from judgeloop.formats.source import Source


def recognises(source: Source) -> bool:
    """Return whether this is the state of a scenario."""
    document = source.document
    return document is not None and {"adapter_spec", "request_states"} <= set(document)


def read(source: Source) -> Iterator[Row]:
    """Yield a row for each request."""
    document = source.document or {}
    states = document["request_states"]
    if not isinstance(states, list) or not states:
        raise source.wrong("expected a list of 'request_states', found none")
    trials = len({within(state, "train_trial_index") for state in states}) > 1
    for number, state in enumerate(states, start=1):
        if within(state, "reference_index") is not None:
            raise source.wrong(
                "this scenario scores each given choice by a request of its own, so there is no output to judge", number
            )
        yield _row(source, number, state, trials=trials)


def _row(source: Source, number: int, state: Any, *, trials: bool) -> Row:
    instance, result = within(state, "instance"), within(state, "result")
    perturbed = within(instance, "perturbation", "name")
    fields: Fields = {
        "id": f"{within(instance, 'id')}{f' {perturbed}' if perturbed else ''}",
        "prompt": _prompt(source, number, state),
        "reference": _reference(within(instance, "references")),
        "model": within(source.document, "adapter_spec", "model"),
    }
    epoch = 1 + (within(state, "train_trial_index") or 0) if trials else 0
    if within(result, "success") is not True:
        reason = within(result, "error") or "the request was not made"
        return Row(number, fields, failed=str(reason), epoch=epoch)
    completion = only(source, within(result, "completions"), "completions", number)
    return Row(number, fields | {"output": within(completion, "text")}, epoch=epoch)


def _prompt(source: Source, number: int, state: Any) -> Any:
    asked = within(state, "instance", "input")
    if within(asked, "multimedia_content"):
        raise source.wrong("the input is no text, which no judge would see", number)
    text = within(asked, "messages") or within(asked, "text")
    choices = within(state, "output_mapping")
    if isinstance(choices, dict) and isinstance(text, str):
        return "\n".join([text, *(f"{name}. {choice}" for name, choice in choices.items())])
    return text


def _reference(references: Any) -> Any:
    """Return the text of the first correct reference."""
    listed = references if isinstance(references, list) else []
    correct = (one for one in listed if "correct" in (within(one, "tags") or ()))
    return within(next(correct, None), "output", "text")
