"""How long a test waits for what never comes: long enough for any machine, however slow."""

PATIENCE_S = 600
