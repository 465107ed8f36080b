"""Simulating a queue: the real loop, on a machine where nothing runs and time passes at once."""
