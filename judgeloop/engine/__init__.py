"""One run: the rules of asking, without I/O, and the driver that asks judges through the ledger."""
