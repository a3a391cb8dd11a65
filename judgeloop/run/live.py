"""The systems of a run that answer live: made by their names, checked, and put into the pool.

Takes the settings and the items. Asks nothing and spends nothing. What does not go with systems
that answer live is refused here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError, UnpricedError
from judgeloop.core.money import show_usd
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import System
from judgeloop.core.records import Item
from judgeloop.core.verdict_key import digest, output_note
from judgeloop.formats.join import Joined
from judgeloop.formats.rows import Items
from judgeloop.ledger.opening import budgets_of
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.settings.run_settings import RunSettings
from judgeloop.settings.values import night_began
from judgeloop.systems.catalogue import FORMS, described, make_system
from judgeloop.systems.options import options_of

WITHOUT_LIMIT = " To run without any limit of money: `budget=none`"
TURNS = ("user", "assistant")


def live_systems(config: RunSettings, environment: Mapping[str, str], *, offline: bool) -> dict[int, System]:
    """Return the systems of a run that answer live, by their place among all systems.

    Raises:
        InputError: a system or an option of it is wrong, or the run cannot have one.
        UnpricedError: the price of one is not known, and there is a budget.
    """
    for one in config.output_files:
        if isinstance(one, Path) and not one.suffix[1:].isalpha() and not _exists(one):
            raise InputError(f"{one}: there is no such file; expected a file or {FORMS}")
    names = {place: one for place, one in enumerate(config.output_files) if isinstance(one, str)}
    try:
        return _checked(config, names, environment, offline=offline)
    except InputError as error:
        both = [name for name in names.values() if not described(name) and Path(name).is_file()]
        if not both:
            raise
        raise type(error)(f"{error}; for the file of this name, give ./{both[0]}") from None


def _checked(
    config: RunSettings, names: Mapping[int, str], environment: Mapping[str, str], *, offline: bool
) -> dict[int, System]:
    options = options_of(
        config.system, list(names.values()), environment, offline=offline, allow_plugins=config.allow_plugins
    )
    if names and config.items is None:
        raise InputError(
            f"`items`: {next(iter(names.values()))} answers live, and needs the prompts to answer; "
            "give the file of items with `items=FILE`"
        )
    systems = {place: make_system(name, options[name]) for place, name in names.items()}
    for place, system in systems.items():
        _check_price(config, names[place], system)
        _check_lasts(config, names[place], system)
    return systems


def _exists(path: Path) -> bool:
    """Return whether there is something; what may not be looked at is taken to be there."""
    try:
        return path.exists()
    except OSError:
        return True


def looks_at_all(what: str, live: str, instead: str = "`selector=random`") -> InputError:
    """Return the error for a selector or a proxy that has to know the outputs before they are there."""
    return InputError(
        f"`{what}` looks at the outputs of all items, and {live} answers live; use {instead}, or write "
        "its outputs to a file first: judgeloop generate"
    )


def limit_of(config: RunSettings) -> str | None:
    """Return in words a budget that limits the run; None if none does."""
    if config.budget_p is not None:
        return f"budget of {show_usd(config.budget_p)}"
    return next((one.title for one in budgets_of(config.ledger, config.charge_to)), None)


def _check_price(config: RunSettings, name: str, system: System) -> None:
    if not system.priced and limit_of(config) is not None:
        raise UnpricedError(
            f"`system {name}`: no price is known for this model, and without one no budget can be "
            f"kept. Give it, in dollars per million tokens: `system={name}.price=IN,OUT` (a server of "
            f"your own: `system={name}.price=0,0`).{WITHOUT_LIMIT}"
        )


def _check_lasts(config: RunSettings, name: str, system: System) -> None:
    shared = isinstance(config.ledger, PostgresAddress)
    if (shared or config.ledger_must_exist) and not system.lasts:
        raise InputError(
            f"`system {name}`: nothing says what is behind this name, so its outputs would serve this "
            f"run alone; {'a ledger on a server' if shared else '`ledger_must_exist`'} needs "
            f"`system={name}.version=TEXT`"
        )


def with_live(
    joined: Joined,
    systems: Mapping[int, System],
    sources: Sequence[object],
    names: Sequence[str | None],
    items: Items | None,
) -> Joined:
    """Return the joined files with live systems at their places, and what these are told of items.

    `sources` holds each system as typed, and `names` its name if it was given another.

    Raises:
        InputError: two systems have the same name, or a conversation cannot be sent.
    """
    if not systems:
        return joined
    assert items is not None, "`live_systems` has refused systems without items"
    pool = joined.pool
    told = tuple(_as_told(item, items) for item in pool.items)
    if len({digest(one) for _, one in identities(systems, told)}) < len(systems):
        raise InputError(
            f"{' and '.join(str(path) for path in sources)} are the same system; a system cannot be "
            "compared with itself"
        )
    files = iter(zip(pool.systems, pool.outputs, strict=True))
    nothing = ("",) * len(pool)
    count = len(pool.systems) + len(systems)
    both = [
        (name or systems[place].label, nothing) if place in systems else next(files) for place, name in enumerate(names)
    ]
    if len({name for name, _ in both}) < count:
        raise InputError(
            f"two systems have the same name ({', '.join(name for name, _ in both)}); give other names "
            "with `names=NAME,NAME`"
        )
    return replace(
        joined,
        pool=Pool(
            items=told,
            systems=tuple(name for name, _ in both),
            outputs=tuple(texts for _, texts in both),
            live=tuple(sorted(systems)),
        ),
    )


def _as_told(item: Item, items: Items) -> Item:
    """Return an item with its conversation and its other columns."""
    messages = tuple(items.turns.get(item.prompt, ()))
    spoken = messages[1:] if messages and messages[0][0] == "system" else messages
    expected = [TURNS[place % 2] for place in range(len(spoken))]
    if messages and (len(spoken) % 2 == 0 or [role for role, _ in spoken] != expected):
        raise InputError(
            f"the item {item.id!r}: expected a conversation that a live system can answer, of turns "
            "of user and assistant that end with the user's, after at most one of system; found "
            f"{', '.join(role for role, _ in messages)}"
        )
    told = items.told.get((item.id, item.prompt)) or items.told.get((None, item.prompt), {})
    return replace(item, messages=messages, columns={name: _plain(told[name]) for name in told})


def _plain(value: Any) -> object:
    """Return a value of a column as a JSON value; what is none becomes its text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value


def since_of(config: RunSettings) -> dict[int, str]:
    """Return since when remembered outputs count, by place of a live system for which it is said.

    It is a day, or the beginning of the run's night.
    """
    names = {place: one for place, one in enumerate(config.output_files) if isinstance(one, str)}
    options = options_of(config.system, list(names.values()), {})
    night = config.night and night_began(config.night)
    days = {place: options[name].outputs_since or night for place, name in names.items()}
    return {place: day for place, day in days.items() if day is not None}


def identities(systems: Mapping[int, System], items: Sequence[Item]) -> list[Any]:
    """Return what of live systems is part of a run's id, in place of their outputs.

    It is who answers, and what each is told of the items.

    Raises:
        InputError: a system needs what an item does not have.
    """
    return [
        [place, output_note(system.identity, [system.sent(item) for item in items], "")]
        for place, system in sorted(systems.items())
    ]
