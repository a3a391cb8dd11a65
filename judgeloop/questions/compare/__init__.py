"""Which of two systems is better? The command `compare`."""
