"""From a text of strangers to what the page shows: a visible text, and a tree of twenty tags made of its Markdown.

No HTML is written anywhere: the page makes elements of the tree by name. Markdown can hide text (a cell beyond the
columns, a reference that nothing uses): a text that would lose a letter, a digit or a backslash has no tree, and is
shown plain. So is one whose code would look wrong: formatting takes the stars of 2*3*4 and the bars of __init__. One
with the indented lines of a program or of a drawing is shown as code. A formula of LaTeX and a backslash stay as they
are written, and a mark of a quote that has no words.
"""

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from judgeloop.report.words import seen

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

Tree = list[Any]  # a node is a text, or a list: the tag, perhaps its attributes, and nodes

MOST_FORMATTED = 50_000  # characters: hostile ones take seconds
TAGS = frozenset({
    "p", "h4", "ul", "ol", "li", "strong", "em", "s", "blockquote", "table", "thead", "tbody", "tr", "th", "td",
    "hr", "br", "code", "pre", "url",
})  # fmt: skip
# Joiners between letters of scripts that write with them, and within emojis, are no hidden characters.
_JOINS = "\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af"
_PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff\ufe0f"
_JOINER = re.compile(f"((?<=[{_JOINS}])[\u200c\u200d](?=[{_JOINS}])|(?<=[{_PICTURES}])\u200d(?=[{_PICTURES}]))")

# A formula of LaTeX; between single dollars if it looks like one, as amounts of money do not.
_FORMULA = re.compile(
    r"\\\(.{1,1000}?\\\)|\\\[.{1,1000}?\\\]|\$\$[^$]{1,1000}\$\$|\$(?=[^\s$])[^$\n]{1,300}(?<!\s)\$(?!\d)", re.DOTALL
)
_ENDS = {"$$": "$$", "\\[": "\\]"}  # of a formula on lines of its own
MOST_LINES = 60  # of it

# Code that nothing marks as such: a star between letters or digits, a name with bars, and, where there is no list, an
# indented line; the lines of a drawing may begin with one space.
_MARKED = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_TAKEN = re.compile(r"(?<=\w)\*(?=\w)|\b__\w+__\b")
_INDENTED = re.compile(r"^(?: {2,}\S|\t\S| [/\\|>])", re.MULTILINE)
_LISTED = re.compile(r"^ *(?:[-*+]|\d+[.)]) ", re.MULTILINE)


def shown(text: str) -> str:
    """`text` as a person sees it: lines and tabs stay, and all that has no glyph is escaped."""
    parts = _JOINER.split(text.replace("\r\n", "\n"))
    return "".join(part if at % 2 else _lines(part) for at, part in enumerate(parts))


def _lines(text: str) -> str:
    return "\n".join("\t".join(map(seen, line.split("\t"))) for line in text.split("\n"))


def tree_of(text: str) -> Tree | None:
    """The nodes of a visible text; None where formatting would hide a part of it, or takes too long."""
    if len(text) > MOST_FORMATTED:
        return None
    bare = _FORMULA.sub("", _MARKED.sub("", text))
    if _INDENTED.search(bare) and not _LISTED.search(bare):
        return [["pre", text]]
    if _TAKEN.search(bare):
        return None
    making = _Making()
    for token in _reader().parse(text):
        making.take(token)
    return None if _signs(text) - making.signs else making.nodes


@cache
def _reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.disable(["html_block", "html_inline", "entity"])
    reader.inline.ruler.at("escape", _backslash)
    reader.inline.ruler.before("escape", "formula", _formula)
    reader.block.ruler.at("blockquote", _quote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    reader.block.ruler.before("fence", "formula", _formula_alone, {"alt": ["paragraph", "blockquote", "list"]})
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    reader.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return reader


def _formula(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Leave a formula within a paragraph as it is."""
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


def _formula_alone(state: "StateBlock", begin: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Make code of a formula on lines of its own, of which some may look like a list or a heading."""
    lines = [state.getLines(at, at + 1, 0, False).strip() for at in range(begin, min(end, begin + MOST_LINES))]
    close, opens = _ENDS.get(lines[0][:2]), len(lines[0]) == len("$$")
    found = (at for at, line in enumerate(lines) if close and line.endswith(close) and not (opens and at == 0))
    last = next(found, None)
    if last is None:
        return False
    if not silent:
        state.line = begin + last + 1
        state.push("code_block", "code", 0).content = state.getLines(begin, state.line, state.blkIndent, False)
    return True


def _backslash(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Leave a backslash and the sign that it keeps from being a mark: regular expressions and drawings need both."""
    two = state.src[state.pos : min(state.pos + 2, state.posMax)]
    if two[0] != "\\" or two.endswith("\n") or len(two) == 1:
        return False
    if not silent:
        state.pending += two
    state.pos += len(two)
    return True


def _quote(state: "StateBlock", begin: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as rules are called
    """Quote what has words."""
    from markdown_it.rules_block import blockquote

    words = re.search(r"\w", state.getLines(begin, begin + 1, 0, False))
    return words is not None and blockquote(state, begin, end, silent)


def _signs(text: str) -> Counter[str]:
    """How often each letter, digit and backslash stands in a text."""
    return Counter(sign for sign in text if sign.isalnum() or sign == "\\")


class _Making:
    """A tree that grows by tokens, and the letters and digits of the text that it shows."""

    def __init__(self) -> None:
        self.nodes: Tree = []
        self.signs: Counter[str] = Counter()
        self._open: list[Tree] = [self.nodes]

    def take(self, token: "Token") -> None:
        """Add a token of Markdown."""
        if token.type == "inline":
            for child in token.children or []:
                self.take(child)
        elif token.nesting == 1:
            self._begin(token)
        elif token.nesting == -1:
            self._end(token)
        else:
            self._add(token)

    def _begin(self, token: "Token") -> None:
        if token.type == "link_open":
            node: Tree = ["link", str(token.attrs.get("href", "")), str(token.attrs.get("title", ""))]
        else:
            node = ["h4" if token.tag.startswith("h") and token.tag != "hr" else token.tag]
            if token.tag == "ol" and "start" in token.attrs:
                node.append({"start": int(token.attrs["start"])})
            self.signs += _signs(token.info)  # the number of an item of a list
        if token.hidden:
            node = self._open[-1]  # a paragraph in a tight list
        else:
            self._open[-1].append(node)
        self._open.append(node)

    def _end(self, token: "Token") -> None:
        node = self._open.pop()
        if token.type == "link_close":
            self._unlink(node)

    def _unlink(self, node: Tree) -> None:
        """Put the words of a link in its place, with its address behind them."""
        _, href, title, *words = node
        above = self._open[-1]
        above.pop()
        above.extend(words)
        if words != [href]:
            above.append(["url", f" ({href})"])
            self.signs += _signs(href)
        if title:
            above.append(["url", f" “{title}”"])
            self.signs += _signs(title)

    def _add(self, token: "Token") -> None:
        above = self._open[-1]
        if token.type in {"softbreak", "hardbreak"}:
            above.append("\n" if token.type == "softbreak" else ["br"])
        elif token.type == "hr":
            above.append(["hr"])
        elif token.type == "image":
            source = str(token.attrs.get("src", ""))
            title = str(token.attrs.get("title", ""))
            named = f" “{title}”" if title else ""
            above.append(["url", f"[picture “{token.content}”{named}, not loaded: {source}]"])
            self.signs += _signs(token.content + source + title)
        else:
            self._add_text(token)

    def _add_text(self, token: "Token") -> None:
        above, text = self._open[-1], token.content
        if token.type in {"fence", "code_block"}:
            if token.info:
                above.append(["url", token.info])
            above.append(["pre", text])
        elif token.type == "code_inline":
            above.append(["code", text])
        else:
            above.append(text)
        self.signs += _signs(text) + _signs(token.info if token.type == "fence" else "")
