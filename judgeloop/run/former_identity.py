"""Computes the run ids of the first version, to find the money spent under them.

These ids left out settings that change the outcome, so two different runs could share an id. No run
continues under such an id. The money spent under it is shown, and counts against the budget of
every run that would have had this id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judgeloop.core.verdict_key import digest
from judgeloop.run.identity import LENGTH, plain

# Settings of every id, and the defaults of settings that were part of the id only at other values.
ALL = (
    "selector", "risk", "min_judgments", "max_judgments", "max_abstentions", "order", "vote", "seed",
    "decoys",
)  # fmt: skip
VARIANT = {"combine": "difference", "clustering": "ward", "representative": "cosine"}


def former_compare_id(config: Any, data: Mapping[str, Any], history: str | None) -> str:
    """Return the former id of a comparison.

    `history` identifies the past comparisons that the run reads; None if it reads none.
    """
    given = {name: getattr(config, name) for name in ("near_tie", "give_up")}
    return _id(
        "compare",
        data,
        _settings(config, ALL),
        {"rule": config.rule, "represent": config.represent},
        {name: value for name, value in given.items() if value},
        {} if history is None else {"history": history},
        {
            name: value
            for name, value in _settings(config, VARIANT).items()
            if value != VARIANT[name]
        },
    )


def former_select_id(config: Any, data: Mapping[str, Any], *, weak_judges: bool) -> str:
    """Return the former id of a selection; `weak_judges` says whether its selector reads theirs."""
    own = ["baseline", "near_best", *(["weak_judges", "epsilon"] if weak_judges else [])]
    return _id(
        "select", data, _settings(config, ALL), {"rule": config.rule}, _settings(config, own)
    )


def former_estimate_id(
    config: Any,
    data: Mapping[str, Any],
    *,
    vectors: bool,
    proxy: Any,
    confidence: Any,
    history: str | None,
) -> str:
    """Return the former id of an estimate.

    `vectors` says whether its selector reads vectors. `history` identifies the past ratings that
    the run reads; None if it reads none.
    """
    own = ["half_width", "interval", "clusters", "allocation"]
    represent = {"represent": config.represent, "layer": config.layer or "middle"}
    return _id(
        "estimate",
        data,
        _settings(config, ALL),
        _settings(config, own),
        represent if vectors else {},
        {"proxy": proxy, "confidence": confidence},
        {} if history is None else {"history": history},
    )


def _settings(config: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: plain(getattr(config, name)) for name in names}


def _id(job: str, data: Mapping[str, Any], *parts: Mapping[str, Any]) -> str:
    whole = {"job": job, **data}
    for part in parts:
        whole |= part
    return digest(whole)[:LENGTH]
