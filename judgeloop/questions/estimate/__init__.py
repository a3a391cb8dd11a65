"""How good is one system? The command `estimate`."""
