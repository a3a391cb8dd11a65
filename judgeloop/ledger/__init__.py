"""The durable record of every attempt, what it cost, and the verdict it bought."""
