"""What the AcTracer paper prescribes for an estimate, and for replays of estimates.

Huang et al. (2024), "Active Testing of Large Language Model via Multi-Stage Sampling". Open are the
number of judgments and how log-probabilities become a confidence: the geometric mean with
Wasserstein's distance for answers in prose, the first token with that of Kolmogorov and Smirnov for
classification, mathematics and code (appendix A.1.3).
"""

from __future__ import annotations

from judgeloop.settings.published import Prescription, Publication

_PAPER = ("AcTracer", "Huang et al. 2024")
_STATES = (
    Prescription("represent", None, "section 3.1.1", shown="hidden:MODEL", alike="hidden:.+"),
    Prescription("layer", "middle", "section 3.1.1"),
)

ACTRACER = Publication(
    *_PAPER,
    (
        Prescription("selector", "actracer", "algorithm 1"),
        *_STATES,
        Prescription("clusters", None, "section 3.1.2", shown="auto"),
        Prescription("allocation", "mc-ucb", "section 3.1.3"),
    ),
)

RIVALS = ("random", "stratified-confidence", "cross-entropy", "mmd-critic", "diffuse", "actracer")
REPLAYED = Publication(
    *_PAPER,
    (
        Prescription("selectors", RIVALS, "section 4.3"),
        *_STATES,
        Prescription("vectors", None, "section 3.1.1"),
        Prescription("proxy", None, "algorithm 1"),
    ),
)
