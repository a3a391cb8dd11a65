"""What a command says of people who judge, and whether it goes together."""

import re

from judgeloop.core.errors import InputError
from judgeloop.judges.base import PageOptions
from judgeloop.settings.run_settings import RunSettings

LOOPBACK = {"127.0.0.1", "localhost"}
TWO = 2
_NAME = re.compile(r"[^\W_][\w .-]{0,39}")


def page_options(config: RunSettings) -> PageOptions | None:
    """The page on which people judge; None if they do not.

    Raises:
        InputError: something is said of people or of a page, and there are none.
    """
    human = "human" in config.specs
    said = {name: getattr(config, name) for name in ("people", "page_url", "shared", "repeated")}
    idle = [name for name, value in said.items() if value and not config.page]
    idle += [name for name in ("page", "human_price") if getattr(config, name) and not human]
    if idle:
        instead = "`judge=human`" if not human else "`page`"
        raise InputError(f"`{idle[0]}` has no effect without {instead}; add that, or leave it out")
    if not config.page:
        return None
    if wrong := next((name for name in config.people if not _NAME.fullmatch(name)), None):
        raise InputError(f"`people`: expected names of up to 40 letters and digits, found {wrong[:41]!r}")
    if len({name.casefold() for name in config.people}) < len(config.people):
        raise InputError("`people`: expected a name once, found one twice")
    if config.shared and len(config.people) < TWO:
        raise InputError(
            f"`shared` needs a second person: expected two or more names in `people`, found {len(config.people)}"
        )
    if config.page_host not in LOOPBACK and config.page_url is None:
        raise InputError(
            f"`page_host={config.page_host}` lets others reach the page, and needs `page_url`, the address that they "
            "type; or leave it out, and let them come through `ssh -L`"
        )
    return PageOptions(config.people, config.page_host, config.page_port, config.page_url, config.budget_p)
