"""A judge from its name as typed: `openai/MODEL`, `metric:NAME`, `replay:FILE`.

One entry a provider. Keys and files are read here, at the edge, so that the judges themselves take plain values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from judgeloop.errors import DataError, InputError
from judgeloop.formats.tables import read_text
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.judges.openai import OFFICIAL_URL, Endpoint, OpenAIJudge
from judgeloop.judges.prices import price_from_text, published_price
from judgeloop.judges.prompting import Template
from judgeloop.money import Price, Rate, rate_per_mtok
from judgeloop.protocols import Judge

FORMS = "openai/MODEL, metric:rouge1|rouge2|rougeL|exact|token-f1, replay:FILE"

NO_KEY = "none"  # for a server of one's own: the SDK insists on some key


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Everything about a judge beside its name; `environment` holds keys and is never printed."""

    template: Template
    environment: Mapping[str, str] = field(repr=False)
    base_url: str | None = field(default=None, repr=False)
    price: str | None = None
    prices: Path | None = None
    tie_margin: float = 0.0
    timeout_s: float = 120.0
    max_output_tokens: int = 512
    offline: bool = False  # nobody will be asked, so that no key is needed


def judge_from_spec(spec: str, options: JudgeOptions) -> Judge:
    """The judge that `spec` names.

    Raises:
        InputError: nothing is called so, or something it needs is missing.
    """
    price = price_from_text(options.price) if options.price is not None else None
    if spec in {"replay:", "metric:", "openai/"}:
        raise InputError(f"--judge {spec}: something is missing behind it; known: {FORMS}")
    if spec.startswith("replay:"):
        from judgeloop.judges.replay import ReplayJudge

        table = read_verdicts(Path(spec.removeprefix("replay:")))
        return ReplayJudge(table, tie_margin=options.tie_margin)
    if spec.startswith("metric:"):
        from judgeloop.judges.metric import MetricJudge

        return MetricJudge(spec.removeprefix("metric:"), tie_margin=options.tie_margin)
    provider, _, model = spec.partition("/")
    if provider == "openai" and model:
        return _openai(model, price, options)
    raise InputError(f"--judge {spec}: there is no such judge; known: {FORMS}")


def _openai(model: str, price: Price | None, options: JudgeOptions) -> Judge:
    url = options.base_url or options.environment.get("OPENAI_BASE_URL") or OFFICIAL_URL
    _check_url(url)
    if price is None and options.prices is not None:
        price = _own_price(f"openai/{model}", options.prices)
    key = NO_KEY if options.offline else _openai_key(url, options)
    endpoint = Endpoint(url, key, options.timeout_s)
    if price is None:
        known_by = {"provider": "openai"} if endpoint.official else {"base_url": url}
        price = published_price(model, **known_by)
    return OpenAIJudge(
        model,
        endpoint=endpoint,
        template=options.template,
        price=price,
        max_output_tokens=options.max_output_tokens,
    )


def _own_price(name: str, path: Path) -> Price | None:
    """The price under the judge's name in the user's own TOML file."""
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, f"this is no TOML: {error}") from None
    table = tables.get(name)
    if table is None:
        return None
    known = {"input_per_mtok", "output_per_mtok", "cache_read_per_mtok", "cache_write_per_mtok"}
    try:
        if unknown := set(table) - known:
            raise ValueError(f"unknown field {min(unknown)!r}")  # noqa: TRY301 - one message below
        rates = {field: Rate(rate_per_mtok(str(value))) for field, value in table.items()}
        plain = rates["input_per_mtok"]
        return Price(
            input=plain,
            output=rates["output_per_mtok"],
            cache_read=rates.get("cache_read_per_mtok", plain),
            cache_write=rates.get("cache_write_per_mtok", plain),
            source=str(path),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            path,
            f"[{name!r}] needs input_per_mtok and output_per_mtok, in dollars per million tokens: {error}",
        ) from None


def _check_url(url: str) -> None:
    """Refuse what is no address; one that may hold a password is not repeated in the message."""
    if "@" in url:
        raise InputError("--judge-base-url: a key does not belong in an address; set JUDGELOOP_JUDGE_API_KEY")
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        complete = False
    if not complete:
        raise InputError(f"--judge-base-url: expected http(s)://HOST[:PORT]/…, found {url!r}")


def _openai_key(url: str, options: JudgeOptions) -> str:
    """The key to send to `url`: OpenAI's goes to OpenAI, or where OPENAI_BASE_URL points, and to no other server."""
    parts = urlsplit(url)
    environment = options.environment
    official = parts.hostname == urlsplit(OFFICIAL_URL).hostname
    own = official or options.base_url is None
    names = ["JUDGELOOP_JUDGE_API_KEY", *(["OPENAI_API_KEY"] if own else [])]
    key = next((key for name in names if (key := environment.get(name, "").strip())), None)
    if key is None and official:
        raise InputError(
            "the judge needs a key: set OPENAI_API_KEY in the environment or in .env (see .env.example); "
            "--judge metric:rouge2 needs none"
        )
    if key and parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}:
        raise InputError(
            f"--judge-base-url: the key would travel unencrypted to {parts.hostname}; use https, or unset "
            f"{' and '.join(names)} for a server without a key"
        )
    return key or NO_KEY
