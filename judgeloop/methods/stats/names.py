"""Names of the variants of each formula, for the settings that choose among them.

The names stand apart from the formulas so that settings can be read without importing numpy. The
module that implements the variants is named beside each constant.
"""

COMBINATIONS = ("difference", "concatenation", "addition")  # `methods/stats/combining.py`
HIERARCHIES = ("ward", "cosine", "micro-ward")  # `methods/stats/dendrogram.py`
CLUSTERINGS = ("ward", "cosine", "kmeans", "micro-ward")  # the hierarchies, and k-means
REPRESENTATIVES = (
    "cosine",
    "euclidean",
    "largest-norm",
    "random",
)  # `methods/stats/representatives.py`
ALLOCATIONS = ("mc-ucb", "proportional")  # `methods/selectors/stratified.py`
INTERVALS = ("approximate", "anytime")  # for a mean: `methods/stats/mean_intervals.py`
