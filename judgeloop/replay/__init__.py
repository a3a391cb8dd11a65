"""Replays: measure selectors, stopping rules and estimates on recorded verdicts.

A replay runs the selectors, rules and sessions of live runs. It asks no judge, spends no money and
keeps no ledger. Each question has a module that reads its files and runs it. `tables.py` sums up.
"""
