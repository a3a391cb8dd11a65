"""The settings of `agree`: whose labels are believed, and what the judge has to reach.

The settings that all questions share are in `settings/run_settings.py`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Lt, MinLen

from judgeloop.core.errors import InputError
from judgeloop.core.records import Order, Population
from judgeloop.formats.tables import Source, Table
from judgeloop.judges.catalogue import JUDGES, recorded_files
from judgeloop.settings import fields
from judgeloop.settings.run_settings import RunSettings
from judgeloop.settings.setting import Gate, Parse, like, one_of
from judgeloop.settings.sources import inside
from judgeloop.systems.catalogue import sources

QUESTION = "agree"
USUAL_ZONE = 0.1
AGAIN = 30  # labelled items about which a judge is asked anew
USUAL_STEP = 0.1  # between ratings from 0 to 1 that count as the same
USUAL_OF_PEOPLE = 200  # labels, where somebody is asked
OF_LEDGER = "ledger"  # the labels of people that a ledger holds already
KINDS = {row.kind for row in JUDGES if not row.reads_file}


def _truth(value: object) -> object:
    """A file of labels as a path, and a judge who is asked as its name."""
    if isinstance(value, Table):
        return value
    text = str(value)
    return text if text == OF_LEDGER or re.split("[:/]", text)[0] in KINDS else Path(text)


def truths(value: object) -> object:
    """As `_truth` for each of several; a file given twice would be two people who agree about everything."""
    several = value if isinstance(value, list | tuple) else [value]
    found = [_truth(one) for one in several]
    files = [one.resolve() for one in found if isinstance(one, Path)]
    if len({*files}) < len(files):
        raise ValueError("expected labels of several people, found the same file twice: its labels are those of one")
    return found


@dataclass(frozen=True, kw_only=True)
class AgreeSettings(RunSettings):
    """All settings of the question whether a judge agrees with people."""

    outputs: Annotated[tuple[Source | str, ...], Parse(sources)] = fields.items_setting(
        "The two systems whose outputs are compared, or one that is rated: files of outputs.", argument="OUTPUTS"
    ).field()
    truth: Annotated[tuple[Source | str, ...], Parse(truths), MinLen(1)] = fields.items_setting(
        "Who is believed: a table of labels (a vote in words for each item); ledger, for what people said before; or human, "
        "who is asked. Several are several people.",
        may_set=inside,
        metavar="FILE|ledger|human",
        many=True,
        common=True,
        example=("labels.csv",),
    ).field()
    scale: Annotated[str | None, like(r"-?[0-9.]+,-?[0-9.]+", "two numbers, such as 1,5")] = fields.run_setting(
        "Lowest and highest rating in the labels of one system, such as 1,5; ratings that differ by at most 1 then count as "
        "the same, on a scale of two values only equal ones. Default: any score from 0 to 1, and 0.1.",
        fields.ITEMS,
        metavar="LOW,HIGH",
    ).field(None)
    order: fields.ShownOrder = Order.BOTH
    about: Annotated[str, one_of(tuple(Population))] = fields.run_setting(
        "What the result is about: like-these (the labelled items are a random sample of them), or items (these alone).",
        fields.STOPPING,
    ).field(Population.ITEMS_LIKE_THESE.value)
    risk: fields.Share = fields.run_setting(
        "Stated risk of each gate, and that an interval misses.", fields.STOPPING, common=True
    ).field(0.1)
    max_judgments: Annotated[int, Ge(1)] = fields.run_setting(
        f"Judgments at most. Default: all; of a person {USUAL_OF_PEOPLE}.", fields.STOPPING, common=True
    ).field(10_000)
    half_width: Annotated[float | None, Gt(0), Lt(0.5)] = fields.run_setting(
        "Ask a person until the interval reaches at most this far from the share of equal verdicts.",
        fields.STOPPING,
        example=0.1,
    ).field(None)
    require_agreement: Annotated[float | None, Gt(0), Lt(1)] = fields.run_setting(
        "Passed: the share of equal verdicts is above this. Failed: it is below this plus the zone.",
        fields.STOPPING,
        common=True,
        example=0.8,
        gate=Gate.CONDITION,
    ).field(None)
    judge_all: bool = fields.run_setting(
        "Ask the judge about the items without a label, too: kappa and the gap by people then use its verdicts on them. "
        "With --about items all items are meant.",
        fields.STOPPING,
    ).field(False)
    zone: Annotated[float, Gt(0), Lt(1)] = fields.run_setting(
        "Width of the zone above the required agreement in which both answers are true.", fields.STOPPING
    ).field(USUAL_ZONE)
    require_kappa: Annotated[float | None, Gt(-1), Lt(1)] = fields.run_setting(
        "Passed: the linearly weighted kappa is above this. Failed: it is below.",
        fields.STOPPING,
        example=0.6,
        gate=Gate.CONDITION,
    ).field(None)
    not_worse_than_a_person: Annotated[float | None, Gt(0), Lt(1)] = fields.run_setting(
        "Passed: the judge agrees with people at most this much less than two people with each other. Failed: it agrees "
        "less than they do. Takes items that two people labelled.",
        fields.STOPPING,
        example=0.1,
        gate=Gate.CONDITION,
    ).field(None)

    again: bool = fields.run_setting(
        f"Ask the judge anew about {AGAIN} of the labelled items, past the ledger, and test whether it agrees less often "
        "than before. Its earlier verdicts stay.",
        fields.STOPPING,
        gate=Gate.CONDITION,
    ).field(False)

    @classmethod
    def completed(cls, values: dict[str, object]) -> dict[str, object]:
        """Ask people about fewer items, unless the caller says how many."""
        values = super().completed(values)
        truth = values.get("truth")
        several = truth if isinstance(truth, list | tuple) else [truth]
        if "max_judgments" not in values and any(
            isinstance(one, str) and one != OF_LEDGER for one in map(_truth, several)
        ):
            return values | {"max_judgments": USUAL_OF_PEOPLE}
        return values

    @property
    def limit_of(self) -> str:
        """People, who are asked about fewer."""
        return " where people are asked" if self.max_judgments == USUAL_OF_PEOPLE else ""

    @property
    def output_files(self) -> tuple[Source | str, ...]:
        """The systems whose outputs are judged."""
        return self.outputs

    @property
    def rates(self) -> bool:
        """Whether a single output is rated."""
        return len(self.outputs) == 1

    @property
    def asked(self) -> str | None:
        """Who is asked for the truth; None if all labels are there."""
        return next((one for one in self.truth if isinstance(one, str) and one != OF_LEDGER), None)

    @property
    def scale_ends(self) -> tuple[float, float] | None:
        """The lowest and the highest rating in the labels; None for scores from 0 to 1.

        Raises:
            InputError: the first is not below the second.
        """
        if self.scale is None:
            return None
        low, high = map(float, self.scale.split(","))
        if low >= high:
            raise InputError(f"`scale={self.scale}`: expected the lowest rating, then the highest")
        return low, high

    @property
    def step(self) -> float | None:
        """How far two ratings may be apart that count as the same: 1 on the scale of the labels; None for comparisons.

        Where 1 is the whole scale, as of two values, only equal ratings do.
        """
        if not self.rates:
            return None
        low, high = self.scale_ends or (0.0, 1.0 / USUAL_STEP)
        return 1 / (high - low) if high - low > 1 else 0.0

    @property
    def gates(self) -> dict[str, float]:
        """What is required, by setting."""
        named = ("require_agreement", "require_kappa", "not_worse_than_a_person")
        return {name: value for name in named if (value := getattr(self, name)) is not None}

    @property
    def gated(self) -> bool:
        """False: people test this judge, and no controls."""
        return False

    @property
    def controlled(self) -> bool:
        """Whether controls are asked: only if the caller says so."""
        return self.must_pass

    @property
    def is_gate(self) -> bool:
        """Whether the verdicts of a judge have to be those of one model."""
        return bool(self.gates) or super().is_gate

    def files_read(self) -> list[Path]:
        """Every file that the run reads, those of labels among them."""
        labels = [one for one in self.truth if isinstance(one, Path)]
        return [*super().files_read(), *labels, *recorded_files(tuple(filter(None, [self.asked])))]
