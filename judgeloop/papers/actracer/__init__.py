"""AcTracer: a mean score from items drawn within clusters of the system's hidden states.

Huang et al. (2024), "Active Testing of Large Language Model via Multi-Stage Sampling".

- `hidden.py`: the hidden states (section 3.1.1). `layer.py`: the search for their layer (algorithm 2).
- `clusters.py`: balanced clusters (equations 3 and 4), and CluSearch for their number (algorithm 3, equation 6).
- `inputs.py`: the system's confidence (appendix A.1.3).
- `rivals.py`: what the paper compares with (section 4.3): PACE, cross-entropy, systematic by confidence.

The draws within clusters (algorithm 1, equations 1 and 2) are judgeloop's own: `methods/selectors/stratified.py`.
"""
