"""Records, protocols, errors, money and keys: what every other folder is made of."""
