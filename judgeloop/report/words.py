"""Words for sentences: escaped texts, counts and shares, shortened names, and the names of settings.

Untrusted text is escaped for terminals, logs and spreadsheets: unseen characters and commands. Only what is shown is
escaped; the text that is judged and stored is not changed. Texts put the name of a setting between backticks, alone
or with a value, as in `selector=random`: here is the form for Python, in `cli/output.py` that for a command.
"""

import json
import re
import unicodedata
from collections.abc import Sequence

from judgeloop.core.money import PICO_PER_DOLLAR, show_usd

WIDTH = 100  # columns, where no terminal has another width
BOLD, WARNED = "bold", "warning"  # how a line is shown
WORD = re.compile(r"[a-z-]+(?=[ ,.;]|$)")  # not a name with signs in it
HALF_A_PER_CENT = 0.005  # shown with a digit more, so that it is not taken for none
MOST_PLACES = 6  # of decimals of a gap
LEAST_ROUNDED_S, FIVE_MIN_S = 630, 300  # from which on a time for plans is rounded, and to what
NO_GAP = "·"  # in the place of a bar
HEIGHTS, LEAST_REACH = "▁▂▃▄▅▆▇█", 0.2  # of a small line, and the least gap that fills its height
# Control, format (bidi, zero width), surrogate, private use, unassigned, and the separators of
# lines and paragraphs.
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Commands to a CI system: GitHub reads them at the beginning of a line, Azure anywhere.
_COMMAND = re.compile(r"\A\s*::|##(?=\[|vso\[)")
# Letters and marks without a glyph: fillers, joiners, variation selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# The selector of the picture of an emoji, behind a sign that can be one. It shows, and is no place to hide a text.
_OF_EMOJI = re.compile(
    "((?<=[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff])\ufe0f(?![\ufe00-\ufe0f]))"
)

# What begins a formula, also as a full-width sign, behind blanks, and behind a semicolon or a tab. A tab is not among
# the blanks: it begins a match itself, so that a text of tabs is searched once.
_FORMULA = re.compile("((?:\\A|[;\\t])[^\\S\\t]*)([-=+@\uff1d\uff0b\uff0d\uff20])")
NAMED = re.compile(r"`(?P<name>[a-z][a-z_]*)(?:=(?P<value>[^`]*))?`")
LOOKS = re.compile(r"(?<=`)judgeloop (?:budget|ledger|runs)\b[^`]*(?=`)")  # commands that look into a ledger
# What Python writes without quotes: numbers, and what stands for a value, such as FILE.
_PLAIN = r"(-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[A-Z]+)"
PLAIN = re.compile(rf"{_PLAIN}(,{_PLAIN})*")


class _Shown(dict[int, str]):
    """How each letter is shown, found once: pages hold millions of letters."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        unseen = unicodedata.category(letter) in _UNSEEN or _BLANK.match(letter)
        self[number] = letter.encode("unicode_escape").decode("ascii") if unseen else letter
        return self[number]


_SHOWN = _Shown()


def seen(text: str) -> str:
    """`text` with unseen characters escaped, but for an emoji's own."""
    parts = _OF_EMOJI.split(text) if "\ufe0f" in text else [text]
    return "".join(part if at % 2 else part.translate(_SHOWN) for at, part in enumerate(parts))


def visible(text: str) -> str:
    r"""`text` on a single line, with unseen characters and CI commands escaped, but for an emoji's own.

    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    shown = seen(text)
    return _COMMAND.sub(lambda match: f"\\x{ord(match[0][0]):02x}{match[0][1:]}", shown)


def visible_lines(text: str) -> str:
    """`text` as `visible` does, but keep its line breaks and tabs."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def csv_cell(text: str) -> str:
    """`text` as a spreadsheet cell, with a quote before what looks like a formula.

    A formula may also begin behind blanks, behind a semicolon or a tab, which separate cells in some
    programs, and with a full-width sign.

    >>> csv_cell("=1+1"), csv_cell("a;=1+1"), csv_cell("a=1")
    ("'=1+1", "a;'=1+1", 'a=1')
    """
    return _FORMULA.sub(r"\1'\2", visible_lines(text))


def count(number: int, thing: str) -> str:
    """A number with its noun.

    >>> count(1, "item"), count(2, "item"), count(2, "family")
    ('1 item', '2 items', '2 families')
    """
    return f"{number:,} {thing if number == 1 else plural(thing)}"


def plural(thing: str) -> str:
    """A noun for several."""
    return f"{thing.removesuffix('y')}ies" if thing.endswith("ily") else f"{thing}s"


def times(number: int) -> str:
    """How often.

    >>> times(1), times(2)
    ('once', '2 times')
    """
    return "once" if number == 1 else count(number, "time")


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop, as a sentence of its own.

    A judge's name or a path at the beginning stays as it is.

    >>> sentence("the limit is reached"), sentence("openai/gpt-5 is gone")
    ('The limit is reached.', 'openai/gpt-5 is gone.')
    """
    if WORD.match(text):
        text = text[:1].upper() + text[1:]
    return stopped(text)


def stopped(text: str) -> str:
    """`text` with a full stop, unless it ends as a sentence does, perhaps one that is quoted.

    >>> stopped('it says "No key."'), stopped('it says "no key"')
    ('it says "No key."', 'it says "no key".')
    """
    return text if text.removesuffix('"').endswith((".", "!", "?")) else f"{text}."


def shortened(name: str, most: int) -> str:
    """A name with unseen characters escaped, cut to `most` characters.

    >>> shortened("gpt-4.1-mini-2025", 9)
    'gpt-4.1-…'
    """
    shown = visible(name)
    return shown if len(shown) <= most else f"{shown[: max(0, most - 1)]}…"


def clipped(text: str, most: int) -> str:
    """A text with unseen characters escaped, cut after a word to `most` characters; within the first if that is longer.

    >>> clipped("line 44: the file is cut off", 20), clipped("a/long/path", 6)
    ('line 44: the file …', 'a/lon…')
    """
    shown = visible(text)
    whole = shown[: most - 1].rpartition(" ")[0]
    return shown if len(shown) <= most else f"{whole} …" if whole else shortened(text, most)


def hours(seconds: float) -> str:
    """A time in hours and minutes.

    >>> hours(50), hours(600), hours(6600)
    ('1 min', '10 min', '1 h 50 min')
    """
    whole, minutes = divmod(max(1, round(seconds / 60)), 60)
    return " ".join([*([f"{whole} h"] if whole else []), *([f"{minutes} min"] if minutes else [])])


def ends_open(needs: int, more: str = "") -> str:
    """That most runs end at their limit undecided; with so many most would decide, 0 if no number is known to."""
    decide = f" (with {needs:,}{more}, most would decide)" if needs else ""
    return f"most runs like this end there without a decision{decide}"


def only_again(skipped: int) -> str:
    """That people are asked again only what they skipped.

    >>> only_again(1)
    '1 that was skipped is asked again, all else is known'
    """
    return f"{skipped:,} that {'was skipped is' if skipped == 1 else 'were skipped are'} asked again, all else is known"


def planned(seconds: float) -> str:
    """A time for plans, which is known to five minutes, as the page on which people judge shows it.

    >>> planned(50), planned(540), planned(840)
    ('1 min', '9 min', '15 min')
    """
    return hours(seconds if seconds <= LEAST_ROUNDED_S else FIVE_MIN_S * round(seconds / FIVE_MIN_S))


def seconds(value: float) -> str:
    """A time for people.

    >>> seconds(0.004), seconds(1.26), seconds(184.2)
    ('under 0.1 s', '1.3 s', '184 s')
    """
    if value < 0.1:  # noqa: PLR2004 - what nobody waits for
        return "under 0.1 s"
    return f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"  # noqa: PLR2004


def one_in(risk: float) -> str:
    """A probability in words that need no statistics.

    >>> one_in(0.1), one_in(0.05), one_in(0.15), one_in(0.001)
    ('1 in 10', '1 in 20', '15 in 100', '1 in 1,000')
    """
    every = round(1 / risk)
    return f"1 in {every:,}" if abs(risk * every - 1) < 1e-9 else f"{100 * risk:.4g} in 100"  # noqa: PLR2004


def per_cent(share: float, digits: int = 0) -> str:
    """A share in per cent, as sentences say it.

    >>> per_cent(0.214), per_cent(0.2146, 1), per_cent(0.004), per_cent(0)
    ('21 %', '21.5 %', '0.4 %', '0 %')
    """
    return f"{100 * share:.{digits or int(0 < share < HALF_A_PER_CENT)}f} %"


def places(gap: float, margin: float | None) -> int:
    """To how many decimal places a gap is shown: to two, or to more if it would look like the margin.

    >>> places(0.0952, 0.1), places(-0.0997, 0.1), places(0.1, 0.1), places(0.08, 0.1), places(0.0999999, 0.1)
    (3, 4, 2, 2, 2)
    """
    for number in range(2, MOST_PLACES):
        if margin is None or round(abs(gap), number) != margin:
            return number
    return 2  # it is the margin, but for what nobody reads


ABOVE, BELOW = "above ", "below "  # how an end of an interval begins that is ruled out itself


def ends(interval: tuple[float, float], *, out: float | None = None, margin: float | None = None) -> tuple[str, str]:
    """The ends of an interval of gaps in points, with their signs; one that looks like the gap ruled `out` says so.

    None that is not the `margin`, or 0, looks like it.

    >>> ends((-0.62, 0.0), out=0.0), ends((-0.1, 0.004)), ends((-0.1, 0.3), out=-0.1)
    (('-62', 'below 0'), ('-10', '+0.4'), ('above -10', '+30'))
    """
    low, high = (signed(end, margin if round(end, 2) else 0.0) for end in interval)
    if out is None:
        return low, high
    named = signed(out) if out else "0"
    return (f"{ABOVE}{named}" if low == signed(out) else low, f"{BELOW}{named}" if high == signed(out) else high)


def between(interval: tuple[float, float], *, out: float | None = None, margin: float | None = None) -> str:
    """Between what a gap in points lies, for a sentence; an end that is ruled `out` itself says so.

    >>> between((-0.62, 0.0), out=0.0), between((-0.1, 0.04)), between((-0.1, 0.3), out=-0.1)
    ('-62 to below 0', '-10 to +4', 'more than -10, at most +30')
    """
    low, high = ends(interval, out=out, margin=margin)
    if low.startswith(ABOVE):
        return f"more than {low.removeprefix(ABOVE)}, at most {high}"
    return f"{low} to {high}"


def signed(gap: float, margin: float | None = 0.0, least: int = 2) -> str:
    """A gap in points, which are hundredths, with its sign; it looks like the `margin` only if it is.

    It has at least the decimal places `least`, two of which are of points.

    >>> signed(-0.0), signed(0.29), signed(-0.098, 0.1), signed(0.004), signed(0.29, least=3)
    ('+0', '+29', '-9.8', '+0.4', '+29.0')
    """
    number = max(least, places(gap, margin))
    return f"{100 * round(gap, number) + 0.0:+.{number - 2}f}"


def signed_points(gap: float, margin: float | None = 0.0, least: int = 2) -> str:
    """A gap in points, with its sign and its unit, as `signed` writes it.

    >>> signed_points(0.17), signed_points(-0.01)
    ('+17 points', '-1 point')
    """
    number = signed(gap, margin, least)
    return f"{number} point{'' if number in {'+1', '-1'} else 's'}"


def in_points(gap: float) -> str:
    """A gap in points without its sign.

    >>> in_points(0.17), in_points(-0.01), in_points(0.0)
    ('17 points', '1 point', '0 points')
    """
    return count(round(100 * round(abs(gap), 2)), "point")


def drawn(lines: Sequence[Sequence[float | None]]) -> list[str]:
    """Small lines of gaps about a middle of 0, on one scale; empty for one of less than two gaps.

    >>> drawn([[0.2, None, 0.0, -0.2], [0.1, 0.1], [0.1, None]])
    ['█·▅▁', '▆▆', '']
    """
    reach = max([LEAST_REACH, *(abs(one) for line in lines for one in line if one is not None)])

    def height(gap: float) -> str:
        return HEIGHTS[round((gap + reach) / (2 * reach) * (len(HEIGHTS) - 1))]

    return [
        "".join(NO_GAP if one is None else height(one) for one in line) * (sum(one is not None for one in line) > 1)
        for line in lines
    ]


def about(usd: float | None) -> str:
    """An estimated sum in brackets, after what it pays for; empty for nothing.

    >>> about(0.1197), about(None)
    (' (about $0.12)', '')
    """
    return f" (about {dollars(usd)})" if usd else ""


def expected(usd: float | None) -> str:
    """As `about`, of a sum that stands beside a worst case.

    >>> expected(0.1197), expected(None)
    (' (expected cost $0.12)', '')
    """
    return f" (expected cost {dollars(usd)})" if usd else ""


def dollars(usd: float) -> str:
    """A sum of dollars as sentences say it."""
    return show_usd(round(usd * PICO_PER_DOLLAR))


def as_python(text: str) -> str:
    """`text` with the values of settings as Python writes them.

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


def looking_into(text: str, ledger: str) -> str:
    """`text` with the flag for a `ledger` behind commands between backticks that look into one; empty for the usual.

    >>> looking_into("`judgeloop runs` lists all", " --ledger my.sqlite")
    '`judgeloop runs --ledger my.sqlite` lists all'
    """
    return LOOKS.sub(lambda one: one[0] if ledger in one[0] else f"{one[0]}{ledger}", text)


def moves(name: str) -> bool:
    """Whether a judge's name stands for the latest model, so that another may answer it any day.

    >>> moves("typesafe/jev-latest"), moves("typesafe/jev-1.14.0")
    (True, False)
    """
    return name.endswith(("-latest", "-preview", ":latest"))
