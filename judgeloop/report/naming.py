"""The names of settings in texts: as Python writes them, or as a caller of these functions says them.

Texts put the name of a setting between backticks, alone or with a value, as in `selector=random`.
`cli/output.py` has the form for the command line.
"""

import json
import re

NAMED = re.compile(r"`(?P<name>[a-z][a-z_]*)(?:=(?P<value>[^`]*))?`")
# What Python writes without quotes: numbers, and what stands for a value, such as FILE.
_PLAIN = r"(-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[A-Z]+)"
PLAIN = re.compile(rf"{_PLAIN}(,{_PLAIN})*")


def as_python(text: str) -> str:
    """Return `text` with the values of settings as Python writes them.

    >>> as_python("`budget=none`, `risk=0.05` or `judge_price=IN,OUT`")
    '`budget="none"`, `risk=0.05` or `judge_price=(IN, OUT)`'
    """
    return NAMED.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if value is None:
        return match[0]
    if not PLAIN.fullmatch(value):
        value = json.dumps(value, ensure_ascii=False)
    elif "," in value:
        value = f"({value.replace(',', ', ')})"
    return f"`{name}={value}`"
