"""What the DiffUse papers prescribe for a comparison, and for replays of comparisons.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation"; the submission
prescribes the same. Appendices are numbered as in the preprint. Open are the risk (the papers
report 0.1 and 0.2), the numbers of judged items at which success is read, the pairs and the
repetitions.
"""

from __future__ import annotations

from judgeloop.settings.published import Prescription, Publication

MINILM = "minilm(:.+)?"
_PAPER = ("DiffUse", "Ashury-Tahan et al. 2024")
_VARIANT = (
    Prescription("combine", "difference", "section 4"),
    Prescription("clustering", "ward", "section 5.2"),
    Prescription("representative", "cosine", "section 5.2"),
)
_LIMITS = (
    Prescription("min_judgments", 5, "tables 2 and 3"),
    Prescription("max_judgments", 200, "tables 2 and 3"),
    Prescription("give_up", None, "algorithm 1"),
    Prescription("tie_margin", 0.0, "section 3"),
)

DIFFUSE = Publication(
    *_PAPER,
    (
        Prescription("selector", "diffuse", "section 4"),
        Prescription("represent", "minilm", "section 5.2", alike=MINILM),
        *_VARIANT,
        Prescription("rule", "hypergeometric", "appendix A.2"),
        *_LIMITS,
    ),
)

REPLAYED = Publication(
    *_PAPER,
    (
        Prescription("selectors", ("random", "diffuse"), "section 5.3"),
        Prescription("represent", "minilm", "section 5.2", alike=MINILM, unless="vectors"),
        *_VARIANT,
        Prescription("rules", ("hypergeometric",), "appendix A.2"),
        *_LIMITS,
        Prescription("subset", 0.8, "section 5.3"),
    ),
)
