"""The processes that run the loop: the daemon and `duckrow run`, with everything that a host needs."""
