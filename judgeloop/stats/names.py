"""Names of the variants that a formula comes in, declared once for the formulas and for the settings that choose among them.

Nothing else stands here: settings read it without importing numpy.
"""

COMBINATIONS = ("difference", "concatenation", "addition")  # `combining.py`
HIERARCHIES = ("ward", "cosine", "micro-ward")  # `dendrogram.py`
CLUSTERINGS = (*HIERARCHIES[:2], "kmeans", *HIERARCHIES[2:])  # and k-means, which is no hierarchy
DETERMINISTIC_REPRESENTATIVES = ("cosine", "euclidean", "largest-norm")  # `representatives.py`
REPRESENTATIVES = (*DETERMINISTIC_REPRESENTATIVES, "random")
ALLOCATIONS = ("mc-ucb", "proportional")  # `allocation.py`
DISTANCES = ("wasserstein", "ks")  # between samples of confidences: `resembling.py`
INTERVALS = ("approximate", "anytime")  # of a mean: `mean_intervals.py`
