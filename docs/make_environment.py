"""Lists every environment variable that judgeloop reads; `.env.example` is made from this list.

The names stand where the variables are read: settings in the commands' declarations, keys and
addresses in the providers' files, proxies and certificates in `providers/endpoint.py`, the others
in `settings/sources.py`. Reads no environment and no file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from judgeloop.cli.commands import FIELDS
from judgeloop.cli.options import default_of
from judgeloop.providers.catalogue import DECIDERS, PROVIDERS, chat_class
from judgeloop.providers.endpoint import VARIABLES as OF_THE_NETWORK
from judgeloop.providers.endpoint import Provider
from judgeloop.settings.setting import Declared, anybody
from judgeloop.settings.sources import BESIDE, KEYS, harmless_judge, inside, lower

API_KEYS, SERVERS, NETWORK, LIMITS = "API keys", "Servers", "Proxies and certificates", "Limits"
# What a `.env` in the working folder may set a setting to; who is missing may set nothing.
ALLOWED = {
    anybody: "",
    inside: "Here only a file in this folder.",
    harmless_judge: "Here only a judge that runs no code and reads no file outside this folder.",
    lower: "Here at most the default.",
}
WIDTH = 96
HEAD = """\
Every variable that judgeloop reads. Copy this file to .env in the folder where you run judgeloop, \
and remove the "# " before what you set. A variable of the environment wins over .env.

A .env belongs to its author, who may be a stranger. So it may hold API keys, and settings \
that cannot send a key or a text elsewhere, run code or raise the cost.
"""
LONGEST_DEFAULT = 42  # characters
OF_THE_FILE = "What .env may set"
OF_THE_CALLER = "What only the environment itself may set; a .env with one of these is refused"
NOT_READ = "What is read from the environment alone; in .env it has no effect"


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable: its name, a sentence on it, and the group in which it is listed.

    `part` says who may set it: `OF_THE_FILE`, `OF_THE_CALLER` or `NOT_READ`.
    """

    name: str
    help: str
    group: str
    part: str


def variables() -> list[Variable]:
    """Return every variable."""
    found = {one.name: one for one in (*_of_providers(), *_beside(), *_of_network())}
    for fields in FIELDS.values():
        for field in fields.values():
            found.setdefault(field.variable, _of_setting(field))
    return list(found.values())


def example() -> str:
    """Return the text of `.env.example`."""
    known = variables()
    lines = [line for paragraph in HEAD.splitlines() for line in _comment(paragraph)]
    for part in (OF_THE_FILE, OF_THE_CALLER, NOT_READ):
        lines += ["", f"# {'=' * WIDTH}"[: WIDTH + 2], f"# {part}"]
        of_part = [one for one in known if one.part == part]
        for group in dict.fromkeys(one.group for one in of_part):
            lines += ["", f"# --- {group}"]
            for one in of_part:
                if one.group == group:
                    lines += [*_comment(one.help), f"# {one.name}="]
    return "\n".join([*lines, ""])


def providers() -> Iterator[Provider]:
    """Give the providers of all judges behind an API."""
    for row in (*PROVIDERS, *DECIDERS):
        if chat := chat_class(row.name):
            yield chat.provider


def _of_providers() -> Iterator[Variable]:
    every = [*providers()]
    for provider in every:
        sharing = [one.name for one in every if one.key_variable == provider.key_variable]
        of = f"for judges {' and '.join(f'{name}/…' for name in sharing)}"
        if provider.key_variable:
            yield Variable(provider.key_variable, f"Key of {provider.url}, {of}.", API_KEYS, OF_THE_FILE)
        if provider.url_variable:
            text = f"Another server {of}; it gets {provider.key_variable}."
            yield Variable(provider.url_variable, text, SERVERS, OF_THE_CALLER)


def _beside() -> Iterator[Variable]:
    for name, text in BESIDE.items():
        is_key = name.endswith(KEYS)
        yield Variable(name, text, API_KEYS if is_key else LIMITS, OF_THE_FILE if is_key else OF_THE_CALLER)


def _of_network() -> Iterator[Variable]:
    for name, text in OF_THE_NETWORK.items():
        yield Variable(name, text, NETWORK, NOT_READ)


def _of_setting(field: Declared) -> Variable:
    default = default_of(field)
    text = field.setting.help + (default if len(default) <= LONGEST_DEFAULT else "")
    if field.setting.many:
        text += " One a line."
    group, may_set = field.setting.panel, field.setting.may_set
    if may_set not in ALLOWED:
        return Variable(field.variable, text, group, OF_THE_CALLER)
    return Variable(field.variable, f"{text} {ALLOWED[may_set]}".strip(), group, OF_THE_FILE)


def _comment(text: str) -> list[str]:
    wrapped = textwrap.wrap(text, WIDTH, break_on_hyphens=False)
    return [f"# {line}".rstrip() for line in wrapped or [""]]
