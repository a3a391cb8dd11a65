"""The network settings of a judge: proxies and certificates, from a snapshot of the environment.

Reads the mapping that the caller hands on, once, when the judge is created. The environment of the
process is not read, so a variable that is set later changes nothing. `bounded.py` makes HTTP
clients from these settings.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

SCHEMES = ("http", "https", "all")
NO_PROXY = "no_proxy"
CA_FILE, CA_DIR = "SSL_CERT_FILE", "SSL_CERT_DIR"
# What is read, each with a sentence on it. The proxies may also be in lower case.
VARIABLES = {
    **{
        f"{scheme.upper()}_PROXY": f"Proxy for {'all' if scheme == 'all' else f'{scheme}://'} addresses."
        for scheme in SCHEMES
    },
    NO_PROXY.upper(): "Hosts that are reached without a proxy, separated by commas.",
    CA_FILE: "File of certificates to trust in place of the system's.",
    CA_DIR: "Folder of certificates to trust in place of the system's.",
}


@dataclass(frozen=True, slots=True)
class Network:
    """Proxies and certificates of an HTTP client.

    - `proxies`: the proxy's address for each pattern of addresses (as httpx2's `mounts`); None for
      addresses that are reached without a proxy. An address may contain a password.
    - `ca_file`, `ca_dir`: the certificates to trust in place of the system's; None for the
      system's.
    """

    proxies: tuple[tuple[str, str | None], ...] = field(default=(), repr=False)
    ca_file: str | None = None
    ca_dir: str | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Return the settings in `environment`; `VARIABLES` are read."""
        return cls(
            tuple(_proxies(environment).items()),
            environment.get(CA_FILE) or None,
            environment.get(CA_DIR) or None,
        )


NO_SETTINGS = Network()  # no proxies, and the system's certificates


def _proxies(environment: Mapping[str, str]) -> dict[str, str | None]:
    addresses = {scheme: _variable(environment, f"{scheme}_proxy") for scheme in SCHEMES}
    proxies: dict[str, str | None] = {
        f"{scheme}://": address if "://" in address else f"http://{address}"
        for scheme, address in addresses.items()
        if address
    }
    hosts = [host.strip() for host in _variable(environment, NO_PROXY).split(",")]
    if not proxies or "*" in hosts:
        return {}
    patterns = [_pattern(host) for host in hosts if host]
    return proxies | {pattern: None for pattern in patterns if pattern is not None}


def _variable(environment: Mapping[str, str], name: str) -> str:
    """Return a variable in lower case, else in upper case; empty if there is none.

    A CGI server sets HTTP_PROXY from a request's header `Proxy`, so it is not read there.
    """
    if name in environment:
        return environment[name]
    if name == "http_proxy" and "REQUEST_METHOD" in environment:
        return ""
    return environment.get(name.upper(), "")


def _pattern(host: str) -> str | None:
    """Return an entry of NO_PROXY as a pattern of addresses; None if it is not valid.

    >>> _pattern("example.com"), _pattern(".example.com"), _pattern("::1")
    ('all://*example.com', 'all://*.example.com', 'all://[::1]')
    """
    if "://" in host:
        return host
    try:
        network = ipaddress.ip_network(host.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        if "/" in host:
            return None
        return f"all://{host}" if host == "localhost" or host[0] in "*[" else f"all://*{host}"
    address, _, length = host.replace("[", "").replace("]", "").partition("/")
    shown = f"[{address}]" if network.version == 6 else address  # noqa: PLR2004 - IP's version
    return f"all://{shown}/{length}" if length else f"all://{shown}"
