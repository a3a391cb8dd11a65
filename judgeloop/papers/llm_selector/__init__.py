"""LLM Selector: ask the query from which the most is expected to be learned about which system is best.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models".

- `selector.py`: algorithm 1, and its rivals of appendix C: Bradley-Terry and fixed orders.
- `information.py`: the belief (section 2.2, equation 2), the entropy expected (section 2.3.1), ε (appendix D).
- `opinions.py`: the weak judges (section 2.3.1) and their ensemble (appendix D).
"""
