"""DiffUse: judge one item of each cluster of the differences between two systems' outputs.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation". Appendices are cited as the preprint
(arXiv:2402.07891) numbers them; in the submission the numbers from A.2 on are one higher.

- `selector.py`: the picks (section 4, algorithm 1); k-means (appendix A.3); the rival "max-norm" (appendix A.4).
- `tree.py`: the difference vectors (section 4), the clusters, and which item stands for one (appendix A.3).
- `rules.py`: when the winner may be named (appendix A.2).
"""
