"""The cheap judge that a dear one is helped by: made of its setting, refused where it cannot help, and its price."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from judgeloop.core.errors import InputError, UnpricedError
from judgeloop.core.money import is_price_file, show_usd
from judgeloop.core.protocols import Judge
from judgeloop.core.records import ONE_SYSTEM, TWO_SYSTEMS, Call, Order, Query, Verdict
from judgeloop.engine.asks import asks_for
from judgeloop.engine.state import Terms
from judgeloop.judges.catalogue import is_remote
from judgeloop.judges.wage import Wage, likely_s
from judgeloop.methods.stats.predictive import FEWEST_KNOWN
from judgeloop.runs.inputs import Inputs
from judgeloop.runs.judging import checked_judge, judge_options
from judgeloop.runs.known import known_answers
from judgeloop.runs.prepared import Prepared
from judgeloop.settings.run_settings import RunSettings, named

SUPPOSED = 0.3  # R², that of GPT-3.5 with people on PandaLM, and of ChatGPT with people on MT-Bench
SERVED = "Give `proxy=openai/NAME`, and OPENAI_BASE_URL=http://HOST:PORT/v1 in the environment"
SAMPLE = 20  # items whose calls are priced
WAGE = Decimal(40)  # dollars an hour, of people whose time has no price
MOST_EACH = 20  # cheap verdicts a label, which tell 95 % of what any number tells


def proxy_judge(
    config: RunSettings, spec: str | Judge, inputs: Inputs, environment: Mapping[str, str], *, offline: bool
) -> Judge:
    """The cheap judge that `spec` names or is.

    The address and a price in the settings are the judge's and are not used for the proxy; a file of prices is.

    Raises:
        InputError: it is the judge itself, a person, or no judge of these systems; or such an address or a price is
            given, and no judge is a model.
    """
    if spec in config.judge:
        raise InputError(f"`proxy={spec}`: this is the judge itself; give a cheaper judge as proxy")
    if not any(map(is_remote, named(config.judge))):
        _check_of_judge(config)
    options = judge_options(config, environment, rating=config.rates, offline=offline)
    price = options.price if options.price and is_price_file(options.price) else None
    own = replace(options, price=price, base_url=None, against=config.against(inputs.pool.systems))
    try:
        judge = checked_judge(spec, own, config, inputs.pool, proxy=True)
    except UnpricedError:
        raise
    except InputError as error:  # of a judge, whose address in the settings is not the proxy's
        why = re.sub("Give `judge_base_url=.*", SERVED, str(error).replace("`judge=", "`proxy="))
        raise InputError(why if why.startswith("`proxy=") else f"`proxy={spec}`: {why}") from None
    if judge.by_hand:
        raise InputError(f"`proxy={spec}`: a proxy rates many items, so it cannot be a person")
    return judge


def _check_of_judge(config: RunSettings) -> None:
    """Refuse what is a model's where no judge is one: it is not the proxy's, which would be asked elsewhere."""
    why = "has no effect, as no judge is a model, and"
    if config.judge_base_url is not None:
        raise InputError(
            f"`judge_base_url={config.judge_base_url}` {why} is not the proxy's address; set OPENAI_BASE_URL (or "
            "ANTHROPIC_BASE_URL) instead"
        )
    if config.judge_price is not None and config.price_file is None:
        raise InputError(
            f"`judge_price={config.judge_price}` {why} is not the proxy's price; give a file with it: `judge_price=FILE`"
        )


class Known(NamedTuple):
    """How much of the judges' verdicts a proxy explains on so many items, of which the ledger has both."""

    r2: float
    items: int


async def known_r2(run: Prepared[Any], proxy: Judge) -> Known | None:
    """What the ledger knows of a proxy beside the judges of a run that has begun; None of too few."""
    terms = run.terms()
    dear = await known_answers(run, run.judges, terms)
    cheaper = await known_answers(run, (proxy,), replace(terms, order=run.config.order))
    both = [
        (one.preference, other.score)
        for one, other in zip(dear, cheaper, strict=True)
        if isinstance(one, Verdict) and isinstance(other, Verdict)
    ]
    scores = np.array(both, dtype=np.float64).reshape(-1, 2)
    if len(both) < FEWEST_KNOWN or not scores.std(axis=0).all():
        return None
    return Known(float(np.corrcoef(*scores.T)[0, 1] ** 2), len(both))


def prices(config: RunSettings, inputs: Inputs) -> tuple[float, float]:
    """What a label and a cheap verdict probably cost, in picodollars."""
    assert inputs.proxy is not None, "there is a proxy"
    queries = sample(inputs)
    order = Order.RANDOM if inputs.by_hand and not config.rates else config.order
    return (
        _likely_cost_p(inputs.judges, queries, Terms("", order=order)),
        _likely_cost_p((inputs.proxy,), queries, Terms("", order=config.order)),
    )


class Prices(NamedTuple):
    """What a label and a cheap verdict probably cost, in picodollars.

    `seconds` is what a label probably takes of a person's time, 0 if none is asked. `supposed` says whether its price
    is. A cheap verdict takes at most so many `calls`.
    """

    label_p: float
    proxy_p: float
    seconds: float
    supposed: bool
    calls: int = 1

    @property
    def of_a_label(self) -> str:
        """The price of a label in words."""
        price = f"{show_usd(round(self.label_p))} each"
        if self.supposed:
            price += f" ({self.seconds:.0f} s of a person at ${WAGE} an hour, which no budget counts)"
        elif self.seconds:  # the same command takes the same way, at whatever pace people judged so far
            price += f" ({self.seconds:.0f} s by the length of the texts)"
        return price


def prices_of_a_plan(config: RunSettings, inputs: Inputs) -> Prices:
    """As `prices`; people whose time has no price are supposed to have one."""
    label_p, proxy_p = prices(config, inputs)
    seconds = 0.0
    if inputs.by_hand:  # nobody reads outputs that are identical
        read = fmean(bool([*asks_for(one, inputs.judges, Terms(""))]) for one in sample(inputs))
        seconds = read * likely_each_s(inputs)
    supposed = inputs.by_hand and not label_p
    calls = 2 if config.order is Order.BOTH and inputs.proxy is not None and inputs.proxy.order_matters else 1
    return Prices(Wage(WAGE).cost_p(seconds) if supposed else label_p, proxy_p, seconds, supposed, calls)


def likely_each_s(inputs: Inputs) -> float:
    """About how many seconds a label takes of a person."""
    return fmean(likely_s(Call(one.item, one.systems, one.outputs)) for one in sample(inputs))


def sample(inputs: Inputs) -> list[Query]:
    """Some queries, by which prices and times are reckoned."""
    systems = TWO_SYSTEMS if len(inputs.pool.systems) > 1 else ONE_SYSTEM
    most = len(inputs.pool) if inputs.by_hand else SAMPLE  # texts of very different length: the table has all, too
    return [inputs.pool.query(at, systems) for at in range(min(most, len(inputs.pool)))]


def best_block(label_p: float, proxy_p: float) -> float:
    """How many cheap verdicts a label cost the least for what they tell together, at the R² that is supposed."""
    return min(MOST_EACH, math.sqrt(SUPPOSED / (1 - SUPPOSED) * label_p / proxy_p) if proxy_p else MOST_EACH)


def _likely_cost_p(judges: tuple[Judge, ...], queries: list[Query], terms: Terms) -> float:
    """What a judgment by these judges probably costs, in picodollars: the mean of these queries."""
    calls = [judges[ask.judge].quote(ask.call) for query in queries for ask in asks_for(query, judges, terms)]
    return sum(quote.likely_cost_p for quote in calls) / max(1, len(queries))
