"""Starters: small processes that work through lines of short jobs, so that their host does not wait for each start."""
