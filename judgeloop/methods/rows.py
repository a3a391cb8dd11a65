"""What a row of the catalogue is, and the draft of a run, of which a row makes its selector or rule.

The rows stand in `judgeloop/catalogue.py` and `judgeloop/papers/rows.py`. Settings read them, so nothing heavy is
imported here.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from judgeloop.core.records import ONE_SYSTEM, Draws, Pool

if TYPE_CHECKING:
    from judgeloop.methods.estimators.proxy import ProxyVerdicts

T = TypeVar("T")
# Intervals for a mean (`methods/stopping/precise.py`), and whether they hold at any number of looks.
INTERVALS = {"once": False, "anytime": True}


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """All that a selector or a rule may look at before the first judgment, in a live run or in a replay.

    - `items`: the number of items. `population`: that of the items which the decision is about, None if it is about
      these items alone.
    - `limit`: the most judgments; `limits`: all that held, if it was changed after some draws. `start`: the judgments
      before which no run ends.
    - `systems`, `baseline`: every other system is compared with the baseline; None if the run chooses it. A single
      system is rated.
    - `risk`: the stated risk. `gap`: the gap that the question is about, in share won less share lost.
    - `settings`: those of the question or of the replay. `seed`: that of what is drawn before the run.
    - `pool`: items and outputs; None in a replay, which has `found` what would be computed of them.
    - `members`: where families of items are drawn, the members of each that are judged; `items` is then their number.
    - `proxy`: of a search, its proxy's verdicts on all items, by a system and the baseline; None without one.
    - `found`: what is known of the items already, by what it is. Several selectors of one draft compute it once.
    """

    items: int
    limit: int
    risk: float
    start: int = 1
    systems: int = 2
    baseline: int | None = 1
    gap: float = 0.0
    population: int | None = None
    settings: Any = None
    seed: Sequence[int] = ()
    pool: Pool | None = None
    proxy: "Mapping[tuple[int, ...], ProxyVerdicts] | None" = None
    found: dict[Any, Any] = field(default_factory=dict)
    members: tuple[tuple[int, ...], ...] = ()
    limits: tuple[tuple[int, int], ...] = ()

    @property
    def about(self) -> int:
        """The number of items that the decision is about."""
        return self.items if self.population is None else self.population

    @property
    def sampled(self) -> bool:
        """Whether the items are a sample of those that the decision is about."""
        return self.population is not None

    @property
    def queries(self) -> tuple[tuple[int, ...], ...]:
        """The systems to judge on an item: the single one, or each other one with the baseline."""
        if self.systems == 1:
            return (ONE_SYSTEM,)
        assert self.baseline is not None, "a selector that does not choose the baseline is refused without one"
        return tuple((system, self.baseline) for system in range(self.systems) if system != self.baseline)

    def setting(self, name: str, default: T) -> T:
        """The value of a setting; the `default` where the settings lack it, as those of a replay lack some."""
        value: T = getattr(self.settings, name, default)
        return value

    def known(self, what: Hashable, compute: Callable[[], T]) -> T:
        """What was found before, else what is computed now."""
        if what not in self.found:
            self.found[what] = compute()
        value: T = self.found[what]
        return value


@dataclass(frozen=True, slots=True)
class SelectorRow:
    """One selector of one question.

    - `draws`: whether it draws at random or picks.
    - `takes`: the settings that it reads, beside those that every selector reads.
    - `vectors`: what the vectors that it looks at are of; empty if it looks at none. "states" are hidden states of a
      model, or prompt and output together, which are clustered by the number of judgments; "last states" are those of
      the last layer.
    - `needs_outputs`: whether it looks at all outputs beforehand, and so refuses a system that answers live.
    - `drops`: whether it asks no more about systems that cannot be the best, at the stated risk.
    - `ablation`: whether it is a method without one of its parts, which only replays run.
    """

    question: str
    name: str
    help: str
    draws: Draws
    make: Callable[[Draft], Any]
    takes: frozenset[str] = frozenset()
    vectors: Literal["", "outputs", "prompts", "states", "last states"] = ""
    needs_outputs: bool = False
    drops: bool = False
    ablation: bool = False


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One stopping rule of one question.

    - `guaranteed`: whether the stated risk is proved, for draws in which every item not drawn yet is equally likely to
      be next, and only for these.
    - `states_risk`: whether it says how often its answer may be wrong, proved or not.
    - `for_picks`: whether it is the rule of runs whose selector picks, unless another is named.
    - `recorded`: whether it goes with scores and verdicts alone that are all known at once: it is not replayed.
    - `takes`: the settings that only this rule reads.
    """

    question: str
    name: str
    help: str
    make: Callable[[Draft], Any]
    guaranteed: bool = False
    states_risk: bool = True
    for_picks: bool = False
    recorded: bool = False
    takes: frozenset[str] = frozenset()
