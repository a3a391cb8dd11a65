"""The address of a ledger in PostgreSQL: reads it, and refuses what must not stand in it.

It holds no password, because an address is shown, and passed to other processes: libpq takes one from
PGPASSWORD or from the file pgpass. Where it leads is also said by PGHOST, PGHOSTADDR and PGSERVICE: what libpq
would take from them is asked of libpq.
"""

from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from socket import getaddrinfo
from typing import Self, final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from judgeloop.core.errors import InputError, did_you_mean

SCHEMES = ("postgresql", "postgres")
SHAPE = "postgresql://USER@HOST/DATABASE"
QUERY = ("host", "port", "dbname", "user", "sslmode", "sslrootcert")
VERIFIED = "verify-full"  # encrypted, and to a server whose certificate has this name


@final
@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where the database of a ledger is, and as whom to connect. Empty parts are libpq's defaults."""

    host: str = ""
    port: str = ""
    dbname: str = ""
    user: str = ""
    sslmode: str = ""
    sslrootcert: str = ""

    @classmethod
    def of(cls, text: str) -> Self:
        """Read an address such as `postgresql://user@host:5432/database?sslrootcert=system`.

        Raises:
            InputError: it has a password, a part that is not known, or would not verify the server.
        """
        split = urlsplit(text)
        given = {
            "host": unquote(split.hostname or ""),
            "port": _port(split),
            "user": unquote(split.username or ""),
            "dbname": unquote(split.path.lstrip("/")),
        }
        _check_password(split)
        for name, value in parse_qsl(split.query, keep_blank_values=True):
            if name not in QUERY:
                raise InputError(
                    f"`ledger`: the address of a ledger has no {name!r}{did_you_mean(name, QUERY)}; "
                    f"expected {SHAPE}, and behind a ? only {', '.join(QUERY)}"
                )
            if given.get(name):
                raise InputError(f"`ledger`: the address names its {name} twice")
            given[name] = value
        address = cls(**given)
        for name, value in address.place.items():
            if "," in value:
                raise InputError(
                    f"`ledger={address}`: expected one host, found a list of them ({name}={value}); a ledger is one "
                    "server: whom to trust must not depend on who answers"
                )
        if not address.is_near and address.sslmode not in {"", VERIFIED}:
            raise InputError(
                f"`ledger={address}`: sslmode={address.sslmode} does not verify the server; expected "
                f"{VERIFIED}, which is the default. Name its certificates by sslrootcert=FILE, or take "
                "those of this machine by sslrootcert=system"
            )
        return address

    @property
    def place(self) -> dict[str, str]:
        """Where libpq connects to: what the address leaves out comes from the environment and from a service file."""
        from psycopg.pq import Conninfo

        found = {one.keyword.decode(): (one.val or b"").decode() for one in Conninfo.get_defaults()}
        return {name: getattr(self, name, "") or found[name] for name in ("host", "hostaddr", "port")}

    @property
    def is_near(self) -> bool:
        """Whether the server is this machine, by a socket or by loopback."""
        host, address = self.place["host"], self.place["hostaddr"]
        if address:
            return is_loopback(address)
        if host == "localhost":
            with suppress(OSError):
                return all(is_loopback(str(found[4][0])) for found in getaddrinfo(host, None))
        return not host or host.startswith(("/", "@")) or is_loopback(host)

    @property
    def parameters(self) -> dict[str, str]:
        """What libpq is given."""
        given = {name: getattr(self, name) for name in QUERY} | self.place
        given["sslmode"] = self.sslmode or ("prefer" if self.is_near else VERIFIED)
        return {name: value for name, value in given.items() if value}

    def __str__(self) -> str:
        """The address as it may be shown; `of` reads it."""
        place = self.host if not self.host.startswith(("/", "@")) else ""
        shown = f"[{place}]" if ":" in place else place
        port = f":{self.port}" if self.port else ""
        user = f"{self.user}@" if self.user else ""
        more = {"host": self.host if self.host != place else "", "sslmode": self.sslmode}
        more["sslrootcert"] = self.sslrootcert
        query = "&".join(f"{name}={value}" for name, value in more.items() if value)
        return f"postgresql://{user}{shown}{port}/{self.dbname}{'?' * bool(query)}{query}"


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine's own.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1"), is_loopback("db.example")
    (True, True, False, False)
    """
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _port(split: SplitResult) -> str:
    try:
        return "" if split.port is None else str(split.port)
    except ValueError:
        raise InputError(f"`ledger`: the port in the address is no number; expected {SHAPE}") from None


def _check_password(split: SplitResult) -> None:
    if split.password is not None:
        raise InputError(
            "`ledger`: the address has a password, which other processes could read; set PGPASSWORD, or "
            f"write it into the file ~/.pgpass, and give {SHAPE}"
        )
