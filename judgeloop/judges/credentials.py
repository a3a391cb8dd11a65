"""Where a judge is reached, and which key goes there.

A provider's own key goes to the provider, or where the provider's own variable points, and to no other server. Messages
never repeat a key, nor an address that may hold one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from judgeloop.core.errors import InputError
from judgeloop.judges.wire import Endpoint

JUDGE_KEY = "JUDGELOOP_JUDGE_API_KEY"
NO_KEY = "none"  # for a server of one's own: the SDKs insist on some key
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Provider:
    """Whoever answers under a name: its address (None: only your own), and the variables of its key and address."""

    name: str
    url: str | None
    key_variable: str | None = None
    url_variable: str | None = None


def endpoint_for(
    provider: Provider,
    environment: Mapping[str, str],
    *,
    base_url: str | None,
    timeout_s: float,
    offline: bool,
) -> Endpoint:
    """The address and the key for `provider`; `offline` needs no key, because nobody will be asked.

    Raises:
        InputError: the address is none, or a key is missing or would travel where it should not.
    """
    url = base_url or environment.get(provider.url_variable or "") or provider.url
    if url is None:
        raise InputError(
            f"`judge={provider.name}/…`: where is the server? Give `judge_base_url=http://HOST:PORT/v1`"
        )
    _check_url(url)
    key = NO_KEY if offline else _key(provider, url, environment, given=base_url is not None)
    return Endpoint(url, key, timeout_s, own=base_url is None or is_official(provider, url))


def is_official(provider: Provider, url: str) -> bool:
    """Whether `url` is the provider's own host."""
    return provider.url is not None and urlsplit(url).hostname == urlsplit(provider.url).hostname


def _check_url(url: str) -> None:
    """Refuse what is no address; one that may hold a password is not repeated in the message."""
    if "@" in url:
        raise InputError(f"`judge_base_url`: a key does not belong in an address; set {JUDGE_KEY}")
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        complete = False
    if not complete:
        raise InputError(f"`judge_base_url`: expected http(s)://HOST[:PORT]/…, found {url!r}")


def _key(provider: Provider, url: str, environment: Mapping[str, str], *, given: bool) -> str:
    official = is_official(provider, url)
    name = provider.key_variable if provider.key_variable and (official or not given) else JUDGE_KEY
    key = environment.get(name, "").strip()
    if not key and official:
        raise InputError(
            f"the judge needs a key: set {provider.key_variable} in the environment or in .env (see .env.example); "
            "`judge=metric:rouge2` needs none"
        )
    parts = urlsplit(url)
    if key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(
            f"`judge_base_url`: the key would travel unencrypted to {parts.hostname}; use https, or unset "
            f"{name} for a server without a key"
        )
    return key or NO_KEY
