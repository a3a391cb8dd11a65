"""What a proxy says beside the labels of a dear judge: takes its verdicts, and puts them next to the labels.

`methods/stats/corrected.py` says what they are good for. A verdict that is missing counts as a tie: any value does that
is fixed without the label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from judgeloop.core.outcomes import Observed, Tally, WithProxy
from judgeloop.core.records import Answer, Label, Verdict
from judgeloop.methods.selectors.blocks import Blocks


@final
@dataclass(frozen=True, eq=False)
class ProxyVerdicts:
    """The verdicts of a proxy in [-1, 1], by position, as far as they were asked for.

    Without `blocks` it is asked about all `items` before the first label.
    """

    items: int
    blocks: Blocks | None = None
    scores: dict[int, float] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)  # the items on which it gave no verdict

    def needed(self, position: int) -> Sequence[int]:
        """The items that it is still to be asked about before the label of this one."""
        wanted = range(self.items) if self.blocks is None else self.blocks.needed.get(position, ())
        return [place for place in wanted if place not in self.scores]

    def tell(self, position: int, answer: Answer) -> None:
        """Take an answer."""
        if not isinstance(answer, Verdict):
            self.silent.add(position)
        self.scores[position] = 2 * answer.score - 1 if isinstance(answer, Verdict) else 0.0

    @property
    def pool(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The scores of all items that were asked about, in the order of positions."""
        return np.array([self.scores[place] for place in sorted(self.scores)], dtype=np.float64)

    @property
    def total(self) -> float:
        """The sum of the scores."""
        return sum(self.scores.values())

    def beside(self, tally: Tally, labels: Sequence[Label], seen: Sequence[int | None]) -> list[Observed]:
        """What further `labels` say, which is in `seen`, each beside the proxy's verdicts, draw by draw."""
        if self.blocks is None:
            return self._of_all(tally, labels, seen)
        found: list[Observed] = []
        known = {} if self.blocks.draws == self.blocks.labels else dict(self._labelled(tally))
        for number, (label, observed) in enumerate(zip(labels, seen, strict=True), tally.judged + tally.abstentions):
            blocks = self.blocks.by_label[number]
            assert blocks[0][0] == label.choice.position, "labels come in the order of the blocks"
            known[label.choice.position] = observed
            for block in blocks:
                proxy = [self.scores[place] for place in block]
                found.append(WithProxy(known[block[0]], (proxy[0], sum(proxy) / len(proxy), len(block))))
        return found

    def _labelled(self, tally: Tally) -> list[tuple[int, int | None]]:
        """The items that have a label, with what it says."""
        assert self.blocks is not None, "there are blocks"
        found, at = [], 0
        for blocks in self.blocks.by_label[: tally.judged + tally.abstentions]:
            first = tally.preferences[at]
            assert isinstance(first, WithProxy), "each stands beside one of the proxy"
            found.append((blocks[0][0], first.observed))
            at += len(blocks)
        return found

    def _of_all(self, tally: Tally, labels: Sequence[Label], seen: Sequence[int | None]) -> list[Observed]:
        left, last = self.items - len(tally.preferences), tally.preferences[-1] if len(tally.preferences) else None
        rest = last.proxy[1] * (left + 1) - last.proxy[0] if isinstance(last, WithProxy) else self.total
        found: list[Observed] = []
        for label, observed in zip(labels, seen, strict=True):
            proxy = self.scores[label.choice.position]
            found.append(WithProxy(observed, (proxy, min(1.0, max(-1.0, rest / left)), 0)))
            rest, left = rest - proxy, left - 1
        return found
