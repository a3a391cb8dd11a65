"""What a command says of people who judge, and whether it goes together."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import Judge
from judgeloop.core.records import Call, Item, JudgeIdentity
from judgeloop.engine.controls import FEWEST_ITEMS, NAME, control_queries
from judgeloop.judges.base import PageOptions
from judgeloop.judges.page import PageJudge, SecondPerson
from judgeloop.page.checks import CheckItem
from judgeloop.page.links import PERSON
from judgeloop.settings.run_settings import REFERENCES, RunSettings

LOOPBACK = {"127.0.0.1", "localhost"}
TWO = 2


def page_options(
    config: RunSettings, systems: tuple[str, ...], answered: Callable[[str], Iterable[tuple[Item, str]]]
) -> PageOptions | None:
    """The page on which people judge; None if they do not. `answered` gives the items with the answers of a source.

    Raises:
        InputError: something is said of people or of a page, and there are none.
    """
    _check(config)
    if not config.page:
        return None
    return PageOptions(
        config.people,
        config.page_host,
        config.page_port,
        config.page_url,
        config.budget_p,
        _checks(config, systems, answered) if config.checks else (),
        config.people_per_item,
    )


def _check(config: RunSettings) -> None:
    human = "human" in config.specs
    said = {name: getattr(config, name) for name in ("people", "page_url", "shared", "repeated", "checks")}
    said |= {"people_per_item": config.people_per_item > 1}
    idle = [name for name, value in said.items() if value and not config.page]
    idle += [name for name in ("page", "human_price") if getattr(config, name) and not human]
    if idle:
        instead = "`judge=human`" if not human else "`page`"
        raise InputError(f"`{idle[0]}` has no effect without {instead}; add that, or leave it out")
    if wrong := next((name for name in config.people if not PERSON.fullmatch(name)), None):
        raise InputError(f"`people`: expected names of up to 40 letters and digits, found {wrong[:41]!r}")
    if len({name.casefold() for name in config.people}) < len(config.people):
        raise InputError("`people`: expected a name once, found one twice")
    needy = "shared" if config.shared else "people_per_item" if config.people_per_item > 1 else None
    if needy and len(config.people) < TWO:
        raise InputError(
            f"`{needy}` needs a second person: expected two or more names in `people`, found {len(config.people)}"
        )
    if config.people_per_item > 1 and (config.shared or config.repeated):
        raise InputError("`people_per_item=2` has two people judge every item; leave `shared` and `repeated` out")
    if config.page_host not in LOOPBACK and config.page_url is None:
        raise InputError(
            f"`page_host={config.page_host}` lets others reach the page, and needs `page_url`, the address that they "
            "type; or leave it out, and let them come through `ssh -L`"
        )
    if config.checks and not config.people:
        raise InputError("`checks` are for people who do not run this: give their names in `people`, or leave it out")


def with_second(judges: tuple[Judge, ...]) -> tuple[Judge, ...]:
    """A panel of two people: those of a page, and another one for each item."""
    (first,) = judges
    assert isinstance(first, PageJudge), "people judge alone, and on a page"
    return first, SecondPerson(first)


def _checks(
    config: RunSettings, systems: tuple[str, ...], answered: Callable[[str], Iterable[tuple[Item, str]]]
) -> tuple[CheckItem, ...]:
    """Items with an answer to another question: beside their own answer, or alone where answers are rated.

    Raises:
        InputError: there are too few answers that differ.
    """
    sources = sorted(config.sources(systems), key=lambda source: source == REFERENCES)
    for source in sources:
        queries = control_queries(
            source, answered(source), JudgeIdentity("human", ""), 0, config.max_item_bytes, rates=config.rates
        )
        if queries:
            break
    else:
        raise InputError(
            f"`checks` are made of answers to different questions, and there are not {FEWEST_ITEMS} that differ and are "
            "long enough; leave it out"
        )
    found = []
    for query in queries[1::2] if config.rates else queries:  # of two that are rated, the second is the foreign one
        item = replace(query.item, reference=None) if source == REFERENCES else query.item
        found.append(
            CheckItem(Call(item, query.systems, query.outputs), 0 if config.rates else query.systems.index(NAME))
        )
    return tuple(found)
