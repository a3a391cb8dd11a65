"""Whether to go on: one stopping rule a file, and their catalogue.

Limits of judgments and money are no rules of evidence and stand elsewhere (`engine/session.py`, `ledger/`).
"""
