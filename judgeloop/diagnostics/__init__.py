"""Looks at what there is: a judge, past runs, a provider's export. Decides nothing."""
