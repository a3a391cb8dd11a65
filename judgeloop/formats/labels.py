"""Labels by people, from any table: which item, what was said of it, and by whom.

A row is about an item: by its id, or by its prompt. A column holds votes if all its cells are votes in words, numbers
or names of the systems; several such columns are several people, and so are the names in a column `annotator`. Headers
are compared as everywhere, and those that nobody knows are found by what stands below them. What cannot be told is an
error. A row that names its systems (`model_a`, `left`), or shows their outputs there, says which is A; else A is the
first system. The same tables are verdicts to replay (`judges/recorded.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from judgeloop.core.errors import some
from judgeloop.core.records import TIE, Pool, as_score, preference
from judgeloop.formats.columns import GUESSES, ID, KNOWN, PROMPT, found_text, normal
from judgeloop.formats.harnesses import ANNOTATION, BATTLES, JUDGMENT
from judgeloop.formats.tables import NOTHING, Fields, Row, Source, Table, read_rows, says_nothing, shown
from judgeloop.formats.verdicts import COLUMNS, ORDINALS, WHOLE, plain_text, verdict_rows, vote_of

# The column of who voted, and those of numbers that say how sure somebody was, or how long it took.
_WHO = re.compile(
    r"((annotator|person|people|rater|coder|labell?er|reviewer|evaluator|assessor|worker|user)(_?(id|name))?"
    r"|((labell?|annotat|rat|review|evaluat|assess)ed_)?by|who|initials)\W*"
)
_HOW = re.compile(r"(^|_)(confiden|(un)?certain|(un)?sure|difficult|effort|seconds|minutes|duration)")
_LOSES = re.compile(r"^(?!.*better).*(^|_)(worse|worst|loser|loses|lost|rejected|weaker|inferior)(?![a-z])")
_AFFIX = re.compile(r"^shown_|_(shown|system|model|name|output|response|answer|text|is)$")  # of a place in a header
_SWAPPED = re.compile(r"(^|_)(swapped|switched|flipped|reversed|mirrored)(?![a-z])")
NO = {"0", "no", "false", "n", "f"}
OF_VOTES = (*COLUMNS["score"], "better", "best", "choice", "preferred", "judgment", "judgement", "answer")
OF_RATINGS = ("score", "rating", "grade", "stars", "label", "vote", "mark")
SCORE = "score"  # the only column whose numbers are scores of the first system
NAMED = ("model_a", "model_b", "model")  # the systems of a row
BLANK = "; leave the cell empty where there is no label"
HALF = 0.5  # of the cells: a column of which more can be read is taken for what it seems, and the others for slips
OF_IDS = {"id", "item_id"}
NO_LABELS = {*NAMED, "system", "against", "propensity", "graded", "flipped", "in_decision"}


@dataclass(frozen=True, slots=True)
class Labels:
    """What one person said, by position: scores in [0, 1], NaN where they said nothing; and how it was read.

    `left_out` says of each file how many labels in it are of other items, if any are.
    """

    person: str
    scores: tuple[float, ...]
    read: str
    left_out: tuple[str, ...] = ()

    @property
    def places(self) -> frozenset[int]:
        """The positions of the items that they said something of."""
        return frozenset(at for at, score in enumerate(self.scores) if not math.isnan(score))


def read_labels(source: Source, pool: Pool, scale: tuple[float, float] | None = None) -> list[Labels]:
    """What people said in a file, or in rows in memory, of the items of `pool`.

    `scale` has the lowest and the highest rating, of a single system; None for scores from 0 to 1.

    Raises:
        DataError: no column tells the item or the vote, a cell is no vote, or somebody votes twice on an item.
    """
    table = source if isinstance(source, Table) else Table(source, read_rows(source), "line")
    rows = [Row(row.line, _folded(table, row)) for row in _plain_rows(list(table.rows))]
    ours = [row for row in rows if _about(row.fields, pool.systems)]
    if not ours:
        others = sorted(
            {" and ".join(str(one.fields.get(name)) for name in NAMED if name in one.fields) for one in rows}
        )
        raise table.wrong(f"no row is about {some(pool.systems)}; the file has {some(others)}")
    names = list(dict.fromkeys(name for row in ours for name in row.fields))
    by, items = _items_of(table, ours, names, pool)
    names = [name for name in names if name != by]
    person = next((name for name in names if _WHO.fullmatch(name)), "")
    columns = _votes_in(
        table, ours, [name for name in names if name != person], pool.systems, rates=len(pool.systems) == 1
    )
    labelled = [row for row in ours if not all(says_nothing(row.fields.get(name)) for name in columns)]
    placed = [(row, at) for row in labelled if (at := place_of(row.fields.get(by), items)) is not None]
    turned = _turned(table, placed, [name for name in names if name not in columns], pool)
    found: dict[str, dict[int, float]] = {}
    beyond = 0
    for row in labelled:
        at = place_of(row.fields.get(by), items)
        for name in columns:
            value = row.fields.get(name)
            if says_nothing(value):
                continue
            if at is None:
                beyond += 1
                continue
            # Whose label it is: by the column of names, by the column of votes, else the file's.
            named = "" if says_nothing(row.fields.get(person)) else str(row.fields[person]).strip()
            who = " ".join(filter(None, [named, name if len(columns) > 1 else ""])) or stem_of(table)
            own = found.setdefault(who, {})
            if at in own:
                twice = f"a second label of {who or 'one person'} on {pool.items[at].id!r}"
                raise table.wrong(
                    f"{twice}; {_apart(ours, by, [one for one in names if one not in columns])}", row.line
                )
            second_first = turned.get(row.line, False)
            order = pool.systems[::-1] if second_first else pool.systems
            score = _score(table, row, name, value, order, columns[name], scale)
            own[at] = 1.0 - score if second_first else score
    if not found:
        example = next((id_text(row.fields.get(by)) for row in ours if not says_nothing(row.fields.get(by))), "")
        raise table.wrong(
            f"no label is about an item of the outputs: {by!r} has {shown(example)}, and the items are such as "
            f"{shown(pool.items[0].id)}"
        )
    said = f"{table}: labels in {found_text(columns)}, items by {by!r}"
    if len(pool.systems) > 1 and not turned:
        said += f"; A is {pool.systems[0]}, B {pool.systems[1]}"
    every = beyond + sum(map(len, found.values()))
    strangers = (f"{table}: {beyond:,} of {every:,} labels are of other items",) if beyond else ()
    scores = {who: tuple(own.get(at, math.nan) for at in range(len(pool))) for who, own in found.items()}
    return [Labels(who, own, said, strangers) for who, own in scores.items()]


def names_all(given: Sequence[Row], ids: Collection[str]) -> bool:
    """Whether a table names the item, the systems and the score of each row, and no two people on one item.

    It is then one of recorded verdicts (`verdicts.py`), if what it has on pairs is about some of these `ids`, and not
    about running numbers beside the prompts.
    """
    rows = list(verdict_rows(given))
    names = set(rows[0].fields) if rows else set()
    if not {"item_id", "score"} <= names or not ("model" in names or {"model_a", "model_b"} <= names):
        return False
    if ids and "model" not in names and not any(id_text(row.fields.get("item_id")) in ids for row in rows):
        return False
    of = [(row.fields.get("item_id"), *sorted(str(row.fields.get(name)) for name in NAMED)) for row in rows]
    return len({*of}) == len(of) or not any(_WHO.fullmatch(normal(name)) for name in names)


def _apart(rows: Sequence[Row], by: str, names: Sequence[str]) -> str:
    """How people are told apart in a table of which no known column says who voted."""
    for name in names:
        said = [(id_text(row.fields.get(by)), str(row.fields.get(name))) for row in rows]
        if len(set(said)) == len(said) > len({who for _, who in said}):
            return f"if {name!r} says who voted, name it 'annotator'"
    return "a column named `annotator` tells people apart"


def _plain_rows(rows: list[Row]) -> Iterable[Row]:
    """The rows of a table, and of a log of another tool those that `verdict_rows` makes of it."""
    names = set(rows[0].fields) if rows else set()
    log = names >= ANNOTATION or names >= BATTLES or (names >= JUDGMENT and "winner" not in names)
    return verdict_rows(rows) if log else rows


def _folded(table: Table, row: Row) -> Fields:
    """The fields by folded names, with our own names of the two systems."""
    found: Fields = {}
    for name, value in row.fields.items():
        if found.setdefault(normal(name), value) != value:
            raise table.wrong(f"the column {normal(name)!r} appears twice, as {name!r} is one, too", row.line)
    if {"system", "against"} <= found.keys():  # a file of verdicts of judgeloop, whose scores are the first one's
        found.pop("shown_first", None)
        return found | {"model_a": found["system"], "model_b": found["against"]}
    for own in ("model_a", "model_b"):
        if (other := next((name for name in COLUMNS[own] if name in found), own)) != own:
            found[own] = found.pop(other)
    return found


def _about(fields: Fields, systems: Sequence[str]) -> bool:
    """Whether a row is about these systems; one that names none is."""
    if len(systems) == 1:
        return str(fields.get("model", systems[0])) == systems[0] or "model" not in fields
    named = [str(one) for name in ("model_a", "model_b") if (one := fields.get(name)) is not None]
    return len(named) == len({*named} & {*systems})


def id_text(value: object) -> str:
    """An item's id or prompt as text; spreadsheets write 7 as 7.0."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    text = " ".join(text.split())
    return text.partition(".")[0] if WHOLE.fullmatch(text) else text


def places_of(ids: Sequence[str]) -> dict[str, int]:
    """The position of each id, as it stands, and as `id_text` where no other id reads so."""
    texts = Counter(map(id_text, ids))
    read = {id_text(one): at for at, one in enumerate(ids) if texts[id_text(one)] == 1}
    return read | {one: at for at, one in enumerate(ids)}


def place_of(value: object, places: Mapping[str, int]) -> int | None:
    """The position of the id or the prompt in a cell."""
    return places.get(str(value), places.get(id_text(value)))


def _turned(table: Table, rows: Sequence[tuple[Row, int]], names: Sequence[str], pool: Pool) -> dict[int, bool]:
    """Whether A is the second system, by the line of each row that says it; each has the position of its item.

    A column that is named for a place says it, by the system's name or its output there.

    Raises:
        DataError: one row says it and another does not, or rows are about one system each.
    """
    found: dict[int, bool] = {}
    others: list[str] = []  # columns of a place that have something else
    for name in names if len(pool.systems) > 1 else ():
        cells = [str(row.fields.get(name)) for row, _ in rows]
        if name in COLUMNS["model"] and "against" not in names and cells and {*cells} <= {*pool.systems}:
            raise table.wrong(
                f"{name!r}: expected labels of two systems in each row, found rows about one; a table of ratings has "
                "item_id, model and score, each once, and one of votes model_a and model_b"
            )
        if (side := _side(name)) is None:
            continue
        met = [_systems_in(cell, at, pool) for cell, (_, at) in zip(cells, rows, strict=True)]
        if not any(len(one) == 1 for one in met):
            others += [] if any(met) else [name]
            continue
        for (row, _), here in zip(rows, met, strict=True):
            second_first = (pool.systems[0] in here) == (side == 0.0)
            if not here or (len(here) == 1 and found.setdefault(row.line, second_first) != second_first):
                what = f"{some(pool.systems)}, or the output of the one that stands there"
                raise table.wrong(f"{name!r}: expected {what}, found {shown(row.fields.get(name))}", row.line)
    if found and others and not {"model_a", "model_b"} & {*names}:  # which are enough
        what = f"{some(pool.systems)}, or their outputs, as in other columns"
        raise table.wrong(f"{others[0]!r}: expected {what}, found {shown(rows[0][0].fields.get(others[0]))}")
    for name in names if not found else ():
        if _SWAPPED.search(name) and any(plain_text(row.fields.get(name)) not in NO | NOTHING for row, _ in rows):
            raise table.wrong(f"{name!r} says that A is not always the same system: name both in model_a and model_b")
    return found


def _side(name: str) -> float | None:
    """The score of the first system if a column is named for the place of A, of the second for that of B; else None."""
    side = vote_of(_AFFIX.sub("", name), ())
    return None if side == TIE else side


def _systems_in(cell: str, at: int, pool: Pool) -> list[str]:
    """The systems that a cell names, or whose output on an item it has."""
    for same in (str, normal):
        if named := [system for system in pool.systems if same(system) == same(cell)]:
            return named
    texts = (outputs[at] for outputs in pool.outputs)
    return [system for system, text in zip(pool.systems, texts, strict=True) if id_text(text) == id_text(cell)]


def _items_of(table: Table, rows: Sequence[Row], names: Sequence[str], pool: Pool) -> tuple[str, dict[str, int]]:
    """The column that says which item a row is about, and the position of each of its values."""
    ids = places_of([item.id for item in pool.items])
    twice = Counter(id_text(item.prompt) for item in pool.items)
    prompts = {id_text(item.prompt): at for at, item in enumerate(pool.items) if twice[id_text(item.prompt)] == 1}
    known = [*COLUMNS["item_id"], *KNOWN[PROMPT], *map(normal, GUESSES[PROMPT]), *KNOWN[ID], *GUESSES[ID]]

    def met(name: str, places: Mapping[str, int]) -> int:
        return sum(place_of(row.fields.get(name), places) is not None for row in rows)

    found = [
        (met(name, places) / len(rows), (name in known) + (name in OF_IDS), -number, name, places)
        for number, name in enumerate(names)
        for places in (ids, prompts)
    ]
    share, sure, _, name, places = max(found, key=lambda one: (one[0] if one[1] else one[0] * (one[0] == 1), one[1:3]))
    if share and (sure or share == 1):
        # A running number of the rows fits as well as ids that are numbers do, and says something else. So do votes
        # that are numbers, of which there are few.
        for other in [one for one in found if one[:2] == (share, sure) and one[3] != name]:
            for row in rows if len({id_text(row.fields.get(other[3])) for row in rows}) > len(ORDINALS) else ():
                here, there = (place_of(row.fields.get(column), of) for column, of in ((name, places), other[3:]))
                if here != there:
                    either = f"{name!r} and {other[3]!r} may both have the ids of the items, and differ"
                    raise table.wrong(f"{either}; name the one that has them 'id'", row.line)
        return name, places
    share, _, _, name, places = max(found, key=lambda one: one[0])
    if share > HALF:
        row = next(row for row in rows if place_of(row.fields.get(name), places) is None)
        raise table.wrong(
            f"{name!r}: expected the id of an item, or its prompt, found {shown(row.fields.get(name))}; to leave out "
            "what is about other items, name the column 'id'",
            row.line,
        )
    named = [name for name in names if name in known]
    what = f"{named[0]!r} has {shown(rows[0].fields.get(named[0]))}" if named else f"found {found_text(names)}"
    raise table.wrong(
        f"expected a column with the ids of the items, such as {shown(pool.items[0].id)}, or with their prompts; {what}"
    )


def _votes_in(
    table: Table, rows: Sequence[Row], names: Sequence[str], systems: Sequence[str], *, rates: bool
) -> dict[str, bool]:
    """The columns of labels, and of each whether its numbers name the first and the second system."""
    cells = {
        name: {plain_text(row.fields.get(name)) for row in rows if not says_nothing(row.fields.get(name))}
        for name in names
        if name not in NO_LABELS
    }
    aside = {name for name, texts in cells.items() if _HOW.search(name) and None not in map(_number, texts)}
    # A vote for the worse one would count for the better, and who stands at a place is none.
    ours = set(map(normal, systems))
    aside |= {
        name for name, texts in cells.items() if _LOSES.search(name) or (_side(name) is not None and texts <= ours)
    }
    cells = {name: texts for name, texts in cells.items() if name not in aside}
    known, expected = (OF_RATINGS, "numbers") if rates else (OF_VOTES, f"a, b or tie, or {some(systems)}")

    def fits(name: str, text: str) -> bool:
        if rates:
            return _number(text) is not None
        said = (vote_of(text, order, ordinal=True) for order in (systems, systems[::-1]))
        return any(one is not None for one in said) or (name == SCORE and _share(text) is not None)

    found = {name: "2" in texts for name, texts in cells.items() if texts and all(fits(name, text) for text in texts)}
    sure = [name for name in known if name in found]
    if sure and not rates:
        _check_alike(table, rows, sure, systems)
    if sure:
        return {sure[0]: found[sure[0]]}
    for name in [one for one in names if one in cells and one not in found]:
        # Mostly votes in words: somebody's column, with a slip in it that would take all of it away.
        said = [(row, row.fields[name]) for row in rows if not says_nothing(row.fields.get(name))]
        words = sum(vote_of(plain_text(value), systems) is not None for _, value in said)
        if said and ((words > HALF * len(said) and not rates) or (name in known and not found)):
            row, value = next(one for one in said if not fits(name, plain_text(one[1])))
            raise table.wrong(f"{name!r}: expected {expected}, found {shown(value)}{BLANK}", row.line)
    if not rates:
        _check_counts(table, [name for name in found if cells[name] <= ORDINALS.keys()], found, systems)
    if found and (not rates or len(found) == 1):
        return found
    if found:
        raise table.wrong(f"several columns of numbers, {found_text(found)}: name the one of ratings 'rating'")
    raise table.wrong(f"expected a column of labels ({expected}); found {found_text(names)}")


def _check_alike(table: Table, rows: Sequence[Row], names: Sequence[str], systems: Sequence[str]) -> None:
    """Refuse several columns that are known for votes, of which one says another system than the next.

    Raises:
        DataError: names them, and the row.
    """
    for row in rows:
        texts = {name: plain_text(row.fields.get(name)) for name in names}
        said = {vote_of(text, systems) for text in texts.values()}
        number = _share(texts.get(SCORE, "")) if "model_a" not in row.fields else None  # the score of A
        said |= {None if number is None else as_score(preference(number - TIE))}
        if len(said - {None}) > 1:
            raise table.wrong(f"{found_text(names)} are all known for votes, and differ: leave one out", row.line)


def _check_counts(table: Table, counts: Sequence[str], found: Collection[str], systems: Sequence[str]) -> None:
    """Refuse columns of numbers that may be ratings, or votes of somebody who writes no words.

    Raises:
        DataError: a column names one system, or others have words.
    """
    for name in counts:
        about = [system for system in systems if f"_{normal(system)}_" in f"_{name}_"]
        if len(about) == 1:
            raise table.wrong(
                f"{name!r} has numbers, and names {about[0]}: a table of ratings has item_id, model and score, and one "
                "of votes a column 'vote'"
            )
    if counts and len(counts) < len(found):  # of something else, or the votes of somebody who writes no words
        other = next(name for name in found if name not in counts)
        raise table.wrong(
            f"{counts[0]!r} has numbers alone, beside votes in words in {other!r}: write a, b or tie there if it has "
            "votes, too; else leave it out, or name the column of votes 'vote'"
        )


def _share(text: str) -> float | None:
    found = _number(text)
    return found if found is not None and 0 <= found <= 1 else None


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def stem_of(table: Table) -> str:
    """The name of whoever filled a table that names nobody."""
    return getattr(table.place, "stem", "") or str(table.place).strip("`")


def _score(  # noqa: PLR0917 - a cell with all that says how to read it
    table: Table,
    row: Row,
    name: str,
    value: object,
    systems: Sequence[str],
    ordinal: bool,  # noqa: FBT001
    scale: tuple[float, float] | None,
) -> float:
    """A cell as a score in [0, 1], of the row's A of two systems or of the only one."""
    text = plain_text(value)
    if len(systems) == 1:
        low, high = scale or (0.0, 1.0)
        found = _number(text)
        if found is None or not low <= found <= high:
            hint = "" if scale else "; `scale=1,5` says of ratings from 1 to 5 which they are"
            raise table.wrong(
                f"{name!r}: expected a rating from {low:g} to {high:g}, found {shown(value)}{hint}", row.line
            )
        return (found - low) / (high - low)
    number = _share(text) if name == SCORE and not ordinal else None
    found = number if number is not None else vote_of(text, systems, ordinal=ordinal)
    if found is None:
        raise table.wrong(
            f"{name!r}: {shown(value)} may be a score or the number of a system; write a, b or tie", row.line
        )
    return as_score(preference(found - TIE))


def people_of(labels: Iterable[Labels]) -> list[Labels]:
    """The people of several files, each once: who labels in two of them is one person.

    Raises:
        DataError: somebody says two things of an item.
    """
    found: dict[str, Labels] = {}
    for one in labels:
        before = found.get(one.person)
        if before is None:
            found[one.person] = one
            continue
        if before.places & one.places:
            found[f"{one.person} ({len(found) + 1})"] = one
            continue
        both = tuple(new if math.isnan(old) else old for old, new in zip(before.scores, one.scores, strict=True))
        found[one.person] = Labels(one.person, both, f"{before.read}; {one.read}", before.left_out + one.left_out)
    return list(found.values())
