"""Reads and checks the inputs that all questions share: systems joined on items, live systems, judges, controls.

Reads the files that the settings name, or takes the tables that they hold, and returns an `Inputs`. Errors in files and
settings are reported here, before the first call; nothing is asked or spent. The question reads what only it needs.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.errors import InputError, UnpricedError, did_you_mean, some
from judgeloop.core.keys import digest, output_note
from judgeloop.core.memory import uncollected
from judgeloop.core.protocols import Judge, System
from judgeloop.core.records import UNLIMITED, Item, Pool, Population, folded
from judgeloop.core.thoughts import answer_of
from judgeloop.engine import controls
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Draw, Recipe
from judgeloop.formats.catalogue import table_of
from judgeloop.formats.columns import (
    ID,
    PROMPT,
    Map,
    MissingFieldError,
    along_paths,
    check_map,
    guesses_text,
    parse_map,
    suggested_map,
)
from judgeloop.formats.join import PROMPTS, SAMPLE, Joined, join
from judgeloop.formats.own_files import check_place
from judgeloop.formats.rows import Items, each_file_once, read_items, read_outputs, stem
from judgeloop.judges.catalogue import EXAMPLES, NO_JUDGE, is_decision, recorded_files
from judgeloop.judges.prompt import Prompted, Template
from judgeloop.judges.recorded import ReplayJudge, with_verdicts
from judgeloop.ledger.opening import budgets_of, is_ledger
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.runs.judging import WITHOUT_LIMIT, check_models, check_panel, checked_judge, judge_options, limit_of
from judgeloop.runs.people import page_options, with_second
from judgeloop.settings.run_settings import REFERENCES, SECOND, MoneySettings, RunSettings, ceiling_of
from judgeloop.settings.values import night_began
from judgeloop.systems.catalogue import FORMS, described, make_system
from judgeloop.systems.options import options_of

TURNS = ("user", "assistant")


def names_for(names: Sequence[str], files: Sequence[object]) -> Sequence[str | None]:
    """The name of each file's system; None where it is empty, or none is given.

    Raises:
        InputError: there are other than so many names, or two are the same.

    >>> names_for(["june", "july"], ["a.jsonl", "b.jsonl"])
    ['june', 'july']
    """
    if not names:
        return [None] * len(files)
    given, problem = [name or None for name in names], ""
    if len(names) != len(files):
        problem = f"expected as many names as files, {len(files)}; found {len(names)}"
    elif len(set(filter(None, given))) < len(given) - given.count(None):
        problem = "two systems have the same name"
    if problem:
        raise InputError(f"`names={','.join(names)}`: {problem}")
    return given


@dataclass(frozen=True, slots=True)
class Inputs:
    """The joined pool, the judges, the limits and the controls of a run, all checked.

    `population` is the size of the population that the result is about; None if that is the pool alone.
    `guessed` says which columns of the files were guessed; empty if none were. `prompt` is what the
    judges read, None if none of them reads a prompt, and `rubric` what models or people judge by; empty without one.
    `systems` are those that answer live, by their place. `controls` and `controls_of` are as in `Terms`, and show
    answers of `controls_from`. `most_usd` is the most that the budget may be raised to. `proxy` is the cheap judge
    that is asked beside the judges, None if the proxy is not a judge; a forecast may be of several `proxies`.
    `confidence`, shape (items,), is the system's in its outputs, None if nothing uses it.
    """

    joined: Joined
    judges: tuple[Judge, ...]
    limits: Limits
    controls: tuple[Draw | None, ...] = ()
    controls_of: Recipe | None = None
    controls_from: str = ""
    population: int | None = None
    guessed: str = ""
    prompt: Template | None = None
    rubric: str = ""
    systems: Mapping[int, System] = field(default_factory=dict)
    most_usd: Decimal | None = None
    proxy: Judge | None = None
    proxies: tuple[Judge, ...] = ()
    confidence: NDArray[np.float64] | None = None

    @property
    def pool(self) -> Pool:
        """The items and the systems' outputs."""
        return self.joined.pool

    @property
    def items(self) -> int:
        """The number of items that a stopping rule reckons with: those of the population."""
        return len(self.pool) if self.population is None else self.population

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of the criteria that models judge by; empty without any."""
        found = self.prompt.criteria if self.prompt else None
        return tuple(one.name for one in found.each) if found else ()

    @property
    def rehearses(self) -> bool:
        """Whether a table has recorded costs, which count against the budget as if they were paid."""
        return any(isinstance(judge, ReplayJudge) and judge.costs for judge in self.judges)

    @property
    def named(self) -> tuple[Judge, ...]:
        """The judges that a list of runs names."""
        return self.judges

    @property
    def by_hand(self) -> bool:
        """Whether a person judges."""
        return any(judge.by_hand for judge in self.judges)

    @property
    def sampled(self) -> bool:
        """Whether the items are a sample of the population that the decision is about."""
        return self.population is not None


@uncollected()
@each_file_once()
def read_inputs(
    config: RunSettings,
    environment: Mapping[str, str],
    *,
    offline: bool = False,
    narrowed: Callable[[Pool], Pool] = lambda pool: pool,
) -> Inputs:
    """Read and check the files and judges that a run names.

    `environment` holds the judges' API keys. With `offline`, no judge is asked and no key is
    needed. `narrowed` says which of the items that have outputs are meant.

    Raises:
        InputError: a setting or a file is wrong.
    """
    if not config.judge:
        raise InputError(f"{NO_JUDGE}{EXAMPLES}")
    check_ledger(config)
    check_place(config.cache_dir)
    limits = Limits(config.min_judgments, config.max_judgments, usual=config.usual_limit)
    mapped = parse_map(config.map)
    systems = live_systems(config, environment, offline=offline)
    names = names_for(config.names, config.output_files)
    try:
        outputs = [
            read_outputs(one, mapped, allow_failed=config.allow_partial, name=name, epoch=config.epoch)
            for one, name in zip(config.output_files, names, strict=True)
            if not isinstance(one, str)
        ]
    except MissingFieldError as error:
        raise _with_columns(error, config, mapped) from None
    items = read_items(config.items, mapped) if config.items else None
    if mapped:
        found = [file.columns for file in outputs]
        check_map(mapped, [*found, *([] if items is None else [items.columns])])
    joined = join(
        outputs,
        None if items is None else items.rows,
        config.items if isinstance(config.items, Path) else str(config.items),
        allow_partial=config.allow_partial,
    )
    whole = joined.pool
    joined = replace(joined, pool=narrowed(whole))
    if config.allow_partial:
        joined = with_verdicts(joined, whole, recorded_files(config.specs))
    joined = with_live(joined, systems, config.output_files, names, items)
    joined = replace(joined, pool=_without_thoughts(joined.pool, config.strip_thoughts))
    config.questions(joined.pool.systems)  # so that a wrong name is reported before a wrong judge
    options = replace(
        judge_options(config, environment, rating=config.rates, offline=offline),
        pool=joined.pool if systems else whole,
        against=config.against(joined.pool.systems),
        page=page_options(config, joined.pool.systems, partial(answered, joined.pool)),
        human_price=config.human_price,
    )
    judges = tuple(checked_judge(spec, options, config, joined.pool) for spec in config.judge)
    check_panel(config, judges)
    check_models(config, judges)
    if config.people_per_item > 1:
        judges = with_second(judges)
    limits = replace(limits, max_abstentions=config.most_abstentions(by_hand=any(judge.by_hand for judge in judges)))
    if all(isinstance(judge, ReplayJudge) for judge in judges):  # the share that tables lack was looked at as a whole
        limits = replace(limits, abstentions_of=max(len(joined.pool), limits.abstentions_of))
    check_winner(config, joined.pool)
    guesses = {str(file.path): file.guesses for file in outputs}
    if items is not None:
        guesses[str(config.items)] = items.guesses
    drawn, recipe, source = _controls(config, joined.pool, judges, systems)
    replayed = [one.read for one in judges if isinstance(one, ReplayJudge)]
    return Inputs(
        joined,
        judges,
        limits,
        controls=drawn,
        controls_of=recipe,
        controls_from=source,
        population=_population(config, judges),
        guessed="; ".join(filter(None, [*replayed, guesses_text(guesses)])),
        prompt=next((one.template for one in judges if isinstance(one, Prompted)), None),
        rubric=options.template.rubric or "",
        systems=systems,
        most_usd=ceiling_of(environment),
    )


def _without_thoughts(pool: Pool, names: Sequence[str]) -> Pool:
    """The pool with the answers alone of these systems: what stands behind thoughts, nothing where these do not end.

    Raises:
        InputError: a name is that of no system with a file, or its outputs hold no thoughts.
    """
    outputs = list(pool.outputs)
    filed = [name for place, name in enumerate(pool.systems) if place not in pool.live]
    for name in names:
        if name not in filed:
            live = (
                "; a system that answers live has `strip-thoughts` in its description" if name in pool.systems else ""
            )
            raise InputError(f"`strip_thoughts={name}`: expected one of {some(filed)}{did_you_mean(name, filed)}{live}")
        number = pool.systems.index(name)
        found = [answer_of(text) for text in outputs[number]]
        if not any(found):
            raise InputError(
                f"`strip_thoughts={name}`: no output of it has an answer behind the end of thoughts, </think>"
            )
        outputs[number] = tuple(answer or "" for answer in found)
    return replace(pool, outputs=tuple(outputs))


def check_families(pool: Pool, risk: float) -> None:
    """Refuse families of items that are too few to tell anything of items like these at this risk.

    That so many draws all speak for one of two level systems has a chance of 1/2 to their power.

    Raises:
        InputError: says what may be wrong with the columns, and what may be asked instead.
    """
    families, fewest = pool.families, math.ceil(-math.log2(risk))
    instead = "or ask about these items alone with `about=items`"
    if len(families) == 1 and len({folded(item.prompt) for item in pool.items}) == 1:
        raise InputError(
            f"all {len(pool):,} prompts are equal: is the input in another column? Say which, as in "
            f"`map=prompt=COLUMN`, {instead}"
        )
    if len(families) < fewest:
        raise InputError(
            f"expected items of {fewest} families or more, which a result about items like these takes at "
            f"`risk={risk:g}`, found {len(families)} in {len(pool):,} items: items of one family, or with the same "
            f"prompt, are one draw; give more, {instead}"
        )


def check_ledger(config: MoneySettings) -> None:
    """Refuse a ledger behind a link, one that is missing and has to be there, or lacks a budget.

    Raises:
        InputError: says what to do instead.
    """
    if isinstance(config.ledger, Path):
        check_place(config.ledger)
    budgets_of(config.ledger, config.charge_to)
    if config.ledger_must_exist and not is_ledger(config.ledger):
        raise InputError(
            f"`ledger={config.ledger}`: there is no ledger there, and `ledger_must_exist` is set. "
            "Correct the path, or make a new ledger with `judgeloop ledger create`"
        )


def _with_columns(error: MissingFieldError, config: RunSettings, mapped: Map) -> InputError:
    """The error about a missing field, with the columns to name if the files tell them."""
    try:
        tables = [
            [row.fields for row in along_paths(table_of(one).rows, mapped)]
            for one in config.output_files
            if not isinstance(one, str)
        ]
        if config.items is None:
            check_map(mapped, chain.from_iterable(tables))
    except InputError as other:
        return other if mapped else error
    found = suggested_map(tables)
    if config.items is not None and ID in found:
        found.pop(PROMPT, None)
    pairs = ",".join(f"{field}={name}" for field, name in found.items() if field != name)
    if len(tables) == 1 or not pairs:
        return error
    asked = "" if PROMPT in found or config.items is not None else f"; {PROMPTS}"
    return InputError(
        f"{error.problem}; say which columns they are, for example `map={pairs}` (the output is the "
        f"longest text that differs between the files){asked}"
    )


def _population(config: RunSettings, judges: tuple[Judge, ...]) -> int | None:
    """The size of the population that the result is about; None if that is the pool.

    Items like these are a population without end, of which the pool is a sample. If each item is
    judged in one order of two, the pool has been judged whole only when nothing is known of the
    other orders. The draws are then those of (item, order) pairs, from a population without end
    too. A person judges each item once, and the result is about these verdicts.
    """
    if config.population is Population.ITEMS_LIKE_THESE:
        return UNLIMITED
    swayed = any(judge.order_matters for judge in judges)
    by_hand = any(judge.by_hand for judge in judges)
    drawn = config.order.draws_order and swayed and not config.rates and not by_hand
    return UNLIMITED if drawn else None


def _controls(
    config: RunSettings, pool: Pool, judges: tuple[Judge, ...], systems: Mapping[int, System]
) -> tuple[tuple[Draw | None, ...], Recipe | None, str]:
    """What draws the controls of each judge, None for one that is no model, and whose answers; () if none are wanted.

    Those of a live system are supposed, and the recipe makes others once it has answered. Where controls need not be
    passed, only decision models get any, and if texts for them are at hand.

    Raises:
        InputError: they cannot be made, or no judge is a model.
    """
    from judgeloop.providers.pricing import Metered

    if not config.controlled:
        return (), None, ""
    models = tuple(
        isinstance(judge, Metered) and (config.must_pass or is_decision(judge.identity.name)) for judge in judges
    )
    if config.controls and not any(models):
        raise InputError("`controls=on` is for judges that are models, and none is; leave it out")
    sources = config.sources(pool.systems)
    made = partial(Recipe, models=models, most_bytes=config.max_item_bytes, rates=config.rates)
    for source in sources:
        if drawn := controls.controls_by(made(source), answered(pool, source), judges):
            return drawn, None, source
    if not config.must_pass:
        return (), None, ""
    system = next(source for source in sources if source != REFERENCES)
    live = systems.get(pool.systems.index(system))
    if live and (drawn := controls.controls_by(made(system), _supposed(pool, live), judges)):
        return drawn, made(system), system
    if len(pool) < controls.FEWEST_ITEMS:
        raise InputError(
            f"`controls`: a judge is tested with answers to {controls.FEWEST_ITEMS} questions or more, and there are "
            f"{len(pool)} items; add items, or set `controls=off`"
        )
    raise InputError(
        "`controls`: a judge is tested with answers to different questions, and there are not "
        f"{controls.FEWEST_ITEMS} of {system} that differ and have {controls.SHORT_CHARACTERS} characters or "
        f"{controls.SHORT_WORDS} words, nor references; {controls.INSTEAD}"
    )


def _supposed(pool: Pool, system: System) -> list[tuple[Item, str]]:
    """The items with texts in place of a live system's outputs, which say what controls take."""
    texts = (f"{at:09} {'x' * system.likely_bytes}" for at in range(len(pool)))
    return list(zip(pool.items, texts, strict=True))


def answered(pool: Pool, source: str) -> list[tuple[Item, str]]:
    """The items with the answers of a system, but for short ones, or with their references."""
    if source == REFERENCES:
        return [(item, item.reference) for item in pool.items if item.reference]
    outputs = zip(pool.items, pool.outputs[pool.systems.index(source)], strict=True)
    return [(item, output) for item, output in outputs if not controls.is_short(output)]


def required_winner(config: RunSettings, systems: tuple[str, ...]) -> str | None:
    """The system that must win; B is the second of two, unless a system has this name."""
    by_place = config.require_winner == SECOND and SECOND not in systems and len(systems) == len("AB")
    return systems[1] if by_place else config.require_winner


def check_winner(config: RunSettings, pool: Pool) -> None:
    """Refuse a required winner that is none of the systems.

    Raises:
        InputError: names the systems.
    """
    required = required_winner(config, pool.systems)
    if required is not None and required not in pool.systems:
        raise InputError(
            f"`require_winner`: expected one of {some(pool.systems)}, found {required!r}"
            f"{did_you_mean(stem(Path(required)), pool.systems)}"
        )


def live_systems(config: RunSettings, environment: Mapping[str, str], *, offline: bool) -> dict[int, System]:
    """The systems of a run that answer live, by their place among all systems.

    Raises:
        InputError: a system or an option of it is wrong, or the run cannot have one.
        UnpricedError: the price of one is not known, and there is a budget.
    """
    for one in config.output_files:
        if isinstance(one, Path) and not one.suffix[1:].isalpha() and not _exists(one):
            raise InputError(f"{one}: there is no such file; expected a file or {FORMS}")
    names = {place: one for place, one in enumerate(config.output_files) if isinstance(one, str)}
    try:
        options = options_of(
            config.system, list(names.values()), environment, offline=offline, allow_plugins=config.allow_plugins
        )
        _check_items(config, names)
        systems = {place: make_system(name, options[name]) for place, name in names.items()}
        for place, system in systems.items():
            _check_live(config, names[place], system)
    except InputError as error:
        both = [name for name in names.values() if not described(name) and Path(name).is_file()]
        if not both:
            raise
        raise type(error)(f"{error}; for the file of this name, give ./{both[0]}") from None
    return systems


def _check_items(config: RunSettings, names: Mapping[int, str]) -> None:
    if names and config.items is None:
        raise InputError(
            f"`items`: {next(iter(names.values()))} answers live, and needs the prompts to answer; "
            "give the file of items with `items=FILE`"
        )


def _check_live(config: RunSettings, name: str, system: System) -> None:
    """Refuse a system without a known price under a budget, or without a version in a ledger that others read."""
    if not system.priced and limit_of(config) is not None:
        raise UnpricedError(
            f"`system {name}`: no price is known for this model, and without one no budget can be "
            f"kept. Give it, in dollars per million tokens: `system={name}.price=IN,OUT` (a server of "
            f"your own: `system={name}.price=0,0`).{WITHOUT_LIMIT}"
        )
    shared = isinstance(config.ledger, PostgresAddress)
    if (shared or config.ledger_must_exist) and not system.lasts:
        raise InputError(
            f"`system {name}`: nothing says what is behind this name, so its outputs would serve this "
            f"run alone; {'a ledger on a server' if shared else '`ledger_must_exist`'} needs "
            f"`system={name}.version=TEXT`"
        )


def _exists(path: Path) -> bool:
    """Whether there is something; what may not be looked at is taken to be there."""
    try:
        return path.exists()
    except OSError:
        return True


def looks_at_all(what: str, live: str, instead: str = "`selector=random`") -> InputError:
    """The error for a selector or a proxy that has to know the outputs before they are there."""
    return InputError(
        f"`{what}` looks at the outputs of all items, and {live} answers live; use {instead}, or write "
        "its outputs to a file first: judgeloop generate"
    )


def with_live(
    joined: Joined,
    systems: Mapping[int, System],
    sources: Sequence[object],
    names: Sequence[str | None],
    items: Items | None,
) -> Joined:
    """The joined files with live systems at their places, and what these are told of items.

    `sources` holds each system as typed, and `names` its name if it was given another.

    Raises:
        InputError: two systems have the same name, or a conversation cannot be sent.
    """
    if not systems:
        return joined
    assert items is not None, "`live_systems` has refused systems without items"
    pool = joined.pool
    told = tuple(_as_told(item, items) for item in pool.items)
    if len({digest(one) for _, one in identities(systems, told)}) < len(systems):
        raise InputError(
            f"{' and '.join(str(path) for path in sources)} are the same system; a system cannot be "
            "compared with itself"
        )
    files = iter(zip(pool.systems, pool.outputs, strict=True))
    nothing = ("",) * len(pool)
    count = len(pool.systems) + len(systems)
    both = [
        (name or systems[place].label, nothing) if place in systems else next(files) for place, name in enumerate(names)
    ]
    if len({name for name, _ in both}) < count:
        raise InputError(
            f"two systems have the same name ({', '.join(name for name, _ in both)}); give other names "
            "with `names=NAME,NAME`"
        )
    filed = [place for place in range(count) if place not in systems]
    return replace(
        joined,
        pool=Pool(
            items=told,
            systems=tuple(name for name, _ in both),
            outputs=tuple(texts for _, texts in both),
            live=tuple(sorted(systems)),
            ends={(filed[system], position): end for (system, position), end in pool.ends.items()},
        ),
    )


def _as_told(item: Item, items: Items) -> Item:
    """An item with its conversation and its other columns."""
    messages = tuple(items.turns.get(item.prompt, ()))
    spoken = messages[1:] if messages and messages[0][0] == "system" else messages
    expected = [TURNS[place % 2] for place in range(len(spoken))]
    if messages and (len(spoken) % 2 == 0 or [role for role, _ in spoken] != expected):
        raise InputError(
            f"the item {item.id!r}: expected a conversation that a live system can answer, of turns "
            "of user and assistant that end with the user's, after at most one of system; found "
            f"{', '.join(role for role, _ in messages)}"
        )
    ids = item.id, item.id.rpartition(SAMPLE)[0], None  # of a further sample, what the item is told
    told = next((found for one in ids if (found := items.told.get((one, item.prompt)))), {})
    return replace(item, messages=messages, columns={name: _plain(told[name]) for name in told})


def _plain(value: Any) -> object:
    """A value of a column as a JSON value; what is none becomes its text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value


def since_of(config: RunSettings) -> dict[int, str]:
    """Since when remembered outputs count, by place of a live system for which it is said.

    It is a day, or the beginning of the run's night.
    """
    names = {place: one for place, one in enumerate(config.output_files) if isinstance(one, str)}
    options = options_of(config.system, list(names.values()), {})
    night = config.night and night_began(config.night)
    days = {place: options[name].outputs_since or night for place, name in names.items()}
    return {place: day for place, day in days.items() if day is not None}


def identities(systems: Mapping[int, System], items: Sequence[Item]) -> list[Any]:
    """What of live systems is part of a run's id, in place of their outputs.

    It is who answers, and what each is told of the items.

    Raises:
        InputError: a system needs what an item does not have.
    """
    return [
        [place, output_note(system.identity, [system.sent(item) for item in items], "")]
        for place, system in sorted(systems.items())
    ]
