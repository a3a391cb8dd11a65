"""What a comparison is made of, checked before anything is read or spent, and put together.

Flags, environment and `judgeloop.toml` are merged in `cli.py`; this is what they merge into. Nothing runs here.
"""

from __future__ import annotations

from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from judgeloop.errors import InputError
from judgeloop.judges.prompting import Template, parse_template
from judgeloop.money import MOST_DOLLARS, to_pico
from judgeloop.presentation import Order

DEFAULT_HOME = Path(".judgeloop")


def _budget(value: object) -> object:
    return None if str(value).lower() in {"none", "inf"} else value


Dollars = Annotated[Decimal, Field(ge=0, le=MOST_DOLLARS)]


class CompareConfig(BaseModel):
    """Everything that a comparison of two systems depends on. Money in dollars, times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Path
    second: Path
    judge: str = Field(min_length=1)
    judge_base_url: str | None = None
    judge_price: str | None = None
    judge_timeout: float = Field(120.0, gt=0)
    judge_max_tokens: int = Field(512, ge=16)
    prices: Path | None = None
    tie_margin: float = Field(0.0, ge=0)
    items: Path | None = None
    allow_partial: bool = False
    selector: Literal["random", "diffuse"] = "random"
    represent: str = Field("lexical", pattern=r"^(lexical|minilm|minilm:.+)$")
    rule: Literal["tie-aware", "hypergeometric"] = "tie-aware"
    risk: float = Field(0.1, gt=0, le=1)
    min_judgments: int = Field(5, ge=1)
    max_judgments: int = Field(200, ge=1)
    max_abstentions: float = Field(0.05, ge=0, le=1)
    budget: Annotated[Dollars | None, BeforeValidator(_budget)] = Decimal("5.00")
    order: Order = Order.BOTH
    concurrency: int = Field(8, ge=1)
    seed: int = Field(0, ge=0)
    ledger: Path = DEFAULT_HOME / "ledger.sqlite"
    run_dir: Path | None = None
    cache_dir: Path = DEFAULT_HOME / "cache"
    require_winner: str | None = None

    @property
    def budget_p(self) -> int | None:
        """The budget in picodollars; None for no limit."""
        return None if self.budget is None else to_pico(self.budget)


def compare_config(**values: object) -> CompareConfig:
    """A checked configuration.

    Raises:
        InputError: a value is out of range; names the flag.
    """
    try:
        return CompareConfig.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        flag = str(first["loc"][0]).replace("_", "-") if first["loc"] else "configuration"
        raise InputError(f"--{flag}: {first['msg']}, found {first['input']!r}") from None


def shipped_template(name: str) -> Template:
    """A prompt of judgeloop's own, by its file's name without the ending."""
    installed = files("judgeloop") / "_prompts" / f"{name}.md"
    beside = Path(__file__).parent.parent / "prompts" / f"{name}.md"  # a checkout, installed editable
    source = installed if installed.is_file() else beside
    return parse_template(source.read_text(encoding="utf-8"), f"{name}.md")
