"""A page on this machine on which people judge: who has which pair, what was said, and the server that shows it."""
