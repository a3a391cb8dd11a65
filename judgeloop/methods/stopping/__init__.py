"""Whether the evidence is enough to stop, a rule a file."""
