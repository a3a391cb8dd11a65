"""The synchronous driver: recorded verdicts as oracle, no money, no network."""
