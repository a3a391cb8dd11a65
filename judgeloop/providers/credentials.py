"""Finds a judge's address and API key in the options and the environment.

The provider's key is sent only to the provider, or to the address in the provider's own environment
variable. Any other server gets `JUDGELOOP_JUDGE_API_KEY`. Messages never contain a key, nor an
address that may contain one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from judgeloop.core.errors import InputError
from judgeloop.providers.network import Network
from judgeloop.providers.wire import NO_KEY, Endpoint

JUDGE_KEY = "JUDGELOOP_JUDGE_API_KEY"
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of judges: its name, its address, and the environment variables it uses.

    `url` is None if the user must give the address. `key_variable` holds the key, `url_variable` an
    address in place of `url`.
    """

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
    name: str = "",
) -> Endpoint:
    """Return the address and the key for `provider`.

    The address is `base_url`, else the provider's environment variable, else the provider's own.
    `timeout_s` is in seconds. `name` is the server's identity in place of its address. If
    `offline`, no key is needed, because no request is sent.

    Raises:
        InputError: the address is missing or wrong, or the key is missing or would be sent
            unencrypted to another machine.
    """
    url = base_url or environment.get(provider.url_variable or "") or provider.url
    if url is None:
        raise InputError(
            f"`judge={provider.name}/…`: where is the server? Give `judge_base_url=http://HOST:PORT/v1`"
        )
    _check_url(url)
    key = NO_KEY if offline else _key(provider, url, environment, given=base_url is not None)
    own = base_url is None or is_official(provider, url)
    return Endpoint(url, key, timeout_s, own=own, network=Network.of(environment), name=name)


def is_official(provider: Provider, url: str) -> bool:
    """Return whether `url` is on the provider's own host."""
    return provider.url is not None and urlsplit(url).hostname == urlsplit(provider.url).hostname


def _check_url(url: str) -> None:
    """Raise InputError unless `url` is a complete address.

    The message does not repeat an address with "@", which may contain a password.
    """
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
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            f"{name}: expected a key of ASCII letters, digits and signs; found other characters in it, "
            "such as the … of an example; copy the key again"
        )
    if not key and official:
        raise InputError(
            f"the judge needs a key: set {provider.key_variable} in the environment, or write "
            f"{provider.key_variable}=… to the file .env in this folder; "
            "`judge=metric:rouge2` needs none"
        )
    parts = urlsplit(url)
    if key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(
            f"`judge_base_url`: the key would travel unencrypted to {parts.hostname}; use https, or unset "
            f"{name} for a server without a key"
        )
    return key or NO_KEY
