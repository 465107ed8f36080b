"""Whose processes are whose, and how an attempt ends with all of its own."""
