"""One tick: which jobs start, where, which may start ahead of others, and why a job waits."""
