"""Which variables of an environment hold secrets, by their names. Reads no file's content and prints nothing."""

import os
import re
from collections.abc import Mapping

_SECRET = re.compile("key|token|secret|passw|credential", re.IGNORECASE)


def names_a_secret(name: str) -> bool:
    """Return whether the name of a variable speaks of a secret."""
    return _SECRET.search(name) is not None


def secrets_of(environment: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names speak of a secret; the path of a file is none.

    >>> secrets_of({"MY_KEY": "sk-1", "HOME_KEY_FILE": "/", "PAGER": "less"})
    ['sk-1']
    """
    named = [value for name, value in environment.items() if names_a_secret(name)]
    return [one for one in named if one and not (os.sep in one and os.path.exists(one))]  # noqa: PTH110 - it may be no path
