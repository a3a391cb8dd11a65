"""Replays: measure selectors, stopping rules and estimates on recorded verdicts.

A replay runs the selectors, rules and sessions of live runs. It asks no judge, spends no money and
keeps no ledger. Each question has the modules `*_config.py` (settings), `*_inputs.py` (files read),
`compare.py`, `select.py` or `estimate.py` (what is run), and `*_tables.py` (tables of the rows).
"""
