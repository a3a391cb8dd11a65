"""Whatever gives verdicts: one provider a file, and what they share."""
