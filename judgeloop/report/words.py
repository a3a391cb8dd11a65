"""Words for sentences: numbers with nouns, capital letters and full stops, shortened names."""

import re

from judgeloop.core.money import PICO_PER_DOLLAR, show_usd
from judgeloop.report.escaping import visible

WIDTH = 100  # columns, where no terminal has another width
WORD = re.compile(r"[a-z-]+(?=[ ,.;]|$)")  # not a name with signs in it
HALF_A_PER_CENT = 0.005  # shown with a digit more, so that it is not taken for none
MOST_PLACES = 6  # of decimals of a gap


def count(number: int, thing: str) -> str:
    """Return a number with its noun, such as `2 items`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    """Return `text` with a capital letter and a full stop, as a sentence of its own.

    A judge's name or a path at the beginning stays as it is.

    >>> sentence("the limit is reached"), sentence("openai/gpt-5 is gone")
    ('The limit is reached.', 'openai/gpt-5 is gone.')
    """
    if WORD.match(text):
        text = text[:1].upper() + text[1:]
    return stopped(text)


def stopped(text: str) -> str:
    """Return `text` with a full stop, unless it ends as a sentence does."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def shortened(name: str, most: int) -> str:
    """Return a name with unseen characters escaped, cut to `most` characters.

    >>> shortened("gpt-4.1-mini-2025", 9)
    'gpt-4.1-…'
    """
    shown = visible(name)
    return shown if len(shown) <= most else f"{shown[: max(0, most - 1)]}…"


def seconds(value: float) -> str:
    """Return a time for people.

    >>> seconds(0.004), seconds(1.26), seconds(184.2)
    ('under 0.1 s', '1.3 s', '184 s')
    """
    if value < 0.1:  # noqa: PLR2004 - what nobody waits for
        return "under 0.1 s"
    return f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"  # noqa: PLR2004


def one_in(risk: float) -> str:
    """Return a probability in words that need no statistics.

    >>> one_in(0.1), one_in(0.05), one_in(0.15), one_in(0.001)
    ('1 in 10', '1 in 20', '15 in 100', '1 in 1,000')
    """
    every = round(1 / risk)
    return f"1 in {every:,}" if abs(risk * every - 1) < 1e-9 else f"{100 * risk:.4g} in 100"  # noqa: PLR2004


def per_cent(share: float, digits: int = 0) -> str:
    """Return a share in per cent, as sentences say it.

    >>> per_cent(0.214), per_cent(0.2146, 1), per_cent(0.004), per_cent(0)
    ('21 %', '21.5 %', '0.4 %', '0 %')
    """
    return f"{100 * share:.{digits or int(0 < share < HALF_A_PER_CENT)}f} %"


def places(gap: float, margin: float | None) -> int:
    """Return to how many decimal places a gap is shown: to two, or to more if it would look like the margin.

    >>> places(0.0952, 0.1), places(-0.0997, 0.1), places(0.1, 0.1), places(0.08, 0.1)
    (3, 4, 2, 2)
    """
    number = 2
    while number < MOST_PLACES and margin not in {None, abs(gap)} and round(abs(gap), number) == margin:
        number += 1
    return number


def ends(interval: tuple[float, float], *, out: float | None = None, margin: float | None = None) -> tuple[str, str]:
    """Return the ends of an interval of gaps with their signs; one that looks like the gap ruled `out` says so.

    None that is not the `margin` looks like it.

    >>> ends((-0.62, 0.0), out=0.0), ends((-0.1, 0.004)), ends((-0.1, 0.3), out=-0.1)
    (('-0.62', 'below 0'), ('-0.10', '+0.00'), ('above -0.10', '+0.30'))
    """
    low, high = (signed(end, margin) for end in interval)
    if out is None:
        return low, high
    named = signed(out) if out else "0"
    return (f"above {named}" if low == signed(out) else low, f"below {named}" if high == signed(out) else high)


def signed(gap: float, margin: float | None = None) -> str:
    """Return a gap with its sign; it looks like the `margin` only if it is.

    >>> signed(-0.0), signed(-0.098, 0.1)
    ('+0.00', '-0.098')
    """
    number = places(gap, margin)
    return f"{round(gap, number) + 0.0:+.{number}f}"


def about(usd: float | None) -> str:
    """Return an estimated sum in brackets, after what it pays for; empty for nothing.

    >>> about(0.1197), about(None)
    (' (about $0.12)', '')
    """
    return f" (about {dollars(usd)})" if usd else ""


def dollars(usd: float) -> str:
    """Return a sum of dollars as sentences say it."""
    return show_usd(round(usd * PICO_PER_DOLLAR))
