"""Records, outcomes, protocols, errors, money and keys, used by all other folders."""
