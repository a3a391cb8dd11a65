"""The parts of a run, for programs with a selector, rule, judge or driver of their own.

These names are public, and docs/how-to/parts.md shows how they fit together. Nothing is defined
here. Each part keeps to its protocol: `Selector`, `Estimator`, `StoppingRule`, `Judge`.
"""

from judgeloop.core.outcomes import Ending as Ending
from judgeloop.core.outcomes import Estimate as Estimate
from judgeloop.core.outcomes import Finished as Finished
from judgeloop.core.outcomes import StopKind as StopKind
from judgeloop.core.outcomes import StopReason as StopReason
from judgeloop.core.outcomes import Tally as Tally
from judgeloop.core.protocols import Estimator as Estimator
from judgeloop.core.protocols import Judge as Judge
from judgeloop.core.protocols import Selector as Selector
from judgeloop.core.protocols import StoppingRule as StoppingRule
from judgeloop.core.records import Abstention as Abstention
from judgeloop.core.records import Call as Call
from judgeloop.core.records import Choice as Choice
from judgeloop.core.records import Draws as Draws
from judgeloop.core.records import Item as Item
from judgeloop.core.records import JudgeIdentity as JudgeIdentity
from judgeloop.core.records import Label as Label
from judgeloop.core.records import Pool as Pool
from judgeloop.core.records import Query as Query
from judgeloop.core.records import Quote as Quote
from judgeloop.core.records import Reply as Reply
from judgeloop.core.records import Step as Step
from judgeloop.core.records import Verdict as Verdict
from judgeloop.engine.loop import drive as drive
from judgeloop.engine.recorded import replay as replay
from judgeloop.engine.session import Limits as Limits
from judgeloop.engine.session import Session as Session
from judgeloop.engine.state import Interruption as Interruption
from judgeloop.engine.state import Progress as Progress
from judgeloop.engine.state import Terms as Terms
from judgeloop.judges.base import BaseJudge as BaseJudge
from judgeloop.judges.function import function_judge as function_judge
from judgeloop.ledger.ledger import Ledger as Ledger
from judgeloop.ledger.opening import open_ledger as open_ledger
from judgeloop.methods.estimators.mean_score import MeanScore as MeanScore
from judgeloop.methods.estimators.preferences import Preferences as Preferences
from judgeloop.methods.estimators.win_rates import WinRates as WinRates
from judgeloop.methods.selectors.random import Random as Random
from judgeloop.methods.stopping.bets import Bets as Bets
from judgeloop.methods.stopping.rule import Rule as Rule
