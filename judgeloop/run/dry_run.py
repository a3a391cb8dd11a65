"""The result of a dry run: what a question would take, as text and as JSON values.

Holds a `Plan` and the result so far. Computes no figure; `plan_text.py` has the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from judgeloop.core.part import Say
from judgeloop.core.protocols import Judge
from judgeloop.report.page import WIDTH
from judgeloop.report.run_result import RunResult
from judgeloop.run.plan import Plan
from judgeloop.run.plan_text import plan_json, render_plan


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a question would take. Nobody was asked, and nothing was spent.

    - `plan`: the low, expected and worst case of judgments, calls and cost.
    - `result`: what the verdicts in the ledger and identical outputs say already.
    - `priced`: whether the price of every judge is known.
    """

    plan: Plan
    result: RunResult
    priced: bool

    @classmethod
    def of(cls, judges: tuple[Judge, ...], plan: Plan, result: RunResult) -> DryRun:
        """Return the dry run of a question to these judges."""
        return cls(plan, result, all(judge.priced for judge in judges))

    def text(self, width: int = WIDTH) -> str:
        """Return the text for a terminal."""
        return render_plan(self.plan, self.result, priced=self.priced, width=width)

    def to_dict(self, say: Say = str) -> dict[str, Any]:
        """Return the forecast as JSON values: amounts in dollars, null without a price."""
        return plan_json(self.plan, self.result, priced=self.priced, say=say)

    def __str__(self) -> str:
        """The text that the command line prints."""
        return self.text()

    def _repr_html_(self) -> str:
        """Return the text as HTML; notebooks call this to show it."""
        return f"<pre>{escape(self.text())}</pre>"
