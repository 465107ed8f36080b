"""One tick: who starts, where, who may start ahead of others, and why a job waits."""
