"""The judges, one provider per file, with prompts, parsing, retry policy and prices."""
