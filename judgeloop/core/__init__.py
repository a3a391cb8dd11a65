"""Records, choices by name, protocols, errors, money, pool and verdict keys, used by all other folders."""
