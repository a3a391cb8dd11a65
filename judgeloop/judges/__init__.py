"""Who gives verdicts: a chat model, a function, a metric, a person, or what is recorded."""
