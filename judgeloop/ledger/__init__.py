"""The ledger: a durable record of attempts, their costs and their verdicts."""
