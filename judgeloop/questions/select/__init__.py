"""Which of many systems is best? The command `select`."""
