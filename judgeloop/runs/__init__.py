"""One run of any question: what it reads, how it is known, how it is driven, and what it would take."""
