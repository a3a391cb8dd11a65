"""What the LLM Selector paper prescribes for a search for the best, and for replays of it.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models". Open are the number
of judgments (the paper reads its curves at every budget), the size of the pools and the number of
realisations, which the paper does not name.
"""

from __future__ import annotations

from judgeloop.settings.published import Prescription, Publication

_PAPER = ("LLM Selector", "Durmazkeser et al. 2025")
_SHARED = (
    Prescription("weak_judges", 10, "appendix B"),
    Prescription("epsilon", None, "appendix D", shown="auto"),
    Prescription("tie_margin", 0.0, "section 2.2"),
)

LLM_SELECTOR = Publication(
    *_PAPER,
    (
        Prescription("selector", "llm-selector", "algorithm 1"),
        Prescription("rule", "fixed-budget", "algorithm 1"),
        *_SHARED,
    ),
)

RIVALS = ("random", "llm-selector", "bradley-terry", "most-draws", "confidence", "uncertainty")
REPLAYED = Publication(
    *_PAPER, (Prescription("selectors", RIVALS, "section 3 and appendix C"), *_SHARED)
)
