"""Earlier verdicts as evidence, read from the ledger, from some of its runs, or from a file."""
