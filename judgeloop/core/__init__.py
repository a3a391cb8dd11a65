"""Records, protocols, errors, money, pool and verdict keys, used by all other folders."""
