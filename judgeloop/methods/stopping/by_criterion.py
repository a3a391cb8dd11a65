"""Which system is better by each criterion, on the same items: Holm's procedure over criteria, as over groups.

Takes the labels in the order asked, of which each has a score by every criterion. Returns what is shown of each
criterion, and the choices that would soonest show one more.
"""

from collections.abc import Sequence
from typing import final

from judgeloop.core.records import IDENTICAL, TIE, Abstention, Answer, Choice, Label, Verdict
from judgeloop.methods.stopping.by_group import ByGroup, GroupFinding


@final
class ByCriterion:
    """`ByGroup`, where each criterion of `names`, fixed before any verdict, is a group with all items.

    Its theorem holds. Each criterion has a sequence of its own, which was there before, in the order in which the items
    were drawn, and is looked at along it, as far as labels are known. The proof is a union bound: the same items may be
    in all of them. A label without a score by a criterion counts against both systems; identical outputs are a tie.
    """

    def __init__(self, names: Sequence[str], places: Sequence[int], risk: float, *, sampled: bool) -> None:
        """`places` are the positions of the items that may be asked about."""
        self._names, self._items, self._followed = names, max(places) + 1, 0
        self._of_criteria: list[Label] = []
        groups = {number * self._items + place: name for number, name in enumerate(names) for place in places}
        self._test = ByGroup(groups, risk, sampled=sampled)

    def forget(self) -> None:
        """Begin anew, before any label."""
        self._followed = 0
        self._of_criteria.clear()
        self._test.forget()

    def follow(self, labels: Sequence[Label]) -> None:
        """Go on to all `labels`, in the order asked; those of before are among them."""
        self._of_criteria += [
            Label(Choice(place * self._items + label.choice.position, None), _answer(label.answer, name))
            for label in labels[self._followed :]
            for place, name in enumerate(self._names)
        ]
        self._test.follow(self._of_criteria)
        self._followed = len(labels)

    def ask(self, left: Sequence[Choice]) -> tuple[Choice, ...]:
        """The next choices, as many as could name a system by the open criterion that is nearest to it."""
        of_criteria = [
            Choice(place * self._items + choice.position, None)
            for place, _ in enumerate(self._names)
            for choice in left
        ]
        asked = {choice.position % self._items for choice in self._test.ask(of_criteria)}
        return tuple(choice for choice in left if choice.position in asked)

    @property
    def left(self) -> int:
        """The most further judgments that open criteria could take."""
        return min(self._test.left, self._items - self._followed)

    def findings(self) -> dict[str, GroupFinding]:
        """What is shown of each criterion."""
        return self._test.findings()


def _answer(answer: Answer, name: str) -> Answer:
    if isinstance(answer, Abstention):
        return answer
    if name in answer.criteria:
        return Verdict(answer.criteria[name])
    return Verdict(TIE) if answer.reason == IDENTICAL else Abstention(f"no answer to {name}")
