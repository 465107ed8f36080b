"""Simulating a queue, the rules: jobs of a trace, a lower bound, and a search for a better schedule."""
