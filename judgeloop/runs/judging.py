"""The judges of a run: made and checked, by the settings that they share."""

from collections.abc import Mapping

from judgeloop.core.errors import InputError, UnpricedError
from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Pool
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import JUDGES, is_remote, judge_from_spec, parse_spec, server_names
from judgeloop.judges.prompt import Template, named_template, template_for
from judgeloop.ledger.opening import budgets_of
from judgeloop.providers.catalogue import DECISION
from judgeloop.settings.run_settings import ANY_MODEL, JudgeSettings, RunSettings, named
from judgeloop.settings.setting import alternatives, declared

WITHOUT_LIMIT = " To run without any limit of money: `budget=none`"


def checked_judge(
    spec: str | Judge, options: JudgeOptions, config: RunSettings, pool: Pool, *, proxy: bool = False
) -> Judge:
    """The judge that `spec` names or is, checked for the systems of `pool`.

    `judge_price` is the judge's, not that of a `proxy`.

    Raises:
        InputError: there is no such judge, or it cannot judge these systems.
        UnpricedError: its price is not known, and there is a budget.
    """
    judge = judge_from_spec(spec, options) if isinstance(spec, str) else spec
    judge.check(config.questions(pool.systems), pool.items, config.most_abstentions())
    limit = None if judge.priced else limit_of(config)
    if limit is not None:
        from judgeloop.providers.catalogue import likely_model

        at = judge.identity.parameters.get("endpoint") or "this address"
        own = "" if proxy else "`judge_price=IN,OUT` (a server of your own: `judge_price=0,0`) or "
        raise UnpricedError(
            f"`{'proxy' if proxy else 'judge'}={spec}`: no price is known for this model at {at}"
            f"{likely_model(judge.identity)}, and without one the {limit} cannot be "
            f"kept. Give it, in dollars per million tokens: {own}`judge_price=FILE`.{WITHOUT_LIMIT}"
        )
    return judge


def limit_of(config: RunSettings) -> str | None:
    """The budget that limits the run, in words; None if none does."""
    if config.budget_p is not None:
        return f"budget of {show_usd(config.budget_p)}"
    return next((one.title for one in budgets_of(config.ledger, config.charge_to)), None)


def judge_options(
    config: JudgeSettings, environment: Mapping[str, str], *, rating: bool = False, offline: bool = False
) -> JudgeOptions:
    """The judges' part of a configuration; with `rating` they see a single output a call.

    Raises:
        InputError: a setting is wrong, or no judge reads it.
    """
    # What verdicts are said to depend on has to be read by a judge, if only by one of a panel, or by the proxy.
    rows = [parse_spec(spec)[0] for spec in config.specs]
    read = frozenset[str]().union(*(row.reads for row in rows))
    read |= {"verdict"} if any(config.verdict in row.verdicts for row in rows) else frozenset()
    deciding = any(row.decides for row in rows)
    for name in sorted(frozenset[str]().union(*(row.reads for row in JUDGES)) - read):
        value = getattr(config, name)
        if value == declared(type(config))[name].default:
            continue
        judges = " and ".join(
            f"`judge={one if isinstance(one, str) else one.identity.name}`" for one in config.every_judge
        )
        raise InputError(
            f"`{name}={value}` has no effect with {judges}; it applies to "
            f"{alternatives([row.form for row in JUDGES if name in row.reads])}; leave it out"
        )
    others = any(row.verdicts and not row.decides for row in rows)
    template, decision = _templates(config, rating=rating, deciding=deciding, others=others)
    remote = sum(map(is_remote, named(config.every_judge)))
    if config.key_command is not None and remote != 1:
        raise InputError(
            f"`key_command` prints the key of one server; expected one judge that is a model, found {remote}"
        )
    return JudgeOptions(
        template=template,
        deciding=decision,
        environment=environment,
        base_url=config.judge_base_url,
        names=server_names(config.judge_name, named(config.judge), config.specs),
        price=config.judge_price,
        key_command=config.key_command,
        tie_margin=config.tie_margin or 0.0,
        timeout_s=config.judge_timeout,
        max_output_tokens=config.judge_max_tokens,
        effort=config.judge_effort,
        verdict=config.verdict,
        lenient=config.lenient_replies,
        tier=config.tier,
        allow_plugins=config.allow_plugins,
        offline=offline,
    )


def _templates(
    config: JudgeSettings, *, rating: bool, deciding: bool, others: bool
) -> tuple[Template, Template | None]:
    """The instructions of all other judges, and those of decision models; None if no judge is one.

    A prompt is for the judges of its form, and a rubric for every judge.
    """
    of_decision = config.prompt is not None and named_template(config.prompt).decides
    verdict = DECISION if deciding and not others else config.verdict
    template = template_for(verdict, None if of_decision and others else config.prompt, config.rubric, rating=rating)
    if not (deciding and others):
        return template, template if deciding else None
    return template, template_for(DECISION, config.prompt if of_decision else None, config.rubric, rating=rating)


def check_panel(config: RunSettings, judges: tuple[Judge, ...]) -> None:
    """Refuse judges that form no panel, and settings that do not go with people or with several models."""
    names = [judge.identity.name for judge in judges]
    if len(set(names)) < len(names):
        raise InputError(
            "`judge`: a panel needs different judges, and two are called "
            f"{max(names, key=names.count)}; functions are named apart by "
            "judgeloop.function_judge(function, name=…)"
        )
    by_hand = any(judge.by_hand for judge in judges)
    if by_hand and config.deadline is not None:
        raise InputError("`deadline` does not apply to a person: quit with q, and rerun the command to resume")
    if len(judges) > 1 and by_hand:
        raise InputError(
            "`judge=human` cannot be on a panel, because a person sees the outputs in an order of their own"
        )
    if sum(map(is_remote, named(config.judge))) > 1 and config.judge_base_url is not None:
        raise InputError(
            "`judge_base_url` is one address for several models; set OPENAI_BASE_URL and ANTHROPIC_BASE_URL instead"
        )


def check_models(config: RunSettings, judges: tuple[Judge, ...]) -> None:
    """Refuse a model that has to answer for a judge that is none."""
    from judgeloop.providers.pricing import Metered

    given = config.models
    for judge, asked in zip(judges, config.judge, strict=True):
        if isinstance(asked, str) and asked in given and given[asked] != ANY_MODEL and not isinstance(judge, Metered):
            raise InputError(
                f"`judge_model={given[asked]}`: {asked} is no model, and its replies name none; leave it out"
            )
