"""A judge from its name as typed: `openai/MODEL`, `metric:NAME`, `replay:FILE`.

One entry a provider. Keys and files are read here, at the edge, so that the judges themselves take plain values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from judgeloop.errors import DataError, InputError
from judgeloop.formats.tables import read_text
from judgeloop.formats.verdicts import read_verdicts
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
    environment: Mapping[str, str]
    base_url: str | None = None
    price: str | None = None
    prices: Path | None = None
    tie_margin: float = 0.0
    timeout_s: float = 120.0
    max_output_tokens: int = 512
    offline: bool = False  # nobody will be asked, so that no key is needed

    def __repr__(self) -> str:
        return f"JudgeOptions(base_url={self.base_url!r})"


def judge_from_spec(spec: str, options: JudgeOptions) -> Judge:
    """The judge that `spec` names.

    Raises:
        InputError: nothing is called so, or something it needs is missing.
    """
    price = price_from_text(options.price) if options.price is not None else None
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
    from judgeloop.judges.openai import OFFICIAL_URL, Endpoint, OpenAIJudge

    url = options.base_url or options.environment.get("OPENAI_BASE_URL") or OFFICIAL_URL
    _check_url(url)
    if price is None and options.prices is not None:
        price = _own_price(f"openai/{model}", options.prices)
    key = NO_KEY if options.offline else _openai_key(url, options.environment)
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
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError(f"--judge-base-url: expected http(s)://HOST/…, found {url!r}")
    if parts.username or parts.password:
        raise InputError("--judge-base-url: a key does not belong in a URL; set OPENAI_API_KEY")


def _openai_key(url: str, environment: Mapping[str, str]) -> str:
    key = environment.get("JUDGELOOP_JUDGE_API_KEY") or environment.get("OPENAI_API_KEY")
    parts = urlsplit(url)
    local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if key and parts.scheme == "http" and not local:
        raise InputError(
            f"--judge-base-url: the key would travel unencrypted to {parts.hostname}; use https, or unset "
            "JUDGELOOP_JUDGE_API_KEY and OPENAI_API_KEY for a server without a key"
        )
    if key:
        return key
    if "openai.com" in (parts.hostname or ""):
        raise InputError(
            "the judge needs a key: set OPENAI_API_KEY in the environment or in .env (see .env.example); "
            "or try the example with --judge metric:rouge2, which needs none"
        )
    return NO_KEY
