"""Whether the evidence is enough to stop: one file per rule, and the catalogue of all rules.

Limits on judgments and money are enforced elsewhere (`engine/session.py`, `ledger/`).
"""
