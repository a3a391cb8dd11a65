"""What the caller alone says of a system that answers live: `--system NAME.key=value`.

Address, key, price, time limit, limit of tokens, and what code may cost and see. NAME is the
argument as typed. A settings file that the caller names may hold the same in a table
`[systems.NAME]`. Reads texts and checks them; imports nothing heavy.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from judgeloop.core.errors import InputError, did_you_mean
from judgeloop.core.money import to_pico
from judgeloop.providers.endpoint import ChatOptions

_PRICE = re.compile(r"[0-9.]+ ?, ?[0-9.]+|.+\.toml")
_DURATION = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?) ?(?P<unit>[smh]?)")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions(ChatOptions):
    """The caller's settings of a system.

    Beside those of a chat model:

    - `name`: the system as typed, for messages.
    - `key_variable`: the environment variable of the key that its address gets; None for the provider's
      own key at its own host, and no other.
    - `version`: says what is behind a name that does not.
    - `max_cost_p`: the most that a call of code may cost, in picodollars. `pass_env`: the environment
      variables that a command gets. `concurrency`: how many calls of code are made at once.
    - `outputs_since`: the first day (UTC) whose remembered outputs count; None for all.
    - `allow_plugins`: True if the caller allows code.
    - `given`: the names of the settings that were given.
    """

    name: str
    timeout_s: float = 600.0
    key_variable: str | None = None
    version: str | None = None
    max_cost_p: int | None = None
    pass_env: tuple[str, ...] = ()
    concurrency: int | None = None
    outputs_since: str | None = None
    allow_plugins: bool = False
    given: frozenset[str] = frozenset()


def _matching(pattern: re.Pattern[str], expected: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(expected)
        return text

    return read


def duration(text: str) -> float:
    """The seconds of a duration such as 90s, 30m or 2h."""
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found["number"]) * UNITS[found["unit"]] if found else 0.0
    if not seconds > 0:
        raise ValueError("a duration such as 90s, 30m or 2h")
    return seconds


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ValueError("a whole number, 1 or more")
    return int(text)


def _dollars(text: str) -> int:
    try:
        return to_pico(text.removeprefix("$"))
    except ValueError:
        raise ValueError("dollars for a call, such as 0.02, or 0 if it is free") from None


def _variables(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(map(_VARIABLE.fullmatch, names)):
        raise ValueError("names of environment variables, separated by commas")
    if own := next((name for name in names if name.startswith("JUDGELOOP_")), None):
        raise ValueError(f"variables that are no settings or keys of judgeloop, as {own} is")
    return names


def _day(text: str) -> str:
    """A day (UTC) in ISO 8601; `today` is the day on which the run is prepared."""
    try:
        return str(datetime.now(UTC).date() if text == "today" else date.fromisoformat(text))
    except ValueError:
        raise ValueError("a date such as 2026-11-23, or today") from None


# The settings by their keys: the field of `SystemOptions`, and what reads the text.
KEYS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "base-url": ("base_url", str),
    "key-variable": ("key_variable", _matching(_VARIABLE, "the name of an environment variable")),
    "key-command": ("key_command", str),
    "price": ("price", _matching(_PRICE, "dollars per million tokens, such as 2,8, or a file")),
    "timeout": ("timeout_s", duration),
    "max-tokens": ("max_output_tokens", _number),
    "version": ("version", str),
    "max-cost": ("max_cost_p", _dollars),
    "pass-env": ("pass_env", _variables),
    "concurrency": ("concurrency", _number),
    "outputs-since": ("outputs_since", _day),
}
# What other tools have, and why it is not here.
_ONE = "a system gives one output for an item; another item tells more than another output"
_TOOLS = "no tools are run; `command:` or `python:` may run them, and what they print or return is judged"
_LATER = "a batch's outputs come after hours, and which item is next depends on those before"
_TIER = "the standard tier is asked for; a slower one at a lower price may refuse, or come too late"
_FRESH = "a command is started for each item, and knows of no other item; a server may stay"
LEFT_OUT = {
    **dict.fromkeys(("samples", "n", "repeats"), _ONE),
    **dict.fromkeys(("tools", "tool-choice"), _TOOLS),
    **dict.fromkeys(("tier", "service-tier", "service_tier"), _TIER),
    "batch": _LATER,
    **dict.fromkeys(("keep", "stay"), _FRESH),
    "api": "OpenAI's models are asked through Chat Completions; `python:` may ask another API",
}


def options_of(
    entries: Sequence[str],
    names: Sequence[str],
    environment: Mapping[str, str],
    *,
    offline: bool = False,
    allow_plugins: bool = False,
) -> dict[str, SystemOptions]:
    """The options of each live system in `names`, from `entries` NAME.key=value.

    Of two values for one key the later counts, so that a flag wins over a file.

    Raises:
        InputError: an entry names no system of the run or no setting, or a value is wrong; or one
            key would go to two addresses.
    """
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for entry in entries:
        name, key, value = _parts(entry, names)
        found[name][key] = value
    options = {
        name: SystemOptions(
            name=name,
            environment=environment,
            given=frozenset(values),
            offline=offline,
            allow_plugins=allow_plugins,
            **{KEYS[key][0]: _read(name, key, value) for key, value in values.items()},
        )
        for name, values in found.items()
    }
    places: dict[str, SystemOptions] = {}
    for one in options.values():
        other = one if one.key_variable is None else places.setdefault(one.key_variable, one)
        if other.base_url != one.base_url:
            raise InputError(
                f"`system={one.name}.key-variable={one.key_variable}`: the key of {other.name} would "
                "go to a second address; give each address a key of its own"
            )
    return options


def _parts(entry: str, names: Sequence[str]) -> tuple[str, str, str]:
    """The system, the key and the value of an entry.

    A name may hold dots and signs of equality: the longest name of the run counts.
    """
    for name in sorted(names, key=len, reverse=True):
        rest = entry.removeprefix(f"{name}.")
        key, mark, value = rest.partition("=")
        if rest == entry or not mark:
            continue
        if key in LEFT_OUT:
            raise InputError(f"`system={name}.{key}`: {LEFT_OUT[key]}")
        if key not in KEYS:
            raise InputError(
                f"`system={name}.{key}`: there is no such setting{did_you_mean(key, KEYS)}; expected {', '.join(KEYS)}"
            )
        if not value or not value.isprintable():
            raise InputError(f"`system={name}.{key}`: expected a value, found {value!r}")
        return name, key, value
    live = " or ".join(f"{name}.key=value" for name in names)
    shown = entry.partition("=")[0]
    raise InputError(
        f"`system={shown}=…`: it belongs to no system of this run that answers live"
        + (f"; expected {live}" if live else ", and there is none")
    )


def _read(name: str, key: str, value: str) -> Any:
    try:
        return KEYS[key][1](value)
    except ValueError as error:
        raise InputError(f"`system={name}.{key}={value}`: expected {error}") from None
