"""DiffUse: judge one item of each cluster of the differences between two systems' outputs.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation".

- `selector.py`: the picks (section 4, algorithm 1); k-means (appendix A.4); the rival "max-norm" (appendix A.5).
- `tree.py`: the difference vectors (section 4.1), the clusters, and which item stands for one (appendix A.4).
- `rules.py`: when the winner may be named (appendix A.2).
"""
