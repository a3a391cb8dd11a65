"""How often judges were asked about a baseline on the same items: by the runs that a ledger notes.

A run notes a few of the questions that it may ask, whoever the candidate is; a search among more systems
notes those about each of them. It counts from then on,
also if all its verdicts were known and none was paid for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from heapq import nsmallest
from itertools import takewhile

from judgeloop.core.errors import EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.keys import KeyedJudge, digest
from judgeloop.core.records import PAIR, Item
from judgeloop.core.work import lasting
from judgeloop.ledger.records import RecordedRun, RunNote

NOTED = 16  # items of which a run notes its questions
DIGITS = 8  # hexadecimal, of a judge with an item, and of an output
# Of two baselines' outputs to the same items, from which on they are one: short outputs may agree by chance.
SAME = 0.75
MARGIN = "tie_margin"  # a judge's parameter
LENGTH = 16  # hexadecimal digits of what meets, and of what is asked
ANSWERED = {0, EXIT_OTHER_WON}  # exit codes


def noted_questions(
    items: Sequence[Item], output: Callable[[int], object], judges: Iterable[KeyedJudge]
) -> tuple[str, ...]:
    """Some of a run's questions: a judge with an item, and a system's output to it.

    `output` gives what identifies the system's output to an item, by position. The items are those
    with the least hashes of their texts (Broder 1997, "On the resemblance and containment of documents").
    So runs on the same items note the same, and a run on more items mostly notes some of them.
    """
    placed = [[_texts(items[at]), output(at)] for at in _chosen(tuple(items))]
    return tuple(
        digest([judge, place])[:DIGITS] + digest(given)[:DIGITS] for judge in judges for place, given in placed
    )


@lru_cache(maxsize=4)  # of each system, and by the pairs of a night
def _chosen(items: tuple[Item, ...]) -> list[int]:
    return nsmallest(NOTED, range(len(items)), key=lambda at: _hash("".join(_texts(items[at]))))


def searched(runs: Iterable[RecordedRun], question: str, both: Sequence[Sequence[str]]) -> int:
    """Among how many systems, both of these with them, one of the `runs` was a search; 0 for none.

    `both` are the questions about each of two systems, which another name does not hide. The search came before the
    `question` was first asked: a later one did not choose these two.
    """
    among = (
        len(one.note.systems)
        for one in takewhile(lambda one: one.note.question != question, runs)
        if len(one.note.systems) > PAIR
        and all(any(_same(asked, each) for each in _by_system(one.note)) for asked in both)
    )
    return max(among, default=0)


def ties_of(runs: Iterable[RecordedRun]) -> tuple[int, int]:
    """How many items were a tie, of how many that a judge saw, in those of `runs` that compared two systems."""
    notes = [one.note for one in runs]
    tied = sum(note.tied for note in notes)
    return tied, tied + sum(note.decided for note in notes)


def met_by(items: Sequence[Item], outputs: Sequence[Callable[[int], object]], judges: Iterable[KeyedJudge]) -> str:
    """Which outputs meet on which items by which judges, whatever the order and the names of items and systems are.

    A tie margin is part of what is asked.
    """
    with lasting("items looked up in earlier runs", len(items)) as step:
        each = [
            (*_texts(item), sorted(digest(output(at)) for output in outputs))
            for at, item in enumerate(step.over(items))
        ]
        order = sorted(range(len(items)), key=lambda at: each[at])
        systems = sorted(digest([output(at) for at in order]) for output in outputs)
        asked = [(one.provider, one.model, [pair for pair in one.parameters if pair[0] != MARGIN]) for one in judges]
        return digest([[each[at][:2] for at in order], systems, sorted(asked)])[:LENGTH]


def place_of(name: str, note: RunNote, systems: Sequence[str], digests: Sequence[str]) -> int | None:
    """Which of these systems an earlier run called `name`: by its outputs; by its name if it answered live."""
    known = note.outputs[note.systems.index(name)]
    return next((at for at, one in enumerate(systems) if (digests[at] == known if known else one == name)), None)


def askings(runs: Iterable[RecordedRun], run: str, note: RunNote) -> list[RecordedRun]:
    """The runs before `run` that asked something else about what `note` says that meets, each asking once.

    The order is that in which runs began; before a run that has not begun are all. What judged nothing is none. One
    whose judge changed asked once more each time, also the run itself.
    """
    found, seen = list[RecordedRun](), {note.asking}
    for one in runs:
        again = [one] * one.note.changed if note.met and one.note.met == note.met else []
        if one.id == run:
            return found + again
        if not again and (one.note.met != note.met or not note.met):
            continue
        if one.note.asking not in seen and looked(one.note):
            found.append(one)
            seen.add(one.note.asking)
        found += again
    return found


def looked(note: RunNote) -> bool:
    """Whether a run saw verdicts, or may yet; of more systems than two it is not noted how many."""
    several = {EXIT_UNDECIDED} if len(note.systems) != PAIR else set[int]()
    return note.exit_code in {None, *ANSWERED, *several} or bool(note.decided or note.tied)


def _texts(item: Item) -> tuple[str, str]:
    """What an item asks, whatever its id is; the id of one that asks nothing."""
    return item.prompt or item.id, item.reference or ""


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def runs_before(
    runs: Sequence[RecordedRun], run: str, asked: Sequence[str], test: tuple[str, int] | None = None
) -> list[RecordedRun]:
    """Each of `runs` before `run` that asked about the baseline of the questions `asked`.

    The order is that in which runs began; before a run that has not begun are all. Of the runs that are one
    `RunNote.test` only the first stands there, and none of the same `test`. What judged nothing is none.
    """
    found, tests = list[RecordedRun](), {test}
    for one in takewhile(lambda one: one.id != run, runs):
        if not looked(one.note) or (one.note.test is not None and one.note.test in tests):
            continue
        if any(_same(asked, each) for each in _by_system(one.note)):
            found.append(one)
            tests.add(one.note.test)
    return found


def _by_system(note: RunNote) -> Iterator[Sequence[str]]:
    """Yield the questions about each system that a run noted: of a pair those about its baseline alone."""
    systems = len(note.systems) if len(note.systems) > PAIR else 1
    each = len(note.asked) // systems
    yield from (note.asked[begin : begin + each] for begin in range(0, systems * each, each or 1))


def judged_alike(asked: Sequence[str], others: Sequence[str]) -> bool:
    """Whether some questions are about the same items by the same judge, or it cannot be told."""
    items = [{one[:DIGITS] for one in each} for each in (asked, others)]
    return not all(items) or not items[0].isdisjoint(items[1])


def _same(asked: Sequence[str], others: Sequence[str]) -> bool:
    """Whether questions on the same items are about the same outputs, as far as some can tell."""
    known = {one[:DIGITS]: one for one in others}
    both = [known[one[:DIGITS]] == one for one in asked if one[:DIGITS] in known]
    return sum(both) >= SAME * max(1, len(both))
