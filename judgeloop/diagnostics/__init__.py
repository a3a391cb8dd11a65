"""Looks at what there is: whether a judge works, past runs, and calls of unknown cost, which it settles."""
