"""Who runs the loop: the daemon and `duckrow run`, with all that a host needs around it."""
