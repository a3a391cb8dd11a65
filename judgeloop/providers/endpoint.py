"""The options of a chat model; where its server is, with its key, proxy and certificates; what may be shown of it.

The options and the environment that the caller hands on are read once, when a judge is made; nothing that changes
later in the environment of the process has an effect. `http.py` makes clients from these settings. The provider's key
goes only to the provider, or to the address in the provider's own environment variable. Any other server gets
`JUDGELOOP_JUDGE_API_KEY`. Messages never contain a key, nor an address that may contain one.
"""

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from judgeloop.core.errors import InputError, NoKeyError

if TYPE_CHECKING:
    from judgeloop.providers.key_command import PrintedKey

STANDARD, FLEX, FLEX_OR_STANDARD = "standard", "flex", "flex-or-standard"
TIERS = (STANDARD, FLEX, FLEX_OR_STANDARD)
ANSWER_TOKENS = 512  # the maximum number of tokens of a reply, unless the user sets it
JUDGE_KEY = "JUDGELOOP_JUDGE_API_KEY"
NO_KEY = "none"  # placeholder for servers without a key, because the SDKs require a key
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
PRIVATE_ENDINGS = (".localhost", ".local", ".lan", ".internal", ".home.arpa")  # of names that no public server has
CA_FILE, CA_DIR = "SSL_CERT_FILE", "SSL_CERT_DIR"
# What is read for the network, each with a sentence. The proxies may also be in lower case.
VARIABLES = {
    "HTTP_PROXY": "Proxy for http:// addresses.",
    "HTTPS_PROXY": "Proxy for https:// addresses.",
    "ALL_PROXY": "Proxy for all addresses.",
    "NO_PROXY": "Hosts that are reached without a proxy, separated by commas.",
    CA_FILE: "File of certificates to trust in place of the system's.",
    CA_DIR: "Folder of certificates to trust in place of the system's.",
}
LONGEST_MESSAGE = 500  # characters
LONGEST_QUOTE = 300  # characters of a server's message within a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """The options of a chat model.

    - `environment`: the environment variables. They include API keys, so they are never printed.
    - `base_url`: the address of the model's server. It may contain a password, so it is not in the
      repr.
    - `server`: the name of this server, "" if its address identifies it.
    - `price`: the user's price as typed, or the path of a file of prices (`pricing.own_price`).
    - `key_command`: the command that prints the key of the server (`key_command.py`); None for a key of a variable.
    - `timeout_s`: time limit of a request, in seconds.
    - `max_output_tokens`: maximum number of tokens of a reply; None for `ANSWER_TOKENS`, and the
      thinking tokens of a model that thinks (`token_limit.py`).
    - `effort`: how hard the model is asked to think; None to leave it to the model.
    - `verdict`: the form of the reply (`ProviderRow.forms`).
    - `tier`: the service tier to ask for (`TIERS`).
    - `offline`: True if no call will be made, so that no key is needed.
    """

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    base_url: str | None = field(default=None, repr=False)
    server: str = ""
    price: str | None = None
    key_command: str | None = None
    timeout_s: float = 120.0
    max_output_tokens: int | None = None
    effort: str | None = None
    verdict: str = "schema"
    tier: str = STANDARD
    offline: bool = False

    @property
    def answer_tokens(self) -> int:
        """The maximum number of tokens of a reply, without thinking tokens."""
        return ANSWER_TOKENS if self.max_output_tokens is None else self.max_output_tokens


@dataclass(frozen=True, slots=True)
class Provider:
    """What is particular about a provider.

    - `name`: the first part of its judges' names.
    - `url`: its address; None if the user must give one, that of a server of their own.
    - `key_variable`, `url_variable`: the environment variables of the key, and of an address in
      place of `url`.
    - `filter_is_free`: its own host is known not to bill what a filter refuses.
    - `length_is_free`: its own host is known not to bill a request that is too long.
    - `flex_is_half`: flex costs half at its own host where no price is published.
    - `effort_in_tokens`: it also takes the effort as a number of thinking tokens.
    - `decides`: its models write no text (`decisions.py`), and only input is billed.
    """

    name: str
    url: str | None
    key_variable: str | None = None
    url_variable: str | None = None
    filter_is_free: bool = False
    length_is_free: bool = False
    flex_is_half: bool = False
    effort_in_tokens: bool = False
    decides: bool = False

    def is_free(self, url: str) -> bool:
        """Whether a model at `url` costs nothing: it is the user's own server.

        Decision models of others are behind the same form of address as one's own, so the host must show it.
        """
        return self.url is None and (not self.decides or is_at_home(url))

    def owns(self, url: str) -> bool:
        """Whether `url` is on the provider's own host."""
        return self.url is not None and urlsplit(url).hostname == urlsplit(self.url).hostname


def is_at_home(url: str) -> bool:
    """Whether the host of an address is this machine, or in a private network.

    >>> [is_at_home(f"http://{host}:8000/v1") for host in ("localhost", "10.0.0.7", "gpu", "gpu.lan", "1.1.1.1")]
    [True, True, True, True, False]
    """
    host = urlsplit(url).hostname or ""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(PRIVATE_ENDINGS)
    return found.is_private or found.is_loopback


@dataclass(frozen=True, slots=True)
class Names:
    """How messages name what has an endpoint, the setting of its address, and that of its key."""

    who: str
    base_url: str
    key: str
    command: str

    @property
    def address(self) -> str:
        """The setting as messages show it: settings stand between backticks, variables do not."""
        return self.base_url if self.base_url.isupper() else f"`{self.base_url}`"


OF_JUDGE = Names("judge={}/…", "judge_base_url", JUDGE_KEY, "key_command")


@dataclass(frozen=True, slots=True)
class Network:
    """The proxy and the certificates of an HTTP client, each None for none of its own.

    The proxy's address may contain a password.
    """

    proxy: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    ca_dir: str | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str], url: str) -> Self:
        """The settings in `environment` for requests to `url`; `VARIABLES` are read."""
        files = (environment.get(name) or None for name in (CA_FILE, CA_DIR))
        return cls(_proxy(environment, url), *files)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, its API key, and the time limit in seconds of connecting to it.

    - `own`: False if the address is neither the provider's nor the address in the provider's
      environment variable. Headers that the SDKs take from the provider's other variables are then
      removed (`http.py`).
    - `name`: identifies the server in the keys of verdicts, in place of the address; "" for none.
    - `filter_is_free`, `length_is_free`: as `Provider`, if this is its host.
    - `kept_back`: which key is there and not sent, as it goes to the provider's host alone; "" for none.
    """

    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float
    own: bool = True
    network: Network = Network()
    name: str = ""
    filter_is_free: bool = False
    length_is_free: bool = False
    names: Names = OF_JUDGE
    kept_back: str = ""
    printed: "PrintedKey | None" = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> str:
        """The key to send now: the latest that a command printed, else the one of a variable."""
        return self.api_key if self.printed is None else self.printed.value

    @property
    def _secrets(self) -> tuple[str, ...]:
        """Every key that was sent."""
        return (self.api_key,) if self.printed is None else (*self.printed.earlier, self.printed.value)

    def masked(self, text: str) -> str:
        """A server's text as UTF-8, with the key masked."""
        from judgeloop.providers.redaction import redact  # every command imports this module; few meet a key

        text = text.encode("utf-8", "replace").decode("utf-8")
        for secret in self._secrets:
            text = redact(text, secret)
        return text

    def clean(self, text: str) -> str:
        """A server's text, safe to store and show: UTF-8, key masked, cut to length."""
        return self.masked(text)[:LONGEST_MESSAGE]

    def quoted(self, text: str, *, in_part: bool = False) -> str:
        """A server's message for a sentence: clean, on a single line, cut if it is long.

        `in_part`: words that may be a part of the key are masked, too.
        """
        line = " ".join(self.masked(text).split())
        if in_part:
            from judgeloop.providers.redaction import redact_parts

            for secret in self._secrets:
                line = redact_parts(line, secret)
        return line if len(line) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…"

    def without_key(self, value: Any) -> Any:
        """A JSON value from a server with the key removed from every text in it."""
        from judgeloop.providers.redaction import redacted

        for secret in self._secrets:
            value = redacted(value, secret)
        return value

    @property
    def identity(self) -> dict[str, str]:
        """What identifies the server in the keys of verdicts: its name, else its address.

        They have different fields, so that no name can pass for an address.
        """
        return {"server": self.name} if self.name else {"endpoint": self.origin}

    @property
    def origin(self) -> str:
        """Scheme, host and path of the address, without user name and password."""
        parts = urlsplit(self.base_url)
        host = parts.netloc.rpartition("@")[2].lower()
        return f"{parts.scheme}://{host}{parts.path.rstrip('/')}"


def endpoint_for(provider: Provider, options: ChatOptions, names: Names = OF_JUDGE) -> Endpoint:
    """The address and the key for `provider`.

    The address is the user's, else that in the provider's environment variable, else the provider's own.

    Raises:
        InputError: the address is missing or wrong, or the key is missing or would be sent
            unencrypted to another machine.
    """
    environment, given = options.environment, options.base_url is not None
    url = options.base_url or environment.get(provider.url_variable or "") or provider.url
    if url is None:
        raise InputError(
            f"`{names.who.replace('{}', provider.name)}`: where is the server? Give "
            f"`{names.base_url}=http://HOST:PORT/v1`"
        )
    if not given and url != provider.url:
        names = replace(names, base_url=f"{provider.url_variable}", key=f"{provider.key_variable}")
    _check_url(url, names)
    official, printed = provider.owns(url), None
    if options.offline:
        key = NO_KEY
    elif options.key_command:
        from judgeloop.providers.key_command import PrintedKey

        _check_encrypted(url, names, f"`{names.command}`")
        printed = PrintedKey(options.key_command, names.command, environment)
        key = printed.value
    else:
        key = _key(provider, url, environment, names, given=given)
    kept_back = ""
    if key == NO_KEY and provider.url and environment.get(provider.key_variable or ""):
        kept_back = f"{provider.key_variable} goes to {urlsplit(provider.url).hostname} alone"
    used = provider.key_variable if not given and provider.key_variable else names.key
    return Endpoint(
        url,
        key,
        options.timeout_s,
        own=not given or official,
        network=Network.of(environment, url),
        name=options.server,
        filter_is_free=official and provider.filter_is_free,
        length_is_free=official and provider.length_is_free,
        names=replace(names, key=f"`{names.command}`" if options.key_command else used),
        kept_back=kept_back,
        printed=printed,
    )


def _check_url(url: str, names: Names) -> None:
    """Raise InputError unless `url` is a complete address.

    The message does not repeat an address with "@", which may contain a password.
    """
    if "@" in url:
        raise InputError(f"{names.address}: a key does not belong in an address; set {names.key}")
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        complete = False
    # What reads the address would leave out a tab or a line feed in it.
    if not complete or any(sign.isspace() or not sign.isprintable() for sign in url):
        raise InputError(f"{names.address}: expected http(s)://HOST[:PORT]/…, found {url!r}")


def _key(provider: Provider, url: str, environment: Mapping[str, str], names: Names, *, given: bool) -> str:
    official = provider.owns(url)
    name = provider.key_variable if provider.key_variable and (official or not given) else JUDGE_KEY
    key = environment.get(name, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(
            f"{name}: expected a key of ASCII letters, digits and signs; found other characters in it, "
            "such as the … of an example; copy the key again"
        )
    of_judge = names.who == OF_JUDGE.who
    if not key and official:
        raise NoKeyError(
            f"the {'judge' if of_judge else names.who} needs a key: set "
            f"{provider.key_variable} in the environment (in CI from a secret), or on a machine of your own write "
            f"{provider.key_variable}=… to the file .env in this folder"
            f"{'; `judge=metric:rouge2` needs no key, only references' if of_judge else ''}"
        )
    if key:
        _check_encrypted(url, names, name)
    return key or NO_KEY


def _check_encrypted(url: str, names: Names, source: str) -> None:
    """Refuse to send a key from `source` to another machine in the open."""
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise InputError(
            f"{names.address}: the key would travel unencrypted to {parts.hostname}; use https, or unset "
            f"{source} for a server without a key"
        )


def _proxy(environment: Mapping[str, str], url: str) -> str | None:
    """The address of the proxy for `url`; None for none, as for a server on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    address = _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy")
    if not address or host in LOOPBACK or _is_excepted(host, _variable(environment, "no_proxy")):
        return None
    return address if "://" in address else f"http://{address}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    """A variable in lower case, else in upper case; empty if there is none."""
    return environment.get(name, environment.get(name.upper(), ""))


def _is_excepted(host: str, no_proxy: str) -> bool:
    """Whether NO_PROXY names a host: by its name, a domain above it, or its network.

    >>> [_is_excepted(host, "a.org, 10.0.0.0/8") for host in ("b.a.org", "ba.org", "10.1.2.3")]
    [True, False, True]
    """
    for entry in (part.strip().strip("[]") for part in no_proxy.split(",")):
        if entry == "*" or (entry and f".{host}".endswith(f".{entry.lstrip('*.')}")):
            return True
        with suppress(ValueError):
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False):
                return True
    return False
