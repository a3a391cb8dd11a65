"""Earlier verdicts as evidence: from the ledger, from some of its runs, or from a file."""
