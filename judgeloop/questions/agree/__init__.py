"""May a judge be trusted? The command `agree`."""
